/* SPDX-License-Identifier: MIT */
/* The panel below the timeline: details of the selected event or time range. */

const KIND_WORDS = {[KIND.CALL]: "call", [KIND.SUBMISSION]: "submission", [KIND.BEGIN]: "range", [KIND.MARK]: "mark", [KIND.GPU]: "GPU work"};

function lengthOf(events, e) {
	return Number.isNaN(events.end[e]) ? "did not return" : inTime(events.end[e] - events.begin[e]);
}

/* Two lines for the tooltip. */
function brief(events, e) {
	const kind = events.kind[e], more = [KIND_WORDS[kind]];

	if (kind === KIND.CALL || kind === KIND.BEGIN || kind === KIND.GPU)
		more.push(kind === KIND.GPU && events.flag[e] ? "too short to measure"
			: kind === KIND.BEGIN && Number.isNaN(events.end[e]) ? "did not end" : lengthOf(events, e));
	if (kind === KIND.SUBMISSION)
		more.push(inBytes(events.bytes[e]) + " of commands", events.names[events.name[e]]);
	more.push(`at ${inSeconds(events.begin[e])}`);
	return h("div", {}, h("h4", {}, events.title(e)), h("p", {}, more.join(" · ")));
}

class Panel {
	/* DETAILS: packs of lines, indexed by the event's detail number; GO shows a submission in the stream. */
	constructor(events, go) {
		this.events = events;
		this.details = packs("details");
		this.texts = new Map();
		this.go = go;
		this.box = $("panel");
		this.empty();
	}

	empty() {
		this.box.replaceChildren(h("p", {class: "note"}, "w and s zoom, a and d move, Ctrl + wheel zooms at the pointer. Click a slice for details; drag to select a time range, for which By API, By kernel and Copies are then recomputed. ? shows all keys."));
	}

	async detailOf(e) {
		const line = this.events.detail[e];
		const pack = line < 0 ? null : this.details.find((p) => line < Number(p.dataset.at) + Number(p.dataset.items));

		if (!pack)
			return "";
		if (!this.texts.has(pack)) {
			if (this.texts.size > 8)
				this.texts.delete(this.texts.keys().next().value);
			this.texts.set(pack, (await unpack(pack)).split("\n"));
		}
		return this.texts.get(pack)[line - Number(pack.dataset.at)] || "";
	}

	pairs(list) {
		return h("dl", {}, ...list.filter((p) => p && p[1] !== "" && p[1] !== null)
			.map(([name, value, long]) => h("div", {class: long ? "long" : ""}, h("dt", {}, name), h("dd", {}, value))));
	}

	factsOf(e, detail) {
		const ev = this.events, kind = ev.kind[e], name = (n) => ev.names[n];
		const list = [["kind", KIND_WORDS[kind]], ["begin", inSeconds(ev.begin[e])]];

		if (ev.processes.length > 1)
			list.push(["process", ev.processes[ev.process[e]].name]);
		if (kind === KIND.CALL)
			list.push(["host time", lengthOf(ev, e)], ["thread", ev.tracks[ev.track[e]].name],
				["submissions", grouped(ev.entries[e])], ["kernel", name(ev.x[e]), true], ["arguments", detail, true]);
		else if (kind === KIND.SUBMISSION)
			list.push(["channel", ev.tracks[ev.track[e]].name], ["operations", name(ev.x[e])], ["command bytes", grouped(ev.bytes[e])],
				["entries", grouped(ev.entries[e])], ["entries not seen done", ev.pending[e] < 0 ? "unknown" : grouped(ev.pending[e])],
				["seen done", Number.isNaN(ev.seen[e]) ? "unknown" : `at most ${inTime(ev.seen[e] - ev.begin[e])} later`],
				["api", name(ev.name[e])], ["call site", detail === name(ev.name[e]) ? "" : detail, true]);
		else if (kind === KIND.GPU)
			list.push(["GPU time", ev.flag[e] ? "too short to measure" : lengthOf(ev, e)], ["channel", label(ev.tracks[ev.track[e]].process, ev.tracks[ev.track[e]]).slice("GPU: ".length)],
				["clock error", inTime(ev.bytes[e])], ["note", detail, true]);
		else
			list.push(["length", kind === KIND.MARK ? "" : Number.isNaN(ev.end[e]) ? "did not end" : lengthOf(ev, e)],
				["domain", name(ev.x[e])], ["thread", label(ev.tracks[ev.track[e]].process, ev.tracks[ev.track[e]]).slice("NVTX of ".length)], ["more", detail, true]);
		return list;
	}

	async show(e, timeline) {
		const ev = this.events, detail = await this.detailOf(e);

		if (timeline.chosen !== e)
			return;
		const tools = h("div", {class: "tools"});
		const numbers = new Set();

		for (const i of [e, ...timeline.flowOf(e)]) {
			const kind = ev.kind[i];

			if (kind === KIND.CALL && i !== e)
				tools.append(h("button", {type: "button", onclick: () => timeline.reveal(i)}, `Call: ${ev.names[ev.name[i]]}`));
			else if (kind === KIND.GPU && i !== e)
				tools.append(h("button", {type: "button", onclick: () => timeline.reveal(i)}, `GPU: ${lengthOf(ev, i)}`));
			if ((kind === KIND.SUBMISSION || kind === KIND.GPU) && numbers.size < 8 && !numbers.has(ev.number[i])) {
				numbers.add(ev.number[i]);
				tools.append(h("button", {type: "button", class: "go", onclick: () => this.go(ev.process[i] + 1, ev.number[i])},
					`#${ev.number[i]} in the stream`));
			}
		}
		tools.append(h("button", {type: "button", onclick: () => timeline.zoomTo(e)}, "Zoom to it (f)"),
			h("button", {type: "button", onclick: () => { $("find").value = ev.names[ev.name[e]]; timeline.find($("find").value); }}, "Find all"));
		this.box.replaceChildren(h("h3", {}, ev.title(e)), this.pairs(this.factsOf(e, detail)), tools);
	}

	/* A time range: events that begin in it, by name, and the command that reports them. */
	stretch([from, to], timeline) {
		const ev = this.events, sums = new Map();

		for (let e = 0; e < ev.n; e++) {
			if (ev.begin[e] < from || ev.begin[e] >= to)
				continue;
			const key = `${ev.kind[e]} ${ev.name[e]}`;
			const sum = sums.get(key) || {kind: ev.kind[e], name: ev.names[ev.name[e]], n: 0, ns: 0, bytes: 0};

			sum.n++;
			if (ev.kind[e] === KIND.SUBMISSION)
				sum.bytes += ev.bytes[e];
			else if (!Number.isNaN(ev.end[e]))
				sum.ns += ev.end[e] - ev.begin[e];
			sums.set(key, sum);
		}
		const list = [...sums.values()].sort((a, b) => a.kind - b.kind || b.ns - a.ns || b.bytes - a.bytes);
		const body = h("tbody", {}, ...list.slice(0, 40).map((s) => h("tr", {}, h("td", {}, KIND_WORDS[s.kind]), h("td", {class: "name"}, s.name),
			h("td", {class: "num"}, grouped(s.n)), h("td", {class: "num"}, s.kind === KIND.SUBMISSION ? "–" : inTime(s.ns)),
			h("td", {class: "num"}, s.kind === KIND.SUBMISSION ? grouped(s.bytes) : "–"))));
		const one = ev.processes.length === 1;

		this.box.replaceChildren(h("h3", {}, `${inTime(to - from)} from ${inSeconds(from)}`),
			h("div", {class: "tools"}, h("button", {type: "button", onclick: () => timeline.show(from, to)}, "Zoom to it (f)"),
				h("button", {type: "button", onclick: () => timeline.choose(-1)}, "Clear selection")),
			list.length ? h("div", {class: "frame"}, h("table", {}, h("thead", {}, h("tr", {}, ...["kind", "name", "count", "time", "command bytes"]
				.map((t, i) => h("th", {scope: "col", class: i > 1 ? "num" : ""}, h("button", {type: "button", tabindex: "-1"}, t))))), body))
				: h("p", {class: "note"}, "No event begins in this range."),
			one ? commandLine(reportCommand(`${rangeOption([from, to])} --timeline`)) : "");
	}
}
