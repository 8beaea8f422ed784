// SPDX-License-Identifier: MIT OR Apache-2.0
// The futures that tasks are made of. Polls that were recorded one by one are the future's own; what
// only paths tell are polls of its task, whole, and say nothing of the future alone.

function showFutures(data) {
	const rows = data.facts.futures;
	if (!rows?.length) return;
	byId('futures').hidden = false;
	byId('nav-futures').hidden = false;
	new Table({
		place: 'futures-table',
		search: 'futures-search',
		count: 'futures-count',
		rows,
		open: () => {},
		sort: 5,
		words: nr =>
			nr === rows.length
				? `${plural(nr, 'type')} of futures`
				: `${formatCount(nr)} of ${plural(rows.length, 'type')} of futures`,
		match: r => (r.text ??= `${r.name} ${r.place ?? ''}`.toLowerCase()),
		columns: [
			{
				title: 'Future',
				isText: true,
				value: r => r.short,
				cell: r => make('span.name', r.short),
				hint: r => r.name,
			},
			place('Place', '170px'),
			number('Count', r => r.count, { width: '70px', help: 'that were told from each other' }),
			number('Dropped', r => r.dropped, { width: '72px', help: 'before they were ready' }),
			number('Polls', r => r.polls, { width: '78px' }),
			time('Polling', r => r.poll_ns, { width: '78px' }),
			{
				title: 'By',
				isText: true,
				value: r => r.by,
				text: r => r.by,
				width: '62px',
				help: 'exact: each of its polls was recorded; some: not all were; paths: polls of its task',
			},
			time('Self', r => r.self_ns, { width: '72px', help: 'without the futures inside of it' }),
			time('max', r => r.max_ns, { width: '66px' }),
			number('Ready', r => r.ready, { width: '66px' }),
			number('Panics', r => r.unwound, { width: '66px' }),
			time('Waiting', r => r.wait_ns, { width: '78px', help: 'of tasks, while it was there' }),
		],
	});
}
