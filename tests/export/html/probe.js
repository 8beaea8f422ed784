// SPDX-License-Identifier: MIT OR Apache-2.0
// What tests/export/test_html.py asks a page: run inside it, after it is ready.
(() => {
	const { data, timeline, lanes } = futrace;
	const FLAG_DROP = 1;
	const FLAG_GAP_KNOWN = 8;
	const NO_CAUSE = 255;
	const NONE = 0xffff;
	const id = i => data.ownerId[data.task[i]];
	const isGapKnown = i => data.flags[i] & FLAG_GAP_KNOWN;

	// Each run as [start, took, blocked, wait or -1, task, tid, is it a drop].
	const runs = () =>
		Array.from(data.start, (start, i) => [
			start,
			data.took(i),
			data.blocked(i),
			isGapKnown(i) ? data.sched(i) : -1,
			id(i),
			data.threads.get(data.threadOf(i)).tid,
			!!(data.flags[i] & FLAG_DROP),
		]);

	// Of each run that was woken [ready, task, cause, task that did it, tid that did it].
	const wakes = () =>
		Array.from(data.start, (start, i) =>
			data.cause[i] === NO_CAUSE || !isGapKnown(i)
				? null
				: [
						start - data.sched(i),
						id(i),
						data.facts.causes[data.cause[i]],
						data.wakerGroup[i] === NONE ? null : data.waker(i),
						data.threads.get(data.wakerThread[i])?.tid ?? null,
					],
		).filter(Boolean);

	const nrInLanes = () => lanes.flatMap(l => l.rows).reduce((nr, row) => nr + row.polls.length, 0);

	const nrLonger = ns => data.start.reduce((nr, _, i) => nr + (data.took(i) >= ns), 0);

	// Bins of time, added up again: ns of threads by tid, and of the lives of all tasks.
	const sums = () => {
		const width = data.facts.time.bin_ns;
		const span = data.to - data.from;
		const sum = bins => bins.reduce((s, v, i) => s + v * Math.min(width, span - i * width), 0);
		const of = t => [
			sum(data.columns.busy[t.thread]) / 65535,
			sum(data.columns.blocked[t.thread]) / 65535,
		];
		return {
			threads: Object.fromEntries(data.facts.threads.map(t => [t.tid, of(t)])),
			live: sum(data.columns['time.live']),
		};
	};

	const nrInBins = histogram => histogram.bins.reduce((s, v, i) => s + (i % 2 ? v : 0), 0);

	const showTimesOf = name => {
		const select = document.getElementById('times-type');
		select.value = data.groups.findIndex(g => g && g.name === name);
		select.dispatchEvent(new Event('change'));
	};

	// How long it takes to draw each picture of a zoom into the recording, and of a way through it.
	const times = async () => {
		const all = data.to - data.from;
		const took = [];
		const draw = async (from, to) => {
			timeline.show(from, to);
			cancelAnimationFrame(timeline.frame);
			const began = performance.now();
			timeline.paint();
			took.push(performance.now() - began);
			await new Promise(done => requestAnimationFrame(done));
		};
		for (let z = 1; z < 100000; z *= 1.5)
			await draw(data.from + all * 0.4 * (1 - 1 / z), data.from + all * (0.4 + 0.6 / z));
		for (let n = 0; n < 30; n++)
			await draw(data.from + (all * n) / 60, data.from + (all * (n + 30)) / 60);
		return took;
	};

	// Shows the longest poll: where its middle is in the canvas.
	const showLongest = () => {
		const poll = data.start.reduce(
			(best, _, i) => (data.took(i) > data.took(best) ? i : best),
			0,
		);
		timeline.select(-1);
		timeline.showSpan(data.start[poll], data.start[poll] + data.took(poll));
		timeline.scrollTo(data.threadOf(poll));
		return {
			poll,
			task: id(poll),
			x: timeline.xOf(data.start[poll] + data.took(poll) / 2),
			y: timeline.laneOf.get(data.threadOf(poll)).y + 10 - timeline.box.scrollTop,
		};
	};

	const selectedTask = () => data.ownerId[timeline.owner];

	const clickHead = (table, title) =>
		[...document.querySelectorAll(`#${table} th button`)]
			.find(b => b.textContent === title)
			.click();

	const search = (field, text) => {
		document.getElementById(field).value = text;
		document.getElementById(field).dispatchEvent(new Event('input'));
	};

	const count = selector => document.querySelectorAll(selector).length;

	const nrHandlers = () =>
		[...document.querySelectorAll('*')].filter(e =>
			[...e.attributes].some(a => /^on/i.test(a.name)),
		).length;

	// All that a page must not do.
	const misbehave = () => {
		const script = document.createElement('script');
		script.textContent = 'window.hacked = 8';
		document.body.append(script);
		const image = new Image();
		image.src = 'http://127.0.0.1:9/x.png';
		document.body.append(image);
		const box = document.createElement('div');
		box.innerHTML = '<b onclick="window.hacked = 9">x</b>';
		document.body.append(box);
		box.firstChild.click();
		return fetch('http://127.0.0.1:9/').then(
			() => 'fetched',
			() => 'refused',
		);
	};

	window.probe = {
		runs,
		wakes,
		nrInLanes,
		nrLonger,
		sums,
		nrInBins,
		showTimesOf,
		times,
		showLongest,
		selectedTask,
		clickHead,
		search,
		count,
		nrHandlers,
		misbehave,
	};
})();
