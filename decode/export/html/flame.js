/* SPDX-License-Identifier: MIT */
/* The flame graph: the call tree of --calltree, outermost frames at the top, as wide as what was spent below them. */

const FRAME = 19;
const WEIGHTS = [["host_us_total", "Host time", (n) => inTime(n * 1000)], ["gpu_us_total", "GPU time", (n) => inTime(n * 1000)],
	["submissions", "Submissions", grouped]];

/* ROWS in pre-order, with depths from 0 or 1 on. Returns their root. */
function treeOf(rows) {
	const root = {frame: "all", row: {}, children: [], up: null, level: 0}, path = [root];

	for (const row of rows) {
		path.length = Math.max(1, Math.min(path.length, row.depth || 1));
		const up = path[path.length - 1], node = {frame: row.frame || "–", row, children: [], up, level: up.level + 1};

		up.children.push(node);
		path.push(node);
	}
	return root;
}

class Flame {
	constructor(rows) {
		this.root = treeOf(rows);
		this.weights = WEIGHTS.filter(([key]) => rows.some((r) => r[key]));
		this.box = $("flameframes");
		this.canvas = $("flamecanvas");
		this.hovered = null;
		$("flameby").replaceChildren(...this.weights.map(([key, words]) => h("button", {type: "button", "data-weight": key, onclick: () => this.weigh(key)}, words)));
		this.listen();
		this.weigh(this.weights[0][0]);
		new ResizeObserver(() => this.draw()).observe(this.box);
	}

	listen() {
		const c = this.canvas, at = (e) => this.nodeAt(e.offsetX, e.offsetY);

		c.addEventListener("click", (e) => { const node = at(e); if (node) this.zoom(node); });
		c.addEventListener("pointermove", (e) => this.hover(at(e), e));
		c.addEventListener("pointerleave", () => this.hover(null));
		c.addEventListener("keydown", (e) => this.key(e));
		this.box.addEventListener("scroll", () => this.draw());
		$("flamefind").addEventListener("input", () => this.find($("flamefind").value));
		$("flameout").addEventListener("click", () => this.zoom(this.root));
	}

	/* Computes values, with the largest child first. A frame has at least what its children have. */
	weigh(key) {
		const sum = (node) => {
			node.value = 0;
			for (const child of node.children)
				node.value += sum(child);
			node.inner = node.value;
			return node.value = Math.max(node.value, Number(node.row[key]) || 0);
		};
		const sort = (node) => { node.children.sort((a, b) => b.value - a.value); node.children.forEach(sort); };

		this.key_ = key;
		sum(this.root);
		sort(this.root);
		for (const button of $("flameby").children)
			button.setAttribute("aria-pressed", String(button.dataset.weight === key));
		this.find($("flamefind").value);
		this.zoom(this.root);
	}

	text(value) { return WEIGHTS.find(([key]) => key === this.key_)[2](value); }
	share(value) { return `${(100 * value / (this.root.value || 1)).toFixed(1)} %`; }

	/* NODE becomes as wide as the graph; what is around it stays above. */
	zoom(node) {
		this.top = node;
		this.at = node;
		this.place();
		this.draw();
		$("flameout").disabled = node === this.root;
		say(`${node.frame}: ${this.text(node.value)}`);
	}

	/* Boxes by level: what is narrower than half a pixel at this width is left out. */
	place() {
		const least = 0.5 / Math.max(1, this.box.clientWidth);

		this.levels = [];
		const put = (node, x, width) => {
			node.x = x;
			node.width = width;
			(this.levels[node.level] = this.levels[node.level] || []).push(node);
		};
		const below = (node) => {
			let x = node.x;

			for (const child of node.children) {
				const width = node.value ? node.width * child.value / node.value : 0;

				if (width < least)
					break;
				put(child, x, width);
				below(child);
				x += width;
			}
		};

		for (let node = this.top; node; node = node.up)
			put(node, 0, 1);
		below(this.top);
		$("flameroom").style.height = `${Math.max(2, this.levels.length) * FRAME + 2}px`;
	}

	draw() {
		const width = this.box.clientWidth, height = this.box.clientHeight, scroll = this.box.scrollTop;

		if (!width)
			return;
		if (this.placed !== width) {
			this.placed = width;
			this.place();
		}
		this.canvas.style.height = `${height}px`;
		const g = fitCanvas(this.canvas, width, height);

		g.clearRect(0, 0, width, height);
		g.font = "11.5px system-ui, sans-serif";
		g.textBaseline = "middle";
		for (let level = Math.floor(scroll / FRAME); level < this.levels.length && level * FRAME < scroll + height; level++)
			for (const node of this.levels[level] || [])
				this.drawFrame(g, node, node.x * width, level * FRAME - scroll, node.width * width);
	}

	drawFrame(g, node, x, y, width) {
		g.globalAlpha = this.hits && !node.hit ? 0.25 : node.level < this.top.level ? 0.4 : 1;
		g.fillStyle = node.hit ? ink.accent : this.colour(node);
		g.fillRect(x, y + 1, Math.max(0.5, width - 0.7), FRAME - 2);
		g.fillStyle = node.hit ? ink.paper : g.globalAlpha < 1 ? ink.dim : ink.onHue;
		g.globalAlpha = 1;
		if (width > 30)
			g.fillText(cut(g, node.frame, width - 10), x + 5, y + FRAME / 2 + 0.5);
		if (node === this.hovered || (node === this.at && document.activeElement === this.canvas)) {
			g.strokeStyle = ink.text;
			g.strokeRect(x + 0.5, y + 1.5, Math.max(1, width - 1.5), FRAME - 3);
		}
	}

	/* Entry points have the colours of their calls in the timeline, the program's functions none. */
	colour(node) {
		const sort = view.sorts && view.sorts.get(node.frame);

		return ink.hue[sort === undefined ? 8 : SORTS[sort][1]];
	}

	nodeAt(x, y) {
		const level = Math.floor((y + this.box.scrollTop) / FRAME), at = x / Math.max(1, this.box.clientWidth);

		return (this.levels[level] || []).find((node) => at >= node.x && at < node.x + node.width) || null;
	}

	hover(node, e) {
		if (node !== this.hovered) {
			this.hovered = node;
			this.draw();
		}
		this.canvas.style.cursor = node ? "pointer" : "default";
		if (!node || !e) {
			bubble.hide();
			return;
		}
		const own = node.value - node.inner, {calls, submissions, command_bytes: bytes} = node.row;

		bubble.show(h("div", {}, h("h4", {}, node.frame), h("p", {}, [`${this.text(node.value)}, ${this.share(node.value)} of all`, own > 0 && node.inner ? `${this.text(own)} of it its own` : "",
			calls ? many(calls, "call") : "", submissions ? `${many(submissions, "submission")} of ${inBytes(bytes)}` : ""].filter(Boolean).join(" · "))), e.clientX, e.clientY);
	}

	/* Marks frames whose name matches, and says how much of all is below them. */
	find(text) {
		const pattern = text ? patternOf(text, "i") : null;
		let sum = 0, n = 0;
		const look = (node, within) => {
			node.hit = Boolean(pattern && node !== this.root && pattern.test(node.frame));
			n += node.hit;
			sum += node.hit && !within ? node.value : 0;
			for (const child of node.children)
				look(child, within || node.hit);
		};

		look(this.root, false);
		this.hits = Boolean(pattern);
		$("flamefound").textContent = !text ? "" : !pattern ? "invalid expression" : `${many(n, "frame")}: ${this.text(sum)}, ${this.share(sum)}`;
		if (this.levels)
			this.draw();
	}

	/* Arrows walk, Enter zooms, Escape shows all again. */
	key(e) {
		const {up, children} = this.at, siblings = up ? up.children : [this.at], i = siblings.indexOf(this.at);
		const to = {ArrowUp: up, ArrowDown: children[0], ArrowLeft: siblings[i - 1], ArrowRight: siblings[i + 1]};

		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.key in to) {
			if (to[e.key] && to[e.key].value)
				this.at = to[e.key];
			say(`${this.at.frame}: ${this.text(this.at.value)}, ${this.share(this.at.value)}`);
			this.box.scrollTop = Math.min(this.box.scrollTop, this.at.level * FRAME);
			if ((this.at.level + 1) * FRAME > this.box.scrollTop + this.box.clientHeight)
				this.box.scrollTop = (this.at.level + 1) * FRAME - this.box.clientHeight;
			this.draw();
		} else if (e.key === "Enter")
			this.zoom(this.at);
		else if (e.key === "Escape")
			this.zoom(this.root);
		else
			return;
		e.preventDefault();
	}
}
