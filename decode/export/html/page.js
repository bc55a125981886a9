/* SPDX-License-Identifier: MIT */
/* Builds the page: the summary and tables first, the timeline and the stream once their packs have loaded. */

const SECTIONS = {
	"fault": "Faults of the GPU", "hang": "Hang", "flame": "Flame graph",
	"by-api": "By API", "by-kernel": "By kernel", "by-callsite": "By call site", "graphs": "Graphs", "memcpy": "Copies and their modes",
	"memory": "Memory", "races": "Races between streams", "ring": "Rings, and calls that waited", "by-nvtx": "NVTX ranges", "gpu-time": "GPU time",
	"by-rank": "By rank", "by-stream": "By stream", "by-thread": "By thread", "channels": "Channels",
};
const PARTS = {memory: "By kind and context", driver: "Memory objects of the resource manager", unfreed: "Never freed",
	"freed with context": "Freed only by the end of the context", "failed": "Failed", "freed twice": "Freed twice",
	"unknown address": "Frees of unknown addresses", "allocated unseen": "Allocation not recorded", channel: "Channels", call: "Calls that waited",
	fault: "What faulted", launch: "Launches that can have faulted", sm: "SMs with an error"};
const HANG_PARTS = {call: "Calls that have not returned", channel: "Channels with unfinished submissions"};
const KEYS = [["w s", "zoom in, out, at the pointer"], ["a d", "move left, right"], ["f", "zoom to the selection"], ["0", "the whole run"],
	["n N", "next, previous match"], ["← → ↑ ↓", "next slice, next lane; in the stream: fold, unfold, move"],
	["Enter", "show the selected submission in the stream; describe a line of the stream"], ["Shift Enter", "the submission of a line in the timeline"], ["Escape", "clear the selection: the tables are of the whole run again"], ["Ctrl wheel", "zoom"],
	["Shift wheel", "move"], ["drag", "select a time range, of which By API, By kernel and Copies then are; with Shift, or on the ruler: move"], ["double click", "zoom to a slice"],
	["/", "search the stream"], ["g", "find in the timeline"], ["t", "light, dark, or the system's theme"], ["?", "these keys"]];
const view = {timeline: null, stream: null, panel: null, tables: []};

/* ---- light and dark ---- */

const dark = matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";

function setTheme(to) {
	theme = to;
	document.documentElement.dataset.theme = to === "auto" ? (dark.matches ? "dark" : "light") : to;
	$("theme").textContent = {auto: "Auto", light: "Light", dark: "Dark"}[to];
	$("theme").setAttribute("aria-label", `Light or dark: ${to}`);
	readColours();
	repaint();
}

function nextTheme() {
	const other = dark.matches ? ["light", "dark"] : ["dark", "light"];

	setTheme(theme === "auto" ? other[0] : theme === other[0] ? other[1] : "auto");
}

function repaint() {
	if (view.timeline)
		view.timeline.draw();
	if (view.flame)
		view.flame.draw();
	for (const chart of view.charts || [])
		chart.draw();
}

/* ---- the summary ---- */

function sentences(text) {
	const box = $("sentences");
	let list = null, paragraph = "";
	const flush = () => {
		if (paragraph)
			box.append(h("p", {}, paragraph.trim()));
		paragraph = "";
	};

	for (const line of text.split("\n")) {
		if (line.startsWith("    ")) {
			flush();
			(list ? list.lastChild : box).append(commandLine(line.trim()));
		} else if (line.startsWith("- ")) {
			flush();
			if (!list)
				box.append(list = h("ul"));
			list.append(h("li", {}, line.slice(2)));
		} else if (list && line.startsWith("  ")) {
			list.lastChild.append(` ${line.trim()}`);
		} else if (line.endsWith(":") && !paragraph) {
			flush();
			list = null;
			box.append(h("h3", {}, line.slice(0, -1)));
		} else if (!line) {
			flush();
			list = null;
		} else
			paragraph += ` ${line}`;
	}
	flush();
}

/* Numbers of --summary; of several traces their sums. */
function figures(rows, columns) {
	const sum = (key) => rows.every((r) => r[key] !== null) ? rows.reduce((s, r) => s + Number(r[key]), 0) : null;
	const one = rows[0];
	const list = [["duration_ns", "run time", (n) => inTime(rows.length > 1 ? Math.max(...rows.map((r) => r.duration_ns)) : n)],
		["submissions", "submissions", grouped], ["launches", "kernels launched", grouped],
		["command_bytes", "of commands", inBytes], ["calls", "calls", grouped], ["host_us_total", "host time in calls", (us) => inTime(us * 1000)],
		["engine_copy_bytes", "copied by engines", inBytes], ["memset_bytes", "set by memsets", inBytes]];

	for (const [key, words, how] of list) {
		const value = sum(key);

		if (value)
			$("figures").append(h("div", {"data-figure": key, "data-value": value, title: keys.get(key) || ""}, h("b", {}, how(value)), h("span", {}, words)));
	}
	const name = (one.command || one.program || "a trace").split(" ").map((w, i) => i ? w : w.split("/").pop()).join(" ");

	$("title").textContent = rows.length > 1 ? `${rows.length} traces` : name.length > 90 ? name.slice(0, 90) + "…" : name;
	document.title = `${$("title").textContent} – nvsnoop`;
	$("what").textContent = $("what").title = page.traces.join("  ");
	const pairs = h("div", {class: "pairs"});

	for (const row of rows)
		for (const c of columns)
			if (row[c.key] !== null)
				pairs.append(h("div", {title: keys.get(c.key) || ""}, h("span", {}, c.key.replace(/_/g, " ")), h("b", {}, cellText(c.key, row[c.key]))));
	$("counted").append(pairs);
	$("counted").hidden = false;
}

/* ---- tables ---- */

function find(name, row) {
	if (!view.timeline)
		return;
	const e = row.kind === "call" || row.kind === "channel" ? eventOf(row) : -1;

	if (e >= 0) {
		$("timeline").scrollIntoView();
		view.timeline.reveal(e);
		return;
	}
	$("find").value = name;
	view.timeline.find(name);
	view.timeline.step(1);
	$("timeline").scrollIntoView();
}

/* Of a row of --hang or --ring: its call, or the first submission that is not done. Times of several traces may be shifted. */
function eventOf(row) {
	const ev = view.timeline.events, process = Math.max(0, page.traces.indexOf(row.trace));

	if (row.kind === "channel")
		return ev.submission(process + 1, row.submission) ?? -1;
	for (let e = 0; e < ev.n; e++)
		if (ev.kind[e] === KIND.CALL && ev.process[e] === process && ev.names[ev.name[e]] === row.api &&
			(ev.begin[e] === row.time_ns || (ev.processes.length > 1 && Number.isNaN(ev.end[e]))))
			return e;
	return -1;
}

/* Time that the rows explain, in us, by which sections are sorted: of the GPU if it is known. NVTX ranges contain each other. */
function costOf(report, rows) {
	const key = ["gpu_us_total", "host_us_total", "host_us"].find((k) => rows.some((r) => r[k]));
	const spent = rows.map((r) => Number(key ? r[key] : (r.host_us_mean || 0) * (r.calls || r.graph_launches || 0)) || 0);

	return {us: report === "by-nvtx" ? spent.reduce((a, b) => Math.max(a, b), 0) : spent.reduce((a, b) => a + b, 0),
		words: key === "gpu_us_total" ? "GPU time" : "host time"};
}

function section(id, title, help, {us, words}) {
	const box = h("section", {id, "data-cost": us}, h("h2", {}, title, us ? h("span", {class: "cost", title: `${words} that this section explains`}, inTime(us * 1000)) : ""), h("p", {class: "help"}, help),
		id in RANGED ? h("div", {class: "ranged", hidden: true}) : "");

	$("reports").append(box);
	return box;
}

/* What went wrong comes before all that took time. Costs that differ by less than they are printed with are equal. */
function sortSections() {
	const list = [...$("reports").children].sort((a, b) => Number(b.dataset.cost).toPrecision(3) - Number(a.dataset.cost).toPrecision(3));

	$("reports").append(...list);
	for (const id of ["fault", "hang"])
		if ($(id))
			$("timeline").before($(id));
}

/* Calls that have not returned first: how long they had been open then, by --hang. */
function openFirst(info, rows) {
	const ages = new Map(page.hang.filter((r) => r.kind === "call").sort((a, b) => a.age_s - b.age_s).map((r) => [r.api, r.age_s]));

	if (!ages.size)
		return;
	for (const row of rows)
		row.age_s = row.not_returned ? ages.get(row.api) ?? null : null;
	if (rows.some((r) => r.age_s !== null))
		info.columns.splice(1, 0, {key: "age_s", title: "open for s", rank: 0}, {...info.columns.find((c) => c.key === "not_returned"), detail: false, rank: 0});
	rows.sort((a, b) => (b.age_s ?? -1) - (a.age_s ?? -1));
}

function addTable(info, rows) {
	const hang = info.report === "hang", parts = hang ? HANG_PARTS : PARTS;
	const box = section(info.report, SECTIONS[info.report] || info.report, sentence(info.help), costOf(info.report, rows));
	const sorts = /^(fault|memory|ring|hang)$/.test(info.report) ? [...new Set(rows.map((r) => r.kind))] : [null];

	box.dataset.rows = rows.length;
	for (const sort of sorts) {
		const some = sort === null ? rows : rows.filter((r) => r.kind === sort);

		if (sort === "trace") {
			const stopped = some.filter((r) => r.state !== "ended"), ended = some.length - stopped.length;

			for (const r of stopped)
				box.append(h("p", {class: "says"}, page.traces.length > 1 ? h("b", {}, `${r.trace}: `) : "", r.says));
			if (ended)
				box.append(h("p", {class: "says"}, `${many(ended, "other program")} exited normally.`));
			continue;
		}
		if (sort === "time") {
			(view.charts = view.charts || []).push(new Chart(box, some));
			continue;
		}
		if (sort !== null)
			box.append(h("h3", {}, parts[sort] || sort));
		const columns = info.columns.filter((c) => sort === null || c.key !== "kind").map((c) => ({...c, detail: c.detail && (sort === null || hang)}));

		/* In text its name is a column of its own. */
		if (info.report === "gpu-time")
			Object.assign(columns.find((c) => c.key === "api"), {detail: false, name: true});

		view.tables.push(new Table(box, {...info, columns, title: sort === null ? SECTIONS[info.report] : parts[sort] || sort, part: sort !== null}, some,
			info.report === "memory" ? null : find));
	}
	if (sorts[0] !== null && info.told > rows.length)
		box.append(h("p", {class: "left-out"}, `${many(info.told - rows.length, "more row")} are not on this page: ${reportCommand(`--${info.report} -n 0 --format=json`)}`));
}

const sentence = (text) => text ? text[0].toUpperCase() + text.slice(1).replace(/; -n 0:.*/, "") + "." : "";

/* Returns true if the report has data worth showing. */
function worth(info, rows) {
	if (!rows.length || (info.report === "by-rank" && page.traces.length < 2))
		return false;
	if (info.report === "gpu-time")
		return rows.some((r) => r.timed);
	if (info.report === "hang")
		return rows.some((r) => r.kind === "trace" && r.state !== "ended") && rows.some((r) => r.kind !== "trace");
	if (info.report === "ring")
		return rows.some((r) => r.kind !== "channel" || r.ring_used_max !== null || r.pushbuffer_bytes !== null);
	return info.report !== "by-thread" || rows.some((r) => r.calls !== null);
}

function navigation() {
	const list = [...$("main").querySelectorAll("section:not([hidden])")].map((s) => [s.id, SECTIONS[s.id] || s.id[0].toUpperCase() + s.id.slice(1)]);
	const cost = (id) => $(id).querySelector(".cost");

	$("nav").replaceChildren(...list.map(([id, words]) => h("a", {href: `#${id}`}, words, cost(id) ? h("i", {}, cost(id).textContent) : "")));
	const seen = new IntersectionObserver(() => {
		const here = list.filter(([id]) => $(id).getBoundingClientRect().top < 160).pop() || list[0];

		for (const a of $("nav").children)
			a.classList.toggle("here", a.hash === `#${here[0]}`);
	}, {threshold: [0, 0.1, 0.5, 1], rootMargin: "-60px 0px -40% 0px"});

	list.forEach(([id]) => seen.observe($(id)));
}

function flame(info, rows) {
	if (!rows.some((r) => WEIGHTS.some(([key]) => r[key])))
		return;
	$("flame").hidden = false;
	view.flame = new Flame(rows);
	if (info.told > rows.length)
		$("flame").append(h("p", {class: "left-out"}, `${many(info.told - rows.length, "more frame")} are not on this page: ${reportCommand("--calltree -n 0")}`));
}

async function overview() {
	const none = [];

	page.traces = (await unpackAll("traces")).join("").split("\n").filter(Boolean);
	readKeys((await unpackAll("keys")).join(""));
	sentences((await unpackAll("sentences")).join(""));
	for (const text of await unpackAll("table")) {
		const cut = text.lastIndexOf("\n", text.length - 2), info = JSON.parse(text.slice(cut + 1)), rows = parseRows(text.slice(0, cut));

		info.title = SECTIONS[info.report];
		if (info.report === "summary")
			figures(rows, info.columns);
		else if (info.report === "calltree")
			flame(info, rows);
		else if (worth(info, rows)) {
			if (info.report === "hang")
				page.hang = rows;
			if (info.report === "channels")
				rows.forEach((r) => page.rings.set(`${Math.max(0, page.traces.indexOf(r.trace)) + 1} ${r.channel}`, r.gpfifo_entries));
			if (/^by-(api|callsite)$/.test(info.report))
				openFirst(info, rows);
			addTable(info, rows);
		}
		else if (info.report !== "by-rank" && SECTIONS[info.report])
			none.push(SECTIONS[info.report].toLowerCase().replace("api", "API").replace("nvtx", "NVTX").replace("gpu", "GPU"));
	}
	sortSections();
	if (none.length)
		$("end").append(h("p", {}, `The trace has no data for: ${none.join(", ")}.`));
	navigation();
}

/* ---- timeline and stream ---- */

/* The timeline's packs precede those of the stream: it is shown while these still load. */
function timelineIsThere() {
	const there = () => document.readyState !== "loading" || document.querySelector('script[data-pack="stream"]');

	return new Promise((yes) => {
		const look = () => {
			if (!there())
				return;
			watch.disconnect();
			yes();
		};
		const watch = new MutationObserver(look);

		watch.observe(document.body, {childList: true});
		document.addEventListener("DOMContentLoaded", look);
		look();
	});
}

const allIsThere = () => new Promise((yes) => document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", yes) : yes());

async function timeline() {
	const names = (await unpackAll("names")).join("").split("\n");

	names.pop();
	const list = packs("times"), events = new Events(names, list.reduce((sum, e) => sum + Number(e.dataset.items), 0));

	/* Up to four packs are inflated ahead. */
	const bytes = list.slice(0, 4).map(unpackBytes);

	for (let i = 0; i < list.length; i++) {
		events.read(await bytes[i]);
		bytes[i] = null;
		if (i + 4 < list.length)
			bytes[i + 4] = unpackBytes(list[i + 4]);
	}
	events.finish();
	view.sorts = new Map(events.names.map((name, i) => [name, events.sorts[i]]).filter(([, sort]) => sort !== OTHER));
	if (!events.n) {
		$("timeline").replaceChildren(h("h2", {}, "Timeline"), h("p", {class: "note"}, "This trace has no timed events."));
		return events;
	}
	view.panel = new Panel(events, (process, number) => view.stream && view.stream.go(process, number).then((found) => { if (found) { $("stream").scrollIntoView(); $("lines").focus({preventScroll: true}); } }));
	view.timeline = new Timeline(events, (e, stretch, enter) => {
		if (enter) {
			if (e >= 0 && (events.kind[e] === KIND.SUBMISSION || events.kind[e] === KIND.GPU))
				view.panel.go(events.process[e] + 1, events.number[e]);
			return;
		}
		restrictTables(events, stretch, () => view.timeline.choose(-1));
		if (stretch)
			view.panel.stretch(stretch, view.timeline);
		else if (e >= 0)
			view.panel.show(e, view.timeline);
		else
			view.panel.empty();
	});
	return events;
}

function leftOut(left) {
	const words = [];

	if (!left)
		words.push("This page is incomplete: the file was truncated.");
	else {
		if (left.events)
			$("timeline").append(h("p", {class: "left-out"}, `${many(left.events, "event")} from ${inSeconds(left.from_ns)} on are not on this page; select a part of the run with --range.`));
		if (left.words)
			words.push(`The methods of ${many(left.words, "submission")} are not on this page.`);
		if (left.submissions)
			words.push(`${many(left.submissions, "submission")} are not on this page.`);
		if (left.lines)
			words.push(`${many(left.lines, "line")} of very long submissions are not on this page.`);
		if (words.length)
			words.push(`Select a part with --range; everything: ${reportCommand("--dump")}`);
	}
	$("streamleft").textContent = words.join(" ");
}

async function rest(began) {
	await timelineIsThere();
	const events = await timeline();

	page.drawn = performance.now() - began;
	await allIsThere();
	const left = await unpackAll("left");

	page.left = left.length ? JSON.parse(left[0]) : null;
	readWords((await unpackAll("words")).join(""));
	view.stream = new Stream((process, number) => {
		const e = events.submission(process, number);

		return e === undefined ? null : {bytes: events.bytes[e], does: events.names[events.x[e]]};
	}, (process, number) => {
		const e = events.submission(process, number);

		if (e === undefined || !view.timeline)
			return;
		$("timeline").scrollIntoView();
		view.timeline.reveal(e);
		$("canvas").focus({preventScroll: true});
	});
	if (!view.stream.total)
		$("stream").hidden = true;
	leftOut(page.left);
	repaint();
	page.whole = true;
	page.took = performance.now() - began;
	$("state").textContent = `${many(view.stream.total, "submission")} · ${document.querySelector("meta[name=generator]").content}`;
}

function globalKeys(e) {
	const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);

	if (e.key === "Escape") {
		bubble.hide();
		if (typing)
			e.target.blur();
		else if (view.timeline && !$("help").open && e.target !== $("flamecanvas"))
			view.timeline.choose(-1);
	}
	if (typing || e.ctrlKey || e.metaKey || e.altKey || $("help").open)
		return;
	if (e.key === "?")
		$("help").showModal();
	else if (e.key === "t")
		nextTheme();
	else if (e.key === "/" || e.key === "g") {
		e.preventDefault();
		$(e.key === "/" ? "search" : "find").focus();
	} else if (view.timeline && view.timeline.moveKey(e.key))
		e.preventDefault();
}

/* Printing: the light theme, all rows as shown. */
let before = null;

function onPaper(begins) {
	if (begins) {
		before = theme;
		document.documentElement.classList.add("paper");
		setTheme("light");
	} else if (before) {
		document.documentElement.classList.remove("paper");
		setTheme(before);
	}
	if (view.timeline) {
		view.timeline.place();
		view.timeline.draw();
	}
}

function begin() {
	const began = page.began = performance.now();

	setTheme("auto");
	dark.addEventListener("change", () => setTheme(theme));
	$("theme").addEventListener("click", nextTheme);
	$("ask").addEventListener("click", () => $("help").showModal());
	$("keylist").append(...KEYS.flatMap(([key, words]) => [h("span", {}, ...key.split(" ").map((k) => h("kbd", {}, k))), h("span", {}, words)]));
	addEventListener("keydown", globalKeys);
	addEventListener("beforeprint", () => onPaper(true));
	addEventListener("afterprint", () => onPaper(false));
	addEventListener("resize", () => view.tables.forEach((t) => { if (!t.wide) t.draw(); }));
	if (typeof DecompressionStream === "undefined") {
		$("sentences").append(h("p", {class: "left-out"}, "This browser is too old for this page: it lacks DecompressionStream."));
		return;
	}
	$("state").textContent = "Reading …";
	const first = overview();

	first.then(() => rest(began)).catch((e) => { $("state").textContent = `This page cannot be shown: ${e.message}`; throw e; });
}

globalThis.nvsnoop = {view, page, ink: () => ink}; /* for tests and benchmarks */
begin();
