// SPDX-License-Identifier: MIT OR Apache-2.0
// What can be read without looking: totals, findings and where they are, the recording itself.

function showVerdict(facts) {
	const { totals, recording, program } = facts;
	const exe = program.exe.split('/').pop() || program.exe;
	const counts = ['critical', 'warning', 'note'].map(s => [
		s,
		facts.findings.filter(f => f.severity === s).length,
	]);
	const said = counts
		.filter(([, nr]) => nr)
		.map(([s, nr]) => {
			const b = make('b.is-' + s, s === 'critical' ? `${nr} critical` : plural(nr, s));
			return [b, ', '];
		})
		.flat()
		.slice(0, -1);
	document.title = clean(exe) + ' – futrace';
	byId('program').textContent = clean(exe);
	byId('command').textContent = clean(program.argv.join(' ') || program.exe);
	byId('verdict').append(
		...(facts.findings.length
			? [plural(facts.findings.length, 'finding') + ': ', ...said, '. ']
			: [make('b.is-good', 'No findings. ')]),
		`Recorded ${formatSpan(totals.duration_ns)}; ${recording.end}.`,
	);
	showTotals(facts);
	const wrong = [
		recording.cut && 'The recording has no end: what came later is missing.',
		recording.bad_blocks + recording.bad_events > 0 &&
			'The file is damaged: some of it could not be read.',
		recording.lost > 0 &&
			`${plural(recording.lost, 'event')} lost while recording: times of the tasks concerned are partly unknown.`,
	]
		.filter(Boolean)
		.join(' ');
	byId('warning').hidden = !wrong;
	byId('warning').textContent = wrong;
}

function showTotals(facts) {
	const { totals: t, recording: r } = facts;
	const all = t.workers * t.duration_ns;
	const tiles = [
		[
			'duration',
			'Duration',
			formatSpan(t.duration_ns),
			t.duration_ns,
			`${plural(r.events, 'event')}`,
		],
		['tasks', 'Tasks', formatCount(t.tasks), t.tasks, `${formatCount(t.alive)} alive at the end`],
		[
			'polls',
			'Polls',
			formatCount(t.polls),
			t.polls,
			`p99 ${formatSpan(t.poll.p99)}, max ${formatSpan(t.max_poll_ns)}`,
		],
		[
			'busy',
			'Workers busy',
			all ? formatShare(t.workers_busy_ns / all) : '–',
			t.workers_busy_ns,
			`${plural(t.workers, 'worker')}, ${formatCount(t.blocking_threads)} blocking`,
		],
		[
			'sched',
			'Wait for a worker',
			t.sched.nr ? formatSpan(t.sched.p99) : '–',
			t.sched_ns,
			`p99; max ${formatSpan(t.sched.max)}`,
		],
		[
			'lost',
			'Lost',
			r.lost ? formatCount(r.lost) : 'nothing',
			r.lost,
			r.threads_not_recorded
				? plural(r.threads_not_recorded, 'thread') + ' not recorded'
				: r.lost
					? 'events'
					: 'all was recorded',
		],
		[
			'cost',
			'Cost of tracing',
			r.tool_cpu_ns ? formatSpan(r.tool_cpu_ns) : 'not known',
			r.tool_cpu_ns,
			r.target_cpu_ns
				? `of CPU; the program used ${formatSpan(r.target_cpu_ns)}`
				: 'of CPU',
		],
	];
	byId('totals').replaceChildren(
		...tiles.map(([key, title, text, value, more]) => {
			const dd = make('dd', text);
			dd.dataset.key = key;
			dd.dataset.value = value;
			return make('div', make('dt', title), dd, make('dd.more', more));
		}),
	);
}

function figureText([name, unit, value]) {
	const word = name.replace(/_(ns|bytes|percent)$/, '').replace(/_/g, ' ');
	return `${word} ${
		unit === 'ns'
			? formatSpan(value)
			: unit === 'bytes'
				? formatBytes(value)
				: unit === 'percent'
					? value + '%'
					: formatCount(value)
	}`;
}

// The poll in which a finding's worst moment lies: of its task, else of its type, on its thread.
function pollOfFinding(data, lanes, f) {
	const lane = lanes.find(l => l.thread.thread === f.thread);
	let best = -1;
	let bestGap = Infinity;
	for (const l of lane ? [lane] : lanes)
		for (const row of l.rows) {
			const i = row.firstFrom(f.time_ns);
			for (let n = Math.max(0, i - 64); n < Math.min(row.polls.length, i + 64); n++) {
				const poll = row.polls[n];
				const gap = Math.abs(row.start[n] - f.time_ns);
				const fits =
					f.task !== undefined
						? data.ownerId[data.task[poll]] === f.task &&
							data.groupOf(poll) === f.group
						: f.group < 0 || data.groupOf(poll) === f.group;
				if (fits && gap < bestGap) {
					best = poll;
					bestGap = gap;
				}
			}
		}
	return best;
}

// What is wrong can be read before the rest is unpacked. Returns what makes the buttons work then.
function showFindings(facts) {
	const { findings } = facts;
	const buttons = [];
	const list = byId('finding-list');
	if (!findings.length) {
		list.append(
			make(
				'li.none',
				facts.totals.tasks
					? 'Nothing looks wrong: no analysis found anything over its threshold.'
					: 'No task was recorded.',
			),
		);
		return () => {};
	}
	for (const f of findings) {
		const group = facts.groups[f.group];
		const type = group ? group.name : f.summary;
		const where = make(
			'div.where',
			make('span.name', group ? group.short : f.summary),
			make('span.name.quiet', shortPlace(group?.place)),
			make('span.rule', f.rule + (f.task === undefined ? '' : `, task ${f.task}`)),
		);
		where.firstChild.title = clean(type);
		where.children[1].title = clean(group?.place);
		const figures = f.figures.map(figureText).join(' · ');
		const text = make(
			'div',
			where,
			make('div.what', f.what ?? ''),
			make('div.advice', f.advice ?? ''),
		);
		const item = make('li.finding.' + f.severity, make('span.pill', f.severity), text);
		text.children[1].title = figures;
		if (f.time_ns || f.span_ns || f.task !== undefined) {
			const button = make('button', 'Show');
			button.type = 'button';
			button.title = 'Show the worst of it in the timeline';
			button.disabled = true;
			buttons.push([button, f]);
			item.append(button);
		}
		list.append(item);
	}
	return (data, timeline, lanes) => {
		for (const [button, f] of buttons) {
			button.disabled = false;
			button.addEventListener('click', () => {
				goToFinding(data, timeline, lanes, f);
				byId('timeline').scrollIntoView({ block: 'start' });
				timeline.canvas.focus({ preventScroll: true });
			});
		}
	};
}

// Its worst moment; where it has none, all of the task's polls.
function goToFinding(data, timeline, lanes, f) {
	const poll = pollOfFinding(data, lanes, f);
	let from = f.time_ns;
	let to = f.time_ns + f.span_ns;
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

function showAbout(data) {
	const { program: p, recording: r, runtimes, totals, kept } = data.facts;
	const lost = Object.entries(r.lost_by_kind)
		.map(([k, n]) => `${k} ${formatCount(n)}`)
		.join(', ');
	const pairs = [
		['Program', `${p.exe} (pid ${p.pid})`],
		['Command', p.argv.join(' ')],
		['In', p.cwd],
		[
			'Recorded',
			r.real_ns
				? new Date(r.real_ns / 1e6).toISOString().replace('T', ' ').slice(0, 19) +
					' UTC'
				: '',
		],
		[
			'Machine',
			[p.host, p.os, p.cpus ? `${p.cpus} × ${p.cpu || 'CPU'}` : '']
				.filter(Boolean)
				.join(', '),
		],
		['Runtimes', runtimes.map(x => [x.name, x.version, x.scheduler].filter(Boolean).join(' ')).join(', ')],
		['Recorder', p.tool],
		['Events', formatCount(r.events)],
		['Lost', r.lost ? `${formatCount(r.lost)} (${lost})` : 'nothing'],
		[
			'Unknown',
			totals.unknown_ns
				? `what tasks did for ${formatSpan(totals.unknown_ns)}, after a loss or before a first sighting`
				: '',
		],
		[
			'In this page',
			`${formatCount(kept.polls)} of ${formatCount(kept.seen)} polls; all sums, histograms and loads count every one`,
		],
	];
	byId('facts-list').replaceChildren(
		...pairs.filter(([, v]) => v).flatMap(([k, v]) => [make('dt', k), make('dd', v)]),
	);
	if (data.isThinned) {
		byId('left-out').hidden = false;
		byId('left-out').textContent =
			`The timeline has ${formatCount(kept.polls)} of ${formatCount(kept.seen)} polls: ` +
			`all that took or waited ${formatSpan(kept.min_ns)} or more, and ${formatShare(kept.sample)} of the others. ` +
			'The grey behind them shows how busy a thread was in truth.';
	}
}
