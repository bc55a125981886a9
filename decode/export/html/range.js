/* SPDX-License-Identifier: MIT */
/* By API, By kernel and Copies of a time range, counted from the events of the timeline. As --range does, it selects
 * calls and submissions that begin in it. */

const RANGED = {"by-api": "api calls failed captured not_returned host_us_total host_us_mean host_us_max submissions entries command_bytes command_bytes_per_submission threads channels submissions_percent",
	"by-kernel": "kernel launches launches_percent direct graph_captured graph_built graph_unknown graph_conditional captured failed gpu_us_total gpu_timed submissions command_bytes command_bytes_per_launch host_us_total host_us_mean",
	memcpy: "direction memory mode size_class_bytes calls failed copied_bytes host_us_mean host_gb_per_s from_gpu to_gpu"};

/* Rows by key, in order of their first use. */
class Rows {
	constructor(make) {
		this.map = new Map();
		this.make = make;
	}

	at(key) {
		if (!this.map.has(key))
			this.map.set(key, this.make(key));
		return this.map.get(key);
	}

	get list() { return [...this.map.values()]; }
}

const newTimes = () => ({calls: 0, failed: 0, captured: 0, ns: 0, host_us_max: null, timed: 0, submissions: 0, entries: 0, command_bytes: 0});

function addTime(row, ns) {
	row.timed++;
	row.ns += ns;
	row.host_us_max = Math.max(row.host_us_max || 0, ns / 1000);
}

function setTimes(row) {
	row.host_us_total = row.timed ? row.ns / 1000 : null;
	row.host_us_mean = row.timed ? row.ns / 1000 / row.timed : null;
}

function apisOf(events, calls, submissions) {
	const rows = new Rows((name) => ({api: events.names[name], not_returned: 0, own: new Set(), on: new Set(), ...newTimes()}));

	for (const e of calls) {
		const row = rows.at(events.name[e]);

		row.calls++;
		row.failed += Number((events.flag[e] & FLAG.FAILED) > 0);
		row.captured += Number((events.flag[e] & FLAG.CAPTURED) > 0);
		if (Number.isNaN(events.end[e]))
			row.not_returned++;
		else
			addTime(row, events.end[e] - events.begin[e]);
	}
	for (const e of submissions) {
		const row = rows.at(events.name[e]);

		row.submissions++;
		row.entries += events.entries[e];
		row.command_bytes += events.bytes[e];
		row.own.add(events.process[e] * 2 ** 32 + events.thread[e]);
		row.on.add(events.track[e]);
	}
	for (const row of rows.list) {
		setTimes(row);
		if (!row.calls) /* began before the range */
			row.calls = row.failed = row.captured = row.not_returned = null;
		Object.assign(row, {threads: row.own.size, channels: row.on.size, submissions_percent: submissions.length ? 100 * row.submissions / submissions.length : 0,
			command_bytes_per_submission: row.submissions ? row.command_bytes / row.submissions : 0});
	}
	return rows.list.sort((a, b) => (b.not_returned > 0) - (a.not_returned > 0) || b.ns - a.ns || b.command_bytes - a.command_bytes);
}

const NODE_COLUMNS = ["graph_captured", "graph_built", "graph_unknown", "graph_conditional"];

/* Adds the kernels of the graphs that were launched; returns how many launches are of graphs that are not on the page. */
function addGraphs(events, rows, [from, to]) {
	const launched = new Map();

	for (let i = 0; i < events.launches.length; i += 2)
		if (events.begin[events.launches[i]] >= from && events.begin[events.launches[i]] < to)
			launched.set(events.launches[i + 1], (launched.get(events.launches[i + 1]) || 0) + 1);
	for (const [version, n] of launched) {
		const nodes = events.graphs[version] || [];

		for (let i = 0; i < nodes.length; i += 3)
			rows.at(nodes[i])[NODE_COLUMNS[nodes[i + 2]]] += n * nodes[i + 1];
	}
	return launched.get(0) || 0;
}

function kernelsOf(events, calls, submissions, range) {
	const [from, to] = range;
	const rows = new Rows((name) => ({kernel: events.names[name] || "–", direct: 0, graph_captured: 0, graph_built: 0, graph_unknown: 0, graph_conditional: 0, gpu: 0, gpu_timed: 0, ...newTimes()}));
	const launched = (e) => e >= 0 && (events.flag[e] & FLAG.LAUNCHES) > 0;
	const fails = (e) => (events.flag[e] & FLAG.FAILED) > 0 || Number.isNaN(events.end[e]);

	for (const e of calls.filter(launched)) {
		const row = rows.at(events.x[e]);

		if (fails(e)) {
			row.failed++;
		} else if (events.flag[e] & FLAG.CAPTURED) {
			row.captured++;
		} else {
			row.direct++;
			addTime(row, events.end[e] - events.begin[e]);
		}
	}
	for (const e of submissions) {
		const call = events.callOf(e);

		if (!launched(call) || fails(call))
			continue;
		const row = rows.at(events.x[call]);

		row.submissions++;
		row.command_bytes += events.bytes[e];
	}
	for (let e = 0; e < events.n; e++) {
		const own = events.kind[e] === KIND.GPU ? events.submission(events.process[e] + 1, events.number[e]) : undefined;
		const call = own !== undefined && events.begin[own] >= from && events.begin[own] < to ? events.callOf(own) : -1;

		if (!launched(call) || events.names[events.name[e]] !== events.names[events.x[call]])
			continue;
		const row = rows.at(events.x[call]);

		row.gpu_timed++;
		row.gpu += events.end[e] - events.begin[e];
	}
	const unknown = addGraphs(events, rows, range);
	const count = (row) => row.direct + row.graph_captured + row.graph_built + row.graph_unknown, all = rows.list.reduce((sum, row) => sum + count(row), 0);

	for (const row of rows.list) {
		setTimes(row);
		Object.assign(row, {launches: count(row), launches_percent: all ? 100 * count(row) / all : 0, gpu_us_total: row.gpu_timed ? row.gpu / 1000 : null, gpu_timed: row.gpu_timed || null,
			command_bytes_per_launch: row.direct ? row.command_bytes / row.direct : null});
	}
	return Object.assign(rows.list.sort((a, b) => b.gpu - a.gpu || b.launches - a.launches), {unknown});
}

function copiesOf(events, [from, to]) {
	const list = events.copies, rows = new Rows((name) => {
		const [direction, memory, mode, size, source, target] = events.names[name].split("|"), gpu = (n) => Number(n) < 0 ? null : Number(n);

		return {direction: direction || null, memory: memory || null, mode: mode || null, size_class_bytes: Number(size) || null, copied_bytes: 0,
			from_gpu: gpu(source), to_gpu: gpu(target), doneBytes: 0, doneNs: 0, ...newTimes()};
	});

	for (let i = 0; i < list.length; i += 4) {
		const [e, name, bytes, done] = list.slice(i, i + 4);

		if (events.begin[e] < from || events.begin[e] >= to)
			continue;
		const row = rows.at(name), ns = events.end[e] - events.begin[e];

		if (Number.isNaN(ns) || events.flag[e] & FLAG.FAILED) {
			row.failed++;
			continue;
		}
		row.calls++;
		row.copied_bytes += bytes;
		addTime(row, ns);
		if (done) {
			row.doneBytes += bytes;
			row.doneNs += ns;
		}
	}
	for (const row of rows.list) {
		setTimes(row);
		row.host_gb_per_s = row.doneNs ? row.doneBytes / row.doneNs : null;
		row.copied_bytes = row.size_class_bytes || !row.calls ? row.copied_bytes : null;
	}
	return rows.list.sort((a, b) => b.ns - a.ns);
}

function rowsInRange(events, range) {
	const calls = [], submissions = [], [from, to] = range;

	for (let e = 0; e < events.n; e++)
		if (events.begin[e] >= from && events.begin[e] < to)
			if (events.kind[e] === KIND.CALL)
				calls.push(e);
			else if (events.kind[e] === KIND.SUBMISSION)
				submissions.push(e);
	return {"by-api": apisOf(events, calls, submissions), "by-kernel": kernelsOf(events, calls, submissions, range), memcpy: copiesOf(events, range)};
}

const rangeOption = ([from, to]) => `--range=${plainSeconds(from)}-${plainSeconds(to)}`;

/* Restricts the tables to RANGE; null: the whole run again. */
function restrictTables(events, range, clear) {
	const rows = range && rowsInRange(events, range), one = events.processes.length === 1;

	for (const [report, keys] of Object.entries(RANGED)) {
		const table = view.tables.find((t) => t.info.report === report), note = $(report) && $(report).querySelector(".ranged");

		if (!table)
			continue;
		table.restrict(rows && rows[report], keys.split(" "));
		note.hidden = !range;
		if (range)
			note.replaceChildren(h("p", {}, h("b", {}, `Only ${inTime(range[1] - range[0])} from ${inSeconds(range[0])}`),
				rows[report].unknown ? `, without the kernels of ${many(rows[report].unknown, "graph launch", "graph launches")}` : "", " ",
				h("button", {type: "button", onclick: clear}, "Whole run")), one ? commandLine(reportCommand(`${rangeOption(range)} --${report}`)) : "");
	}
}
