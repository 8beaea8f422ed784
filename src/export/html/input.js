// SPDX-License-Identifier: MIT OR Apache-2.0
// Moving the timeline by mouse, touch and keys, and what is told of the poll under the pointer.

class TimelineInput {
	constructor(timeline, tell) {
		this.t = timeline;
		this.tell = tell; // (poll, x, y): -1 for none
		this.pointers = new Map();
		this.drag = null;
		const c = timeline.canvas;
		c.addEventListener('wheel', e => this.wheel(e), { passive: false });
		c.addEventListener('pointerdown', e => this.down(e));
		c.addEventListener('pointermove', e => this.moved(e));
		c.addEventListener('pointerup', e => this.up(e));
		c.addEventListener('pointercancel', e => this.up(e));
		c.addEventListener('pointerleave', () => this.tell(-1));
		c.addEventListener('dblclick', e => this.t.zoom(4, this.t.timeOf(this.#place(e).x)));
		c.addEventListener('keydown', e => this.key(e));
	}

	#place(e) {
		const box = this.t.canvas.getBoundingClientRect();
		return { x: e.clientX - box.left, y: e.clientY - box.top };
	}

	// Until it was clicked the page scrolls: nobody likes to be caught in a picture.
	wheel(e) {
		const zooms = e.ctrlKey || (document.activeElement === this.t.canvas && !e.shiftKey);
		const unit = e.deltaMode ? 30 : 1;
		if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) {
			this.t.move(((e.deltaX || e.deltaY) * unit) / this.t.scale);
		} else if (zooms) {
			this.t.zoom(
				Math.exp(-e.deltaY * unit * (e.ctrlKey ? 0.01 : 0.002)),
				this.t.timeOf(this.#place(e).x),
			);
		} else {
			return;
		}
		e.preventDefault();
		this.tell(-1);
	}

	down(e) {
		const { x, y } = this.#place(e);
		this.t.canvas.focus({ preventScroll: true });
		this.t.canvas.setPointerCapture(e.pointerId);
		this.pointers.set(e.pointerId, { x, y });
		if (this.pointers.size === 2)
			this.drag = { kind: 'pinch', ...this.#pinch(), view: { ...this.t.view } };
		else
			this.drag = {
				kind: e.shiftKey || y < AXIS ? 'box' : 'move',
				x,
				y,
				far: false,
				view: { ...this.t.view },
				scroll: this.t.box.scrollTop,
			};
		this.tell(-1);
	}

	#pinch() {
		const [a, b] = [...this.pointers.values()];
		return { gap: Math.max(10, Math.abs(a.x - b.x)), middle: (a.x + b.x) / 2 };
	}

	moved(e) {
		const { x, y } = this.#place(e);
		const t = this.t;
		if (!this.drag) {
			const poll = t.pollAt(x, y);
			t.canvas.classList.toggle('on-poll', poll >= 0);
			this.tell(poll, e.clientX, e.clientY);
			return;
		}
		this.pointers.set(e.pointerId, { x, y });
		if (this.drag.kind === 'pinch') {
			if (this.pointers.size === 2) this.pinchTo(this.#pinch());
			return;
		}
		this.drag.far ||= Math.hypot(x - this.drag.x, y - this.drag.y) > 4;
		if (!this.drag.far) return;
		t.canvas.classList.add(this.drag.kind === 'box' ? 'boxing' : 'moving');
		if (this.drag.kind === 'box') {
			t.selecting = [
				t.timeOf(Math.max(LABELS, this.drag.x)),
				t.timeOf(Math.max(LABELS, x)),
			];
			t.draw();
		} else {
			const by = (this.drag.x - x) / t.scale;
			t.box.scrollTop = this.drag.scroll + this.drag.y - y;
			t.show(this.drag.view.from + by, this.drag.view.to + by);
		}
	}

	// What was between the fingers stays there.
	pinchTo({ gap, middle }) {
		const { view, gap: gap0, middle: middle0 } = this.drag;
		const room = this.t.width - LABELS;
		const span = ((view.to - view.from) * gap0) / gap;
		const at = view.from + ((middle0 - LABELS) / room) * (view.to - view.from);
		const from = at - ((middle - LABELS) / room) * span;
		this.t.show(from, from + span);
	}

	up(e) {
		const drag = this.drag;
		const t = this.t;
		const { x, y } = this.#place(e);
		this.pointers.delete(e.pointerId);
		if (this.pointers.size) return;
		this.drag = null;
		t.canvas.classList.remove('boxing', 'moving');
		const box = t.selecting;
		t.selecting = null;
		if (drag && drag.kind === 'box' && box) t.show(Math.min(...box), Math.max(...box));
		else if (drag && drag.kind !== 'pinch' && !drag.far && e.type === 'pointerup')
			t.select(t.pollAt(x, y));
		t.draw();
	}

	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		const t = this.t;
		const far = t.span / 8;
		const actions = {
			w: () => t.zoom(1.5),
			'+': () => t.zoom(1.5),
			'=': () => t.zoom(1.5),
			ArrowUp: () => t.zoom(1.5),
			s: () => t.zoom(1 / 1.5),
			'-': () => t.zoom(1 / 1.5),
			ArrowDown: () => t.zoom(1 / 1.5),
			a: () => t.move(-far),
			ArrowLeft: () => t.move(-far),
			d: () => t.move(far),
			ArrowRight: () => t.move(far),
			0: () => t.showAll(),
			Home: () => t.showAll(),
			'[': () => t.step(-1),
			']': () => t.step(1),
			Escape: () => {
				t.group = -1;
				t.select(-1);
			},
		};
		const action = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
		if (action) {
			action();
			e.preventDefault();
		}
	}
}

// The whole recording above the timeline, with the part of it that is to be seen.
class Overview {
	constructor(timeline, data) {
		this.t = timeline;
		this.data = data;
		this.canvas = byId('map');
		timeline.onPaint = () => this.paint();
		this.canvas.addEventListener('pointerdown', e => this.down(e));
		this.canvas.addEventListener('pointermove', e => this.from !== undefined && this.drag(e));
		this.canvas.addEventListener('pointerup', () => (this.from = undefined));
	}

	#timeOf(e) {
		const box = this.canvas.getBoundingClientRect();
		const part = (e.clientX - box.left - LABELS) / (box.width - LABELS);
		return this.data.from + Math.max(0, Math.min(1, part)) * (this.data.to - this.data.from);
	}

	down(e) {
		this.canvas.setPointerCapture(e.pointerId);
		this.from = this.#timeOf(e);
		this.t.show(this.from - this.t.span / 2, this.from + this.t.span / 2);
	}

	drag(e) {
		const to = this.#timeOf(e);
		if (Math.abs(to - this.from) * (this.t.width - LABELS) > 4 * (this.data.to - this.data.from))
			this.t.show(Math.min(to, this.from), Math.max(to, this.from));
	}

	paint() {
		const width = this.t.width;
		const height = 40;
		const room = width - LABELS;
		const g = prepare(this.canvas, width, height);
		const { data } = this;
		const running = data.columns['time.running'];
		const top = Math.max(...running, 1e-9);
		const x = t => LABELS + ((t - data.from) / (data.to - data.from)) * room;
		const bin = data.facts.time.bin_ns;
		g.fillStyle = theme.quiet;
		g.textBaseline = 'middle';
		g.fillText('whole recording', 12, height / 2);
		g.fillStyle = theme.busy;
		g.globalAlpha = 0.6;
		running.forEach((n, i) => {
			const h = ((height - 8) * n) / top;
			const at = x(data.from + i * bin);
			g.fillRect(at, height - h, Math.max(1, (bin / (data.to - data.from)) * room), h);
		});
		const [a, b] = [x(this.t.view.from), x(this.t.view.to)];
		g.globalAlpha = 0.55;
		g.fillStyle = theme.panel;
		g.fillRect(LABELS, 0, a - LABELS, height);
		g.fillRect(b, 0, width - b, height);
		g.globalAlpha = 1;
		g.strokeStyle = theme.accent;
		g.lineWidth = 1.5;
		g.strokeRect(a + 1, 1, Math.max(3, b - a - 2), height - 2);
	}
}
