/* SPDX-License-Identifier: MIT */
/* Navigation in the timeline: wheel, pointer and keys as in Perfetto; finding and selecting events. */

Object.assign(Timeline.prototype, {
	listen() {
		const c = this.canvas;

		c.addEventListener("wheel", (e) => this.wheel(e), {passive: false});
		c.addEventListener("pointerdown", (e) => this.press(e));
		c.addEventListener("pointermove", (e) => this.move(e));
		c.addEventListener("pointerup", (e) => this.up(e));
		c.addEventListener("pointercancel", () => { this.drag = null; });
		c.addEventListener("pointerleave", () => bubble.hide());
		c.addEventListener("dblclick", (e) => this.zoomTo(this.hit(e.offsetX, e.offsetY)));
		c.addEventListener("keydown", (e) => this.key(e));
		$("tracks").addEventListener("scroll", () => this.later());
		this.map.addEventListener("pointerdown", (e) => { this.map.setPointerCapture(e.pointerId); this.jump(e); });
		this.map.addEventListener("pointermove", (e) => { if (e.buttons) this.jump(e); });
		$("zoomin").addEventListener("click", () => this.zoom(0.5));
		$("zoomout").addEventListener("click", () => this.zoom(2));
		$("fit").addEventListener("click", () => this.show(this.home, this.end));
		$("lanes").addEventListener("input", () => this.filter($("lanes").value));
		$("find").addEventListener("input", () => this.find($("find").value));
		$("find").addEventListener("keydown", (e) => { if (e.key === "Enter") this.step(e.shiftKey ? -1 : 1); });
		$("findnext").addEventListener("click", () => this.step(1));
		$("findprev").addEventListener("click", () => this.step(-1));
	},

	/* ---- the visible range ---- */

	show(from, to) {
		const all = this.end - this.home, length = Math.min(Math.max(to - from, LEAST_NS), all);

		this.from = Math.max(this.home, Math.min((from + to - length) / 2, this.end - length));
		this.to = this.from + length;
		this.later();
	},

	/* Scales the visible range by FACTOR around X. */
	zoom(factor, x) {
		const t = x === undefined ? (this.from + this.to) / 2 : this.at(Math.max(x, this.gutter));

		this.show(t - (t - this.from) * factor, t + (this.to - t) * factor);
	},

	pan(part) {
		const by = (this.to - this.from) * part;

		if (by < 0 ? this.from > this.home : this.to < this.end)
			this.show(this.from + by, this.to + by);
	},

	jump(e) {
		const x = (e.offsetX - this.gutter) / (this.width - this.gutter);
		const t = this.home + x * (this.end - this.home), half = (this.to - this.from) / 2;

		this.show(t - half, t + half);
	},

	wheel(e) {
		if (e.ctrlKey || e.metaKey) {
			e.preventDefault();
			this.pointer = e.offsetX;
			this.zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 120), e.offsetX);
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			e.preventDefault();
			this.pan((e.deltaX || e.deltaY) / this.width);
		}
	},

	/* ---- pointer: a drag selects a range; with Shift, or on the ruler, it moves ---- */

	press(e) {
		if (e.button > 1 || e.offsetX < this.gutter)
			return;
		this.canvas.setPointerCapture(e.pointerId);
		this.drag = {x: e.offsetX, from: this.from, to: this.to, far: false,
			moves: e.shiftKey || e.button === 1 || e.pointerType === "touch" || e.offsetY < RULER};
	},

	move(e) {
		this.pointer = e.offsetX;
		if (!this.drag) {
			this.hover(e);
			return;
		}
		this.drag.far = this.drag.far || Math.abs(e.offsetX - this.drag.x) > 4;
		if (!this.drag.far)
			return;
		bubble.hide();
		if (this.drag.moves) {
			const by = (this.drag.x - e.offsetX) * (this.drag.to - this.drag.from) / (this.width - this.gutter);

			this.show(this.drag.from + by, this.drag.to + by);
		} else {
			const [a, b] = [this.drag.x, Math.min(this.width, e.offsetX)].sort((one, other) => one - other);

			/* Whole ns, as --range takes them. */
			this.marked = [Math.max(0, Math.round(this.at(Math.max(this.gutter, a)))), Math.max(0, Math.round(this.at(b)))];
			this.later();
		}
	},

	up(e) {
		const drag = this.drag;

		this.drag = null;
		if (drag && !drag.far)
			this.choose(this.hit(e.offsetX, e.offsetY));
		else if (drag && !drag.moves)
			this.pick(-1, this.marked);
	},

	hover(e) {
		const at = this.hit(e.offsetX, e.offsetY);

		this.canvas.style.cursor = e.offsetY < RULER ? "grab" : "default";
		if (at >= 0)
			bubble.show(brief(this.events, at), e.clientX, e.clientY);
		else
			this.hoverCounter(e);
	},

	hoverCounter(e) {
		const y = this.placeAt(e.offsetY);
		const t = this.tracks.find((one) => one.counter && !one.hidden && y >= one.y && y < one.y + COUNTER && !this.folded.has(one));
		const i = t && e.offsetX > this.gutter ? lowerBound(t.counter.at, this.at(e.offsetX)) - 1 : -1;

		if (i < 0)
			bubble.hide();
		else
			bubble.show(h("div", {}, t.kind === "memory" ? `${inBytes(t.counter.value[i])} allocated by calls`
				: `${many(t.counter.value[i], "entry", "entries")} not seen done, maximum ${grouped(t.counter.most)}`), e.clientX, e.clientY);
	},

	laneAt(y) {
		for (const t of this.tracks) {
			const i = Math.floor((y - t.y - t.above) / LANE);

			if (!t.hidden && y >= t.y && y < t.y + t.height && i >= 0 && i < t.lanes.length && !(this.folded.has(t) && i))
				return t.lanes[i];
		}
		return null;
	},

	/* The event at this point, or within three pixels of it; -1: none. */
	hit(x, y) {
		const lane = x >= this.gutter && y >= RULER ? this.laneAt(this.placeAt(y)) : null;

		if (!lane)
			return -1;
		const t = this.at(x), i = lane.open(t), slack = 3 * (this.to - this.from) / (this.width - this.gutter);
		let best = -1, least = slack;

		for (let k = Math.max(0, i - 1); k < Math.min(lane.ids.length, i + 2); k++) {
			const off = t < lane.begin[k] ? lane.begin[k] - t : t > lane.end[k] ? t - lane.end[k] : 0;

			if (off < least) {
				best = lane.ids[k];
				least = off;
			}
		}
		return best;
	},

	/* ---- selection ---- */

	choose(e) {
		this.chosen = e;
		this.marked = null;
		this.pick(e, null);
		this.later();
	},

	/* Selects E, and scrolls only if it is not visible. */
	reveal(e) {
		const begin = this.events.begin[e], end = this.events.until(e), length = this.to - this.from, place = this.lanePlace(e);

		if (place && place.track.hidden) {
			this.folded.delete(place.track.in);
			$("lanes").value = "";
			this.filter("");
		}

		if (begin < this.from || end > this.to)
			this.show(begin - length * 0.4, begin + length * 0.6);
		const spot = this.spot(e), tracks = $("tracks");

		if (spot && !place.track.pinned && (spot.y < this.fixed || spot.y > tracks.clientHeight - LANE))
			tracks.scrollTop += spot.y - (tracks.clientHeight + this.fixed) / 2;
		this.choose(e);
	},

	zoomTo(e) {
		if (e < 0)
			return;
		const begin = this.events.begin[e], length = Math.max(this.events.until(e) - begin, 2 * LEAST_NS);

		this.show(begin - length * 0.15, begin + length * 1.15);
	},

	lanePlace(e) {
		for (const t of this.tracks)
			for (let i = 0; i < t.lanes.length; i++) {
				const lane = t.lanes[i];

				for (let k = lane.from(this.events.begin[e]); k < lane.ids.length && lane.begin[k] === this.events.begin[e]; k++)
					if (lane.ids[k] === e)
						return {track: t, lane: i, at: k};
			}
		return null;
	},

	/* On the canvas. */
	spot(e) {
		const p = this.lanePlace(e);

		return p && {x: this.x(this.events.begin[e]), y: p.track.y + this.down(p.track) + p.track.above + (this.folded.has(p.track) ? 0 : p.lane) * LANE + LANE / 2};
	},

	/* The call of E, its submissions and their GPU work. */
	flowOf(e) {
		const {n, flow, process, kind, begin} = this.events;

		if (this.flowing && this.flowing.of === e)
			return this.flowing.list;
		const list = [];

		for (let i = 0; flow[e] && i < n; i++)
			if (flow[i] === flow[e] && process[i] === process[e])
				list.push(i);
		this.flowing = {of: e, list: list.sort((a, b) => kind[a] - kind[b] || begin[a] - begin[b])};
		return list;
	},

	/* ---- find ---- */

	find(text) {
		const ev = this.events, pattern = text ? patternOf(text, "i") : null;

		this.match = null;
		this.matches = [];
		this.shown = undefined;
		for (const one of $("legend").querySelectorAll("button"))
			one.setAttribute("aria-pressed", "false");
		if (pattern) {
			const fits = ev.names.map((n) => n !== "" && pattern.test(n));

			this.match = new Uint8Array(ev.n);
			for (let e = 0; e < ev.n; e++)
				if (fits[ev.name[e]] || (ev.x[e] && fits[ev.x[e]])) {
					this.match[e] = 1;
					this.matches.push(e);
				}
			this.matches.sort((a, b) => ev.begin[a] - ev.begin[b]);
		}
		$("found").textContent = !text ? "" : !pattern ? "invalid expression" : many(this.matches.length, "match", "matches");
		this.later();
	},

	step(way) {
		const list = this.matches || [], ev = this.events;

		if (!list.length)
			return;
		const now = this.chosen >= 0 ? ev.begin[this.chosen] : this.from;
		const place = list.indexOf(this.chosen);
		let at = place >= 0 ? place + way : list.findIndex((e) => ev.begin[e] >= now) - (way < 0 ? 1 : 0);

		at = (at + list.length) % list.length;
		this.reveal(list[at]);
		$("found").textContent = `${grouped(at + 1)} of ${many(list.length, "match", "matches")}`;
	},

	/* ---- keys ---- */

	/* These keys work anywhere on the page; those of key() if the timeline has the focus. */
	moveKey(key) {
		const x = this.pointer;

		switch (key) {
		case "w": this.zoom(0.65, x); return true;
		case "s": this.zoom(1 / 0.65, x); return true;
		case "a": this.pan(-0.18); return true;
		case "d": this.pan(0.18); return true;
		case "0": this.show(this.home, this.end); return true;
		case "f":
			if (this.marked)
				this.show(...this.marked);
			else
				this.zoomTo(this.chosen);
			return true;
		case "n": this.step(1); return true;
		case "N": this.step(-1); return true;
		}
		return false;
	},

	key(e) {
		const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];

		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (way)
			this.walk(...way);
		else if (e.key === "+" || e.key === "=")
			this.zoom(0.65);
		else if (e.key === "-")
			this.zoom(1 / 0.65);
		else if (e.key === "Home")
			this.show(this.home, this.end);
		else if (e.key === "Enter")
			this.pick(this.chosen, null, true);
		else
			return;
		e.preventDefault();
	},

	walk(along, across) {
		const lanes = this.tracks.filter((t) => !t.hidden).flatMap((t) => t.lanes);
		const p = this.chosen >= 0 ? this.lanePlace(this.chosen) : null;
		let lane = p ? p.track.lanes[p.lane] : null;

		if (!lane) {
			lane = lanes.find((l) => l.open(this.from) < l.ids.length) || lanes[0];
			if (lane)
				this.reveal(lane.ids[Math.min(lane.ids.length - 1, lane.open(this.from))]);
			return;
		}
		if (along) {
			const next = p.at + along;

			if (next >= 0 && next < lane.ids.length)
				this.reveal(lane.ids[next]);
			return;
		}
		const other = lanes[lanes.indexOf(lane) + across];

		if (other)
			this.reveal(other.ids[Math.min(other.ids.length - 1, other.open(this.events.begin[this.chosen]))]);
	},
});
