// SPDX-License-Identifier: MIT
// A headless Chromium, led over a pipe by its own protocol: nothing from npm is needed for that.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Browser {
	constructor(program) {
		this.home = mkdtempSync(join(tmpdir(), "nvsnoop-page-"));
		// A container has no right to make the sandbox, nor much in /dev/shm.
		this.child = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
			"--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe", "--force-color-profile=srgb",
			`--user-data-dir=${this.home}`, "about:blank"], {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
			env: {...process.env, HOME: this.home}});
		this.number = 0;
		this.waiting = new Map();
		this.listeners = [];
		this.rest = "";
		this.child.on("error", (e) => this.fail(e));
		this.child.on("exit", (code) => this.fail(new Error(`the browser ended with ${code}`)));
		this.child.stdio[3].on("error", () => {});
		this.child.stdio[4].setEncoding("utf8").on("data", (text) => this.take(text));
	}

	fail(error) {
		for (const { no } of this.waiting.values())
			no(error);
		this.waiting.clear();
	}

	take(text) {
		const parts = (this.rest + text).split("\0");

		this.rest = parts.pop();
		for (const part of parts) {
			const m = JSON.parse(part), who = this.waiting.get(m.id);

			if (who) {
				this.waiting.delete(m.id);
				if (m.error)
					who.no(new Error(`${who.method}: ${m.error.message}`));
				else
					who.yes(m.result);
			} else
				this.listeners.forEach((l) => l(m));
		}
	}

	send(method, params = {}, session = undefined) {
		const id = ++this.number;

		this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
		return new Promise((yes, no) => this.waiting.set(id, { yes, no, method }));
	}

	async page() {
		const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
		const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
		const page = new Page(this, sessionId, targetId);

		for (const domain of ["Page", "Runtime", "Log", "Network"])
			await page.send(`${domain}.enable`);
		return page;
	}

	async close() {
		const ended = new Promise((yes) => this.child.on("exit", yes));

		await this.send("Browser.close").catch(() => {});
		await ended;
		rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
	}
}

export class Page {
	constructor(browser, session, target) {
		this.target = target;
		this.browser = browser;
		this.session = session;
		this.errors = []; // what the console says, and what scripts throw
		this.requests = []; // for anything but the page itself
		browser.listeners.push((m) => m.sessionId === session && this.note(m));
	}

	close() {
		return this.browser.send("Target.closeTarget", { targetId: this.target });
	}

	send(method, params) {
		return this.browser.send(method, params, this.session);
	}

	note({ method, params }) {
		if (method === "Runtime.exceptionThrown")
			this.errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
		else if (method === "Runtime.consoleAPICalled" && params.type !== "log")
			this.errors.push(params.args.map((a) => a.value).join(" "));
		else if (method === "Log.entryAdded" && params.entry.level !== "info")
			this.errors.push(params.entry.text);
		else if (method === "Network.requestWillBeSent" && params.request.url !== this.url)
			this.requests.push(params.request.url);
		else if (method === "Page.javascriptDialogOpening")
			this.errors.push(`dialog: ${params.message}`);
	}

	// Until all of it is read.
	async open(url) {
		this.url = url;
		await this.send("Page.navigate", { url });
		await this.until("globalThis.nvsnoop && nvsnoop.page.whole");
	}

	async run(expression) {
		const r = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });

		if (r.exceptionDetails)
			throw new Error(`${expression}: ${r.exceptionDetails.exception?.description || r.exceptionDetails.text}`);
		return r.result.value;
	}

	// Looked at once a frame; fails after 60 s, whatever the machine does.
	until(condition) {
		return this.run(`new Promise((yes, no) => { const end = Date.now() + 60000;
			const look = () => { let is; try { is = ${condition}; } catch { is = false; }
			if (is) yes(is); else if (Date.now() > end) no(new Error("never: " + ${JSON.stringify(condition)})); else setTimeout(look, 10); }; look(); })`);
	}

	async size(width, height, options = {}) {
		await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: options.scale || 1, mobile: false });
		await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: options.theme || "light" },
			{ name: "prefers-reduced-motion", value: "reduce" }] });
	}

	async key(key, modifiers = 0) {
		const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined, code = { Enter: 13, Escape: 27 }[key] || 0;

		await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text, modifiers, windowsVirtualKeyCode: code });
		await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, modifiers });
	}

	mouse(type, x, y, more = {}) {
		if (!Number.isFinite(x) || !Number.isFinite(y))
			throw new Error(`${type} at ${x}, ${y}`);
		return this.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1, ...more });
	}

	async click(x, y) {
		await this.mouse("mouseMoved", x, y);
		await this.mouse("mousePressed", x, y);
		await this.mouse("mouseReleased", x, y);
	}

	async shot(options = {}) {
		const { data } = await this.send("Page.captureScreenshot", { format: "png", ...options });

		return Buffer.from(data, "base64");
	}
}
