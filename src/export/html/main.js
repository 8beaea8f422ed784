// SPDX-License-Identifier: MIT OR Apache-2.0
// Puts the page together.

function setTheme(name, repaint) {
	document.documentElement.dataset.theme = name;
	byId('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
	readTheme();
	repaint?.();
}

function showTip(content, x, y) {
	const tip = byId('tip');
	tip.hidden = !content;
	if (!content) return;
	const [title, pairs, swatch] = content;
	const list = make('dl');
	for (const [term, value] of pairs)
		if (value !== null && value !== undefined && value !== '')
			list.append(make('dt', term), make('dd', value));
	const head = make('div.title', make('span.name', title));
	if (swatch) {
		head.prepend(make('i.swatch'));
		head.firstChild.style.background = swatch;
	}
	tip.replaceChildren(head, list);
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
	tip.style.top =
		(y + 18 + box.height < innerHeight ? y + 18 : Math.max(4, y - box.height - 12)) + 'px';
}

function wokenBy(data, poll) {
	const cause = data.cause[poll];
	if (cause === NO_CAUSE) return data.flags[poll] & FLAG.first ? 'its spawn' : 'not known';
	const thread = data.threads.get(data.wakerThread[poll]);
	const group = data.groups[data.wakerGroup[poll]];
	const who =
		{
			worker: 'the runtime (driver, timer)',
			self: 'itself',
			thread: 'a thread outside the runtime',
			task: 'task',
			abort: 'an abort',
		}[data.facts.causes[cause]] ?? data.facts.causes[cause];
	const task =
		data.wakerGroup[poll] !== NONE && data.facts.causes[cause] !== 'self'
			? ` ${data.waker(poll)}${group ? ' (' + group.label + ')' : ''}`
			: '';
	return (
		who +
		task +
		(thread && data.facts.causes[cause] !== 'self' ? ` on ${thread.label} ${thread.tid}` : '')
	);
}

function pollFacts(data, poll) {
	const blocked = data.blocked(poll);
	const isKnown = data.flags[poll] & FLAG.gapKnown;
	return [
		['task', String(data.ownerId[data.task[poll]])],
		['place', clean(data.groups[data.groupOf(poll)]?.place)],
		['at', formatTime(data.start[poll], 1000)],
		[
			data.flags[poll] & FLAG.drop ? 'dropped in' : 'took',
			formatSpan(data.took(poll)) +
				(data.flags[poll] & FLAG.open ? ', until the recording ended' : ''),
		],
		['asleep in it', blocked ? formatSpan(blocked) : ''],
		['waited for a worker', isKnown ? formatSpan(data.sched(poll)) : 'not known'],
		['woken by', wokenBy(data, poll)],
	];
}

function showLegend(data, timeline) {
	const buttons = data.busiest.slice(0, PALETTE.length).map(i => {
		const g = data.groups[i];
		const b = make('button', make('i.swatch'), make('span.name', g.short));
		b.type = 'button';
		b.title = clean(g.name) + ' – click to see it alone';
		b.firstChild.style.background = g.color;
		b.addEventListener('click', () => {
			timeline.selectTask(-1);
			timeline.highlight(timeline.group === i ? -1 : i);
		});
		b.dataset.group = i;
		return b;
	});
	byId('legend').replaceChildren(...buttons);
	if (data.busiest.length > PALETTE.length) {
		const rest = make(
			'span.quiet',
			make('i.swatch'),
			` ${data.busiest.length - PALETTE.length} others`,
		);
		rest.firstChild.style.background = GREY;
		byId('legend').append(rest);
	}
	return () =>
		buttons.forEach(b =>
			b.setAttribute('aria-pressed', String(+b.dataset.group === timeline.group)),
		);
}

function taskFacts(data, owner) {
	const row = data.rowOfNr.get(data.ownerNr[owner]);
	const c = name => data.columns['task.' + name][row];
	if (row === undefined) return [];
	return [
		['polls', formatCount(c('polls'))],
		['busy', formatSpan(c('busy'))],
		['waiting', formatSpan(c('sched'))],
		['idle', formatSpan(c('idle'))],
		['longest poll', formatSpan(c('max_poll'))],
		['longest wait', formatSpan(c('max_sched'))],
		[
			'spawned',
			`${formatTime(c('spawn_ns'), 1e6)}${c('parent') >= 0 ? ' by task ' + c('parent') : ''}`,
		],
		['end', data.facts.ends[c('end')]],
	];
}

function detailLine(title, pairs) {
	return make('div.about', make('b', title), describe(make('dl'), pairs));
}

// What is selected, below the timeline.
function showDetail(data, timeline) {
	const { owner, poll, ownPolls } = timeline;
	const detail = byId('detail');
	if (owner < 0) {
		detail.replaceChildren();
		return;
	}
	const group = data.groups[data.ownerGroup[owner]];
	const act = (text, action) => {
		const b = make('button', text);
		b.type = 'button';
		b.addEventListener('click', action);
		return b;
	};
	const longest = () => timeline.goTo(ownPolls.reduce((a, b) => (data.took(b) > data.took(a) ? b : a)));
	const last = ownPolls[ownPolls.length - 1];
	detail.replaceChildren(
		make(
			'div.head',
			make('b', `Task ${data.ownerId[owner]}`),
			make('span.name', group?.name ?? 'unknown'),
			make(
				'span.tools',
				act('‹ Poll', () => timeline.step(-1)),
				act('Poll ›', () => timeline.step(1)),
				act('Longest', longest),
				act('All polls', () =>
					timeline.showSpan(
						data.start[ownPolls[0]],
						data.start[last] + data.took(last),
					),
				),
				act('Clear', () => timeline.select(-1)),
			),
		),
		poll >= 0 ? detailLine('This poll', pollFacts(data, poll).slice(2)) : '',
		detailLine('The task', [['place', clean(group?.place)], ...taskFacts(data, owner)]),
	);
}

function showTimes(data) {
	const select = byId('times-type');
	const tell = showTip;
	const charts = [
		new Histogram('poll-histogram', 'poll-figures', tell),
		new Histogram('sched-histogram', 'sched-figures', tell),
	];
	const option = (value, text) => {
		const o = make('option', text);
		o.value = value;
		return o;
	};
	select.append(option(-1, 'all types'), ...data.busiest.map(i => option(i, data.groups[i].short)));
	const update = () => {
		const group = data.groups[select.value];
		const of = group ?? data.facts.totals;
		const isLog = byId('times-log').checked;
		charts[0].show(of.poll, isLog, group?.color ?? theme.busy);
		charts[1].show(of.sched, isLog, group?.color ?? theme.ready);
	};
	select.addEventListener('change', update);
	byId('times-log').addEventListener('change', update);
	update();
	return update;
}

function showTables(data, timeline, timesUpdate) {
	typesTable(data, row => {
		timeline.selectTask(-1);
		timeline.highlight(row.number);
		byId('times-type').value = row.number;
		timesUpdate();
	});
	tasksTable(data, row => {
		const owner = data.ownerOfNr.get(data.columns['task.nr'][row]);
		if (owner === undefined) return;
		timeline.selectTask(owner);
		timeline.goTo(timeline.ownPolls.reduce((a, b) => (data.took(b) > data.took(a) ? b : a)));
		byId('timeline').scrollIntoView({ block: 'start' });
	});
}

async function start() {
	const wanted = window.matchMedia('(prefers-color-scheme: dark)');
	setTheme(wanted.matches ? 'dark' : 'light');
	const facts = JSON.parse(byId('facts').textContent);
	showVerdict(facts);
	const connectFindings = showFindings(facts);
	await new Promise(done => setTimeout(done)); // so much can be read while the rest is unpacked
	const data = await loadData(facts);
	const lanes = makeLanes(data);
	const timeline = new Timeline(data, lanes);
	new Overview(timeline, data);
	new TimelineInput(timeline, (poll, x, y) =>
		showTip(
			poll < 0
				? null
				: [
						data.groups[data.groupOf(poll)]?.label ?? 'unknown',
						pollFacts(data, poll),
						data.groups[data.groupOf(poll)]?.color,
					],
			x,
			y,
		),
	);
	connectFindings(data, timeline, lanes);
	const pressLegend = showLegend(data, timeline);
	const timesUpdate = showTimes(data);
	const charts = [
		new WorkersChart(data, lanes, timeline, showTip),
		new TasksChart('tasks-live', data, [['live', 'alive', 'faint']], timeline, showTip),
		new TasksChart(
			'tasks-ready',
			data,
			[
				['scheduled', 'waiting for a worker', 'ready'],
				['running', 'running', 'busy'],
			],
			timeline,
			showTip,
		),
	];
	byId('tasks-key').append(
		make('i.k-live'),
		'alive',
		make('i.k-ready'),
		'waiting for a worker',
		make('i.k-running'),
		'running',
	);
	timeline.onChange = () => {
		pressLegend();
		showDetail(data, timeline);
	};
	const paintMap = timeline.onPaint;
	timeline.onPaint = () => {
		paintMap();
		byId('range').textContent =
			`${formatTime(timeline.view.from, timeline.span / 1000)} + ${formatSpan(timeline.span)}`;
	};
	showTables(data, timeline, timesUpdate);
	const flames = showWaiting(data, showTip);
	showFutures(data);
	showAbout(data);
	byId('zoom-in').addEventListener('click', () => timeline.zoom(2));
	byId('zoom-out').addEventListener('click', () => timeline.zoom(0.5));
	byId('zoom-all').addEventListener('click', () => timeline.showAll());
	const repaint = () => {
		timeline.draw();
		charts.forEach(c => c.paint());
		timesUpdate();
	};
	const shown = () => document.documentElement.dataset.theme;
	wanted.addEventListener('change', () => setTheme(wanted.matches ? 'dark' : 'light', repaint));
	byId('theme').addEventListener('click', () =>
		setTheme(shown() === 'dark' ? 'light' : 'dark', repaint),
	);
	let before;
	window.addEventListener('beforeprint', () => {
		before = shown();
		setTheme('light', repaint);
		timeline.paint();
	});
	window.addEventListener('afterprint', () => setTheme(before, repaint));
	timeline.draw();
	window.futrace = { data, timeline, lanes, flames }; // for the curious, and for tests
	document.documentElement.dataset.ready = 'yes';
}

start().catch(error => {
	const p = make('p.warn', `This page could not be drawn: ${error.message}`);
	document.querySelector('main').prepend(p);
	document.documentElement.dataset.ready = 'failed';
	throw error;
});
