// SPDX-License-Identifier: MIT OR Apache-2.0
// A table of any length: only the rows that are to be seen are elements.

const ROW = 28;
const SPARE = 10;

class Table {
	// columns: { title, value(row) for sorting, text(row) or cell(row) for showing, isText, width }
	constructor({ place, search, count, columns, rows, words, match, open, sort }) {
		Object.assign(this, { columns, rows, words, match, open });
		this.sorted = sort;
		this.descending = true;
		this.active = -1;
		this.search = byId(search);
		this.count = byId(count);
		this.body = make('tbody');
		this.heads = columns.map((c, i) => this.#head(c, i));
		this.scroll = make(
			'div.scroll.panel',
			make('table', make('thead', make('tr', ...this.heads)), this.body),
		);
		this.scroll.tabIndex = 0;
		this.scroll.addEventListener('scroll', () => this.paint());
		this.scroll.addEventListener('keydown', e => this.key(e));
		this.search.addEventListener('input', () => this.filter());
		byId(place).append(this.scroll);
		new ResizeObserver(() => this.paint()).observe(this.scroll);
		this.filter();
	}

	#head(column, i) {
		const button = make('button', column.title);
		const th = make(column.isText ? 'th' : 'th.num', button);
		button.type = 'button';
		if (column.help) button.title = column.help;
		th.scope = 'col';
		if (column.width) th.style.width = column.width;
		button.addEventListener('click', () => {
			this.descending = this.sorted === i ? !this.descending : !column.isText;
			this.sorted = i;
			this.filter();
		});
		return th;
	}

	filter() {
		const wanted = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
		this.found = wanted.length
			? this.rows.filter(r => wanted.every(w => this.match(r).includes(w)))
			: [...this.rows];
		const { value, isText } = this.columns[this.sorted];
		const way = this.descending ? -1 : 1;
		const keys = new Map(this.found.map(r => [r, value(r)]));
		this.found.sort(
			(a, b) =>
				way *
				(isText ? keys.get(a).localeCompare(keys.get(b)) : keys.get(a) - keys.get(b)),
		);
		this.heads.forEach((th, i) =>
			th.setAttribute(
				'aria-sort',
				i !== this.sorted ? 'none' : this.descending ? 'descending' : 'ascending',
			),
		);
		this.count.textContent = this.words(this.found.length);
		this.active = -1;
		this.scroll.scrollTop = 0;
		this.paint(true);
	}

	paint(isForced) {
		const nr = this.found.length;
		const seen = Math.ceil((this.scroll.clientHeight || 420) / ROW);
		const first = Math.max(
			0,
			Math.min(Math.floor(this.scroll.scrollTop / ROW) - SPARE, nr - seen),
		);
		const last = Math.min(nr, first + seen + 2 * SPARE);
		if (!isForced && first === this.first && last === this.last) return;
		this.first = first;
		this.last = last;
		const rows = [];
		for (let i = first; i < last; i++) rows.push(this.#row(i));
		this.body.replaceChildren(this.#pad(first), ...rows, this.#pad(nr - last));
	}

	#pad(nr) {
		const cell = make('td.pad');
		cell.colSpan = this.columns.length;
		cell.style.height = nr * ROW + 'px';
		return make('tr', cell);
	}

	#row(i) {
		const row = this.found[i];
		const tr = make(i === this.active ? 'tr.active' : 'tr');
		for (const c of this.columns) {
			const td = make(c.isText ? 'td' : 'td.num', c.cell ? c.cell(row) : c.text(row));
			if (c.hint) td.title = clean(c.hint(row));
			if (c.isBad?.(row)) td.classList.add('bad');
			tr.append(td);
		}
		tr.addEventListener('click', () => {
			this.active = i;
			this.paint(true);
			this.open(row);
		});
		return tr;
	}

	key(e) {
		const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 14, PageUp: -14 }[e.key];
		if (e.target !== this.scroll || !this.found.length) return;
		if (by) {
			this.active = Math.max(0, Math.min(this.found.length - 1, this.active + by));
			const top = this.active * ROW;
			const room = this.scroll.clientHeight - 2 * ROW;
			if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
			else if (top > this.scroll.scrollTop + room) this.scroll.scrollTop = top - room;
			this.paint(true);
		} else if (e.key === 'Enter' && this.active >= 0) {
			this.open(this.found[this.active]);
		} else {
			return;
		}
		e.preventDefault();
	}
}

function typeCell(group) {
	const swatch = make('i.swatch');
	swatch.style.background = group?.color ?? GREY;
	return make('span', swatch, ' ', make('span.name', group?.short ?? 'unknown'));
}

const time = (title, value, more) => ({
	title,
	value,
	text: r => (value(r) ? formatSpan(value(r)) : '–'),
	...more,
});
const place = (title, width) => ({
	title,
	isText: true,
	value: r => r.place ?? '',
	text: r => shortPlace(r.place),
	hint: r => r.place ?? '',
	width,
});
const number = (title, value, more) => ({ title, value, text: r => formatCount(value(r)), ...more });

function typesTable(data, open) {
	const rows = data.busiest.map(i => ({ ...data.groups[i], number: i }));
	return new Table({
		place: 'types-table',
		search: 'types-search',
		count: 'types-count',
		rows,
		open,
		sort: 6,
		words: nr =>
			nr === rows.length
				? plural(nr, 'type')
				: `${formatCount(nr)} of ${plural(rows.length, 'type')}`,
		match: r => (r.text ??= `${r.name} ${r.place ?? ''} ${r.kind}`.toLowerCase()),
		columns: [
			{
				title: 'Type',
				isText: true,
				value: r => r.short,
				cell: typeCell,
				hint: r => r.name,
			},
			place('Place', '150px'),
			{ title: 'Kind', isText: true, value: r => r.kind, text: r => r.kind, width: '70px' },
			number('Tasks', r => r.tasks, { width: '62px' }),
			number('Alive', r => r.alive, { width: '56px', help: 'at the end of the recording' }),
			number('Polls', r => r.polls, { width: '74px' }),
			time('Busy', r => r.busy_ns, { width: '68px' }),
			time('Poll p50', r => r.poll.p50, { width: '76px' }),
			time('p99', r => r.poll.p99, { width: '66px' }),
			time('max', r => r.max_poll_ns, { width: '66px' }),
			time('Wait p99', r => r.sched.p99, {
				width: '78px',
				help: 'for a worker, before a poll',
			}),
			time('Blocked', r => r.blocked_ns, {
				width: '70px',
				help: 'asleep in the kernel inside of polls',
				isBad: r => r.blocked_ns && r.kind !== 'blocking',
			}),
			number('Wakes', r => r.wakes, { width: '70px' }),
			number('by itself', r => r.self_wakes, { width: '76px' }),
		],
	});
}

function tasksTable(data, open) {
	const c = name => data.columns['task.' + name];
	const all = data.facts.totals.tasks;
	const rows = Array.from(c('nr'), (nr, i) => i);
	const ends = data.facts.ends;
	const [id, group, end, spawn, endNs, maxPoll, maxSched] = [
		'id',
		'group',
		'end',
		'spawn_ns',
		'end_ns',
		'max_poll',
		'max_sched',
	].map(c);
	const texts = [];
	return new Table({
		place: 'tasks-table',
		search: 'tasks-search',
		count: 'tasks-count',
		rows,
		open,
		sort: 10,
		words: nr =>
			(nr === rows.length
				? plural(nr, 'task')
				: `${formatCount(nr)} of ${plural(rows.length, 'task')}`) +
			(rows.length < all ? `, the most telling of ${formatCount(all)}` : ''),
		match: i =>
			(texts[i] ??=
				`${id[i]} ${data.groups[group[i]]?.name} ${data.groups[group[i]]?.place} ${ends[end[i]]}`.toLowerCase()),
		columns: [
			number('Task', i => id[i], { text: i => String(id[i]), width: '70px' }),
			{
				title: 'Type',
				isText: true,
				value: i => data.groups[group[i]]?.short ?? '',
				cell: i => typeCell(data.groups[group[i]]),
				hint: i => data.groups[group[i]]?.name ?? '',
			},
			{
				title: 'End',
				isText: true,
				value: i => ends[end[i]],
				text: i => ends[end[i]],
				width: '84px',
				isBad: i => ends[end[i]] === 'panicked',
			},
			time('Spawned', i => spawn[i], {
				width: '78px',
				help: 'after the start of the recording',
				text: i => formatSpan(spawn[i]),
			}),
			time('Life', i => endNs[i] - spawn[i], { width: '68px' }),
			number('Polls', i => c('polls')[i], { width: '68px' }),
			time('Busy', i => c('busy')[i], { width: '68px' }),
			time('Waiting', i => c('sched')[i], { width: '70px', help: 'for a worker' }),
			time('Idle', i => c('idle')[i], { width: '68px' }),
			time('Blocked', i => c('blocked')[i], {
				width: '70px',
				help: 'asleep in the kernel inside of polls',
				isBad: i => c('blocked')[i] && data.groups[group[i]]?.kind !== 'blocking',
			}),
			time('Max poll', i => maxPoll[i], { width: '84px' }),
			time('Max wait', i => maxSched[i], { width: '84px' }),
			number('Wakes', i => c('wakes')[i], { width: '68px' }),
			number('by itself', i => c('self_wakes')[i], { width: '76px' }),
		],
	});
}
