/* SPDX-License-Identifier: MIT */
/* Search in the whole stream, and how its lines are split into tokens with descriptions. */

Object.assign(Stream.prototype, {
	/* Searches chunk by chunk, so that the page stays responsive; a new search cancels the current one. */
	async search(text) {
		const pattern = text ? patternOf(text, "gi") : null, turn = this.turn = (this.turn || 0) + 1;
		const began = performance.now();

		this.pattern = pattern;
		this.hits = pattern ? {index: [], line: [], more: false} : null;
		this.hit = -1;
		$("hits").textContent = text && !pattern ? "invalid expression" : "";
		for (let i = 0; pattern && i < this.chunks.length && !this.hits.more; i += 4) {
			const group = this.chunks.slice(i, i + 4);
			const texts = await Promise.all(group.map((c) => this.load(c)));

			if (turn !== this.turn)
				return;
			group.forEach((c, k) => this.searchChunk(c, texts[k].text, pattern));
			$("hits").textContent = `${many(this.hits.index.length, "line")} so far …`;
		}
		if (pattern) {
			this.searchTook = performance.now() - began;
			$("hits").textContent = `${this.hits.more ? "the first " : ""}${many(this.hits.index.length, "line")}`;
			say($("hits").textContent);
		}
		this.sieve();
	},

	/* Each matching line counts once. */
	searchChunk(chunk, text, pattern) {
		const hits = this.hits;
		if (hits.more)
			return;
		let index = chunk.first - 1, next = 0, start = 0, line = -1, from = 0;

		pattern.lastIndex = 0;
		for (let m; (m = pattern.exec(text));) {
			if (m[0] === "") {
				pattern.lastIndex++;
				continue;
			}
			/* Advance to the submission of the match, counting lines. */
			while (next >= 0 && next <= m.index) {
				index++;
				start = from = next;
				line = 0;
				next = text.indexOf("\n#", next);
				next = next < 0 ? -1 : next + 1;
			}
			for (let end; (end = text.indexOf("\n", from)) >= 0 && end < m.index; from = end + 1)
				line++;
			hits.index.push(index);
			hits.line.push(m.index < start ? -1 : line);
			if (hits.index.length >= MOST_HITS) {
				hits.more = true;
				return;
			}
			const end = text.indexOf("\n", m.index);

			pattern.lastIndex = Math.max(pattern.lastIndex, end < 0 ? text.length : end);
		}
	},

	sieve() {
		const only = $("only").checked && this.hits;

		this.view = only ? [...new Set(this.hits.index)] : null;
		this.active = 0;
		this.reorder();
		if (only)
			this.box.scrollTop = 0;
	},

	async step(way) {
		const n = this.hits ? this.hits.index.length : 0;

		if (!n)
			return;
		this.hit = this.hit < 0 && way < 0 ? n - 1 : (this.hit + way + n) % n;
		await this.showLine(this.hits.index[this.hit], this.hits.line[this.hit]);
		$("hits").textContent = `${grouped(this.hit + 1)} of ${this.hits.more ? "the first " : ""}${many(n, "line")}`;
	},
});

/* ---- lines ---- */

/* TEXT with matches of PATTERN highlighted. */
function marked(text, pattern) {
	const list = [];
	let at = 0;

	if (!pattern)
		return [text];
	pattern.lastIndex = 0;
	for (let m; (m = pattern.exec(text));) {
		if (m[0] === "") {
			pattern.lastIndex++;
			continue;
		}
		list.push(text.slice(at, m.index), h("mark", {}, m[0]));
		at = m.index + m[0].length;
	}
	list.push(text.slice(at));
	return list.filter((t) => t !== "");
}

const HEAD_LINE = /^#(\d+) (?:(\S+) s )?(thread .*?) api (.*) channel (\d+) token (\S+) (.*)$/;

/* The head line: time, channel and thread, and bytes and operations from the timeline. */
function headWords(text, pattern, lookUp) {
	const m = HEAD_LINE.exec(text);

	if (!m)
		return marked(text, pattern);
	const known = lookUp(Number(m[1]));
	const part = (cls, words) => h("span", cls ? {class: cls} : {}, ...marked(words, pattern));

	return [part("n", `#${m[1]}`.padEnd(8)), part("t", (m[2] ? (Number(m[2]) * 1e3).toFixed(6) + " ms" : "").padStart(14) + "  "),
		part("", `channel ${m[5]}`.padEnd(12)), known ? part("d", `${grouped(known.bytes).padStart(8)} B  `) : "",
		known && known.does ? h("b", {}, ...marked(known.does + "  ", pattern)) : "", part("", m[4])].filter((p) => p !== "");
}

const METHOD_LINE = /^( {6}s\d )([0-9a-f]{4}) ([0-9a-f]{4}) (\S+)( +)([0-9a-f]{8})(.*)$/;

function lineParts(text, pattern) {
	const m = METHOD_LINE.exec(text), span = (cls, words, more) => h("span", {class: cls, ...more}, ...marked(words, pattern));

	if (!m)
		return [span(/^ *!|^ *\.\.\./.test(text) ? "bad" : text[0] === "#" || /^ {4}[0-9a-f]/.test(text) ? "d" : "", text)];
	const method = `${m[2]} ${m[3]}`, at = {"data-method": method, "data-value": m[6]};
	const [fields, note] = m[7].split(/(;.*)/s);
	const parts = [span("d", m[1]), span("d", `${m[2]} ${m[3]} `), span("m", m[4], at), m[5], span("", m[6])];

	for (const word of fields.split(/( +)/))
		parts.push(/^[A-Z0-9_]+=/.test(word) ? span("f", word, {...at, "data-field": word.split("=")[0]}) : h("span", {}, ...marked(word, pattern)));
	if (note)
		parts.push(span("d", note));
	return parts;
}

/* ---- descriptions of methods and fields, from the class tables ---- */

const methods = new Map(), classes = new Map();

function readWords(text) {
	for (const line of text.split("\n")) {
		const [head, ...fields] = line.split("\t"), words = head.split(" ");

		if (words[0] === "class")
			classes.set(words[1], {name: words[2], kind: fields[0]});
		else if (words.length > 3)
			methods.set(`${words[0]} ${words[1]}`, {name: words[2], from: words[3], assumed: words[4] === "~",
				fields: fields.map((f) => {
					const [name, bits, ...values] = f.split(" "), [hi, lo] = bits.split(":").map(Number);

					return {name, hi, lo, values: values.map((v) => v.split("="))};
				})});
	}
}

const bitsOf = (f) => f.hi > 31 ? "" : f.hi === f.lo ? `bit ${f.lo}` : `bits ${f.hi}–${f.lo}`;

/* Describes a method with all of its fields, or one FIELD with its possible values. */
function explained(key, hex, field) {
	const [cls, method] = key.split(" "), m = methods.get(key), of = classes.get(cls), value = parseInt(hex, 16);

	if (!m)
		return h("div", {}, h("h4", {}, `method ${method}`), h("p", {}, `of class ${cls}: not in the class tables`));
	const chosen = m.fields.find((f) => f.name === field);
	const where = `method 0x${method} of ${of ? of.name : "class"} (${cls}${of ? `, ${of.kind}` : ""})` +
		`${m.from !== cls ? `, inherited from ${m.from}` : ""}${m.assumed ? ", named by a related class" : ""}`;
	const is = (f) => f.hi > 31 ? 0 : Math.floor(value / 2 ** f.lo) % 2 ** (f.hi - f.lo + 1);
	const row = (...words) => h("tr", {}, ...words.map((w) => h("td", {}, w)));
	const body = h("tbody");

	if (chosen) {
		for (const [name, number] of chosen.values.slice(0, 24)) {
			body.append(row(number, name));
			body.lastChild.classList.toggle("on", Number(number) === is(chosen));
		}
		return h("div", {}, h("h4", {}, `${field} = ${is(chosen) < 10 ? is(chosen) : `0x${is(chosen).toString(16)}`}`),
			h("p", {}, `${bitsOf(chosen)} of ${m.name}, ${where}`), h("table", {}, body),
			chosen.values.length > 24 ? h("p", {}, `and ${chosen.values.length - 24} more`) : "");
	}
	for (const f of m.fields.slice(0, 40)) {
		const name = f.values.find((w) => Number(w[1]) === is(f));

		body.append(row(bitsOf(f), f.name, name ? `${name[0]} (${is(f)})` : is(f) < 10 ? String(is(f)) : `0x${is(f).toString(16)}`));
	}
	return h("div", {}, h("h4", {}, m.name), h("p", {}, `${where}; the word is 0x${hex}`), h("table", {}, body));
}
