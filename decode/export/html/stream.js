/* SPDX-License-Identifier: MIT */
/* The stream: lines of --dump, folded to one line per submission. Only visible lines are elements. */

const ROW = 20, MOST_HITS = 100000, MOST_KEPT = 160e6; /* characters of inflated text kept */

/* The lines of a pack: undoes decode/export/html/fold.h. */
function unfolded(text) {
	const known = [], list = [];
	let address = 0;

	/* A line has the step from the address before, or its own address, or none. */
	const read = (line) => {
		const is = /^ {4}(?:\+([0-9a-f]+)|([1-9a-f][0-9a-f]{0,12}))(?=[:.])/.exec(line);

		return is && is[1] ? {line: line.slice(is[0].length), step: parseInt(is[1], 16)}
			: {line, address: is ? parseInt(is[2], 16) : -1};
	};
	const add = (one) => {
		if (one.step !== undefined) {
			address += one.step;
			list.push(`    ${address.toString(16)}${one.line}`);
			return;
		}
		address = one.address < 0 ? address : one.address;
		list.push(one.line);
	};

	for (let start = 0, end; start < text.length; start = end + 1) {
		end = text.indexOf("\n", start);
		if (text[start] === "#") {
			list.push(text.slice(start, end));
		} else if (text[start] === " ") {
			known.push(read(text.slice(start, end)));
			add(known.at(-1));
		} else {
			for (let i = start; i < end; i++)
				add(known[text.charCodeAt(i) - 0x30]);
		}
	}
	return list.join("\n") + "\n";
}

class Stream {
	/* LOOK UP(process, number): data of a submission in the timeline; REVEAL shows it there. */
	constructor(lookUp, reveal) {
		this.lookUp = lookUp;
		this.reveal = reveal;
		this.chunks = packs("stream").map((e) => ({element: e, process: Number(e.dataset.process),
			items: Number(e.dataset.items), heads: "heads" in e.dataset, text: null}));
		this.total = 0;
		for (const c of this.chunks) {
			c.first = this.total;
			this.total += c.items;
		}
		this.open = new Map(); /* submission: its lines */
		this.order = []; /* items of OPEN, sorted, with their first row */
		this.view = null; /* submissions shown; null: all */
		this.kept = [];
		this.keptSize = 0;
		this.active = 0;
		this.box = $("lines");
		this.sheet = $("sheet");
		this.hits = null;
		this.hit = -1;
		this.listen();
		this.reorder();
	}

	listen() {
		this.box.addEventListener("scroll", () => this.draw());
		this.box.addEventListener("keydown", (e) => this.key(e));
		this.box.addEventListener("click", (e) => this.click(e));
		this.box.addEventListener("pointerover", (e) => this.hover(e));
		this.box.addEventListener("pointerleave", () => bubble.hide());
		new ResizeObserver(() => this.draw()).observe(this.box);
		$("search").addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.search($("search").value), 150); });
		$("search").addEventListener("keydown", (e) => { if (e.key === "Enter") this.step(e.shiftKey ? -1 : 1); });
		$("next").addEventListener("click", () => this.step(1));
		$("prev").addEventListener("click", () => this.step(-1));
		$("only").addEventListener("change", () => this.sieve());
		$("fold").addEventListener("click", () => this.foldAll());
		$("unfold").addEventListener("click", () => this.unfoldSeen());
		$("where").addEventListener("click", () => this.where());
	}

	/* ---- texts ---- */

	chunkOf(index) {
		let low = 0, high = this.chunks.length - 1;

		while (low < high) {
			const middle = (low + high + 1) >> 1;

			if (this.chunks[middle].first <= index)
				low = middle;
			else
				high = middle - 1;
		}
		return this.chunks[low];
	}

	/* Inflates a chunk: its text and the offsets of its submissions. The latest few are kept. */
	load(chunk) {
		chunk.loading = chunk.loading || unpack(chunk.element).then(unfolded).then((text) => {
			const starts = text[0] === "#" ? [0] : [];

			for (let i = text.indexOf("\n#"); i >= 0; i = text.indexOf("\n#", i + 1))
				starts.push(i + 1);
			Object.assign(chunk, {text, starts});
			this.kept.push(chunk);
			this.keptSize += text.length;
			while (this.keptSize > MOST_KEPT && this.kept.length > 40) {
				const old = this.kept.shift();

				this.keptSize -= old.text.length;
				Object.assign(old, {text: null, starts: null, loading: null});
			}
			return {text, starts, first: chunk.first};
		});
		return chunk.loading;
	}

	cutOut({text, starts, first}, index) {
		const i = index - first, end = i + 1 < starts.length ? starts[i + 1] : text.length;

		return text.slice(starts[i], end).replace(/\n$/, "");
	}

	async textOf(index) {
		return this.cutOut(await this.load(this.chunkOf(index)), index);
	}

	/* ---- rows: the head of each submission, and the lines of unfolded ones ---- */

	count() { return this.view ? this.view.length : this.total; }
	shownAt(place) { return this.view ? this.view[place] : place; }
	placeOf(index) {
		if (!this.view)
			return index;
		const place = lowerBound(this.view, index);

		return this.view[place] === index ? place : -1;
	}

	reorder() {
		let before = 0;

		this.order = [...this.open.keys()].map((index) => ({index, place: this.placeOf(index)}))
			.filter((o) => o.place >= 0).sort((a, b) => a.place - b.place);
		for (const o of this.order) {
			o.row = o.place + before;
			o.lines = this.open.get(o.index).length;
			before += o.lines;
		}
		this.rows = this.count() + before;
		this.sheet.style.height = `${this.rows * ROW}px`;
		this.draw();
	}

	/* {index, line}: line -1 is the head. */
	rowAt(row) {
		let low = 0, high = this.order.length;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.order[middle].row <= row)
				low = middle + 1;
			else
				high = middle;
		}
		const o = this.order[low - 1];

		if (!o)
			return {index: this.shownAt(row), line: -1};
		if (row <= o.row + o.lines)
			return {index: o.index, line: row - o.row - 1};
		return {index: this.shownAt(o.place + row - o.row - o.lines), line: -1};
	}

	rowOf(index, line) {
		const place = this.placeOf(index);
		let before = 0;

		for (const o of this.order)
			if (o.place < place)
				before += o.lines;
		return place + before + line + 1;
	}

	draw() {
		const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4);
		const last = Math.min(this.rows, first + Math.ceil(this.box.clientHeight / ROW) + 8);
		const list = [];

		for (let row = first; row < last; row++)
			list.push(this.line(row));
		this.sheet.replaceChildren(...list);
	}

	line(row) {
		const {index, line} = this.rowAt(row), open = this.open.get(index);
		const e = h("div", {class: `line${line < 0 ? " head" : ""}${row === this.active ? " active" : ""}`, id: `row${row}`,
			role: "treeitem", "aria-level": line < 0 ? "1" : "2", "data-row": row});

		e.style.top = `${row * ROW}px`;
		if (line >= 0) {
			e.append(...lineParts(open[line], this.pattern));
		} else {
			e.setAttribute("aria-expanded", open ? "true" : "false");
			this.headParts(e, index, Boolean(open));
		}
		if (this.hits && this.hit >= 0 && this.hits.index[this.hit] === index && this.hits.line[this.hit] === line)
			e.classList.add("hit");
		return e;
	}

	headParts(e, index, open) {
		const chunk = this.chunkOf(index);

		e.append(h("span", {class: "fold", "aria-hidden": "true"}, open ? "▾" : "▸"));
		if (!chunk.starts) {
			e.append(h("span", {class: "d"}, "…"));
			this.load(chunk).then(() => { clearTimeout(this.redraw); this.redraw = setTimeout(() => this.draw(), 0); });
			return;
		}
		const start = chunk.starts[index - chunk.first], end = chunk.text.indexOf("\n", start);

		e.append(...headWords(chunk.text.slice(start, end < 0 ? undefined : end), this.pattern,
			(number) => this.lookUp(chunk.process, number)));
	}

	/* ---- folding ---- */

	async unfold(index) {
		if (this.open.has(index))
			return;
		const chunk = this.chunkOf(index), text = await this.textOf(index);
		const lines = text.split("\n");

		if (chunk.heads)
			lines.push(`  ... its methods are not on this page; see --dump --range=${/\d+/.exec(lines[0])[0]}`);
		if (this.open.size > 400)
			this.open.delete(this.open.keys().next().value);
		this.open.set(index, lines);
	}

	async toggle(index) {
		if (!this.open.delete(index))
			await this.unfold(index);
		this.reorder();
	}

	foldAll() {
		const {index} = this.rowAt(Math.min(this.active, this.rows - 1));

		this.open.clear();
		this.reorder();
		this.activate(this.rowOf(index, -1));
	}

	/* Unfolds the visible submissions. */
	async unfoldSeen() {
		const first = Math.floor(this.box.scrollTop / ROW), seen = new Set();

		for (let row = first; row < Math.min(this.rows, first + this.box.clientHeight / ROW); row++)
			seen.add(this.rowAt(row).index);
		for (const index of seen)
			await this.unfold(index);
		this.reorder();
	}

	/* Shows a submission by number; returns false if it is not on the page. */
	async go(process, number) {
		for (const chunk of this.chunks) {
			if (chunk.process !== process || Number(chunk.element.dataset.at) > number)
				continue;
			const {text, starts} = await this.load(chunk);
			const i = starts.findIndex((s) => parseInt(text.slice(s + 1, s + 24), 10) === number);

			if (i >= 0) {
				await this.showLine(chunk.first + i, -1);
				return true;
			}
		}
		say(`Submission ${number} is not on this page`);
		return false;
	}

	async showLine(index, line) {
		if (this.placeOf(index) < 0) {
			$("only").checked = false;
			this.view = null;
		}
		await this.unfold(index);
		this.reorder();
		this.activate(this.rowOf(index, line), true);
	}

	activate(row, high) {
		this.active = Math.max(0, Math.min(row, this.rows - 1));
		const top = this.active * ROW, box = this.box;

		if (high)
			box.scrollTop = top - 3 * ROW;
		else if (top < box.scrollTop)
			box.scrollTop = top;
		else if (top + ROW > box.scrollTop + box.clientHeight - 12)
			box.scrollTop = top + ROW - box.clientHeight + 12;
		box.setAttribute("aria-activedescendant", `row${this.active}`);
		this.draw();
	}

	/* Shows the submission of the active line in the timeline. */
	async where() {
		const {index} = this.rowAt(Math.min(this.active, this.rows - 1)), chunk = this.chunkOf(index);

		this.reveal(chunk.process, parseInt((await this.textOf(index)).slice(1, 24), 10));
	}

	/* ---- pointer and keys ---- */

	click(e) {
		const line = e.target.closest(".line");

		if (!line || String(getSelection()))
			return;
		this.active = Number(line.dataset.row);
		const at = this.rowAt(this.active);

		if (at.line < 0)
			this.toggle(at.index);
		else
			this.draw();
	}

	hover(e) {
		const part = e.target.closest("[data-method]");

		if (part)
			bubble.show(explained(part.dataset.method, part.dataset.value, part.dataset.field), e.clientX, e.clientY);
		else
			bubble.hide();
	}

	/* Shows the description of the active line's method. */
	explain() {
		const line = $(`row${this.active}`), part = line && line.querySelector("[data-method]");

		if (!part)
			return;
		const box = part.getBoundingClientRect(), words = explained(part.dataset.method, part.dataset.value, "");

		bubble.show(words, box.left, box.bottom - 14);
		say(words.textContent);
	}

	async key(e) {
		const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: 25, PageUp: -25, Home: -this.rows, End: this.rows};

		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		const at = this.rowAt(Math.min(this.active, this.rows - 1));

		bubble.hide();
		if (e.key in steps) {
			e.preventDefault();
			this.activate(this.active + steps[e.key]);
		} else if (e.key === "ArrowRight" && at.line < 0 && !this.open.has(at.index)) {
			e.preventDefault();
			await this.toggle(at.index);
		} else if (e.key === "ArrowLeft" && this.open.has(at.index)) {
			e.preventDefault();
			this.open.delete(at.index);
			this.reorder();
			this.activate(this.rowOf(at.index, -1));
		} else if (e.key === "Enter" || e.key === " ") {
			e.preventDefault();
			if (e.shiftKey)
				await this.where();
			else if (at.line < 0)
				await this.toggle(at.index);
			else
				this.explain();
		}
	}
}
