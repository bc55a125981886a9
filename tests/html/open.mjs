// SPDX-License-Identifier: MIT
// How long pages take to open: open.mjs CHROMIUM PAGE.html [ROUNDS] prints for each round the seconds from the request until the timeline is
// drawn and until all is there, those of one redrawing, and those of recomputing the tables for half of the run.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [program, file, rounds] = process.argv.slice(2);
const browser = new Browser(program), seconds = (ms) => (ms / 1000).toFixed(3).padStart(8);

console.log("events    drawn    whole   redraw    range");
for (let i = 0; i < Number(rounds || 3); i++) {
	const page = await browser.page();

	await page.size(1400, 900);
	await page.open(pathToFileURL(resolve(file)).href);
	const [n, drawn, whole, redraw, range] = await page.run(`(() => { const t = nvsnoop.view.timeline, times = [], all = nvsnoop.page;
		const time = (what) => { const began = performance.now(); what(); return performance.now() - began; };
		return [t.events.n, all.began + all.drawn, all.began + all.took, time(() => t.draw()), time(() => { t.marked = [Math.round(t.end / 4), Math.round(t.end * 3 / 4)]; t.pick(-1, t.marked); })]; })()`);

	console.log(n, ...[drawn, whole, redraw, range].map(seconds));
	await page.close();
}
await browser.close();
