/* SPDX-License-Identifier: MIT */
/* The table of a report: its rows, with sorting, filtering and folding. */

const FIRST_ROWS = 15;
const keys = new Map(); /* key: its description in docs/schema.md */

function readKeys(text) {
	for (const line of text.split("\n")) {
		const [names, words] = line.split(/\|(.*)/s);

		for (const name of names.match(/`[^`]+`/g) || [])
			keys.set(name.slice(1, -1), words.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/`/g, ""));
	}
}

/* Numbers that identify something: 0 is not "nothing". */
const isName = (key) => /^(channel|gpu|thread|engine|rank|device|submission)$/.test(key);
const isHex = (key) => /(_address|^semaphore|^address|context|exec|^stream|token|channel_flags|handle)$/.test(key);

/* Formats a value as text reports do. */
function cellText(key, value) {
	if (value === null || value === undefined)
		return "–";
	if (value === true || value === false)
		return value ? "yes" : "–";
	if (typeof value === "string")
		return /^-?\d{16,}$/.test(value) && isHex(key) ? "0x" + BigInt(value).toString(16) : value;
	if (isHex(key) && value > 65535)
		return "0x" + value.toString(16);
	if (/_ns$/.test(key))
		return (value / 1e9).toFixed(9);
	if (/^(pid|tid|rank)$/.test(key))
		return String(value);
	return Number.isInteger(value) && !/(_us|_us_\w+|_mean|_percent|per_\w+)$/.test(key)
		? grouped(value)
		: places2.format(value);
}

class Table {
	/* FIND: called with a name that was clicked. */
	constructor(box, info, rows, find) {
		this.info = info;
		this.columns = info.columns;
		this.rows = this.whole = rows;
		this.find = find;
		this.sort = null;
		this.down = true;
		this.sieve = "";
		this.all = false;
		this.wide = false;
		this.shape = this.choose();
		this.build(box);
		this.draw();
	}

	/* Selects columns with values; fitting() drops some by rank if space is short. */
	choose() {
		const known = (c) => this.rows.some((r) => r[c.key] !== null && r[c.key] !== undefined);
		const any = (c) => this.rows.some((r) => r[c.key] && r[c.key] !== "0");
		const several = page.traces.length > 1;
		const shown = this.info.columns.filter((c) => known(c) && !c.detail &&
			(several || !(c.several || /^(trace|host|pid|rank)$/.test(c.key))) && (!c.ifany || any(c)));
		const hidden = this.info.columns.filter((c) => known(c) && !shown.includes(c));
		const textual = (c) => this.rows.some((r) => typeof r[c.key] === "string" && !/^-?\d{16,}$/.test(r[c.key]));

		for (const c of this.info.columns) {
			c.text = textual(c);
			c.width = Math.min(c.text ? 46 : 18, Math.max(c.title.length + 2,
				...this.rows.slice(0, 60).map((r) => cellText(c.key, r[c.key]).length))) * 7.4 + 22;
			c.worth = (any(c) ? 0 : 100) + c.rank;
		}
		return {shown: this.inOrder(shown), more: this.inOrder(shown.concat(hidden))};
	}

	/* Names first: they identify rows. */
	inOrder(columns) {
		return columns.filter((c) => c.name).concat(columns.filter((c) => !c.name));
	}

	fitting() {
		const room = (this.frame.clientWidth || 1000) - 4;
		const list = this.shape.shown.slice();

		while (list.length > 2 && list.reduce((sum, c) => sum + c.width, 0) > room) {
			let worst = null;

			for (const c of list)
				if (c !== list[0] && c.key !== this.sort && (!worst || c.worth >= worst.worth))
					worst = c;
			if (!worst || (worst.worth === 0 && list.length <= 4))
				break;
			list.splice(list.indexOf(worst), 1);
		}
		return list;
	}

	/* Shows ROWS with these columns instead; null: all rows again. */
	restrict(rows, keys) {
		if (!rows && this.rows === this.whole)
			return;
		this.rows = rows || this.whole;
		this.info.columns = rows ? this.columns.filter((c) => keys.includes(c.key)) : this.columns;
		this.shape = this.choose();
		this.draw();
	}

	build(box) {
		const title = this.info.title;
		const input = h("input", {type: "search", placeholder: "Filter rows", "aria-label": `Filter rows of ${title}`});

		input.addEventListener("input", () => { this.sieve = input.value; this.draw(); });
		this.columnsButton = h("button", {type: "button", onclick: () => { this.wide = !this.wide; this.draw(); }});
		this.copyButton = h("button", {type: "button", "aria-label": `Copy ${title} as tab-separated values`,
			onclick: () => copyText(this.asText(), this.copyButton)}, "Copy table");
		this.frame = h("div", {class: "frame", tabindex: "0", role: "region", "aria-label": title});
		this.foot = h("div", {class: "foot"});
		box.append(h("div", {class: "tools"}, this.rows.length > 8 ? input : "", h("span", {class: "grow"}),
			this.columnsButton, this.copyButton), this.frame, this.foot);
	}

	order(a, b) {
		const x = a[this.sort], y = b[this.sort];
		const none = (v) => v === null || v === undefined;

		if (none(x) || none(y))
			return none(x) - none(y);
		const big = typeof x === "string" && typeof y === "string" &&
			/^-?\d{16,}$/.test(x) && /^-?\d{16,}$/.test(y);
		const by = big ? Number(BigInt(x) - BigInt(y)) : typeof x === "string" ? x.localeCompare(y) : x - y;

		return this.down ? -by : by;
	}

	list() {
		let rows = this.rows;

		if (this.sieve) {
			const pattern = patternOf(this.sieve, "i");

			rows = rows.filter((r) => this.shape.more.some((c) => pattern && pattern.test(cellText(c.key, r[c.key]))));
		}
		return this.sort ? rows.slice().sort((a, b) => this.order(a, b)) : rows;
	}

	sortBy(column) {
		this.down = this.sort === column.key ? !this.down : !column.text;
		this.sort = column.key;
		this.draw();
		say(`Sorted by ${column.title}, ${this.down ? "descending" : "ascending"}`);
	}

	head(columns) {
		const row = h("tr");

		for (const c of columns) {
			const sorted = this.sort === c.key;
			const help = keys.get(c.key);
			const button = h("button", {type: "button", title: `${c.key}${help ? ": " + help : ""}`,
				onclick: () => this.sortBy(c)}, c.title.trim(), h("i", {"aria-hidden": "true"},
				sorted ? (this.down ? "▾" : "▴") : ""));

			row.append(h("th", {scope: "col", class: c.text ? "" : "num",
				"aria-sort": sorted ? (this.down ? "descending" : "ascending") : "none"}, button));
		}
		return h("thead", {}, row);
	}

	cell(column, row, most) {
		const value = row[column.key], text = cellText(column.key, value);
		const empty = value === null || value === undefined || (value === 0 && !isName(column.key)) || value === false;
		const td = h("td", {class: `${column.text ? "name" : "num"}${empty ? " dim" : ""}`});

		if (column.text && !empty && this.find && /^(api|kernel|range|runtime_api)$/.test(column.key))
			td.append(h("button", {type: "button", class: "link", title: `${text}\nfind it in the timeline`,
				onclick: () => this.find(text, row)}, text));
		else
			td.append(text);
		if (column.text && text.length > 20)
			td.title = text;
		if (this.sort === column.key && !column.text && most > 0 && value > 0) {
			td.classList.add("share");
			td.style.setProperty("--share", `${(100 * value / most).toFixed(1)}%`);
		}
		return td;
	}

	draw() {
		const columns = this.wide ? this.shape.more : this.fitting();
		const rows = this.list(), shown = this.all ? rows : rows.slice(0, FIRST_ROWS);
		const most = this.sort ? Math.max(0, ...rows.map((r) => Number(r[this.sort]) || 0)) : 0;
		const body = h("tbody");

		for (const row of shown)
			body.append(h("tr", {}, ...columns.map((c) => this.cell(c, row, most))));
		this.frame.replaceChildren(!rows.length && this.rows !== this.whole ? h("p", {class: "note none"}, "Nothing begins in this range.") : h("table", {}, h("caption", {class: "away"}, this.info.title),
			this.head(columns), body));
		const more = this.shape.more.length - columns.length;

		this.columnsButton.textContent = this.wide ? "Fewer columns" : `All ${this.shape.more.length} columns`;
		this.columnsButton.hidden = !this.wide && more <= 0;
		this.drawFoot(rows.length, shown.length);
	}

	drawFoot(n, shown) {
		const left = this.info.told > this.whole.length && !this.info.part && this.rows === this.whole ? this.info.told - this.whole.length : 0;

		this.foot.replaceChildren();
		if (shown < n || this.all && n > FIRST_ROWS)
			this.foot.append(h("button", {type: "button", onclick: () => { this.all = !this.all; this.draw(); }},
				this.all ? "Fewer rows" : `All ${grouped(n)} rows`));
		if (this.sieve)
			this.foot.append(h("span", {}, `${many(n, "row")} of ${grouped(this.rows.length)}`));
		if (left)
			this.foot.append(h("span", {class: "left-out"}, `${many(left, "more row")} are not on this page: ` +
				reportCommand(`--${this.info.report} -n 0`)));
	}

	/* Tab-separated values for a spreadsheet. */
	asText() {
		const columns = this.shape.more;
		const plain = (v) => v === null || v === undefined ? "" : String(v).replace(/[\t\n]/g, " ");

		return [columns.map((c) => c.key).join("\t"),
			...this.list().map((r) => columns.map((c) => plain(r[c.key])).join("\t"))].join("\n") + "\n";
	}
}
