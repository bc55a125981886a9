/* SPDX-License-Identifier: MIT */
/*
 * Events of the timeline, read from the packs of timeline.c into columns of numbers, and its
 * tracks. A track consists of lanes in which events do not overlap. A lane is sorted and has prefix sums, so
 * that the busy time of any range costs two binary searches.
 */

const KIND = {PROCESS: 1, THREAD: 2, CHANNEL: 3, CALL: 4, SUBMISSION: 5, RELEASE: 6, BEGIN: 7, END: 8, MARK: 9, GPU: 10, MEMORY: 11, GROUP: 12, COPY: 13, NODES: 14, GRAPH: 15};
const FLAG = {FAILED: 1, CAPTURED: 2, LAUNCHES: 4}; /* of calls */
const MOST_LANES = 24;

/* How many numbers follow the kind of each event; and which kinds begin with a time. */
const TAKES = [0, 3, 2, 2, 8, 10, 3, 6, 3, 4, 8, 2, 2, 3, 4, 1];
const isTimed = (kind) => kind > KIND.CHANNEL && kind < KIND.GROUP;

/* What an event does, which decides its colour: words, hue, groups of entry points. */
const SORTS = [["kernels", 0, "launch", "graph-launch"], ["copies, memsets", 2, "copy", "memset"], ["memory", 1, "memory"], ["waits", 4, "sync"],
	["contexts, modules", 9, "context", "module", "resolve"], ["graphs, capture", 5, "graph", "capture"], ["streams, events", 6, "stream", "event", "host"],
	["NVTX ranges", 7], ["other", 8]];
const RANGES = SORTS.length - 2, OTHER = SORTS.length - 1;

function sortOfGroup(group) {
	const sort = SORTS.findIndex((s) => s.includes(group, 2));

	return sort < 0 ? OTHER : sort;
}

/* Of a submission's operations, or the name of GPU work: "2 kernels", "copy HtoD", "step(float*)". */
function sortOfWork(words) {
	if (words === "" || /^(\d+ )?(upload|acquire|release)s?\b/.test(words))
		return OTHER;
	return /^copy( \w+)?$|^(\d+ )?((engine|inline|macro) cop(y|ies)|memsets?)\b/.test(words) ? 1 : 0;
}

class Events {
	/* ROOM: expected number of events. */
	constructor(names, room) {
		this.names = [""].concat(names);
		this.room = Math.max(2048, room);
		this.n = 0;
		this.details = 0;
		this.grow();
		this.processes = [];
		this.tracks = [];
		this.begun = new Map();
		this.waiting = new Map(); /* flow: the latest submission of a call that has not come */
		this.sorts = new Uint8Array(this.names.length).fill(OTHER); /* of entry points, by name */
		this.copies = []; /* four numbers for each: its call, its kind (a name), bytes, done at its return */
		this.graphs = [[]]; /* three numbers for each run of equal kernels: name, how many, NODE_COLUMNS; by version */
		this.launches = []; /* two numbers for each: its call, the version */
		this.last = 0;
		this.first = Infinity;
	}

	/* BEGIN and END in ns; X: name of the kernel, or of a submission's operations; FLOW: number of its call. */
	grow() {
		const room = this.n ? this.room * 2 : this.room;

		for (const [key, Type] of [["kind", Uint8Array], ["begin", Float64Array], ["end", Float64Array],
			["name", Uint32Array], ["x", Uint32Array], ["flow", Float64Array], ["number", Float64Array],
			["bytes", Float64Array], ["entries", Uint32Array], ["pending", Int32Array], ["flag", Uint8Array],
			["detail", Int32Array], ["track", Uint32Array], ["process", Uint16Array], ["seen", Float64Array], ["thread", Uint32Array], ["call", Int32Array]]) {
			const grown = new Type(room);

			if (this[key])
				grown.set(this[key]);
			this[key] = grown;
		}
		this.room = room;
	}

	add(kind, track, begin, length, name) {
		if (this.n === this.room)
			this.grow();
		const i = this.n++;

		this.kind[i] = kind;
		this.begin[i] = begin;
		this.end[i] = length < 0 ? NaN : begin + length;
		this.name[i] = name;
		this.detail[i] = -1;
		this.pending[i] = -1;
		this.seen[i] = NaN;
		this.call[i] = -1;
		this.process[i] = this.processes.length - 1;
		this.track[i] = track.index;
		track.events.push(i);
		this.last = Math.max(this.last, begin + Math.max(0, length));
		this.first = Math.min(this.first, begin);
		return i;
	}

	trackOf(kind, id) {
		const p = this.processes[this.processes.length - 1], key = 4 * id + ORDER[kind];
		let track = p.tracks.get(key);

		if (!track) {
			const name = `${kind} ${id}`;

			track = {kind, id, events: [], process: p, index: this.tracks.length, name: p.named.get(name) || name};
			p.tracks.set(key, track);
			this.tracks.push(track);
		}
		return track;
	}

	/* Parses integers, each followed by a comma. */
	numbers(bytes) {
		const most = bytes.length >> 1, v = this.v = this.v && this.v.length >= most ? this.v : new Float64Array(most);
		let n = 0, sum = 0, sign = 1;

		for (let i = 0; i < bytes.length; i++) {
			const c = bytes[i];

			if (c === 44) {
				v[n++] = sign * sum;
				sum = 0;
				sign = 1;
			} else if (c === 45)
				sign = -1;
			else
				sum = 10 * sum + c - 48;
		}
		return n;
	}

	/* Reads a pack; times are relative to the start of the pack. */
	read(bytes) {
		const n = this.numbers(bytes), v = this.v;
		let at = 0;

		for (let i = 0; i < n; i += 1 + TAKES[v[i]]) {
			if (isTimed(v[i]))
				at += v[v[i] === KIND.MEMORY ? i + 1 : i + 2];
			this.take(v, i, at);
		}
	}

	take(v, i, at) {
		const p = this.processes[this.processes.length - 1];
		let e;

		switch (v[i]) {
		case KIND.PROCESS:
			this.processes.push({pid: v[i + 1], name: this.names[v[i + 2]], end: v[i + 3], tracks: new Map(), named: new Map(), submissions: [], memory: []});
			this.waiting.clear();
			break;
		case KIND.THREAD:
			p.named.set(`thread ${v[i + 1]}`, this.names[v[i + 2]]);
			break;
		case KIND.CHANNEL:
			p.named.set(`channel ${v[i + 1]}`, this.names[v[i + 2]]);
			break;
		case KIND.CALL:
			e = this.add(KIND.CALL, this.trackOf("thread", v[i + 1]), at, v[i + 3], v[i + 4]);
			this.x[e] = v[i + 5];
			this.flag[e] = v[i + 6];
			this.flow[e] = v[i + 7];
			this.setCall(e, v[i + 7]);
			this.entries[e] = v[i + 8];
			this.detail[e] = this.details++;
			break;
		case KIND.SUBMISSION:
			e = this.add(KIND.SUBMISSION, this.trackOf("channel", v[i + 1]), at, 0, v[i + 3]);
			this.flow[e] = v[i + 4];
			if (v[i + 4])
				this.chainToCall(e, v[i + 4]);
			this.number[e] = v[i + 5];
			this.thread[e] = v[i + 6];
			this.entries[e] = v[i + 7];
			this.bytes[e] = v[i + 8];
			this.pending[e] = v[i + 9];
			this.x[e] = v[i + 10];
			this.flag[e] = 0;
			this.detail[e] = this.details++;
			p.submissions[v[i + 5]] = e;
			break;
		case KIND.RELEASE:
			e = p.submissions[v[i + 3]];
			if (e !== undefined)
				this.seen[e] = at;
			this.last = Math.max(this.last, at);
			break;
		case KIND.BEGIN:
			e = this.add(KIND.BEGIN, this.trackOf("range", v[i + 1]), at, -1, v[i + 3]);
			this.x[e] = v[i + 4];
			this.flag[e] = v[i + 6];
			this.detail[e] = this.details++;
			this.begun.set(v[i + 5], e);
			break;
		case KIND.END:
			e = this.begun.get(v[i + 3]);
			this.begun.delete(v[i + 3]);
			if (e !== undefined)
				this.end[e] = at;
			this.last = Math.max(this.last, at);
			break;
		case KIND.MARK:
			e = this.add(KIND.MARK, this.trackOf("range", v[i + 1]), at, 0, v[i + 3]);
			this.x[e] = v[i + 4];
			this.detail[e] = this.details++;
			break;
		case KIND.GPU:
			e = this.add(KIND.GPU, this.trackOf("work", v[i + 1]), at, v[i + 3], v[i + 4]);
			this.flow[e] = v[i + 5];
			this.number[e] = v[i + 6];
			this.bytes[e] = v[i + 7];
			this.flag[e] = v[i + 8];
			this.detail[e] = this.details++;
			break;
		case KIND.MEMORY:
			p.memory.push(at, v[i + 2]);
			this.last = Math.max(this.last, at);
			break;
		case KIND.GROUP:
			this.sorts[v[i + 1]] = sortOfGroup(this.names[v[i + 2]]);
			break;
		case KIND.COPY:
			this.copies.push(this.n - 1, v[i + 1], v[i + 2], v[i + 3]);
			break;
		case KIND.NODES:
			(this.graphs[v[i + 1]] = this.graphs[v[i + 1]] || []).push(v[i + 2], v[i + 3], v[i + 4]);
			break;
		case KIND.GRAPH:
			this.launches.push(this.n - 1, v[i + 1]);
		}
	}

	/* All packs were read: what did not end lasts until its process was last seen. */
	finish() {
		this.v = null;
		for (let e = 0; e < this.n; e++)
			if (Number.isNaN(this.end[e]))
				this.last = Math.max(this.last, this.until(e));
	}

	/* A submission comes before the record of its call. Until then CALL chains those of one flow: -2 - the one before. */
	chainToCall(e, flow) {
		const before = this.waiting.get(flow);

		this.call[e] = before === undefined ? -1 : -2 - before;
		this.waiting.set(flow, e);
	}

	setCall(call, flow) {
		for (let e = this.waiting.get(flow) ?? -1; e >= 0;) {
			const before = -2 - this.call[e];

			this.call[e] = call;
			e = before;
		}
		this.waiting.delete(flow);
	}

	/* The call of a submission or of GPU work; -1: unknown. */
	callOf(e) {
		const submission = this.kind[e] === KIND.GPU ? this.submission(this.process[e] + 1, this.number[e]) : e;

		return submission === undefined ? -1 : Math.max(-1, this.call[submission]);
	}

	/* Index in SORTS. */
	sort(e) {
		const kind = this.kind[e];

		if (kind === KIND.BEGIN || kind === KIND.MARK)
			return RANGES;
		if (kind === KIND.CALL)
			return this.sorts[this.name[e]];
		const name = kind === KIND.GPU ? this.name[e] : this.x[e];

		this.works = this.works || new Int8Array(this.names.length).fill(-1);
		if (this.works[name] < 0)
			this.works[name] = this.sorts[name] < OTHER ? this.sorts[name] : sortOfWork(this.names[name]);
		return this.works[name];
	}

	submission(process, number) {
		const p = this.processes[process - 1];

		return p && p.submissions[number];
	}

	/* Text to search: the name, and the kernel of a launch. */
	words(e) {
		const name = this.names[this.name[e]];

		return this.x[e] && this.kind[e] === KIND.CALL ? `${name} ${this.names[this.x[e]]}` : name;
	}

	/* Text in the box of an event. */
	title(e) {
		const kind = this.kind[e];

		if (kind === KIND.SUBMISSION)
			return `#${this.number[e]} ${this.names[this.x[e]] || this.names[this.name[e]]}`;
		return kind === KIND.CALL && this.x[e] ? `${this.names[this.name[e]]}: ${this.names[this.x[e]]}` : this.names[this.name[e]];
	}
}
/* ---- lanes ---- */

class Lane {
	constructor(events, list) {
		const n = list.length;

		this.ids = new Uint32Array(list);
		this.begin = new Float64Array(n);
		this.end = new Float64Array(n);
		this.sum = new Float64Array(n + 1);
		for (let i = 0; i < n; i++) {
			this.begin[i] = events.begin[list[i]];
			this.end[i] = events.until(list[i]);
			this.sum[i + 1] = this.sum[i] + this.end[i] - this.begin[i];
		}
	}

	/* Index of the first event that begins at T or later. */
	from(t, low = 0) {
		let high = this.begin.length;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.begin[middle] < t)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	/* Index of the first event that ends after T. */
	open(t) {
		const i = this.from(t);

		return i > 0 && this.end[i - 1] > t ? i - 1 : i;
	}
}

/* End of an event; one that did not end lasts until its process was last seen. */
Events.prototype.until = function (e) {
	if (!Number.isNaN(this.end[e]))
		return this.end[e];
	const {end} = this.processes[this.process[e]];

	return Math.max(end < 0 ? this.last : end, this.begin[e]);
};

/* Sorted by begin, enclosing events first; each goes into the first free lane. */
function layLanes(events, list) {
	const ids = new Uint32Array(list), lanes = [], ends = [], {begin} = events;
	const before = (a, b) => begin[a] - begin[b] || events.until(b) - events.until(a) || a - b;
	let i = 1;

	/* Most lists are sorted already. */
	while (i < ids.length && before(ids[i - 1], ids[i]) <= 0)
		i++;
	if (i < ids.length)
		ids.sort(before);
	for (const e of ids) {
		let lane = 0;

		while (lane < ends.length && lane < MOST_LANES - 1 && ends[lane] > events.begin[e])
			lane++;
		(lanes[lane] = lanes[lane] || []).push(e);
		ends[lane] = events.until(e);
	}
	return lanes.map((l) => new Lane(events, l));
}

const ORDER = {range: 0, thread: 1, work: 2, channel: 3};

/* Tracks of each process: threads with their ranges above them, then channels with the GPU work above them. */
function laidTracks(events) {
	const tracks = [];

	for (const p of events.processes) {
		const of = [...p.tracks.values()].sort((a, b) => {
			const x = ORDER[a.kind] < 2 ? 0 : 1, y = ORDER[b.kind] < 2 ? 0 : 1;

			return x - y || a.id - b.id || ORDER[a.kind] - ORDER[b.kind];
		});

		if (events.processes.length > 1)
			tracks.push({head: true, label: p.name, lanes: [], kind: "process"});
		if (p.memory.length > 2)
			tracks.push({kind: "memory", label: "device memory", counter: steps(endAt(p, p.memory)), scale: inBytes, lanes: []});
		const quiet = quietChannels(of);
		const group = quiet.size > 3 ? {head: true, group: true, label: `${quiet.size} quieter channels`, lanes: [], kind: "group"} : null;
		const laid = of.map((t) => ({kind: t.kind, label: label(p, t), lanes: layLanes(events, t.events), process: events.processes.indexOf(p), id: t.id,
			counter: t.kind === "channel" ? pendingOf(events, t) : null, scale: (n) => many(n, "entry", "entries"), in: group && quiet.has(t.id) && ORDER[t.kind] > 1 ? group : null}));

		tracks.push(...laid.filter((t) => !t.in), ...(group ? [group, ...laid.filter((t) => t.in)] : []));
	}
	return shorten(tracks);
}

/* If there are many channels: those with less than 2 % of the events of the busiest. */
function quietChannels(tracks) {
	const channels = tracks.filter((t) => t.kind === "channel"), most = Math.max(0, ...channels.map((t) => t.events.length));

	return new Set(channels.length > 6 ? channels.filter((t) => t.events.length * 50 < most).map((t) => t.id) : []);
}

function label(p, t) {
	if (t.kind === "range")
		return `NVTX of ${p.named.get(`thread ${t.id}`) || `thread ${t.id}`}`;
	return t.kind === "work" ? `GPU: ${p.named.get(`channel ${t.id}`) || `channel ${t.id}`}` : t.name;
}

/* Shortens "compute, channel 3, GPU 0, class c86f" to what distinguishes it from other tracks; further for narrow pages. */
function shorten(tracks) {
	const gpus = new Set(tracks.map((t) => (/, GPU \d+, class/.exec(t.label) || [""])[0]).filter(Boolean));

	for (const t of tracks) {
		t.plain = t.label.replace(gpus.size > 1 ? /, class [0-9a-f]{4}$/ : /(, GPU \d+)?, class [0-9a-f]{4}$/, "");
		t.short = t.plain.replace(/^(GPU: )?(\w[\w ]*), channel (\d+)/, "$1$2 ($3)").replace("device memory", "memory").replace(" quieter channels", " quieter");
	}
	return tracks;
}

function steps(flat) {
	const n = flat.length / 2, at = new Float64Array(n), value = new Float64Array(n);
	let most = 0;

	for (let i = 0; i < n; i++) {
		at[i] = flat[2 * i];
		value[i] = flat[2 * i + 1];
		most = Math.max(most, value[i]);
	}
	return {at, value, most};
}

/* Entries of the ring not seen done, where known. */
function pendingOf(events, track) {
	const flat = [];

	for (const e of track.events)
		if (events.pending[e] >= 0)
			flat.push(events.begin[e], events.pending[e]);
	return flat.length > 2 ? steps(endAt(events.processes[events.process[track.events[0]]], flat)) : null;
}

/* Nothing is known after the process was last seen. */
function endAt({end}, flat) {
	return end >= flat[flat.length - 2] ? flat.concat(end, 0) : flat;
}

/*
 * COUNTER between the times FROM and TO as boxes [x, width, value] between the pixels LEFT and RIGHT. A pixel in
 * which it changes shows its maximum in that pixel; the next ones show the value that holds until the next change.
 */
function counterBoxes({at, value}, from, to, left, right) {
	const perPixel = (to - from) / (right - left), boxes = [];
	let i = lowerBound(at, from), level = i ? value[i - 1] : 0;

	for (let x = left; x < right && perPixel > 0;) {
		let high = level, next = x + 1;

		if (i < at.length && at[i] <= from + (next - left) * perPixel) {
			for (const end = from + (next - left) * perPixel; i < at.length && at[i] <= end; i++) {
				level = value[i];
				high = Math.max(high, level);
			}
		} else {
			next = i < at.length ? Math.max(next, Math.floor(left + (at[i] - from) / perPixel)) : right;
		}
		next = Math.min(next, right);
		boxes.push([x, next - x, high]);
		x = next;
	}
	return boxes;
}
