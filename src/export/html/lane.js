// SPDX-License-Identifier: MIT OR Apache-2.0
// The polls of a thread, ready to be drawn at any zoom. A lane has a row for each depth (polls
// inside of polls are rare); in a row nothing overlaps. So the busy time between two polls is a
// difference of sums, and a tree over blocks of FAN polls tells which was the longest: what is
// thinner than a pixel is drawn as its share of the pixel, in the colour of the longest.

const FAN = 16;

// The first of some sorted numbers, from number i on, that is t or more. Near i, which is usual, it
// takes few steps.
function firstFrom(numbers, t, i = 0) {
	let step = 1;
	while (i + step < numbers.length && numbers[i + step] < t) step *= 2;
	let low = i;
	let high = Math.min(i + step, numbers.length);
	while (low < high) {
		const mid = (low + high) >> 1;
		if (numbers[mid] < t) low = mid + 1;
		else high = mid;
	}
	return low;
}

class Row {
	constructor(data, polls) {
		const nr = polls.length;
		this.polls = polls;
		this.start = new Float64Array(nr);
		this.end = new Float64Array(nr);
		this.took = new Float32Array(nr);
		this.sum = new Float64Array(nr + 1);
		for (let i = 0; i < nr; i++) {
			this.start[i] = data.start[polls[i]];
			this.took[i] = data.took(polls[i]);
			this.end[i] = this.start[i] + data.took(polls[i]);
			this.sum[i + 1] = this.sum[i] + this.end[i] - this.start[i];
		}
		this.levels = [];
		for (let size = nr, below = null; size > FAN; size = Math.ceil(size / FAN)) {
			below = this.#longestOfBlocks(below, size);
			this.levels.push(below);
		}
	}

	#longestOfBlocks(below, size) {
		const level = new Uint32Array(Math.ceil(size / FAN));
		const { took } = this;
		for (let i = 0; i < size; i++) {
			const poll = below ? below[i] : i;
			const block = Math.floor(i / FAN);
			if (i % FAN === 0 || took[poll] > took[level[block]]) level[block] = poll;
		}
		return level;
	}

	// Of polls a to b - 1: single ones up to a whole block, then blocks, then blocks of blocks.
	longest(a, b) {
		const { took, levels } = this;
		let best = a;
		for (let depth = 0; a < b; depth++) {
			const level = depth ? levels[depth - 1] : null;
			const isTop = depth === levels.length;
			for (; a < b && (isTop || a % FAN); a++) {
				const poll = level ? level[a] : a;
				if (took[poll] > took[best]) best = poll;
			}
			for (; a < b && b % FAN; b--) {
				const poll = level ? level[b - 1] : b - 1;
				if (took[poll] > took[best]) best = poll;
			}
			a /= FAN;
			b /= FAN;
		}
		return best;
	}

	firstFrom(t, i) {
		return firstFrom(this.start, t, i);
	}

	// The poll at t, or the nearest one less than slack away; -1.
	at(t, slack) {
		const next = this.firstFrom(t);
		const before = next - 1;
		if (before >= 0 && this.end[before] >= t) return before;
		const gapBefore = before >= 0 ? t - this.end[before] : Infinity;
		const gapNext = next < this.start.length ? this.start[next] - t : Infinity;
		const gap = Math.min(gapBefore, gapNext);
		return gap > slack ? -1 : gap === gapBefore ? before : next;
	}

	// What is to be seen from t0 on, k pixels for a nanosecond: put(x, w, share, poll) for single
	// polls of a pixel or more (share 1), and for pixels full of small ones.
	draw(t0, t1, k, put) {
		const { start, end, sum } = this;
		const nr = start.length;
		let i = Math.max(0, this.firstFrom(t0) - 1);
		if (i < nr && end[i] <= t0) i++;
		while (i < nr && start[i] < t1) {
			const x = (start[i] - t0) * k;
			const w = (end[i] - start[i]) * k;
			if (w >= 1) {
				put(x, w, 1, i);
				i++;
				continue;
			}
			const pixel = Math.floor(x);
			let j = Math.max(i + 1, this.firstFrom(t0 + (pixel + 1) / k, i));
			if (j - 1 > i && (end[j - 1] - start[j - 1]) * k >= 1) j--; // that one is drawn by itself
			put(
				pixel,
				1,
				Math.min(1, (sum[j] - sum[i]) * k),
				j - i === 1 ? i : this.longest(i, j),
			);
			i = j;
		}
	}
}

class Lane {
	constructor(data, thread, from, to) {
		const open = [];
		const rows = [];
		this.thread = thread;
		for (let i = from; i < to; i++) {
			const start = data.start[i];
			while (open.length && open[open.length - 1] <= start) open.pop();
			(rows[open.length] ??= []).push(i);
			open.push(start + data.took(i));
		}
		this.rows = rows.map(polls => new Row(data, new Uint32Array(polls)));
		if (!this.rows.length) this.rows.push(new Row(data, new Uint32Array(0)));
	}

	// A poll of the recording, or -1.
	pollAt(t, slack, depth) {
		for (let d = Math.min(depth, this.rows.length - 1); d >= 0; d--) {
			const i = this.rows[d].at(t, d === depth ? slack : 0);
			if (i >= 0) return this.rows[d].polls[i];
		}
		return -1;
	}
}

// A lane for each thread that polls, workers first.
function makeLanes(data) {
	const order = { worker: 0, blocking: 1, other: 2 };
	const lanes = [];
	let at = 0;
	data.facts.polls_on.forEach((nr, number) => {
		const thread = data.threads.get(number);
		if (thread && (nr || thread.kind === 'worker'))
			lanes.push(new Lane(data, thread, at, at + nr));
		at += nr;
	});
	lanes.sort(
		(a, b) => order[a.thread.kind] - order[b.thread.kind] || a.thread.thread - b.thread.thread,
	);
	return lanes;
}
