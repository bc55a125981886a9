/* SPDX-License-Identifier: MIT */
/* Shared by all parts of the page: elements, packs, formatted numbers, colours. Text from a trace only ever
 * becomes textContent. */

const $ = (id) => document.getElementById(id);

/* Creates an element: h("td", {class: "num", title: "x"}, "text", child). */
function h(tag, attributes, ...children) {
	const e = document.createElement(tag);

	for (const [key, value] of Object.entries(attributes || {}))
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), value);
		else if (value === true)
			e.setAttribute(key, "");
		else if (value !== false && value !== null && value !== undefined)
			e.setAttribute(key, value);
	e.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
	return e;
}

/* ---- packs: deflated text in base64, see decode/export/html/pack.h ---- */

function bytesOf(base64) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(base64);
	const letters = atob(base64), bytes = new Uint8Array(letters.length);

	for (let i = 0; i < letters.length; i++)
		bytes[i] = letters.charCodeAt(i);
	return bytes;
}

function inflated(element) {
	const inflate = new DecompressionStream("deflate");
	const writer = inflate.writable.getWriter();

	writer.write(bytesOf(element.textContent)).catch(() => {});
	writer.close().catch(() => {});
	return new Response(inflate.readable);
}

const unpack = (element) => inflated(element).text();
const unpackBytes = async (element) => new Uint8Array(await inflated(element).arrayBuffer());

const packs = (kind) => [...document.querySelectorAll(`script[data-pack="${kind}"]`)];
const unpackAll = (kind) => Promise.all(packs(kind).map(unpack));

/* Integers that a double cannot hold, as addresses and handles, stay strings. */
function parseRows(json) {
	return JSON.parse(json.replace(/"(?:[^"\\]|\\.)*"|-?\b\d{16,}\b/g,
				       (s) => s[0] === '"' ? s : `"${s}"`)).rows;
}

/* ---- numbers ---- */

const commas = new Intl.NumberFormat("en-US"), places2 = new Intl.NumberFormat("en-US", {minimumFractionDigits: 2, maximumFractionDigits: 2});
const grouped = (n) => commas.format(Number(n));

function scaled(x, units, step) {
	let unit = 0;

	for (; unit + 1 < units.length && Math.abs(x) >= step * 0.9995; unit++)
		x /= step;
	const size = Math.abs(x), places = unit === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;

	return `${x.toFixed(places)}\u00a0${units[unit]}`;
}

const inTime = (ns) => scaled(ns, ["ns", "µs", "ms", "s"], 1000);
const inBytes = (n) => scaled(n, [n === 1 ? "byte" : "bytes", "kB", "MB", "GB", "TB"], 1000);
const many = (n, one, more) => `${grouped(n)}\u00a0${n === 1 ? one : more || one + "s"}`;
/* A time of the run, exact to the ns, without trailing zeros. */
const inSeconds = (ns) => (ns / 1e9).toFixed(9).replace(/0{1,6}$/, "") + "\u00a0s";
const plainSeconds = (ns) => (ns / 1e9).toFixed(9).replace(/\.?0+$/, "") + "s";

/* ---- colours: a name always has the same one ---- */

const HUES = 10;
let ink = {};

function readColours() {
	const style = getComputedStyle(document.documentElement);
	const of = (name) => style.getPropertyValue(name).trim();

	ink = {hue: [], deep: []};
	for (const name of ["paper", "panel", "text", "dim", "line", "faint", "accent", "bad", "soft"])
		ink[name] = of("--" + name);
	for (let i = 0; i < HUES; i++) {
		ink.hue.push(of(`--hue${i}`));
		ink.deep.push(of(`--deep${i}`));
	}
	ink.onHue = of("--on-hue");
}

function hueOf(text) {
	let hash = 2166136261;

	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return ((hash ^ (hash >>> 13)) >>> 0) % HUES;
}

/* ---- search patterns: text, or a regular expression between slashes ---- */

function patternOf(text, flags) {
	const is = /^\/(.+)\/$/.exec(text);

	try {
		return new RegExp(is ? is[1] : text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	} catch {
		return null;
	}
}

/* ---- the tooltip ---- */

const bubble = {
	show(content, x, y) {
		const box = $("bubble");

		box.replaceChildren(content);
		box.hidden = false;
		const room = box.getBoundingClientRect();
		const left = Math.max(8, Math.min(x + 14, innerWidth - room.width - 8));
		const below = y + 18 + room.height < innerHeight;

		box.style.left = `${left}px`;
		box.style.top = `${below ? y + 18 : Math.max(8, y - room.height - 12)}px`;
	},
	hide() {
		$("bubble").hidden = true;
	},
};

const say = (text) => { $("said").textContent = text; };

async function copyText(text, button) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = h("textarea", {class: "away"});

		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	const before = button.textContent;

	button.textContent = "Copied";
	setTimeout(() => { button.textContent = before; }, 1200);
	say("Copied");
}

/* A shell command with a copy button. */
function commandLine(text) {
	const button = h("button", {class: "copy", type: "button", "aria-label": `Copy ${text}`}, "Copy");

	button.addEventListener("click", () => copyText(text, button));
	return h("div", {class: "command"}, h("code", {}, text), button);
}

/* Quotes TEXT as one word for a shell. */
function shellWord(text) {
	return /^[A-Za-z0-9_\-./+=:,@%^]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

const page = {traces: [], left: null, whole: false, hang: [], rings: new Map()};
const reportCommand = (rest) =>
	`nvsnoop-report ${page.traces.map(shellWord).join(" ")} ${rest}`;
