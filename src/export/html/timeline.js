// SPDX-License-Identifier: MIT OR Apache-2.0
// The timeline: what is to be seen of the lanes between view.from and view.to, and what is
// selected. Moving it is input.js.

const AXIS = 24;
const LABELS = 168;
const LANE = 30;
const GAP = 6;
const DEEPER = 12;
const MAX_ARROWS = 400;

class Timeline {
	constructor(data, lanes) {
		this.data = data;
		this.lanes = lanes;
		this.canvas = byId('polls');
		this.box = byId('lanes');
		this.view = { from: data.from, to: data.to };
		this.owner = -1; // the selected task, as the number of a poll's owner
		this.ownPolls = []; // of that task, in order of time
		this.poll = -1;
		this.group = -1; // the highlighted type
		this.frame = 0;
		this.frames = { nr: 0, ms: 0, max: 0 };
		this.onChange = () => {};
		this.laneOf = new Map();
		let y = AXIS + GAP;
		for (const lane of lanes) {
			lane.y = y;
			lane.height = LANE + (lane.rows.length - 1) * DEEPER;
			y += lane.height + GAP;
			this.laneOf.set(lane.thread.thread, lane);
		}
		this.height = y;
		this.box.addEventListener('scroll', () => this.draw());
		new ResizeObserver(() => this.resize()).observe(this.box);
		this.resize();
	}

	resize() {
		this.width = Math.max(200, this.box.clientWidth);
		this.shown = Math.min(this.height, 560);
		byId('lanes-height').style.height = this.height - this.shown + 'px';
		this.draw();
	}

	get span() {
		return this.view.to - this.view.from;
	}

	get scale() {
		return (this.width - LABELS) / this.span;
	}

	xOf(t) {
		return LABELS + (t - this.view.from) * this.scale;
	}

	timeOf(x) {
		return this.view.from + (x - LABELS) / this.scale;
	}

	// The view may not leave the recording, nor be shorter than some nanoseconds.
	show(from, to) {
		const all = this.data.to - this.data.from;
		const span = Math.min(all, Math.max(to - from, 50));
		from = Math.max(this.data.from, Math.min((from + to - span) / 2, this.data.to - span));
		this.view = { from, to: from + span };
		this.draw();
	}

	zoom(factor, at = (this.view.from + this.view.to) / 2) {
		this.show(at - (at - this.view.from) / factor, at + (this.view.to - at) / factor);
	}

	move(ns) {
		this.show(this.view.from + ns, this.view.to + ns);
	}

	showAll() {
		this.show(this.data.from, this.data.to);
	}

	// A span with room around it.
	showSpan(from, to) {
		const room = Math.max(to - from, 2000);
		this.show(from - room, to + room);
	}

	scrollTo(thread) {
		const lane = this.laneOf.get(thread);
		if (lane) this.box.scrollTop = Math.max(0, lane.y - this.shown / 2);
	}

	select(poll) {
		this.selectTask(poll >= 0 ? this.data.task[poll] : -1);
		this.poll = poll;
		this.onChange();
	}

	selectTask(owner) {
		if (owner !== this.owner) {
			const { task, start } = this.data;
			this.ownPolls = [];
			for (let i = 0; owner >= 0 && i < task.length; i++)
				if (task[i] === owner) this.ownPolls.push(i);
			this.ownPolls.sort((a, b) => start[a] - start[b]);
			this.ownStarts = Float64Array.from(this.ownPolls, i => start[i]);
		}
		this.owner = owner;
		this.poll = -1;
		this.onChange();
		this.draw();
	}

	highlight(group) {
		this.group = group;
		this.onChange();
		this.draw();
	}

	goTo(poll) {
		const { start, took, sched } = this.data;
		this.select(poll);
		this.scrollTo(this.data.threadOf(poll));
		this.showSpan(
			start[poll] - Math.min(sched(poll), took(poll) * 500),
			start[poll] + took(poll),
		);
	}

	// The poll of the selected task so many further on.
	step(by) {
		if (!this.ownPolls.length) return;
		const at =
			this.poll >= 0
				? this.ownPolls.indexOf(this.poll) + by
				: by > 0
					? 0
					: this.ownPolls.length - 1;
		const poll = this.ownPolls[Math.max(0, Math.min(at, this.ownPolls.length - 1))];
		const t = this.data.start[poll];
		const end = t + this.data.took(poll);
		this.poll = poll;
		if (t < this.view.from || end > this.view.to) this.show(t - this.span / 2, t + this.span / 2);
		this.scrollTo(this.data.threadOf(poll));
		this.onChange();
		this.draw();
	}

	pollAt(x, y) {
		const down = y + this.box.scrollTop;
		const lane = this.lanes.find(l => down >= l.y && down < l.y + l.height);
		if (!lane || x < LABELS || y < AXIS) return -1;
		const depth = Math.max(0, Math.floor((down - lane.y - LANE) / DEEPER) + 1);
		return lane.pollAt(this.timeOf(x), 1.5 / this.scale, depth);
	}

	draw() {
		if (!this.frame) this.frame = requestAnimationFrame(() => this.paint());
	}

	paint() {
		const began = performance.now();
		this.frame = 0;
		const g = prepare(this.canvas, this.width, this.shown);
		g.save();
		g.beginPath();
		g.rect(0, AXIS, this.width, this.shown - AXIS);
		g.clip();
		g.translate(0, -this.box.scrollTop);
		this.paintGrid(g);
		for (const lane of this.lanes)
			if (
				lane.y + lane.height >= this.box.scrollTop &&
				lane.y <= this.box.scrollTop + this.shown
			)
				this.paintLane(g, lane);
		if (this.owner >= 0) this.paintOwn(g);
		g.restore();
		this.paintAxis(g);
		if (this.selecting) this.paintBox(g);
		this.onPaint?.();
		const ms = performance.now() - began;
		this.frames.nr++;
		this.frames.ms += ms;
		this.frames.max = Math.max(this.frames.max, ms);
	}

	*marks() {
		const step = niceStep(this.span / Math.max(2, (this.width - LABELS) / 130));
		for (let n = Math.ceil(this.view.from / step); n * step <= this.view.to; n++)
			yield [n * step, step];
	}

	paintGrid(g) {
		g.fillStyle = theme.line;
		for (const [t] of this.marks()) g.fillRect(Math.round(this.xOf(t)), AXIS, 1, this.height);
	}

	paintAxis(g) {
		g.fillStyle = theme.line;
		g.fillRect(0, AXIS - 1, this.width, 1);
		g.fillStyle = theme.quiet;
		g.textBaseline = 'middle';
		for (const [t, step] of this.marks())
			if (this.xOf(t) < this.width - 40)
				g.fillText(formatTime(t, step), this.xOf(t) + 4, AXIS / 2);
	}

	paintBox(g) {
		const [a, b] = this.selecting;
		g.globalAlpha = 0.15;
		g.fillStyle = theme.accent;
		g.fillRect(this.xOf(a), AXIS, this.xOf(b) - this.xOf(a), this.shown);
		g.globalAlpha = 1;
		g.fillStyle = theme.text;
		g.textBaseline = 'top';
		g.fillText(formatSpan(Math.abs(b - a)), Math.min(this.xOf(a), this.xOf(b)) + 4, AXIS + 4);
	}

	paintLane(g, lane) {
		const right = this.width;
		g.fillStyle = theme.lane;
		g.fillRect(LABELS, lane.y, right - LABELS, lane.height);
		this.paintLabel(g, lane);
		g.save();
		g.beginPath();
		g.rect(LABELS, lane.y, right - LABELS, lane.height);
		g.clip();
		if (this.data.isThinned) this.paintRest(g, lane);
		lane.rows.forEach((row, depth) =>
			this.paintRow(g, row, this.rowTop(lane, depth), depth ? DEEPER - 1 : LANE),
		);
		g.restore();
	}

	paintLabel(g, lane) {
		const t = lane.thread;
		const span = this.data.to - this.data.from;
		g.textBaseline = 'alphabetic';
		g.fillStyle = theme.text;
		g.fillText(fitText(g, t.label, LABELS - 24), 12, lane.y + 13);
		g.fillStyle = theme.quiet;
		g.fillText(
			fitText(g, `${t.kind} ${t.tid} · ${formatShare(t.busy_ns / span)} busy`, LABELS - 20),
			12,
			lane.y + 26,
		);
	}

	// Polls were left out of the page: how busy the thread was really, behind those that are there.
	paintRest(g, lane) {
		const busy = this.data.columns.busy[lane.thread.thread];
		const width = this.data.facts.time.bin_ns;
		g.fillStyle = theme.rest;
		const first = Math.max(0, Math.floor((this.view.from - this.data.from) / width));
		for (let i = first; i < busy.length && this.data.from + i * width < this.view.to; i++) {
			const x = this.xOf(this.data.from + i * width);
			const h = (LANE * busy[i]) / 65535;
			g.fillRect(x, lane.y + LANE - h, Math.max(1, width * this.scale), h);
		}
	}

	// Rectangles by colour: changing it for each of them is what takes time.
	paintRow(g, row, y, height) {
		const { data } = this;
		const batches = new Map();
		const wide = [];
		row.draw(this.view.from, this.view.to, this.scale, (x, w, share, i) => {
			const poll = row.polls[i];
			const group = data.groupOf(poll);
			const key = this.isFaded(poll, group) ? -1 - group : group;
			let batch = batches.get(key);
			if (!batch) batches.set(key, (batch = []));
			const h = share < 1 ? Math.max(2, height * share) : height;
			const left = LABELS + Math.max(x, -4);
			const right = Math.min(LABELS + x + w, this.width + 4);
			batch.push(left, y + height - h, Math.max(1, right - left - (w > 4 ? 1 : 0)), h);
			if (w >= 3 && (right - left > 40 || data.blocked(poll))) wide.push(poll, left, right);
		});
		for (const [key, rects] of batches) {
			const group = key < 0 ? -1 - key : key;
			g.globalAlpha = key < 0 ? 0.22 : 1;
			g.fillStyle = data.groups[group]?.color ?? GREY;
			for (let i = 0; i < rects.length; i += 4)
				g.fillRect(rects[i], rects[i + 1], rects[i + 2], rects[i + 3]);
		}
		g.globalAlpha = 1;
		for (let i = 0; i < wide.length; i += 3)
			this.paintWide(g, wide[i], wide[i + 1], wide[i + 2], y, height);
	}

	isFaded(poll, group) {
		if (this.owner >= 0) return this.data.task[poll] !== this.owner;
		return this.group >= 0 && group !== this.group;
	}

	// There is room for its name, and for how much of it was sleep.
	paintWide(g, poll, left, right, y, height) {
		const { data } = this;
		const blocked = data.blocked(poll);
		const group = data.groups[data.groupOf(poll)];
		const isFaded = this.isFaded(poll, data.groupOf(poll));
		if (blocked) {
			const end = this.xOf(data.start[poll] + blocked); // when in the poll it was is not told
			g.fillStyle = theme.critical;
			g.globalAlpha = isFaded ? 0.3 : 1;
			g.fillRect(
				left,
				y,
				Math.max(0, Math.min(right - 1, Math.max(end, left + 2)) - left),
				4,
			);
		}
		g.globalAlpha = 1;
		if (right - left < 40 || height < LANE || isFaded) return;
		g.fillStyle = '#fff';
		g.textBaseline = 'alphabetic';
		g.fillText(fitText(g, group?.label ?? '', right - left - 10), left + 5, y + 14.5);
		g.globalAlpha = 0.85;
		g.fillText(fitText(g, formatSpan(data.took(poll)), right - left - 10), left + 5, y + 26);
		g.globalAlpha = 1;
	}

	// The selected task: its polls above all others, its waits, and who woke it. Of those in one
	// pixel one is enough.
	paintOwn(g) {
		const { data, ownPolls, ownStarts } = this;
		let nr = 0;
		let last = -1;
		g.save();
		g.beginPath();
		g.rect(LABELS, AXIS, this.width - LABELS, this.height);
		g.clip();
		for (
			let n = Math.max(0, firstFrom(ownStarts, this.view.from) - 1);
			n < ownPolls.length;
			n++
		) {
			const poll = ownPolls[n];
			const x = this.xOf(ownStarts[n]);
			const w = data.took(poll) * this.scale;
			if (ownStarts[n] - data.sched(poll) > this.view.to) break;
			if (w < 1 && Math.floor(x) === last) {
				n = Math.max(n, firstFrom(ownStarts, this.timeOf(last + 1), n) - 1);
				continue;
			}
			last = Math.floor(x);
			this.paintOwnPoll(g, poll, x, w, nr++ < MAX_ARROWS);
		}
		if (this.poll >= 0)
			this.paintOwnPoll(
				g,
				this.poll,
				this.xOf(data.start[this.poll]),
				data.took(this.poll) * this.scale,
				true,
			);
		g.restore();
	}

	// Where a poll is drawn.
	placeOf(poll) {
		const lane = this.laneOf.get(this.data.threadOf(poll));
		const start = this.data.start[poll];
		const depth = lane ? lane.rows.findIndex(r => r.polls[r.firstFrom(start)] === poll) : -1;
		if (depth < 0) return null;
		return { y: this.rowTop(lane, depth), h: depth ? DEEPER - 1 : LANE };
	}

	rowTop(lane, depth) {
		return depth ? lane.y + LANE + (depth - 1) * DEEPER + 1 : lane.y;
	}

	paintOwnPoll(g, poll, x, w, withArrow) {
		const { data } = this;
		const place = this.placeOf(poll);
		const ready = this.xOf(data.start[poll] - data.sched(poll));
		if (!place) return;
		g.fillStyle = data.groups[data.groupOf(poll)]?.color ?? GREY;
		if (w < 4) g.fillRect(x, place.y, Math.max(1.5, w), place.h);
		g.strokeStyle = g.fillStyle = theme.accent;
		g.lineWidth = 1;
		if (x - ready > 2) {
			g.fillRect(ready, place.y + place.h / 2 - 1, x - ready, 2);
			g.fillRect(ready, place.y + place.h / 2 - 4, 1, 8);
		}
		if (poll === this.poll || w >= 4) {
			const room = Math.max(0, 6 - w) / 2;
			g.lineWidth = poll === this.poll ? 2 : 1;
			g.strokeStyle = poll === this.poll ? theme.text : theme.accent;
			g.strokeRect(x - 0.5 - room, place.y - 0.5, w + 2 * room, place.h + 1);
		}
		const waker = this.laneOf.get(data.wakerThread[poll]);
		if (withArrow && waker) this.paintArrow(g, ready, waker.y + LANE / 2, place.y + place.h / 2);
	}

	paintArrow(g, x, from, to) {
		if (from === to) return;
		const dir = Math.sign(to - from);
		g.lineWidth = 1;
		g.strokeStyle = g.fillStyle = theme.accent;
		g.beginPath();
		g.moveTo(x, from);
		g.lineTo(x, to);
		g.stroke();
		g.beginPath();
		g.arc(x, from, 2.5, 0, 7);
		g.fill();
		g.beginPath();
		g.moveTo(x, to);
		g.lineTo(x - 3.5, to - 7 * dir);
		g.lineTo(x + 3.5, to - 7 * dir);
		g.fill();
	}
}
