// SPDX-License-Identifier: MIT
// The pictures in docs/img: shot.mjs CHROMIUM PAGE.html FOLDER makes html-page.png, html-timeline.png (of a selected range: the last of
// the NVTX ranges called "step", else the second half of the run), html-flame.png and html-stream.png; of the page of a hang only
// html-hang.png. docs/img/html-demo.png is the html-page.png of the demo's page.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [program, file, folder] = process.argv.slice(2);
const browser = new Browser(program), page = await browser.page();
const there = (id) => `document.getElementById("${id}").scrollIntoView({behavior: "instant"})`;

async function shot(name, width, height, theme, ...steps) {
	await page.size(width, height, { theme });
	for (const step of steps)
		await page.run(`(${step}, true)`);
	// Two frames: layout, and what is drawn after it.
	await page.run("new Promise((yes) => requestAnimationFrame(() => requestAnimationFrame(yes)))");
	writeFileSync(join(folder, name), await page.shot());
}

async function stream() {
	await shot("html-stream.png", 1180, 620, "dark", there("stream"), `nvsnoop.view.stream.search("LAUNCH_DMA")`,
		`document.getElementById("search").value = "LAUNCH_DMA", nvsnoop.view.stream.step(1)`, there("stream"));
	await page.until(`document.querySelectorAll(".line.hit .f").length > 1`);
	const [x, y] = await page.run(`(() => { const r = document.querySelectorAll(".line.hit .f")[1].getBoundingClientRect(); return [r.left + 20, r.top + 9]; })()`);

	await page.mouse("mouseMoved", x, y);
	await shot("html-stream.png", 1180, 620, "dark");
	await page.mouse("mouseMoved", 1, 1);
}

await page.size(1180, 760);
await page.open(pathToFileURL(resolve(file)).href);
if (await page.run(`Boolean(document.getElementById("hang"))`)) {
	await shot("html-hang.png", 1180, 900, "light", there("hang"));
} else {
	const range = await page.run(`(() => { const t = nvsnoop.view.timeline, e = t.events, i = e.name.findLastIndex((n) => e.names[n] === "step");
		return i >= 0 ? [e.begin[i], e.end[i]] : [Math.round(t.end * 0.55), Math.round(t.end * 0.8)]; })()`);

	await shot("html-page.png", 1180, 980, "light", "scrollTo(0, 0)");
	await shot("html-timeline.png", 1180, 1060, "light", `nvsnoop.view.timeline.show(${range[0] * 1.4 - range[1] * 0.4}, ${range[1] * 1.2 - range[0] * 0.2})`,
		`nvsnoop.view.timeline.marked = [${range}], nvsnoop.view.timeline.pick(-1, nvsnoop.view.timeline.marked), nvsnoop.view.timeline.draw()`, there("timeline"));
	await shot("html-flame.png", 1180, 520, "dark", `nvsnoop.view.timeline.choose(-1)`, `document.getElementById("flamefind").value = "cuMem", nvsnoop.view.flame.find("cuMem")`, there("flame"));
	await stream();
}
await browser.close();
