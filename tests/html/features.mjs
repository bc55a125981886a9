// SPDX-License-Identifier: MIT
// What a reader does with the timeline, the flame graph and the sections: acted out by pointer and keys, and compared with reports.
import { spawnSync } from "node:child_process";

// In the page: the colour drawn at a place of the timeline, from a copy of its canvas.
const PIXEL = `const pixel = (t, x, y) => { const c = document.createElement("canvas"), g = c.getContext("2d", { willReadFrequently: true }), scale = t.canvas.width / t.width;
	c.width = t.canvas.width; c.height = t.canvas.height; g.drawImage(t.canvas, 0, 0); return [...g.getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3).join(", "); };`;

const clickOn = async (page, selector) => {
	const at = await page.run(`(() => { const e = ${selector}; e.scrollIntoView({behavior: "instant", block: "nearest"}); const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`);

	await page.click(...at);
};
const toTimeline = (page) => page.run(`document.getElementById("timeline").scrollIntoView({behavior: "instant"}), document.activeElement.blur(), true`);

async function typed(page, id, text) {
	await page.run(`document.getElementById("${id}").value = "", document.getElementById("${id}").focus()`);
	for (const letter of text)
		await page.key(letter);
}

// ---- a range, and the tables of it ----

const close = (a, b) => (a === null || a === undefined) === (b === null || b === undefined) && Math.abs((a || 0) - (b || 0)) <= 0.011 + Math.abs(b || 0) * 1e-9;

// Rows of one name are one on the page, whatever runtime API they came from.
function summed(rows) {
	const all = new Map();

	for (const row of rows) {
		const sum = all.get(row.api);

		if (!sum) {
			all.set(row.api, { ...row, alone: true });
			continue;
		}
		sum.alone = false;
		for (const key of ["calls", "failed", "captured", "not_returned", "host_us_total", "submissions", "entries", "command_bytes"])
			sum[key] = sum[key] === null && row[key] === null ? null : (sum[key] || 0) + (row[key] || 0);
	}
	return [...all.values()];
}

const KEYS = {
	"by-api": [(r) => r.api, ["calls", "failed", "captured", "not_returned", "host_us_total", "submissions", "entries", "command_bytes"], (r) => r.calls || r.submissions],
	"by-kernel": [(r) => r.kernel, ["launches", "direct", "graph_captured", "graph_built", "graph_unknown", "graph_conditional", "captured", "failed", "submissions", "command_bytes", "host_us_total", "host_us_mean", "gpu_us_total", "gpu_timed"], (r) => r.launches || r.graph_conditional || r.captured || r.failed || r.submissions],
	memcpy: [(r) => [r.direction, r.memory, r.mode, r.size_class_bytes, r.from_gpu, r.to_gpu].join(), ["calls", "failed", "copied_bytes", "host_us_mean", "host_gb_per_s"], () => true],
};

async function compareRange(page, want, { check, same }, range) {
	const option = await page.run(`document.querySelector("#by-api .ranged code").textContent.match(/--range=[^ ]+/)[0]`);
	let n = 0;

	for (const [report, [key, keys, is]] of Object.entries(KEYS)) {
		const got = await page.run(`(nvsnoop.view.tables.find((t) => t.info.report === "${report}") || {rows: []}).rows`);
		const done = spawnSync(want.tool, [option, `--${report}`, "--format=json", "-n", "0", ...want.traces], { encoding: "utf8" });
		const told = JSON.parse(done.stdout || `{"rows":[]}`).rows, rows = (report === "by-api" ? summed(told) : told).filter(is);

		same(`${report} of ${range}: names`, got.map(key).sort(), rows.map(key).sort());
		for (const row of rows) {
			const mine = got.find((r) => key(r) === key(row)) || {};
			const more = report !== "by-api" ? [] : row.alone ? ["threads", "channels", "host_us_max"] : [];

			for (const k of [...keys, ...more])
				check(`${report} of ${range}: ${k} of ${key(row)}`, close(mine[k], row[k]), { got: mine[k], want: row[k] });
		}
		n += rows.length;
	}
	return n;
}

async function ranges(page, want, tools) {
	const { check, same } = tools, whole = await page.run(`nvsnoop.view.tables.map((t) => t.rows.length)`);
	const [left, right, top] = await page.run(`(() => { const t = nvsnoop.view.timeline, r = document.getElementById("canvas").getBoundingClientRect(); return [r.left + t.gutter, r.right, r.top]; })()`);
	let n = 0;

	for (const [from, to] of [[0.02, 0.98], [0.45, 0.75], [0.9, 0.6]]) {
		await toTimeline(page);
		await page.key("0");
		const y = 40 + await page.run(`document.getElementById("tracks").getBoundingClientRect().top`), x = (part) => left + (right - left) * part;

		await page.mouse("mousePressed", x(from), y);
		await page.mouse("mouseMoved", x((from + to) / 2), y, { button: "left", buttons: 1 });
		await page.mouse("mouseMoved", x(to), y, { button: "left", buttons: 1 });
		await page.mouse("mouseReleased", x(to), y);
		await page.until(`nvsnoop.view.timeline.marked && !document.querySelector("#by-api .ranged").hidden`);
		n += await compareRange(page, want, tools, `${from} to ${to}`);
	}
	check("rows in ranges", n > 2, n);
	await page.key("Escape");
	same("Escape: the whole run again", await page.run(`[nvsnoop.view.timeline.marked, document.querySelector("#by-api .ranged").hidden, nvsnoop.view.tables.map((t) => t.rows.length)]`), [null, true, whole]);
}

// ---- lanes ----

const LANES = `[...document.querySelectorAll(".lane:not([hidden])")].map((l) => l.title)`;

async function lanes(page, { check, same }) {
	await toTimeline(page);
	const all = await page.run(LANES), some = await page.run(`nvsnoop.view.timeline.tracks.find((t) => t.counter && t.kind === "channel" && !t.hidden).label`);
	const lane = `[...document.querySelectorAll(".lane:not([hidden])")].find((l) => l.title === ${JSON.stringify(some)})`, height = () => page.run(`${lane}.offsetHeight`);
	const high = await height();

	await clickOn(page, `${lane}.querySelector(".caret")`);
	check("fold", await height() < high && await page.run(`${lane}.querySelector(".caret").getAttribute("aria-expanded")`) === "false", high);
	await page.key("Enter");
	same("unfold by Enter", await height(), high);
	await clickOn(page, `${lane}.querySelector(".pin")`);
	same("pinned first", (await page.run(LANES)).indexOf(some), 0);
	same("pin", await page.run(`[${lane}.closest("#pins") !== null, nvsnoop.view.timeline.tracks.find((t) => t.pinned).y]`), [true, 24]);
	const before = await page.run(`${lane}.getBoundingClientRect().top`);

	await page.run(`document.getElementById("tracks").style.maxHeight = "150px", document.getElementById("tracks").scrollTop = 90, true`);
	await page.until(`document.getElementById("tracks").scrollTop === 90`);
	same("a pinned lane stays", await page.run(`${lane}.getBoundingClientRect().top`), before);
	await page.run(`document.getElementById("tracks").style.maxHeight = "", document.getElementById("tracks").scrollTop = 0, true`);
	await clickOn(page, `${lane}.querySelector(".pin")`);
	same("unpinned", await page.run(LANES), all);
	await typed(page, "lanes", "copy");
	const left = await page.run(LANES);

	check("filter", all.some((l) => !left.includes(l)) && left.every((l) => /copy|quieter/.test(l)), left);
	check("also in groups that are folded", left.length > all.filter((l) => /copy|quieter/.test(l)).length, left);
	await page.run(`document.getElementById("lanes").value = "", nvsnoop.view.timeline.filter("")`);
	same("no filter", await page.run(LANES), all);
}

// The colour of the legend is that in the lane; a click dims what is not of that sort.
async function legend(page, { check, same }) {
	const found = await page.run(`(() => { ${PIXEL} const t = nvsnoop.view.timeline, e = t.events; t.show(t.home, t.end); let best = -1;
		for (let i = 0; i < e.n; i++) if (e.kind[i] === 4 && !t.failed(i) && !Number.isNaN(e.end[i]) && (best < 0 || e.end[i] - e.begin[i] > e.end[best] - e.begin[best])) best = i;
		t.draw(); const s = t.spot(best), x = t.x(e.end[best]) - 4;
		const chip = document.querySelector('#legend [data-sort="' + e.sort(best) + '"] i');
		return [pixel(t, x, s.y), getComputedStyle(chip).backgroundColor.match(/\\d+, \\d+, \\d+/)[0]]; })()`);

	same("the legend's colour", found[0], found[1]);
	await clickOn(page, `document.querySelector("#legend [data-sort]")`);
	check("only one sort", await page.run(`(() => { const t = nvsnoop.view.timeline, sort = Number(document.querySelector("#legend [aria-pressed=true]").dataset.sort);
		return t.match.every((m, e) => Boolean(m) === (t.events.sort(e) === sort)); })()`));
	await clickOn(page, `document.querySelector("#legend [data-sort]")`);
	same("all sorts", await page.run(`[nvsnoop.view.timeline.match, document.querySelectorAll("#legend [aria-pressed=true]").length]`), [null, 0]);
}

// ---- the flame graph ----

async function flame(page, want, { check, same }) {
	const total = want.folded.reduce((sum, [, ns]) => sum + ns, 0);
	const us = await page.run(`(nvsnoop.view.flame.weigh("host_us_total"), nvsnoop.view.flame.root.value)`);

	check("all host time", Math.abs(us * 1000 - total) < 1000 + total * 1e-3, { us, total });
	for (const word of ["cuMemcpy", "/^cu(Launch|Graph)/", "/^main$|cuMem/", "nothing of this name"]) {
		const pattern = word[0] === "/" ? new RegExp(word.slice(1, -1), "i") : new RegExp(word, "i");
		const ns = want.folded.reduce((sum, [stack, n]) => sum + (stack.split(";").some((frame) => pattern.test(frame)) ? n : 0), 0);

		await typed(page, "flamefind", word);
		const text = await page.run(`document.getElementById("flamefound").textContent`), share = Number(/([\d.]+) %$/.exec(text)[1]);

		check(`share of ${word}`, Math.abs(share - 100 * ns / total) < 0.2, { text, ns, total });
	}
	await page.run(`document.getElementById("flamefind").value = "", nvsnoop.view.flame.find("")`);
	const frame = await page.run(`(() => { const f = nvsnoop.view.flame; document.getElementById("flame").scrollIntoView({behavior: "instant"}); let best = null;
		f.levels.flat().forEach((n) => { if (n.children.length > 1 && n.width < 0.9 && n.width > 0.02 && (!best || n.width > best.width)) best = n; });
		if (!best) f.levels.flat().forEach((n) => { if (n.width < 0.98 && (!best || n.width > best.width)) best = n; });
		const r = f.canvas.getBoundingClientRect(); return best && [best.frame, r.left + (best.x + best.width / 2) * r.width, r.top + best.level * 19 + 9 - f.box.scrollTop]; })()`);

	check("a frame to click", Boolean(frame));
	if (!frame)
		return;
	await page.click(frame[1], frame[2]);
	same("zoomed", await page.run(`[nvsnoop.view.flame.top.frame, nvsnoop.view.flame.top.x, nvsnoop.view.flame.top.width]`), [frame[0], 0, 1]);
	await page.run(`nvsnoop.view.flame.canvas.focus({preventScroll: true})`);
	await page.key("ArrowUp");
	await page.key("Enter");
	same("the frame around it", await page.run(`nvsnoop.view.flame.top.children.some((n) => n.frame === ${JSON.stringify(frame[0])})`), true);
	await page.key("Escape");
	same("Escape: the whole graph", await page.run(`nvsnoop.view.flame.top === nvsnoop.view.flame.root`), true);
}

async function gpuTime(page, want, { check, same }) {
	same("the table of GPU time has names", (await page.run(`[...document.querySelectorAll("#gpu-time tbody tr td:first-child")].map((td) => td.textContent)`)).sort(),
		JSON.parse(spawnSync(want.tool, ["--gpu-time", "--format=json", ...want.traces], { encoding: "utf8" }).stdout).rows.map((r) => r.api).sort());
	const us = await page.run(`(nvsnoop.view.flame.weigh("gpu_us_total"), nvsnoop.view.flame.root.value)`);
	const done = spawnSync(want.tool, ["--gpu-time", "--format=json", ...want.traces], { encoding: "utf8" });
	const total = JSON.parse(done.stdout).rows.reduce((sum, r) => sum + (r.gpu_us_total || 0), 0);

	check("all GPU time", us > 0 && Math.abs(us - total) < 0.1 + total * 1e-3, { us, total });
}

// ---- sections ----

async function order(page, want, { check, same }) {
	const [costs, ids] = await page.run(`[[...document.querySelectorAll("#reports > section")].map((s) => Number(s.dataset.cost)), [...document.querySelectorAll("main > section, #reports > section")].map((s) => s.id)]`);
	const near = (n) => Number(n.toPrecision(3));

	check("sections by cost", costs.every((c, i) => !i || near(c) <= near(costs[i - 1])) && (costs[0] > 0 || want.summary[0].calls === null), costs);
	const rows = want.tables["by-api"], shown = await page.run(`Number(document.getElementById("by-api").dataset.cost)`);

	check("cost of By API", close(shown, rows.reduce((sum, r) => sum + (r.host_us_total || 0), 0)), shown);
	same("a hang comes first", ids.includes("hang") ? ids.indexOf("hang") : "none", want.path.endsWith("hang.html") ? 1 : "none");
}

async function hang(page, want, { check, same }) {
	const call = want.tables.hang.find((r) => r.kind === "call"), says = want.tables.hang.find((r) => r.kind === "trace").says;
	const end = want.summary[0].duration_ns, text = await page.run(`document.getElementById("hang").textContent`);
	const open = await page.run(`(() => { ${PIXEL} const t = nvsnoop.view.timeline, e = t.events; t.show(t.home, t.end); t.draw();
		for (let i = 0; i < e.n; i++) if (Number.isNaN(e.end[i])) { const s = t.spot(i), at = (x) => pixel(t, x, s.y);
			const bad = nvsnoop.ink().bad.match(/[0-9a-f]{2}/g).map((x) => parseInt(x, 16)), reddish = (x) => { const p = at(x).split(", ").map(Number); return p.every((c, k) => Math.abs(c - bad[k]) < 40); };
			return { hatched: Array.from({ length: 60 }, (_, k) => t.x(e.until(i)) - 30 - k).filter(reddish).length, api: e.names[e.name[i]], until: e.until(i), last: t.end, drawn: [at(t.x(e.until(i)) - 12) !== at(t.x(e.until(i)) + 2), e.until(i) - e.begin[i]] }; } })()`);

	check("the text of --hang", text.includes(says), text);
	same("the open call", [open.api, open.until, open.drawn[0]], [call.api, end, true]);
	check("is hatched", open.hatched > 5 && open.hatched < 50, open.hatched);
	check("its length", Math.abs(open.drawn[1] / 1e9 - call.age_s) < 0.01 && open.last >= end, { open, call });
	same("first in By API", await page.run(`[...document.querySelectorAll("#by-api tbody tr:first-child td")].slice(0, 3).map((td) => td.textContent)`),
		[call.api, call.age_s.toFixed(2), "1"]);
	check("in the legend", /did not return/.test(await page.run(`document.getElementById("legend").textContent`)));
	await clickOn(page, `document.querySelector("#hang tbody button.link")`);
	same("from the table to the timeline", await page.run(`(() => { const t = nvsnoop.view.timeline; return Number.isNaN(t.events.end[t.chosen]); })()`), true);
}

// A name in a row of a call leads to that call, in other tables to the next of that name.
async function links(page, want, { same }) {
	await clickOn(page, `document.querySelector("#ring tbody button.link")`);
	same("to the call that waited", await page.run(`(() => { const t = nvsnoop.view.timeline, e = t.chosen, cell = document.querySelector("#ring tbody button.link").closest("tr").textContent;
		return [t.events.names[t.events.name[e]] === document.querySelector("#ring tbody button.link").textContent, cell.includes((t.events.begin[e] / 1e9).toFixed(9))]; })()`), [true, true]);
	await clickOn(page, `document.querySelector("#by-kernel tbody button.link")`);
	same("to a launch", await page.run(`(() => { const t = nvsnoop.view.timeline; return t.events.names[t.events.x[t.chosen]] === document.getElementById("find").value; })()`), true);
	await page.run(`document.getElementById("find").value = "", nvsnoop.view.timeline.find("")`);
}

export async function features(page, want, tools) {
	const name = want.path.split("/").pop();

	await order(page, want, tools);
	if (name === "hang.html")
		await hang(page, want, tools);
	if (!want.several && !want.hostile)
		await ranges(page, want, tools);
	if (name === "demo.html") {
		await lanes(page, tools);
		await legend(page, tools);
		await links(page, want, tools);
	}
	if (name === "demo.html" || name === "hang.html")
		await flame(page, want, tools);
	if (name === "work.html")
		await gpuTime(page, want, tools);
	await page.run(`scrollTo(0, 0), nvsnoop.view.timeline.choose(-1), nvsnoop.view.timeline.show(nvsnoop.view.timeline.home, nvsnoop.view.timeline.end)`);
}
