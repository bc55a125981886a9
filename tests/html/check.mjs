// SPDX-License-Identifier: MIT
// Looks at pages as a reader does: check.mjs CHROMIUM PAGES.json, which the check beside this makes of the reports.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";
import { features } from "./features.mjs";
import { looks } from "./looks.mjs";

const CTRL = 2, SHIFT = 8;
let passed = 0, failed = 0, name = "";

function check(what, good, text = "") {
	good ? passed++ : failed++;
	if (!good)
		console.log(`${name}: ${what}: ${typeof text === "string" ? text : JSON.stringify(text)}`.slice(0, 3000));
}

const same = (what, got, want) => check(what, JSON.stringify(got) === JSON.stringify(want), { got, want });
/* Whole numbers beyond a double's are text on the page. */
const plain = (rows) => JSON.parse(JSON.stringify(rows), (k, v) => typeof v === "string" && /^-?\d{16,}$/.test(v) ? Number(v) : v);
const sum = (rows, key) => rows.reduce((s, r) => s + (r[key] || 0), 0);

// ---- figures ----

// As tables have them: the chart has the rows of memory over time, the text of a hang is above its tables, open calls come first.
function openFirst(part, rows) {
	if (/^by-(api|callsite)$/.test(part))
		return rows.slice().sort((a, b) => (b.not_returned > 0) - (a.not_returned > 0));
	return rows.filter((r) => part === "memory" ? r.kind !== "time" : part !== "hang" || r.kind !== "trace");
}

async function figures(page, want) {
	const shown = Object.fromEntries(await page.run(`[...document.querySelectorAll("[data-figure]")].map((e) => [e.dataset.figure, Number(e.dataset.value)])`));

	for (const key of ["submissions", "command_bytes", "calls", "launches", "memset_bytes"])
		if (want.summary.every((r) => r[key] !== null))
			same(`figure ${key}`, shown[key] || 0, sum(want.summary, key));
	for (const [part, rows] of Object.entries(want.tables)) {
		const got = await page.run(`nvsnoop.view.tables.filter((t) => t.info.report === "${part}").flatMap((t) => t.rows)`);
		const there = await page.run(`Boolean(document.getElementById("${part}"))`);

		if (there)
			same(`rows of ${part}`, plain(got).map((r) => Object.fromEntries(Object.entries(r).filter(([k]) => k !== "age_s" || part === "hang"))), plain(openFirst(part, rows)));
		else
			check(`no ${part}`, !rows.length || part === "hang" && rows.every((r) => r.kind === "trace") || rows.every((r) => (r.calls === null || r.calls === undefined) && (r.ring_used_max === null || r.ring_used_max === undefined)), rows.length);
	}
}

// What stands in the cells: the column of submissions, of all rows, sums up to that of the summary.
async function cells(page, want) {
	const texts = await page.run(`(() => { const box = document.getElementById("by-api"); const press = (w) => { for (const b of box.querySelectorAll("button")) if (b.textContent.startsWith(w)) { b.click(); break; } };
		press("All"); [...box.querySelectorAll(".foot button")].forEach((b) => b.textContent.startsWith("All") && b.click());
		const heads = [...box.querySelectorAll("th button")].map((b) => b.title.split(":")[0]), at = heads.indexOf("submissions");
		return [...box.querySelectorAll("tbody tr")].map((r) => r.children[at].textContent); })()`);

	same("cells of submissions", texts.reduce((s, t) => s + Number(t.replace(/,/g, "")), 0), sum(want.summary, "submissions"));
	same("rows in sight", texts.length, want.tables["by-api"].length);
}

async function sorting(page) {
	const click = `(() => { const b = [...document.querySelectorAll("#by-api th button")].find((e) => e.title.startsWith("command_bytes:")); b.click();
		const now = [...document.querySelectorAll("#by-api th")].find((e) => e.firstChild.title.startsWith("command_bytes:")), at = [...now.parentNode.children].indexOf(now);
		return [now.getAttribute("aria-sort"), ...[...document.querySelectorAll("#by-api tbody tr")].map((r) => Number(r.children[at].textContent.replace(/,/g, "")))]; })()`;

	for (const way of ["descending", "ascending"]) {
		const [is, ...numbers] = await page.run(click);
		const ordered = numbers.slice().sort((a, b) => way === "descending" ? b - a : a - b);

		same("aria-sort", is, way);
		same(`sorted ${way}`, numbers, ordered);
	}
}

// ---- timeline ----

async function timeline(page, want) {
	const got = await page.run(`(() => { const e = nvsnoop.view.timeline.events, n = {}; let bytes = 0;
		for (let i = 0; i < e.n; i++) { n[e.kind[i]] = (n[e.kind[i]] || 0) + 1; if (e.kind[i] === 5) bytes += e.bytes[i]; } return { n, bytes }; })()`);

	same("submissions in the timeline", got.n[5] || 0, sum(want.summary, "submissions"));
	same("their bytes", got.bytes, sum(want.summary, "command_bytes"));
	if (want.summary.every((r) => r.calls !== null))
		same("calls in the timeline", got.n[4] || 0, sum(want.summary, "calls"));
	const nvtx = want.tables["by-nvtx"];

	if (!want.several)
		same("ranges in the timeline", (got.n[7] || 0) + (got.n[9] || 0), sum(nvtx, "count"));
}

// By keys, wheel, a drag and a click, down to one submission, and from there to the stream.
async function moving(page) {
	const width = () => page.run("nvsnoop.view.timeline.to - nvsnoop.view.timeline.from");
	const whole = await width();

	await page.run(`document.getElementById("timeline").scrollIntoView({behavior: "instant"})`);
	await page.key("w");
	const nearer = await width();

	check("w", nearer < whole, { whole, nearer });
	await page.key("s");
	check("s", await width() > nearer);
	await page.key("0");
	same("0", await width(), whole);
	const box = await page.run(`(() => { const r = document.getElementById("canvas").getBoundingClientRect(); return { x: r.left, y: r.top, width: r.width }; })()`);

	await page.mouse("mouseWheel", box.x + box.width / 2, box.y + 60, { deltaX: 0, deltaY: -100, modifiers: CTRL });
	await page.until(`nvsnoop.view.timeline.to - nvsnoop.view.timeline.from < ${whole * 0.9}`);
	const before = await page.run("nvsnoop.view.timeline.from");

	await page.key("d");
	check("d", await page.run("nvsnoop.view.timeline.from") > before);
	await page.key("a");
	const spot = await page.run(`(() => { const t = nvsnoop.view.timeline, e = t.events; let i = 0;
		while (e.kind[i] !== 5 || e.number[i] < 3) i++; t.reveal(i); t.zoomTo(i); t.draw(); t.choose(-1); const s = t.spot(i); return { x: s.x, y: s.y, number: e.number[i] }; })()`);

	check("zoomed to a submission", await width() < whole / 10 || whole < 1000, await width());
	await page.click(box.x + spot.x + 1, box.y + spot.y);
	await page.until(`document.querySelector("#panel h3")`);
	check("panel", (await page.run(`document.getElementById("panel").textContent`)).includes(`#${spot.number}`), spot);
	await page.run(`document.getElementById("canvas").focus({preventScroll: true})`);
	await page.key("Enter");
	await page.until(`document.activeElement.id === "lines" && nvsnoop.view.stream.open.size === 1`);
	check("Enter", (await page.run(`document.querySelector(".line.active").textContent`)).includes(`#${spot.number} `), spot);
	await page.run(`document.getElementById("timeline").scrollIntoView({behavior: "instant"})`);
	await page.key("0");
	const y = 40 + await page.run(`document.getElementById("tracks").getBoundingClientRect().top`);

	await page.mouse("mousePressed", box.x + box.width * 0.4, y);
	await page.mouse("mouseMoved", box.x + box.width * 0.7, y, { button: "left", buttons: 1 });
	await page.mouse("mouseReleased", box.x + box.width * 0.7, y);
	check("a drag marks", /--range=[\d.]+s-[\d.]+s/.test(await page.run(`nvsnoop.view.timeline.marked + document.getElementById("panel").textContent`)),
		await page.run(`nvsnoop.view.timeline.marked + document.getElementById("panel").textContent`));
}

// ---- stream ----

async function stream(page, want) {
	const lines = await page.run(`Promise.all(nvsnoop.view.stream.chunks.map((c) => nvsnoop.view.stream.load(c))).then((l) => l.map((c) => c.text).join("").trimEnd().split("\\n"))`);
	const first = lines.findIndex((l, i) => l !== want.lines[i]);

	check("lines of --dump", first < 0 && lines.length === want.lines.length, { n: lines.length, of: want.lines.length, first, got: lines[first], want: want.lines[first] });
	for (const word of ["LAUNCH_DMA", "set_object", "/INVALIDATE_\\w+ /", "no such thing"]) {
		const found = await page.run(`nvsnoop.view.stream.search(${JSON.stringify(word)}).then(() => nvsnoop.view.stream.hits.index.length)`);
		const pattern = word[0] === "/" ? new RegExp(word.slice(1, -1), "i") : new RegExp(word, "i");

		same(`search ${word}`, found, want.lines.filter((l) => pattern.test(l)).length);
	}
}

async function searching(page) {
	await page.run(`nvsnoop.view.stream.foldAll(), document.getElementById("timeline").scrollIntoView({behavior: "instant"})`);
	await page.key("/");
	same("/", await page.run("document.activeElement.id"), "search");
	await page.run(`document.getElementById("search").value = ""`);
	for (const letter of "LAUNCH_DMA")
		await page.key(letter);
	await page.until(`/\\slines?$/.test(document.getElementById("hits").textContent) && nvsnoop.view.stream.pattern.source === "LAUNCH_DMA"`);
	await page.key("Enter");
	await page.until(`document.querySelector(".line.hit mark")`);
	same("mark", await page.run(`document.querySelector(".line.hit mark").textContent`), "LAUNCH_DMA");
	await page.run(`document.getElementById("lines").scrollIntoView({behavior: "instant", block: "center"})`);
	const at = await page.run(`(() => { const r = document.querySelector(".line.hit .m").getBoundingClientRect(); return [r.left + 8, r.top + 8]; })()`);

	await page.mouse("mouseMoved", ...at);
	await page.until(`!document.getElementById("bubble").hidden`);
	check("explained", /^LAUNCH_DMA.*method 0x0300 of .*DMA_COPY_.*bits 1–0DATA_TRANSFER_TYPE/s.test(await page.run(`document.getElementById("bubble").textContent`)),
		await page.run(`document.getElementById("bubble").textContent`));
	await page.run(`document.getElementById("only").click()`);
	const [rows, subs] = await page.run(`[nvsnoop.view.stream.count(), new Set(nvsnoop.view.stream.hits.index).size]`);

	same("only matching", rows, subs);
	await page.run(`document.getElementById("only").click(), nvsnoop.view.stream.foldAll(), document.getElementById("lines").focus()`);
	await page.key("Home");
	const folded = await page.run("nvsnoop.view.stream.rows");

	await page.key("ArrowRight");
	await page.until(`nvsnoop.view.stream.rows > ${folded}`);
	same("expanded", await page.run(`document.querySelector(".line.active").getAttribute("aria-expanded")`), "true");
	await page.key("ArrowLeft");
	await page.until(`nvsnoop.view.stream.rows === ${folded}`);
	await page.key("ArrowDown");
	same("down", await page.run("nvsnoop.view.stream.active"), 1);
}

// ---- the rest ----

async function keys(page) {
	await page.run("document.activeElement.blur()");
	await page.key("?", SHIFT);
	check("?", await page.run(`document.getElementById("help").open`));
	await page.key("Escape");
	await page.until(`!document.getElementById("help").open`);
	const themes = [];

	for (let i = 0; i < 3; i++) {
		await page.key("t");
		themes.push(await page.run("document.documentElement.dataset.theme"));
	}
	same("t", themes, ["dark", "light", "light"]);
	const nameless = await page.run(`[...document.querySelectorAll("button, input, canvas, a, [tabindex]")].filter((e) => e.tagName !== "CANVAS" || !e.closest("[aria-hidden=true]"))
		.filter((e) => !e.hasAttribute("aria-hidden") && !(e.textContent.trim() || e.getAttribute("aria-label") || e.closest("label"))).map((e) => e.outerHTML.slice(0, 120))`);

	same("without a name", nameless, []);
}

async function inert(page, want) {
	const text = await page.run(`nvsnoop.view.timeline.events.names.join("\\n") + document.body.innerText`);

	for (const one of want.names)
		check(`name ${one}`, text.includes(one) || text.includes(one.replace(/\\x(..)/g, (m, h) => String.fromCharCode(parseInt(h, 16)))) || text.includes("line\u2028separator"), one);
	same("nothing ran", await page.run("typeof pwned"), "undefined");
	same("elements of its own", await page.run(`document.querySelectorAll("img, iframe, object, svg, b[x], main script, link, style ~ style").length`), 0);
	await page.run(`nvsnoop.view.timeline.find("script"), nvsnoop.view.timeline.step(1), nvsnoop.view.timeline.find("")`);
	await page.run(`nvsnoop.view.stream.unfold(0).then(() => nvsnoop.view.stream.reorder())`);
	same("a script of another's", await page.run(`(() => { const s = document.createElement("script"); s.textContent = "globalThis.other = 1"; document.head.append(s); return typeof other; })()`), "undefined");
	check("is refused", page.errors.length === 1 && /Content Security Policy/.test(page.errors[0]), page.errors);
	page.errors.length = 0;
}

async function narrow(page) {
	for (const [width, height, theme] of [[390, 844, "dark"], [1400, 900, "light"]]) {
		await page.size(width, height, { theme });
		check(`${width} wide`, await page.run("document.documentElement.scrollWidth <= innerWidth"), await page.run("document.documentElement.scrollWidth"));
	}
	const { data } = await page.send("Page.printToPDF", {});

	check("printed", Buffer.from(data, "base64").subarray(0, 5).toString() === "%PDF-");
}

// A page for which there was too much says so, and how much.
async function leftOut(page, { left, told }) {
	const many = (n, one) => `${n.toLocaleString("en-US")} ${n === 1 ? one : one + "s"}`;
	const plainText = (id) => page.run(`document.getElementById("${id}").innerText.replace(/\u00a0/g, " ")`);
	const stream = await plainText("stream"), lines = await plainText("timeline");

	check("events are left out", lines.includes(`${many(left.events, "event")} from `) && lines.includes("are not on this page; select a part of the run with --range"), lines);
	for (const words of [`The methods of ${many(left.words, "submission")} are not on this page`, `${many(left.submissions, "submission")} are not on this page`,
		`${many(left.lines, "line")} of very long submissions are not on this page`, "--dump"])
		check("stream is left out", stream.includes(words), { words, stream });
	for (const { report, told: rows } of told.filter((t) => ["by-api", "by-callsite", "by-kernel"].includes(t.report) && t.told > 2)) {
		const text = await plainText(report);

		check(`rows of ${report} are left out`, text.includes(`${many(rows - 2, "more row")} are not on this page: `) && text.includes(`--${report} -n 0`), text);
	}
	const last = await page.run(`(async () => { const s = nvsnoop.view.stream; await s.unfold(s.total - 1); return s.open.get(s.total - 1).join("\\n"); })()`);

	check("a head alone says so", /^#\d+ .*\n  \.\.\. its methods are not on this page; see --dump --range=\d+$/.test(last), last);
}

const browser = new Browser(process.argv[2]);

try {
	for (const want of JSON.parse(readFileSync(process.argv[3], "utf8"))) {
		const page = await browser.page();

		name = want.path.split("/").pop();
		await page.size(1400, 900);
		await page.open(pathToFileURL(want.path).href);
		if (want.left) {
			await leftOut(page, want);
		} else {
			await figures(page, want);
			await timeline(page, want);
			await stream(page, want);
			await features(page, want, { check, same });
		}
		if (/^(demo|hang|work)\.html$/.test(name))
			await looks(page, { check, same });
		if (name === "demo.html") {
			await cells(page, want);
			await sorting(page);
			await moving(page);
			await searching(page);
			await keys(page);
			await narrow(page);
		}
		if (want.hostile)
			await inert(page, want);
		same("console", page.errors, []);
		same("network", page.requests, []);
		await page.close();
	}
} finally {
	await browser.close();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
