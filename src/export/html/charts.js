// SPDX-License-Identifier: MIT OR Apache-2.0
// Load over time and histograms.

const HEAT = 18;
const HEAT_GAP = 3;
const SIDE = 168;
const MAX_THREADS = 40;

// What charts over time share: the same room at the left as the timeline, a line under the pointer,
// and dragging shows that part in the timeline.
class TimeChart {
	constructor(id, data, timeline, tell) {
		this.canvas = byId(id);
		this.data = data;
		this.canvas.style.cursor = 'crosshair';
		this.canvas.addEventListener('pointermove', e => {
			const bin = this.binAt(e);
			tell(bin < 0 ? null : this.describe(bin), e.clientX, e.clientY);
			this.canvas.title = '';
		});
		this.canvas.addEventListener('pointerleave', () => tell(null));
		this.canvas.addEventListener('pointerdown', e => (this.began = this.timeAt(e)));
		this.canvas.addEventListener('pointerup', e => {
			const [a, b] = [this.began, this.timeAt(e)].sort((p, q) => p - q);
			const least = (data.to - data.from) / 50;
			timeline.show(b - a > least / 10 ? a : a - least, b - a > least / 10 ? b : b + least);
			byId('timeline').scrollIntoView({ block: 'start' });
		});
		new ResizeObserver(() => this.paint()).observe(this.canvas.parentElement);
	}

	get width() {
		return Math.max(300, this.canvas.parentElement.clientWidth - 32);
	}

	timeAt(e) {
		const box = this.canvas.getBoundingClientRect();
		const part = Math.max(0, Math.min(1, (e.clientX - box.left - SIDE) / (box.width - SIDE)));
		return this.data.from + part * (this.data.to - this.data.from);
	}

	binAt(e) {
		const { bins, bin_ns } = this.data.facts.time;
		if (e.clientX - this.canvas.getBoundingClientRect().left < SIDE) return -1;
		return Math.min(bins - 1, Math.floor((this.timeAt(e) - this.data.from) / bin_ns));
	}

	xOf(bin) {
		return (
			SIDE +
			((bin * this.data.facts.time.bin_ns) / (this.data.to - this.data.from)) *
				(this.width - SIDE)
		);
	}

	paintAxis(g, y) {
		const span = this.data.to - this.data.from;
		const step = niceStep(span / Math.max(2, (this.width - SIDE) / 130));
		g.fillStyle = theme.quiet;
		g.textBaseline = 'top';
		for (let n = Math.ceil(this.data.from / step), t; (t = n * step) <= this.data.to; n++) {
			const x = SIDE + ((t - this.data.from) / span) * (this.width - SIDE);
			if (x < this.width - 40) g.fillText(formatTime(t, step), x + 2, y + 3);
			g.fillRect(x, y, 1, 4);
		}
	}

	timeOfBin(bin) {
		const { bin_ns } = this.data.facts.time;
		return formatTime(this.data.from + bin * bin_ns, bin_ns);
	}
}

// A row for each thread that polls, of the first so many: how much of each moment it was busy, and blocked.
class WorkersChart extends TimeChart {
	constructor(data, lanes, timeline, tell) {
		super('workers', data, timeline, tell);
		this.lanes = lanes.slice(0, MAX_THREADS);
		byId('workers-more').textContent =
			lanes.length > MAX_THREADS
				? `and ${plural(lanes.length - MAX_THREADS, 'thread')} more`
				: '';
		this.canvas.addEventListener(
			'pointermove',
			e => (this.y = e.clientY - this.canvas.getBoundingClientRect().top),
			true,
		);
		this.paint();
	}

	paint() {
		if (!this.lanes) return;
		const height = this.lanes.length * (HEAT + HEAT_GAP) + 20;
		const g = prepare(this.canvas, this.width, height);
		this.lanes.forEach((lane, i) => this.paintThread(g, lane.thread, i * (HEAT + HEAT_GAP)));
		this.paintAxis(g, height - 18);
	}

	paintThread(g, thread, y) {
		const busy = this.data.columns.busy[thread.thread];
		const blocked = this.data.columns.blocked[thread.thread];
		g.textBaseline = 'middle';
		g.fillStyle = theme.text;
		g.fillText(fitText(g, thread.label, SIDE - 54), 0, y + HEAT / 2);
		g.fillStyle = theme.quiet;
		g.textAlign = 'right';
		g.fillText(
			formatShare(thread.busy_ns / (this.data.to - this.data.from)),
			SIDE - 10,
			y + HEAT / 2,
		);
		g.textAlign = 'left';
		g.fillStyle = theme.lane;
		g.fillRect(SIDE, y, this.width - SIDE, HEAT);
		this.paintBins(g, busy, theme.busy, y);
		this.paintBins(g, blocked, theme.critical, y);
	}

	// Bins are finer than pixels, or not: the mean of those in a pixel.
	paintBins(g, bins, fill, y) {
		const room = this.width - SIDE;
		const { data } = this;
		const per = (data.to - data.from) / data.facts.time.bin_ns / room;
		if (!bins || !bins.length) return;
		g.fillStyle = fill;
		for (let x = 0; x < room; x++) {
			const from = Math.floor(x * per);
			const to = Math.max(from + 1, Math.floor((x + 1) * per));
			let sum = 0;
			for (let i = from; i < to && i < bins.length; i++) sum += bins[i];
			const h = (HEAT * sum) / (to - from) / 65535;
			if (h > 0.05) g.fillRect(SIDE + x, y + HEAT - Math.max(1, h), 1, Math.max(1, h));
		}
	}

	describe(bin) {
		const lane = this.lanes[Math.floor(this.y / (HEAT + HEAT_GAP))];
		const c = this.data.columns;
		if (!lane) return null;
		const share = column => formatShare((column[lane.thread.thread]?.[bin] ?? 0) / 65535);
		return [
			`${lane.thread.label} (${lane.thread.kind} ${lane.thread.tid})`,
			[
				['at', this.timeOfBin(bin)],
				['busy', share(c.busy)],
				['asleep in polls', share(c.blocked)],
			],
		];
	}
}

// How many tasks there are of a kind.
class TasksChart extends TimeChart {
	constructor(id, data, series, timeline, tell) {
		super(id, data, timeline, tell);
		this.series = series; // [column, word, colour's name]
		this.height = this.canvas.height;
		this.paint();
	}

	paint() {
		if (!this.series) return;
		const g = prepare(this.canvas, this.width, this.height);
		const bottom = this.height - 20;
		const columns = this.series.map(([name]) => this.data.columns['time.' + name]);
		let top = 0;
		for (const c of columns) for (const v of c) top = Math.max(top, v);
		const step = Math.max(niceStep((top || 1) / 3), top > 3 ? 1 : 0);
		const y = v => bottom - (v / (top || 1)) * (bottom - 8);
		for (let v = 0; v <= top; v += step) {
			g.fillStyle = theme.line;
			g.fillRect(SIDE, Math.round(y(v)), this.width - SIDE, 1);
			g.fillStyle = theme.quiet;
			g.textAlign = 'right';
			g.textBaseline = 'middle';
			g.fillText(v >= 1 || !v ? formatCount(v) : v.toPrecision(1), SIDE - 10, y(v));
		}
		g.textAlign = 'left';
		g.fillStyle = theme.text;
		g.textBaseline = 'top';
		this.series.forEach(([, word], i) => g.fillText(word, 0, 6 + i * 15));
		this.series.forEach((s, i) => this.paintLine(g, columns[i], theme[s[2]], y, bottom));
		this.paintAxis(g, bottom);
	}

	paintLine(g, values, stroke, y, bottom) {
		g.beginPath();
		g.moveTo(this.xOf(0), bottom);
		values.forEach((v, i) => {
			g.lineTo(this.xOf(i), y(v));
			g.lineTo(Math.min(this.width, this.xOf(i + 1)), y(v));
		});
		g.lineTo(this.width, bottom);
		g.fillStyle = stroke;
		g.globalAlpha = 0.25;
		g.fill();
		g.globalAlpha = 1;
		g.strokeStyle = stroke;
		g.lineWidth = 1;
		g.stroke();
	}

	describe(bin) {
		const show = v => (v >= 100 ? formatCount(v) : v.toFixed(v >= 10 ? 1 : 2));
		return [
			'Tasks, on average',
			[
				['at', this.timeOfBin(bin)],
				...this.series.map(([name, word]) => [
					word,
					show(this.data.columns['time.' + name][bin]),
				]),
			],
		];
	}
}

// Bin n of a histogram begins here: four bins for each power of two.
const binEdge = n => (n < 4 ? n : (4 + (n % 4)) * 2 ** (Math.floor(n / 4) - 1));

class Histogram {
	constructor(id, figures, tell) {
		this.canvas = byId(id);
		this.figures = byId(figures);
		this.canvas.addEventListener('pointermove', e => this.hover(e, tell));
		this.canvas.addEventListener('pointerleave', () => tell(null));
		new ResizeObserver(() => this.paint()).observe(this.canvas.parentElement);
	}

	show(histogram, isLog, fill) {
		Object.assign(this, { histogram, isLog, fill });
		this.bins = [];
		for (let i = 0; i < histogram.bins.length; i += 2)
			this.bins.push([histogram.bins[i], histogram.bins[i + 1]]);
		describe(
			this.figures,
			histogram.nr
				? [
						['count', formatCount(histogram.nr)],
						['p50', formatSpan(histogram.p50)],
						['p90', formatSpan(histogram.p90)],
						['p99', formatSpan(histogram.p99)],
						['max', formatSpan(histogram.max)],
						['sum', formatSpan(histogram.sum)],
					]
				: [['count', '0']],
		);
		this.figures.dataset.nr = histogram.nr;
		this.figures.dataset.max = histogram.max;
		this.paint();
	}

	paint() {
		if (!this.histogram) return;
		const height = 200;
		const width = Math.max(200, this.canvas.parentElement.clientWidth - 32);
		const g = prepare(this.canvas, width, height);
		const bottom = height - 22;
		const left = 52;
		if (!this.bins.length) return;
		const first = Math.min(this.bins[0][0], 28);
		const last = Math.max(this.bins[this.bins.length - 1][0] + 1, first + 24);
		const low = Math.log10(Math.max(1, binEdge(first)));
		const high = Math.log10(binEdge(last));
		this.xOf = v =>
			left + ((Math.log10(Math.max(v, 1)) - low) / (high - low)) * (width - left - 8);
		const top = Math.max(...this.bins.map(b => b[1]));
		const scale = v => (this.isLog ? Math.log10(v + 1) / Math.log10(top + 1) : v / top);
		const y = v => bottom - scale(v) * (bottom - 18);
		this.paintScale(g, top, y, left, width);
		g.fillStyle = this.fill;
		for (const [n, count] of this.bins) {
			const x = this.xOf(binEdge(n));
			const w = this.xOf(binEdge(n + 1)) - x;
			g.fillRect(
				x,
				Math.min(y(count), bottom - 1),
				Math.max(1, w - 1),
				Math.max(1, bottom - y(count)),
			);
		}
		this.paintMarks(g, low, high, bottom, width);
		this.paintPercentiles(g, bottom, width);
	}

	paintScale(g, top, y, left, width) {
		const values = this.isLog ? [] : [0];
		if (this.isLog) for (let v = 1; v <= top; v *= 10) values.push(v);
		else for (let v = niceStep(top / 4); v <= top; v += niceStep(top / 4)) values.push(v);
		g.textAlign = 'right';
		g.textBaseline = 'middle';
		for (const v of values) {
			g.fillStyle = theme.line;
			g.fillRect(left, Math.round(y(v)), width - left, 1);
			g.fillStyle = theme.quiet;
			g.fillText(
				v >= 1e6 ? v / 1e6 + 'M' : v >= 1e4 ? v / 1e3 + 'k' : formatCount(v),
				left - 6,
				y(v),
			);
		}
	}

	paintMarks(g, low, high, bottom, width) {
		g.textAlign = 'center';
		g.textBaseline = 'top';
		g.fillStyle = theme.quiet;
		for (let n = Math.ceil(low); n <= high; n++)
			if (this.xOf(10 ** n) < width - 14) {
				g.fillRect(this.xOf(10 ** n), bottom, 1, 4);
				g.fillText(
					[
						'1 ns',
						'10 ns',
						'100 ns',
						'1 µs',
						'10 µs',
						'100 µs',
						'1 ms',
						'10 ms',
						'100 ms',
						'1 s',
						'10 s',
						'100 s',
					][n] ?? '',
					this.xOf(10 ** n),
					bottom + 6,
				);
			}
	}

	paintPercentiles(g, bottom, width) {
		let free = -Infinity;
		g.textBaseline = 'top';
		g.textAlign = 'left';
		for (const [word, key] of [
			['p50', 'p50'],
			['p90', 'p90'],
			['p99', 'p99'],
			['max', 'max'],
		]) {
			const x = Math.round(this.xOf(this.histogram[key]));
			g.fillStyle = theme.faint;
			g.fillRect(x, 14, 1, bottom - 14);
			g.fillStyle = theme.quiet;
			const at = Math.min(Math.max(x - 10, free), width - 26);
			g.fillText(word, at, 0);
			free = at + 30;
		}
	}

	hover(e, tell) {
		if (!this.bins?.length) return;
		const x = e.clientX - this.canvas.getBoundingClientRect().left;
		const hit = this.bins.find(
			([n]) => x >= this.xOf(binEdge(n)) && x < this.xOf(binEdge(n + 1)),
		);
		tell(
			hit
				? [
						`${formatSpan(binEdge(hit[0]))} to ${formatSpan(binEdge(hit[0] + 1))}`,
						[
							['count', formatCount(hit[1])],
							['share', formatShare(hit[1] / this.histogram.nr)],
						],
					]
				: null,
			e.clientX,
			e.clientY,
		);
	}
}
