/* SPDX-License-Identifier: MIT */
/* The timeline: layout and drawing. moves.js has its navigation. */

const LANE = 17, GAP = 7, RULER = 22, HEAD = 24, COUNTER = 26, LEAST_NS = 20;

class Timeline {
	constructor(events, pick) {
		this.events = events;
		this.pick = pick; /* callback for a selected event or time range */
		this.tracks = laidTracks(events);
		this.folded = new Set(this.tracks.filter((t) => t.group));
		this.from = this.home = Math.min(0, events.first);
		this.to = this.end = Math.max(events.last * 1.005, this.from + 100);
		this.chosen = -1;
		this.marked = null;
		this.match = null;
		this.canvas = $("canvas");
		this.map = $("map");
		this.place();
		this.listen();
		new ResizeObserver(() => { this.place(); this.draw(); }).observe($("tracks"));
	}

	/* Computes the positions of tracks. */
	place() {
		this.width = $("tracks").clientWidth;
		this.gutter = this.width < 700 ? 92 : 190;
		let y = RULER;

		for (const t of this.tracks) {
			t.y = y;
			t.hidden = Boolean(t.in) && this.folded.has(t.in);
			t.above = t.counter && !this.folded.has(t) ? COUNTER : 0;
			t.height = t.hidden ? 0 : t.head ? HEAD : t.above + (this.folded.has(t) ? LANE : t.lanes.length * LANE) + GAP;
			y += t.height;
		}
		this.height = Math.max(y + 4, 60);
		this.canvas.style.height = `${this.height}px`;
	}

	x(t) { return this.gutter + (t - this.from) / (this.to - this.from) * (this.width - this.gutter); }
	at(x) { return this.from + (x - this.gutter) / (this.width - this.gutter) * (this.to - this.from); }

	/* ---- drawing ---- */

	later() {
		if (!this.asked)
			this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw(); });
	}

	draw() {
		const began = performance.now(), g = fitCanvas(this.canvas, this.width, this.height);

		g.clearRect(0, 0, this.width, this.height);
		g.font = "11px system-ui, -apple-system, sans-serif";
		g.textBaseline = "middle";
		this.drawGrid(g);
		g.save();
		g.beginPath();
		g.rect(this.gutter, RULER, this.width - this.gutter, this.height);
		g.clip();
		for (const t of this.tracks)
			if (!t.hidden)
				this.drawTrack(g, t);
		this.drawFlow(g);
		this.drawMarked(g);
		g.restore();
		this.drawLabels(g);
		this.drawMap();
		$("span").textContent = `${inTime(this.to - this.from)} from ${inSeconds(Math.max(0, this.from))}`;
		this.took = performance.now() - began;
	}

	drawGrid(g) {
		const room = this.width - this.gutter, wanted = (this.to - this.from) / Math.max(2, room / 130);
		const power = 10 ** Math.floor(Math.log10(wanted)), step = [1, 2, 5, 10].find((n) => n * power >= wanted) * power;

		g.fillStyle = ink.dim;
		for (let t = Math.ceil(this.from / step) * step; t < this.to; t += step) {
			const x = Math.round(this.x(t)) + 0.5;

			if (x < this.gutter)
				continue;
			g.strokeStyle = ink.faint;
			g.beginPath();
			g.moveTo(x, RULER - 6);
			g.lineTo(x, this.height);
			g.stroke();
			const words = this.tick(t, step);

			if (x + 4 + g.measureText(words).width < this.width)
				g.fillText(words, x + 4, 10);
		}
		g.strokeStyle = ink.line;
		g.beginPath();
		g.moveTo(0, RULER - 0.5);
		g.lineTo(this.width, RULER - 0.5);
		g.stroke();
	}

	tick(t, step) {
		const unit = step >= 1e8 ? [1e9, "s"] : step >= 1e5 ? [1e6, "ms"] : step >= 100 ? [1e3, "µs"] : [1, "ns"];

		return `${(t / unit[0]).toFixed(Math.max(0, Math.ceil(-Math.log10(step / unit[0]) - 1e-9)))} ${unit[1]}`;
	}

	drawTrack(g, t) {
		const visible = $("tracks");

		if (t.y > visible.scrollTop + visible.clientHeight + 400 && !this.printing)
			return;
		if (t.above || t.kind === "memory")
			this.drawCounter(g, t);
		t.lanes.forEach((lane, i) => {
			if (!this.folded.has(t) || i === 0)
				this.drawLane(g, lane, t.y + t.above + i * LANE);
		});
	}

	drawCounter(g, t) {
		const base = t.y + COUNTER - 2, rise = (COUNTER - 6) / Math.max(1, t.counter.most);

		g.fillStyle = ink.hue[t.kind === "memory" ? 1 : 8];
		for (const [x, width, value] of counterBoxes(t.counter, this.from, this.to, this.gutter, this.width))
			if (value > 0)
				g.fillRect(x, base - value * rise, width, value * rise);
	}

	drawLane(g, lane, y) {
		const {begin, end, ids, sum} = lane, n = begin.length;
		const scale = (this.width - this.gutter) / (this.to - this.from), pixel = 1 / scale;

		for (let i = lane.open(this.from); i < n && begin[i] < this.to;) {
			const x0 = this.x(begin[i]), x1 = this.x(end[i]);

			if (x1 - x0 >= 1.5) {
				this.drawBox(g, ids[i], Math.max(x0, this.gutter - 2), Math.min(x1, this.width + 2), y);
				i++;
				continue;
			}
			/* All events that begin in this pixel, up to a wider one. */
			let j = lane.from(begin[i] + pixel, i + 1);

			if (j - i > 1 && (end[j - 1] - begin[j - 1]) * scale >= 1.5)
				j--;
			this.drawSpeck(g, ids[i], x0, y, j - i, (sum[j] - sum[i]) * scale, ids, i, j);
			i = j;
		}
	}

	/* DEEP: a dark colour, for events too thin to see in a light one. */
	shade(e, deep) {
		return this.events.kind[e] === KIND.CALL && this.events.flag[e] ? ink.bad : (deep ? ink.deep : ink.hue)[this.hue(e)];
	}

	hue(e) {
		const ev = this.events, name = ev.x[e] && ev.kind[e] !== KIND.BEGIN && ev.kind[e] !== KIND.MARK ? ev.x[e] : ev.name[e];

		this.hues = this.hues || new Int8Array(ev.names.length).fill(-1);
		if (this.hues[name] < 0)
			this.hues[name] = hueOf(ev.names[name].replace(/\d+/g, ""));
		return this.hues[name];
	}

	drawSpeck(g, e, x, y, count, busy, ids, i, j) {
		let shown = e;

		for (let k = i; this.match && k < j && k < i + 64; k++)
			if (this.match[ids[k]])
				shown = ids[k];
		const dim = this.match && !this.match[shown];

		g.globalAlpha = dim ? 0.15 : count === 1 || !busy ? 0.9 : Math.max(0.4, Math.min(1, busy));
		g.fillStyle = this.shade(shown, true);
		g.fillRect(x, y + 1, count > 1 ? 1.2 : 1.5, LANE - 3);
		g.globalAlpha = 1;
		if (this.chosen >= 0 && ids.subarray(i, j).includes(this.chosen))
			this.outline(g, x - 1, y, 4);
	}

	drawBox(g, e, x0, x1, y) {
		const width = Math.max(1, x1 - x0 - 0.6), dim = this.match && !this.match[e];

		g.globalAlpha = dim ? 0.25 : Number.isNaN(this.events.end[e]) ? 0.6 : 1;
		g.fillStyle = this.shade(e);
		g.fillRect(x0, y + 1, width, LANE - 3);
		g.globalAlpha = dim ? 0.5 : 1;
		if (width > 26) {
			g.fillStyle = this.events.flag[e] && this.events.kind[e] === KIND.CALL ? ink.paper : ink.onHue;
			g.fillText(cut(g, this.events.title(e), width - 8), x0 + 4, y + LANE / 2);
		}
		g.globalAlpha = 1;
		if (e === this.chosen)
			this.outline(g, x0, y, width);
	}

	outline(g, x, y, width) {
		g.strokeStyle = ink.text;
		g.lineWidth = 2;
		g.strokeRect(x, y + 1, width, LANE - 3);
		g.lineWidth = 1;
	}

	drawLabels(g) {
		g.fillStyle = ink.panel;
		g.fillRect(0, RULER, this.gutter, this.height);
		g.strokeStyle = ink.line;
		g.beginPath();
		g.moveTo(this.gutter - 0.5, 0);
		g.lineTo(this.gutter - 0.5, this.height);
		g.stroke();
		for (const t of this.tracks.filter((one) => !one.hidden)) {
			const folds = t.group || t.lanes.length > 1 || t.above || this.folded.has(t);
			const middle = t.y + (t.head ? HEAD / 2 : t.above ? COUNTER / 2 + 4 : t.kind === "memory" ? COUNTER / 2 : LANE / 2);

			g.fillStyle = t.head && !t.group ? ink.text : ink.dim;
			g.font = `${t.head && !t.group ? "600 " : ""}11.5px system-ui, -apple-system, sans-serif`;
			if (folds)
				g.fillText(this.folded.has(t) ? "▸" : "▾", 6, middle);
			g.fillText(cut(g, this.gutter < 100 ? t.short : t.plain, this.gutter - 26), t.head && !t.group ? 8 : 19, middle);
			g.strokeStyle = ink.faint;
			g.beginPath();
			g.moveTo(0, Math.round(t.y + t.height - 3) + 0.5);
			g.lineTo(this.width, Math.round(t.y + t.height - 3) + 0.5);
			g.stroke();
		}
	}

	/* Arrows from a call to its submissions and their GPU work. */
	drawFlow(g) {
		const list = this.chosen >= 0 ? this.flowOf(this.chosen) : [];

		g.strokeStyle = ink.accent;
		g.lineWidth = 1.4;
		for (let i = 1; i < list.length && i < 200; i++) {
			const a = this.spot(list[0]), b = this.spot(list[i]);

			if (!a || !b)
				continue;
			const bend = Math.max(14, Math.abs(b.x - a.x) / 3);

			g.beginPath();
			g.moveTo(a.x, a.y);
			g.bezierCurveTo(a.x + bend, a.y, b.x - bend, b.y, b.x, b.y);
			g.stroke();
			g.beginPath();
			g.arc(b.x, b.y, 2.6, 0, 7);
			g.fillStyle = ink.accent;
			g.fill();
		}
		g.lineWidth = 1;
	}

	drawMarked(g) {
		if (!this.marked)
			return;
		const a = this.x(this.marked[0]), b = this.x(this.marked[1]);

		g.globalAlpha = 0.16;
		g.fillStyle = ink.accent;
		g.fillRect(a, RULER, b - a, this.height);
		g.globalAlpha = 1;
		g.fillRect(a, RULER, 1, this.height);
		g.fillRect(b, RULER, 1, this.height);
		const words = inTime(this.marked[1] - this.marked[0]);

		g.fillText(words, (a + b - g.measureText(words).width) / 2, RULER + 9);
	}

	/* The overview: the whole run, and the visible part of it. */
	drawMap() {
		const box = this.map.getBoundingClientRect(), g = fitCanvas(this.map, box.width, 34);
		const x = (t) => this.gutter + (t - this.home) / (this.end - this.home) * (this.width - this.gutter);

		if (this.counted !== this.width) {
			this.counted = this.width;
			this.density = density(this.events, this.home, this.end, Math.ceil(this.width - this.gutter));
		}
		g.clearRect(0, 0, box.width, 34);
		g.fillStyle = ink.hue[8];
		this.density.forEach((d, i) => g.fillRect(this.gutter + i, 32 - d * 26, 1, d * 26));
		g.fillStyle = ink.dim;
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		g.fillText(this.gutter > 100 ? "the whole run" : "all", 8, 17);
		g.fillStyle = ink.accent;
		g.globalAlpha = 0.14;
		g.fillRect(x(this.from), 0, Math.max(2, x(this.to) - x(this.from)), 34);
		g.globalAlpha = 1;
		g.fillRect(x(this.from), 0, 1.5, 34);
		g.fillRect(Math.max(x(this.to), x(this.from) + 2) - 1.5, 0, 1.5, 34);
	}
}

function cut(g, text, room) {
	const fits = Math.floor(room / 5.1);

	if (fits < 2)
		return "";
	let short = text.length > fits * 2 ? text.slice(0, fits * 2) : text;

	if (g.measureText(short).width <= room)
		return short;
	let n = Math.min(short.length, Math.ceil(fits * 1.3));

	for (; n > 1 && g.measureText(short.slice(0, n) + "…").width > room; n--)
		;
	return n > 1 ? short.slice(0, n) + "…" : "";
}

function lowerBound(list, t) {
	let low = 0, high = list.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (list[middle] < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Number of events that begin in each pixel, on a logarithmic scale from 0 to 1. */
function density(events, from, to, width) {
	const count = new Float64Array(Math.max(1, width)), scale = count.length / (to - from);
	let most = 1;

	for (let e = 0; e < events.n; e++) {
		const i = Math.min(count.length - 1, Math.max(0, Math.floor((events.begin[e] - from) * scale)));

		most = Math.max(most, ++count[i]);
	}
	return count.map((n) => n ? 0.08 + 0.92 * Math.log1p(n) / Math.log1p(most) : 0);
}
