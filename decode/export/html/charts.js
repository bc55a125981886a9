/* SPDX-License-Identifier: MIT */
/* Memory over time: a line chart of the rows of kind `time` of --memory. */

class Chart {
	constructor(box, rows) {
		this.points = rows.map((r) => [r.time_ns, r.live_bytes, r.peak_bytes]);
		this.most = Math.max(1, ...this.points.map((p) => Math.max(p[1] || 0, p[2] || 0)));
		this.canvas = h("canvas", {class: "chart", role: "img",
			"aria-label": `Memory on the GPU over time, peak ${inBytes(this.most)}`});
		box.append(this.canvas);
		this.canvas.addEventListener("pointermove", (e) => this.point(e));
		this.canvas.addEventListener("pointerleave", () => bubble.hide());
		new ResizeObserver(() => this.draw()).observe(this.canvas);
	}

	place() {
		const box = this.canvas.getBoundingClientRect(), end = this.points[this.points.length - 1][0] || 1;

		return {width: box.width, height: box.height, x: (t) => 8 + (box.width - 16) * t / end,
			y: (v) => box.height - 22 - (box.height - 44) * v / this.most};
	}

	draw() {
		const {width, height, x, y} = this.place(), g = fitCanvas(this.canvas, width, height);
		let before = 0;

		g.clearRect(0, 0, width, height);
		g.beginPath();
		g.moveTo(x(0), y(0));
		for (const [t, live, peak] of this.points) {
			g.lineTo(x(t), y(before));
			if (peak > live && peak > before)
				g.lineTo(x(t), y(peak));
			g.lineTo(x(t), y(live));
			before = live;
		}
		g.lineTo(width - 8, y(before));
		g.strokeStyle = ink.accent;
		g.lineWidth = 1.5;
		g.stroke();
		g.lineTo(width - 8, y(0));
		g.closePath();
		g.fillStyle = ink.soft;
		g.globalCompositeOperation = "destination-over";
		g.fill();
		g.globalCompositeOperation = "source-over";
		g.fillStyle = ink.dim;
		g.font = "11px system-ui, sans-serif";
		g.fillText(`on the GPU over time, peak ${inBytes(this.most)}`, 10, 16);
		this.drawScale(g, width, height, x);
	}

	drawScale(g, width, height, x) {
		const end = this.points[this.points.length - 1][0] || 1, {step} = niceStep(end / Math.max(2, width / 130));

		for (let t = 0; t <= end; t += step) {
			g.fillRect(Math.round(x(t)), height - 22, 1, 5);
			if (x(t) + 4 + g.measureText(tick(t, step)).width < width)
				g.fillText(tick(t, step), x(t) + 4, height - 8);
		}
	}

	point(e) {
		const {width} = this.place(), end = this.points[this.points.length - 1][0] || 1;
		const t = (e.offsetX - 8) / (width - 16) * end;
		let at = null;

		for (const p of this.points)
			if (p[0] <= t)
				at = p;
		if (at)
			bubble.show(h("div", {}, `${inBytes(at[1])} from ${inSeconds(at[0])} on`), e.clientX, e.clientY);
		else
			bubble.hide();
	}
}

/* Sets the canvas to device pixels; drawing uses CSS pixels. */
function fitCanvas(canvas, width, height) {
	const scale = Math.min(3, Math.max(1, devicePixelRatio || 1));
	const w = Math.round(width * scale), hgt = Math.round(height * scale);

	if (canvas.width !== w || canvas.height !== hgt) {
		canvas.width = w;
		canvas.height = hgt;
	}
	const g = canvas.getContext("2d");

	g.setTransform(scale, 0, 0, scale, 0, 0);
	return g;
}
