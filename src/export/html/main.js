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
	if (!content)
		return;
	const [title, pairs, swatch] = content, list = make('dl');
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
	tip.style.top = (y + 18 + box.height < innerHeight ? y + 18 : Math.max(4, y - box.height - 12)) + 'px';
}

function wokenBy(data, poll) {
	const cause = data.cause[poll];
	if (cause === NO_CAUSE)
		return data.flags[poll] & FLAG.first ? 'its spawn' : 'not known';
	const thread = data.threads.get(data.wakerThread[poll]), group = data.groups[data.wakerGroup[poll]];
	const who = { worker: 'the runtime (driver, timer)', self: 'itself', thread: 'a thread outside the runtime',
		task: 'task', abort: 'an abort' }[data.facts.causes[cause]] ?? data.facts.causes[cause];
	const task = data.wakerGroup[poll] !== NONE && data.facts.causes[cause] !== 'self'
		? ` ${data.waker(poll)}${group ? ' (' + group.label + ')' : ''}` : '';
	return who + task + (thread && data.facts.causes[cause] !== 'self' ? ` on ${thread.label} ${thread.tid}` : '');
}

function pollFacts(data, poll) {
	const blocked = data.blocked(poll), isKnown = data.flags[poll] & FLAG.gapKnown;
	return [
		['task', String(data.ownerId[data.task[poll]])],
		['place', clean(data.groups[data.groupOf(poll)]?.place)],
		['at', formatTime(data.start[poll], 1000)],
		[data.flags[poll] & FLAG.drop ? 'dropped in' : 'took',
			formatSpan(data.took(poll)) + (data.flags[poll] & FLAG.open ? ', until the recording ended' : '')],
		['asleep in it', blocked ? formatSpan(blocked) : ''],
		['waited for a worker', isKnown ? formatSpan(data.sched(poll)) : 'not known'],
		['woken by', wokenBy(data, poll)],
	];
}

function showVerdict(facts) {
	const { totals, recording, program } = facts;
	const exe = program.exe.split('/').pop() || program.exe;
	const counts = ['critical', 'warning', 'note'].map(s => [s, facts.findings.filter(f => f.severity === s).length]);
	const said = counts.filter(([, nr]) => nr).map(([s, nr]) => {
		const b = make('b.is-' + s, s === 'critical' ? `${nr} critical` : plural(nr, s));
		return [b, ', '];
	}).flat().slice(0, -1);
	document.title = clean(exe) + ' – futrace';
	byId('program').textContent = clean(exe);
	byId('command').textContent = clean(program.argv.join(' ') || program.exe);
	byId('verdict').append(...(facts.findings.length
		? [plural(facts.findings.length, 'finding') + ': ', ...said, '. ']
		: [make('b.is-good', 'No findings. ')]), `Recorded ${formatSpan(totals.duration_ns)}; ${recording.end}.`);
	showTotals(facts);
	const wrong = [recording.cut && 'The recording has no end: what came later is missing.',
		recording.bad_blocks + recording.bad_events > 0 && 'The file is damaged: some of it could not be read.',
		recording.lost > 0 && `${plural(recording.lost, 'event')} lost while recording: times of the tasks concerned are partly unknown.`]
		.filter(Boolean).join(' ');
	byId('warning').hidden = !wrong;
	byId('warning').textContent = wrong;
}

function showTotals(facts) {
	const { totals: t, recording: r } = facts, all = t.workers * t.duration_ns;
	const tiles = [
		['duration', 'Duration', formatSpan(t.duration_ns), t.duration_ns, `${plural(r.events, 'event')}`],
		['tasks', 'Tasks', formatCount(t.tasks), t.tasks, `${formatCount(t.alive)} alive at the end`],
		['polls', 'Polls', formatCount(t.polls), t.polls, `p99 ${formatSpan(t.poll.p99)}, max ${formatSpan(t.max_poll_ns)}`],
		['busy', 'Workers busy', all ? formatShare(t.workers_busy_ns / all) : '–', t.workers_busy_ns,
			`${plural(t.workers, 'worker')}, ${formatCount(t.blocking_threads)} blocking`],
		['sched', 'Wait for a worker', t.sched.nr ? formatSpan(t.sched.p99) : '–', t.sched_ns, `p99; max ${formatSpan(t.sched.max)}`],
		['lost', 'Lost', r.lost ? formatCount(r.lost) : 'nothing', r.lost,
			r.threads_not_recorded ? plural(r.threads_not_recorded, 'thread') + ' not recorded' : r.lost ? 'events' : 'all was recorded'],
		['cost', 'Cost of tracing', r.tool_cpu_ns ? formatSpan(r.tool_cpu_ns) : 'not known', r.tool_cpu_ns,
			r.target_cpu_ns ? `of CPU; the program used ${formatSpan(r.target_cpu_ns)}` : 'of CPU'],
	];
	byId('totals').replaceChildren(...tiles.map(([key, title, text, value, more]) => {
		const dd = make('dd', text);
		dd.dataset.key = key;
		dd.dataset.value = value;
		return make('div', make('dt', title), dd, make('dd.more', more));
	}));
}

function figureText([name, unit, value]) {
	const word = name.replace(/_(ns|bytes|percent)$/, '').replace(/_/g, ' ');
	return `${word} ${unit === 'ns' ? formatSpan(value) : unit === 'bytes' ? formatBytes(value)
		: unit === 'percent' ? value + '%' : formatCount(value)}`;
}

// The poll in which a finding's worst moment lies: of its task, else of its type, on its thread.
function pollOfFinding(data, lanes, f) {
	const lane = lanes.find(l => l.thread.thread === f.thread);
	let best = -1, bestGap = Infinity;
	for (const l of lane ? [lane] : lanes)
		for (const row of l.rows) {
			const i = row.firstFrom(f.time_ns);
			for (let n = Math.max(0, i - 64); n < Math.min(row.polls.length, i + 64); n++) {
				const poll = row.polls[n], gap = Math.abs(row.start[n] - f.time_ns);
				const fits = f.task !== undefined ? data.ownerId[data.task[poll]] === f.task && data.groupOf(poll) === f.group
					: f.group < 0 || data.groupOf(poll) === f.group;
				if (fits && gap < bestGap) {
					best = poll;
					bestGap = gap;
				}
			}
		}
	return best;
}

function showFindings(data, timeline, lanes) {
	const { findings } = data.facts, list = byId('finding-list');
	if (!findings.length) {
		list.append(make('li.none', data.facts.totals.tasks ? 'Nothing looks wrong: no analysis found anything over its threshold.'
			: 'No task was recorded.'));
		return;
	}
	for (const f of findings) {
		const group = data.groups[f.group], type = group ? group.name : f.summary;
		const where = make('div.where', make('span.name', group ? group.short : f.summary), make('span.name.quiet', shortPlace(group?.place)),
			make('span.rule', f.rule + (f.task === undefined ? '' : `, task ${f.task}`)));
		where.firstChild.title = clean(type);
		where.children[1].title = clean(group?.place);
		const figures = f.figures.map(figureText).join(' · ');
		const text = make('div', where, make('div.what', f.what ?? ''), make('div.advice', f.advice ?? ''));
		const item = make('li.finding.' + f.severity, make('span.pill', f.severity), text);
		text.children[1].title = figures;
		if (f.time_ns || f.span_ns || f.task !== undefined) {
			const button = make('button', 'Show');
			button.type = 'button';
			button.title = 'Show the worst of it in the timeline';
			button.addEventListener('click', () => {
				goToFinding(data, timeline, lanes, f);
				byId('timeline').scrollIntoView({ block: 'start' });
				timeline.canvas.focus({ preventScroll: true });
			});
			item.append(button);
		}
		list.append(item);
	}
}

// Its worst moment; where it has none, all of the task's polls.
function goToFinding(data, timeline, lanes, f) {
	const poll = pollOfFinding(data, lanes, f);
	let from = f.time_ns, to = f.time_ns + f.span_ns;
	if (poll < 0) {
		timeline.select(-1);
		timeline.highlight(f.group);
	} else if (f.span_ns) {
		timeline.select(poll);
	} else {
		timeline.selectTask(data.task[poll]);
		const last = timeline.ownPolls[timeline.ownPolls.length - 1];
		from = Math.min(from, data.start[timeline.ownPolls[0]]);
		to = data.start[last] + data.took(last);
	}
	timeline.scrollTo(f.thread);
	timeline.showSpan(from, to);
}

function showLegend(data, timeline) {
	const buttons = data.busiest.slice(0, PALETTE.length).map(i => {
		const g = data.groups[i], b = make('button', make('i.swatch'), make('span.name', g.short));
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
		const rest = make('span.quiet', make('i.swatch'), ` ${data.busiest.length - PALETTE.length} others`);
		rest.firstChild.style.background = GREY;
		byId('legend').append(rest);
	}
	return () => buttons.forEach(b => b.setAttribute('aria-pressed', String(+b.dataset.group === timeline.group)));
}

function taskFacts(data, owner) {
	const row = data.rowOfNr.get(data.ownerNr[owner]), c = name => data.columns['task.' + name][row];
	if (row === undefined)
		return [];
	return [['polls', formatCount(c('polls'))], ['busy', formatSpan(c('busy'))], ['waiting', formatSpan(c('sched'))],
		['idle', formatSpan(c('idle'))], ['longest poll', formatSpan(c('max_poll'))], ['longest wait', formatSpan(c('max_sched'))],
		['spawned', `${formatTime(c('spawn_ns'), 1e6)}${c('parent') >= 0 ? ' by task ' + c('parent') : ''}`],
		['end', data.facts.ends[c('end')]]];
}

function detailLine(title, pairs) {
	return make('div.about', make('b', title), describe(make('dl'), pairs));
}

// What is selected, below the timeline.
function showDetail(data, timeline) {
	const { owner, poll, ownPolls } = timeline, detail = byId('detail');
	if (owner < 0) {
		detail.replaceChildren();
		return;
	}
	const group = data.groups[data.ownerGroup[owner]], act = (text, action) => {
		const b = make('button', text);
		b.type = 'button';
		b.addEventListener('click', action);
		return b;
	};
	const longest = () => timeline.goTo(ownPolls.reduce((a, b) => data.took(b) > data.took(a) ? b : a));
	const last = ownPolls[ownPolls.length - 1];
	detail.replaceChildren(
		make('div.head', make('b', `Task ${data.ownerId[owner]}`), make('span.name', group?.name ?? 'unknown'),
			make('span.tools', act('‹ Poll', () => timeline.step(-1)), act('Poll ›', () => timeline.step(1)),
				act('Longest', longest), act('All polls', () => timeline.showSpan(data.start[ownPolls[0]], data.start[last] + data.took(last))),
				act('Clear', () => timeline.select(-1)))),
		poll >= 0 ? detailLine('This poll', pollFacts(data, poll).slice(2)) : '',
		detailLine('The task', [['place', clean(group?.place)], ...taskFacts(data, owner)]));
}

function showTimes(data) {
	const select = byId('times-type'), tell = showTip;
	const charts = [new Histogram('poll-histogram', 'poll-figures', tell), new Histogram('sched-histogram', 'sched-figures', tell)];
	const option = (value, text) => {
		const o = make('option', text);
		o.value = value;
		return o;
	};
	select.append(option(-1, 'all types'), ...data.busiest.map(i => option(i, data.groups[i].short)));
	const update = () => {
		const group = data.groups[select.value], of = group ?? data.facts.totals, isLog = byId('times-log').checked;
		charts[0].show(of.poll, isLog, group?.color ?? theme.busy);
		charts[1].show(of.sched, isLog, group?.color ?? theme.ready);
	};
	select.addEventListener('change', update);
	byId('times-log').addEventListener('change', update);
	update();
	return update;
}

function showAbout(data) {
	const { program: p, recording: r, runtimes, totals, kept } = data.facts;
	const lost = Object.entries(r.lost_by_kind).map(([k, n]) => `${k} ${formatCount(n)}`).join(', ');
	const pairs = [['Program', `${p.exe} (pid ${p.pid})`], ['Command', p.argv.join(' ')], ['In', p.cwd],
		['Recorded', r.real_ns ? new Date(r.real_ns / 1e6).toISOString().replace('T', ' ').slice(0, 19) + ' UTC' : ''],
		['Machine', [p.host, p.os, p.cpus ? `${p.cpus} × ${p.cpu || 'CPU'}` : ''].filter(Boolean).join(', ')],
		['Runtimes', runtimes.map(x => `${x.name} ${x.version}`).join(', ')], ['Recorder', p.tool],
		['Events', formatCount(r.events)], ['Lost', r.lost ? `${formatCount(r.lost)} (${lost})` : 'nothing'],
		['Unknown', totals.unknown_ns ? `what tasks did for ${formatSpan(totals.unknown_ns)}, after a loss or before a first sighting` : ''],
		['In this page', `${formatCount(kept.polls)} of ${formatCount(kept.seen)} polls; all sums, histograms and loads count every one`]];
	byId('facts-list').replaceChildren(...pairs.filter(([, v]) => v).flatMap(([k, v]) => [make('dt', k), make('dd', v)]));
	if (data.isThinned) {
		byId('left-out').hidden = false;
		byId('left-out').textContent = `The timeline has ${formatCount(kept.polls)} of ${formatCount(kept.seen)} polls: ` +
			`all that took or waited ${formatSpan(kept.min_ns)} or more, and ${formatShare(kept.sample)} of the others. ` +
			'The grey behind them shows how busy a thread was in truth.';
	}
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
		if (owner === undefined)
			return;
		timeline.selectTask(owner);
		timeline.goTo(timeline.ownPolls.reduce((a, b) => data.took(b) > data.took(a) ? b : a));
		byId('timeline').scrollIntoView({ block: 'start' });
	});
}

async function start() {
	const wanted = window.matchMedia('(prefers-color-scheme: dark)');
	setTheme(wanted.matches ? 'dark' : 'light');
	const facts = JSON.parse(byId('facts').textContent);
	showVerdict(facts);
	await new Promise(done => setTimeout(done)); // so much can be read while the rest is unpacked
	const data = await loadData(facts), lanes = makeLanes(data), timeline = new Timeline(data, lanes);
	new Overview(timeline, data);
	new TimelineInput(timeline, (poll, x, y) =>
		showTip(poll < 0 ? null : [data.groups[data.groupOf(poll)]?.label ?? 'unknown', pollFacts(data, poll),
			data.groups[data.groupOf(poll)]?.color], x, y));
	showFindings(data, timeline, lanes);
	const pressLegend = showLegend(data, timeline), timesUpdate = showTimes(data);
	const charts = [new WorkersChart(data, lanes, timeline, showTip),
		new TasksChart('tasks-live', data, [['live', 'alive', 'faint']], timeline, showTip),
		new TasksChart('tasks-ready', data, [['scheduled', 'waiting for a worker', 'ready'], ['running', 'running', 'busy']],
			timeline, showTip)];
	byId('tasks-key').append(make('i.k-live'), 'alive', make('i.k-ready'), 'waiting for a worker', make('i.k-running'), 'running');
	timeline.onChange = () => {
		pressLegend();
		showDetail(data, timeline);
	};
	const paintMap = timeline.onPaint;
	timeline.onPaint = () => {
		paintMap();
		byId('range').textContent = `${formatTime(timeline.view.from, timeline.span / 1000)} + ${formatSpan(timeline.span)}`;
	};
	showTables(data, timeline, timesUpdate);
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
		setTheme(shown() === 'dark' ? 'light' : 'dark', repaint));
	let before;
	window.addEventListener('beforeprint', () => {
		before = shown();
		setTheme('light', repaint);
		timeline.paint();
	});
	window.addEventListener('afterprint', () => setTheme(before, repaint));
	timeline.draw();
	window.futrace = { data, timeline, lanes }; // for the curious, and for tests
	document.documentElement.dataset.ready = 'yes';
}

start().catch(error => {
	const p = make('p.warn', `This page could not be drawn: ${error.message}`);
	document.querySelector('main').prepend(p);
	document.documentElement.dataset.ready = 'failed';
	throw error;
});
