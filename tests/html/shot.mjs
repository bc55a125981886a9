// SPDX-License-Identifier: MIT
// The pictures in docs/img: shot.mjs CHROMIUM PAGE.html FOLDER makes html-page.png, html-stream.png and, where it has ranges
// called "step", html-timeline.png of the last of them. docs/img/html-demo.png is the html-page.png of the demo's page.
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
		await page.run(step);
	// Two frames: layout, and what is drawn after it.
	await page.run("new Promise((yes) => requestAnimationFrame(() => requestAnimationFrame(yes)))");
	writeFileSync(join(folder, name), await page.shot());
}

await page.size(1180, 760);
await page.open(pathToFileURL(resolve(file)).href);
await shot("html-page.png", 1180, 980, "light", "scrollTo(0, 0)");
await shot("html-stream.png", 1180, 620, "dark", there("stream"), `nvsnoop.view.stream.search("LAUNCH_DMA")`,
	`document.getElementById("search").value = "LAUNCH_DMA"; nvsnoop.view.stream.step(1)`, there("stream"));
const [x, y] = await page.run(`(() => { const r = document.querySelectorAll(".line.hit .f")[1].getBoundingClientRect(); return [r.left + 20, r.top + 9]; })()`);

await page.mouse("mouseMoved", x, y);
await shot("html-stream.png", 1180, 620, "dark");
await page.mouse("mouseMoved", 1, 1);
const step = await page.run(`(() => { const e = nvsnoop.view.timeline.events; return e.name.findLastIndex((n) => e.names[n] === "step"); })()`);

if (step >= 0)
	await shot("html-timeline.png", 1180, 700, "light", there("timeline"), `nvsnoop.view.timeline.reveal(${step}); nvsnoop.view.timeline.zoomTo(${step}); nvsnoop.view.timeline.choose(${step})`,
		there("timeline"));
await browser.close();
