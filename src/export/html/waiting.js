// SPDX-License-Identifier: MIT OR Apache-2.0
// Where tasks wait: a flame graph of who awaits whom, outermost at the top, and the table of await
// points. Only where await points were recorded.

const FRAME_HEIGHT = 20;
const LEAST_SHARE = 0.0005; // of the width: narrower ones are not drawn

class FlameGraph {
	// frames: [outer, label, ns, waits]; an outer frame comes before those in it
	constructor(place, frames, tell) {
		this.place = place;
		this.tell = tell;
		this.root = { label: 'all waiting', own: 0, waits: 0, inner: [], depth: 0 };
		const nodes = frames.map(([, label, own, waits]) => ({ label, own, waits, inner: [] }));
		frames.forEach(([outer], i) => {
			const node = nodes[i];
			node.outer = outer < 0 ? this.root : nodes[outer];
			node.outer.inner.push(node);
		});
		for (let i = nodes.length; i-- > 0; ) this.#add(nodes[i]);
		this.#add(this.root);
		place.addEventListener('mousemove', e => this.#hover(e));
		place.addEventListener('mouseleave', () => tell(null));
		this.zoom(this.root);
	}

	#add(node) {
		node.total = node.own;
		node.all = node.waits;
		for (const n of node.inner) {
			node.total += n.total;
			node.all += n.all;
		}
		node.inner.sort((a, b) => b.total - a.total);
	}

	zoom(node) {
		this.focus = node;
		this.bars = [];
		this.depth = 0;
		// what is around it is as wide as it is
		const around = [];
		for (let n = node; n; n = n.outer) around.unshift(n);
		around.forEach((n, depth) => this.#bar(n, 0, 1, depth));
		this.#draw(node, 0, 1, around.length);
		this.place.style.height = (this.depth + 1) * FRAME_HEIGHT + 'px';
		this.place.replaceChildren(...this.bars);
	}

	#draw(node, left, width, depth) {
		for (const n of node.inner) {
			const share = node.total ? (width * n.total) / node.total : 0;
			if (share >= LEAST_SHARE) {
				this.#bar(n, left, share, depth);
				this.#draw(n, left, share, depth + 1);
			}
			left += share;
		}
	}

	#bar(node, left, width, depth) {
		const bar = make('button.flame', node.label);
		bar.type = 'button';
		bar.node = node;
		bar.style.left = left * 100 + '%';
		bar.style.width = width * 100 + '%';
		bar.style.top = depth * FRAME_HEIGHT + 'px';
		bar.style.background = node === this.root ? GREY : colourOf(node.label);
		bar.setAttribute('aria-label', `${clean(node.label)}: ${formatSpan(node.total)}`);
		bar.addEventListener('click', () => this.zoom(node));
		this.bars.push(bar);
		this.depth = Math.max(this.depth, depth);
	}

	#hover(e) {
		const node = e.target.node;
		if (!node) {
			this.tell(null);
			return;
		}
		this.tell(
			[
				node.label,
				[
					['waiting', formatSpan(node.total)],
					['of it right here', node.own ? formatSpan(node.own) : ''],
					['share', formatShare(this.root.total ? node.total / this.root.total : 0)],
					['waits', formatCount(node.all)],
				],
				node === this.root ? GREY : colourOf(node.label),
			],
			e.clientX,
			e.clientY,
		);
	}
}

// The same name has the same colour, whatever else is there.
function colourOf(label) {
	let hash = 0;
	for (const c of label) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
	return PALETTE[hash % PALETTE.length];
}

function awaitsTable(data, rows) {
	const causes = data.facts.causes;
	const by = (title, cause) =>
		number(title, r => r.by[causes.indexOf(cause)], { width: '64px', help: 'what ended them' });
	return new Table({
		place: 'awaits-table',
		search: 'awaits-search',
		count: 'awaits-count',
		rows,
		open: () => {},
		sort: 5,
		words: nr =>
			nr === rows.length
				? plural(nr, 'await point')
				: `${formatCount(nr)} of ${plural(rows.length, 'await point')}`,
		match: r => (r.text ??= `${r.name} ${r.place ?? ''} ${r.for ?? ''}`.toLowerCase()),
		columns: [
			{
				title: 'In',
				isText: true,
				value: r => r.short,
				cell: r => make('span.name', r.short),
				hint: r => r.name,
			},
			place('Await', '170px'),
			{
				title: 'For',
				isText: true,
				value: r => r.for ?? '',
				text: r => r.for ?? '',
				hint: r => r.for ?? '',
				width: '90px',
			},
			number('Tasks', r => r.tasks, { width: '62px' }),
			number('Waits', r => r.waits, { width: '70px' }),
			time('Sum', r => r.wait_ns, { width: '72px' }),
			time('p50', r => r.p50, { width: '66px' }),
			time('p99', r => r.p99, { width: '66px' }),
			time('max', r => r.max, { width: '66px' }),
			time('Ready', r => r.sched_ns, {
				width: '84px',
				help: 'of it runnable, and no worker was free',
			}),
			by('Worker', 'worker'),
			by('Task', 'task'),
			by('Thread', 'thread'),
			number('Dropped', r => r.dropped, { width: '72px', help: 'with their task, while they waited' }),
			number('Open', r => r.open, { width: '72px', help: 'still waiting when the recording ended' }),
		],
	});
}

function showWaiting(data, tell) {
	const { awaits, waiting } = data.facts;
	if (!awaits?.length) return null;
	byId('waiting').hidden = false;
	byId('nav-waiting').hidden = false;
	awaitsTable(data, awaits);
	const graph = new FlameGraph(byId('flames'), waiting, tell);
	byId('flames-all').addEventListener('click', () => graph.zoom(graph.root));
	return graph;
}
