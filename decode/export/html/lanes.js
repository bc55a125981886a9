/* SPDX-License-Identifier: MIT */
/* The heads of the timeline's lanes, which fold and pin them; the filter of lanes; and the legend. */

Object.assign(Timeline.prototype, {
	/* Computes the positions of tracks: pinned ones first, which stay when the others scroll. */
	place() {
		this.width = $("tracks").clientWidth;
		this.gutter = this.width < 700 ? 136 : 210;
		this.fixed = this.stack(this.tracks.filter((t) => t.pinned), RULER);
		this.full = Math.max(this.stack(this.tracks.filter((t) => !t.pinned), this.fixed) + 4, 60);
		$("room").style.height = `${this.full}px`;
		this.height = Math.max(60, $("tracks").clientHeight);
		this.canvas.style.height = `${this.height}px`;
		this.putHeads();
	},

	stack(tracks, y) {
		for (const t of tracks) {
			t.y = y;
			t.hidden = !this.isShown(t);
			t.above = t.counter && !this.folded.has(t) ? COUNTER : 0;
			t.height = t.hidden ? 0 : t.head ? HEAD : t.above + (this.folded.has(t) ? LANE : t.lanes.length * LANE) + GAP;
			y += t.height;
		}
		return y;
	},

	isShown(t) {
		if (this.sieve)
			return t.group ? this.tracks.some((inner) => inner.in === t && this.sieve.test(inner.label)) : this.sieve.test(t.label);
		return !t.in || t.pinned || !this.folded.has(t.in);
	},

	folds(t) { return Boolean(t.group || t.lanes.length > 1 || (t.above && t.lanes.length) || this.folded.has(t)); },

	/* Elements are kept, so that the button that was pressed keeps the focus. */
	putHeads() {
		const corner = $("pins").firstChild || $("pins").appendChild(h("div", {class: "corner"}));

		corner.style.height = `${this.fixed}px`;
		$("heads").style.width = $("pins").style.width = `${this.gutter}px`;
		for (const t of this.tracks) {
			const box = $(t.pinned ? "pins" : "heads");

			t.element = t.element || this.makeHead(t);
			if (t.element.parentNode !== box)
				box.insertBefore(t.element, this.tracks.slice(this.tracks.indexOf(t) + 1).map((next) => next.element).find((e) => e && e.parentNode === box) || null);
			this.updateHead(t, ...t.element.children);
		}
	},

	makeHead(t) {
		return h("div", {class: `lane${t.head ? " title" : ""}${t.in ? " inner" : ""}`, title: t.label},
			h("button", {type: "button", class: "caret", "aria-label": `Fold ${t.label}`, onclick: () => this.fold(t)}), h("span", {class: "lanename"}),
			t.head ? null : h("button", {type: "button", class: "pin", "aria-label": `Pin ${t.label}`, onclick: () => this.pin(t)}));
	},

	updateHead(t, caret, name, pin) {
		const open = !this.folded.has(t);

		t.element.hidden = t.hidden;
		t.element.style.top = `${t.y}px`;
		t.element.style.height = `${t.height}px`;
		caret.textContent = open ? "▾" : "▸";
		caret.setAttribute("aria-expanded", String(open));
		caret.classList.toggle("never", !this.folds(t));
		name.replaceChildren(this.gutter < 150 ? t.short : t.plain, this.scaleOf(t));
		if (!pin)
			return;
		pin.textContent = t.pinned ? "●" : "○";
		pin.title = t.pinned ? "Unpin" : "Pin: keep in sight";
		pin.setAttribute("aria-pressed", String(Boolean(t.pinned)));
	},

	/* What the height of a counter means. */
	scaleOf(t) {
		if (!t.counter || this.folded.has(t))
			return "";
		const ring = t.kind === "channel" && page.rings.get(`${t.process + 1} ${t.id}`);

		return h("small", {}, t.kind === "memory" ? `0 to ${t.scale(t.counter.most)}` : `${this.gutter < 150 ? "" : "ring: "}0 to ${grouped(t.counter.most)}${ring ? ` of ${grouped(ring)}` : ""}`);
	},

	fold(t) {
		if (!this.folded.delete(t))
			this.folded.add(t);
		this.place();
		this.draw();
	},

	pin(t) {
		t.pinned = !t.pinned;
		this.place();
		this.draw();
		t.element.querySelector(".pin").focus({preventScroll: true});
	},

	filter(text) {
		this.sieve = text ? patternOf(text, "i") : null;
		this.place();
		this.draw();
		const n = this.tracks.filter((t) => !t.hidden && !t.head).length;

		$("lanecount").textContent = text ? many(n, "lane") : "";
	},

	/* Only what occurs; a click shows where. */
	putLegend() {
		const ev = this.events, seen = new Set();
		let failed = false, open = false;

		for (let e = 0; e < ev.n; e++) {
			seen.add(ev.sort(e));
			failed = failed || (ev.kind[e] === KIND.CALL && (ev.flag[e] & FLAG.FAILED) > 0);
			open = open || Number.isNaN(ev.end[e]);
		}
		const chip = (cls, words, sort) => h(sort === undefined ? "span" : "button", {class: "key", type: sort === undefined ? null : "button", "data-sort": sort,
			"aria-pressed": sort === undefined ? null : "false", title: sort === undefined ? null : "Show only these",
			onclick: () => this.single(sort)}, h("i", {class: cls}), words);

		$("legend").replaceChildren(...SORTS.map(([words, hue], i) => seen.has(i) ? chip(`hue${hue}`, words, i) : null).filter(Boolean),
			...(failed ? [chip("bad", "failed")] : []), ...(open ? [chip("open", "did not return or end")] : []),
			...(this.tracks.some((t) => t.counter && t.kind === "channel") ? [chip("step", "entries of the ring not seen done")] : []),
			...(this.tracks.some((t) => t.kind === "memory") ? [chip("step memory", "memory allocated")] : []));
	},

	/* Dims everything else; the same again, or another search, ends it. */
	single(sort) {
		const ev = this.events, same = this.shown === sort;

		$("find").value = "";
		this.find("");
		this.shown = same ? undefined : sort;
		if (!same) {
			this.match = new Uint8Array(ev.n);
			for (let e = 0; e < ev.n; e++)
				this.match[e] = ev.sort(e) === sort;
		}
		for (const one of $("legend").querySelectorAll("button"))
			one.setAttribute("aria-pressed", String(Number(one.dataset.sort) === this.shown));
		this.later();
	},
});
