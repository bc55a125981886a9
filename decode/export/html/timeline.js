/* SPDX-License-Identifier: MIT */
/* The timeline: drawing. lanes.js has its layout, moves.js its navigation. */

const LANE = 17, GAP = 7, RULER = 24, HEAD = 24, COUNTER = 32, MAP = 46, LEAST_NS = 20;

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
		this.putLegend();
		this.listen();
		new ResizeObserver(() => { this.place(); this.draw(); }).observe($("tracks"));
	}

	x(t) { return this.gutter + (t - this.from) / (this.to - this.from) * (this.width - this.gutter); }
	at(x) { return this.from + (x - this.gutter) / (this.width - this.gutter) * (this.to - this.from); }
	/* From the position of a track to that on the canvas, which stays where it is; and back. */
	down(t) { return t.pinned ? 0 : -$("tracks").scrollTop; }
	placeAt(y) { return y < this.fixed ? y : y + $("tracks").scrollTop; }

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
		this.drawTracks(g, false, this.fixed, this.height);
		this.drawTracks(g, true, RULER, this.fixed);
		this.within(g, RULER, this.height, () => { this.drawFlow(g); this.drawMarked(g); });
		this.drawMap();
		$("span").textContent = `${inTime(this.to - this.from)} from ${inSeconds(Math.max(0, this.from))}`;
		this.took = performance.now() - began;
	}

	within(g, top, bottom, what) {
		g.save();
		g.beginPath();
		g.rect(this.gutter, top, this.width - this.gutter, Math.max(0, bottom - top));
		g.clip();
		what();
		g.restore();
	}

	drawTracks(g, pinned, top, bottom) {
		this.within(g, top, bottom, () => {
			for (const t of this.tracks) {
				const y = t.y + this.down(t);

				if (t.hidden || Boolean(t.pinned) !== pinned || y > bottom || y + t.height < top)
					continue;
				this.drawTrack(g, t, y);
				g.strokeStyle = pinned && t.y + t.height === this.fixed ? ink.dim : ink.faint;
				g.beginPath();
				g.moveTo(this.gutter, Math.round(y + t.height - 1) + 0.5);
				g.lineTo(this.width, Math.round(y + t.height - 1) + 0.5);
				g.stroke();
			}
		});
	}

	/* Ticks at 1, 2 or 5 of a power of ten, with a few smaller ones between them. */
	drawGrid(g) {
		const {step, parts} = niceStep((this.to - this.from) / Math.max(2, (this.width - this.gutter) / 130)), small = step / parts;

		g.fillStyle = ink.dim;
		for (let i = Math.ceil(this.from / small); i * small < this.to; i++) {
			const t = i * small, x = Math.round(this.x(t)) + 0.5, large = i % parts === 0;

			if (x < this.gutter)
				continue;
			g.strokeStyle = large ? ink.faint : ink.line;
			g.beginPath();
			g.moveTo(x, RULER - (large ? 8 : 4));
			g.lineTo(x, large ? this.height : RULER);
			g.stroke();
			const words = large ? tick(t, step) : "";

			if (large && x + 4 + g.measureText(words).width < this.width)
				g.fillText(words, x + 4, 10);
		}
		g.strokeStyle = ink.line;
		g.beginPath();
		g.moveTo(0, RULER - 0.5);
		g.lineTo(this.width, RULER - 0.5);
		g.moveTo(this.gutter - 0.5, 0);
		g.lineTo(this.gutter - 0.5, this.height);
		g.stroke();
	}

	drawTrack(g, t, y) {
		if (t.above || t.kind === "memory")
			this.drawCounter(g, t, y);
		t.lanes.forEach((lane, i) => {
			if (!this.folded.has(t) || i === 0)
				this.drawLane(g, lane, y + t.above + i * LANE);
		});
	}

	/* A line over a light area, which no work looks like. */
	drawCounter(g, t, y) {
		const base = y + COUNTER - 3, rise = (COUNTER - 9) / Math.max(1, t.counter.most), colour = t.kind === "memory" ? ink.deep[1] : ink.dim;
		let before = base;

		g.fillStyle = g.strokeStyle = colour;
		g.beginPath();
		for (const [x, width, value] of counterBoxes(t.counter, this.from, this.to, this.gutter, this.width)) {
			const top = Math.round(base - value * rise) + 0.5;

			g.globalAlpha = 0.13;
			g.fillRect(x, top, width, base - top);
			if (value > 0 || before < base) {
				g.moveTo(x, before);
				g.lineTo(x, top);
				g.lineTo(x + width, top);
			}
			before = top;
		}
		g.globalAlpha = 1;
		g.stroke();
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
		return this.failed(e) ? ink.bad : (deep ? ink.deep : ink.hue)[SORTS[this.events.sort(e)][1]];
	}

	failed(e) { return this.events.kind[e] === KIND.CALL && (this.events.flag[e] & FLAG.FAILED) > 0; }

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
		const width = Math.max(1, x1 - x0 - 0.6), dim = this.match && !this.match[e], open = Number.isNaN(this.events.end[e]);

		g.globalAlpha = dim ? 0.25 : 1;
		g.fillStyle = this.shade(e);
		g.fillRect(x0, y + 1, width, LANE - 3);
		g.globalAlpha = 1;
		const words = width <= 26 ? "" : cut(g, this.events.title(e) + (open ? this.events.kind[e] === KIND.CALL ? ": did not return" : ": did not end" : ""), width - 8);

		g.fillStyle = dim ? ink.dim : this.failed(e) ? ink.paper : ink.onHue;
		g.fillText(words, x0 + 4, y + LANE / 2);
		if (open)
			this.drawOpen(g, x0 + (words ? g.measureText(words).width + 10 : 0), y, x0 + width);
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

	/* Hatched where its name leaves room. */
	drawOpen(g, x, y, end) {
		g.save();
		g.beginPath();
		g.rect(x, y + 1, Math.max(0, end - x), LANE - 3);
		g.clip();
		g.strokeStyle = ink.bad;
		g.lineWidth = 1.5;
		g.beginPath();
		for (let at = x - LANE; at < end; at += 7) {
			g.moveTo(at, y + LANE);
			g.lineTo(at + LANE, y);
		}
		g.stroke();
		g.restore();
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

		g.fillText(words, Math.max(this.gutter + 4, Math.min(this.width - g.measureText(words).width - 4, (a + b - g.measureText(words).width) / 2)), this.height - 10);
	}

	/* The overview: the whole run with its own scale, the visible part of it, and the selected range. */
	drawMap() {
		const box = this.map.getBoundingClientRect(), g = fitCanvas(this.map, box.width, MAP), base = MAP - 16;
		const x = (t) => this.gutter + (t - this.home) / (this.end - this.home) * (this.width - this.gutter);

		if (this.counted !== this.width) {
			this.counted = this.width;
			this.density = density(this.events, this.home, this.end, Math.ceil(this.width - this.gutter));
		}
		g.clearRect(0, 0, box.width, MAP);
		g.fillStyle = ink.deep[8];
		this.density.forEach((d, i) => g.fillRect(this.gutter + i, base - d * (base - 4), 1, d * (base - 4)));
		g.fillStyle = ink.dim;
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		g.fillText(this.gutter > 150 ? "whole run: events" : "whole run", 10, base / 2);
		const {step} = niceStep((this.end - this.home) / Math.max(2, (this.width - this.gutter) / 130));

		for (let t = Math.ceil(this.home / step) * step; t < this.end; t += step)
			if (x(t) + g.measureText(tick(t, step)).width + 6 < this.width)
				g.fillText(tick(t, step), x(t) + 4, MAP - 8);
		g.fillStyle = ink.accent;
		for (const [from, to] of [[this.from, this.to], ...(this.marked ? [this.marked] : [])]) {
			g.globalAlpha = 0.14;
			g.fillRect(x(from), 0, Math.max(2, x(to) - x(from)), base);
			g.globalAlpha = 1;
			g.fillRect(x(from), 0, 1.5, base);
			g.fillRect(Math.max(x(to), x(from) + 2) - 1.5, 0, 1.5, base);
		}
	}
}

/* At least WANTED: a step between labels, and into how many parts it is divided. */
function niceStep(wanted) {
	const power = 10 ** Math.floor(Math.log10(wanted)), n = [1, 2, 5, 10].find((one) => one * power >= wanted * 0.999999);

	return {step: n * power, parts: n === 2 ? 4 : 5};
}

function tick(t, step) {
	const unit = step >= 1e8 ? [1e9, "s"] : step >= 1e5 ? [1e6, "ms"] : step >= 100 ? [1e3, "µs"] : [1, "ns"];

	return `${(t / unit[0]).toFixed(Math.max(0, Math.ceil(-Math.log10(step / unit[0]) - 1e-9)))} ${unit[1]}`;
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
