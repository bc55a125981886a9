// SPDX-License-Identifier: MIT
// How a page looks in both themes, wide and narrow: contrast of text (WCAG AA), text that overlaps other text or is cut off without
// a title that has it all, and horizontal scrolling.

// Runs in the page. Rectangles of text are those of its lines, within what their ancestors show.
function audit() {
	const parse = (c) => { const n = c.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
	const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const behind = (e) => e ? over(parse(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255, 1];
	const opacity = (e) => e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1;
	const clips = (e, { left, right, top, bottom }) => {
		let r = { left, right, top, bottom }; /* a DOMRect cannot be spread */

		for (let p = e; p && p !== document.body; p = p.parentElement) {
			const style = getComputedStyle(p);

			if (style.overflowX !== "visible" || style.overflowY !== "visible") {
				const box = p.getBoundingClientRect();

				r = { left: Math.max(r.left, box.left), right: Math.min(r.right, box.right), top: Math.max(r.top, box.top), bottom: Math.min(r.bottom, box.bottom) };
			}
		}
		return r;
	};
	const faint = [], cut = [], lines = [], overlaps = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);

	for (let node; (node = walk.nextNode());) {
		const e = node.parentElement, style = getComputedStyle(e);

		if (!node.textContent.trim() || /^(SCRIPT|STYLE|NOSCRIPT|OPTION)$/.test(e.tagName) || e.closest(".away, .skip, noscript, dialog, [hidden]") || !e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }))
			continue;
		const range = document.createRange(), text = node.textContent.trim().slice(0, 60);

		range.selectNodeContents(node);
		const rects = [...range.getClientRects()].map((r) => clips(e, r)).filter((r) => r.right - r.left > 2 && r.bottom - r.top > 2);

		if (!rects.length)
			continue;
		const back = behind(e), colour = parse(style.color), size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
		const seen = over([...colour.slice(0, 3), colour[3] * opacity(e)], back);

		if (!e.closest("button:disabled") && ratio(seen, back) < (large ? 3 : 4.5))
			faint.push([text, e.className || e.tagName, Number(ratio(seen, back).toFixed(2))]);
		rects.forEach((r) => lines.push({ ...r, e, text }));
		for (let p = e; p && p !== document.body; p = p.parentElement) {
			const s = getComputedStyle(p);

			if (/^(hidden|clip)$/.test(s.overflowX) && p.scrollWidth > p.clientWidth + 1 && !p.closest("[title]") && !p.querySelector("canvas"))
				cut.push([text, p.className || p.tagName, p.scrollWidth - p.clientWidth]);
		}
	}
	for (const input of document.querySelectorAll("input[placeholder]")) {
		const colour = over(parse(getComputedStyle(input, "::placeholder").color), behind(input));

		if (ratio(colour, behind(input)) < 4.5)
			faint.push([input.placeholder, "placeholder", Number(ratio(colour, behind(input)).toFixed(2))]);
	}
	lines.sort((a, b) => a.top - b.top);
	for (let i = 0; i < lines.length; i++)
		for (let k = i + 1; k < lines.length && lines[k].top < lines[i].bottom - 3; k++) {
			const a = lines[i], b = lines[k];

			if (a.e !== b.e && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
				overlaps.push([a.text, b.text, a.e.className || a.e.tagName, b.e.className || b.e.tagName]);
		}
	return { faint, cut, overlaps, wide: document.documentElement.scrollWidth - innerWidth, lines: lines.length };
}

// What is drawn: names on boxes, and words beside them.
function auditInk(ink) {
	const parse = (c) => { document.body.style.outlineColor = c; const n = getComputedStyle(document.body).outlineColor.match(/[\d.]+/g).map(Number); document.body.style.outlineColor = ""; return n; };
	const light = (c) => { const [r, g, b] = parse(c).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const mixed = (a, b, part) => `rgb(${parse(a).map((v, i) => v * part + parse(b)[i] * (1 - part)).join(" ")})`;
	const pairs = [...ink.hue.flatMap((hue, i) => [0.25, 0.4].map((part) => [`name on dimmed hue ${i}`, ink.dim, mixed(hue, ink.panel, part), 4.5])), ...ink.hue.map((hue, i) => [`name on hue ${i}`, ink.onHue, hue, 4.5]), ["name of a failed call", ink.paper, ink.bad, 4.5], ["name of a found frame", ink.paper, ink.accent, 4.5],
		["tick", ink.dim, ink.panel, 4.5], ["length of a range", ink.accent, ink.panel, 4.5], ...ink.deep.map((deep, i) => [`speck ${i}`, deep, ink.panel, 3])];

	return pairs.filter(([, a, b, least]) => ratio(a, b) < least).map(([what, a, b]) => [what, Number(ratio(a, b).toFixed(2))]);
}

export async function looks(page, { check, same }) {
	for (const theme of ["light", "dark"])
		for (const width of [1400, 700]) {
			await page.size(width, 900, { theme });
			await page.until(`document.documentElement.dataset.theme === "${theme}" && innerWidth === ${width}`);
			await page.run(`scrollTo(0, 0), new Promise((yes) => requestAnimationFrame(() => requestAnimationFrame(() => yes(true))))`);
			const found = await page.run(`(${audit})()`), where = `${theme}, ${width} pixels`;

			check(`${where}: text`, found.lines > 100, found.lines);
			same(`${where}: contrast below AA`, found.faint.slice(0, 12), []);
			same(`${where}: text that is cut`, found.cut.slice(0, 12), []);
			same(`${where}: text over text`, found.overlaps.slice(0, 12), []);
			check(`${where}: horizontal scrolling`, found.wide <= 0, found.wide);
			same(`${where}: contrast of what is drawn`, await page.run(`(${auditInk})(nvsnoop.ink())`), []);
		}
	await page.size(1400, 900);
}
