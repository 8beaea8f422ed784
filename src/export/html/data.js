// SPDX-License-Identifier: MIT OR Apache-2.0
// The recording as the tool put it into the page: facts (JSON), and columns of numbers (base64 of
// gzip). See export/html.h for how columns are packed.

const NONE = 0xffff;
const BLOCK = 32768;
const FLAG = { drop: 1, first: 2, open: 4, gapKnown: 8 };
const NO_CAUSE = 255;

// Spans of 32 bits: the upper two tell the unit.
const unpackSpan = v => (v < 0x80000000 ? v : (v & 0x3fffffff) * (v >>> 30 === 2 ? 1e3 : 1e6));

function fromBase64(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
	return bytes;
}

async function inflate(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// In each block all lowest bytes come first, then all second ones: typed arrays want them together.
function unpackColumns(bytes, columns) {
	const types = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: Float64Array };
	const all = { busy: [], blocked: [] };
	let at = 0;
	for (const [name, width, nr] of columns) {
		const values = new types[width](nr);
		const view = new Uint8Array(values.buffer);
		for (let from = 0; from < nr; from += BLOCK)
			for (let byte = 0, to = Math.min(from + BLOCK, nr); byte < width; byte++)
				for (let i = from; i < to; i++) view[i * width + byte] = bytes[at++];
		if (name in all && Array.isArray(all[name])) all[name].push(values);
		else all[name] = values;
	}
	if (at !== bytes.length) throw new Error('the columns of this page are not what its facts say');
	return all;
}

// Starts were written as differences to the one before on the same thread.
function addStarts(columns, nrOn) {
	const low = columns['poll.delta'];
	const high = columns['poll.delta_high'];
	const starts = new Float64Array(low.length);
	let i = 0;
	for (const nr of nrOn) {
		let t = 0;
		for (const end = i + nr; i < end; i++) {
			t += low[i] + high[i] * 0x100000000;
			starts[i] = t;
		}
	}
	return starts;
}

// Polls lie in the columns thread by thread.
function threadFinder(nrOn) {
	const ends = [];
	nrOn.reduce((sum, nr, i) => (ends[i] = sum + nr), 0);
	return poll => {
		let low = 0;
		let high = ends.length - 1;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (ends[mid] <= poll) low = mid + 1;
			else high = mid;
		}
		return low;
	};
}

function colorTypes(groups) {
	const busiest = groups
		.map((g, i) => i)
		.filter(i => groups[i])
		.sort((a, b) => groups[b].busy_ns - groups[a].busy_ns || a - b);
	groups.forEach(g => g && (g.color = GREY));
	busiest.slice(0, PALETTE.length).forEach((g, i) => (groups[g].color = PALETTE[i]));
	return busiest;
}

async function loadData(facts) {
	const columns = unpackColumns(
		await inflate(fromBase64(byId('columns').textContent.trim())),
		facts.columns,
	);
	const c = name => columns['poll.' + name];
	const took = c('took');
	const sched = c('sched');
	const blocked = c('blocked');
	const waker = c('waker');
	const wakerHigh = c('waker_high');
	byId('columns').remove(); // it was much
	const data = {
		facts,
		columns,
		groups: facts.groups,
		busiest: colorTypes(facts.groups),
		nr: took.length,
		start: addStarts(columns, facts.polls_on),
		task: c('task'),
		cause: c('cause'),
		flags: c('flags'),
		wakerGroup: c('waker_group'),
		wakerThread: c('waker_thread'),
		took: i => unpackSpan(took[i]),
		sched: i => unpackSpan(sched[i]),
		blocked: i => unpackSpan(blocked[i]),
		waker: i => waker[i] + wakerHigh[i] * 0x100000000,
		ownerNr: columns['owner.nr'],
		ownerId: columns['owner.id'],
		ownerGroup: columns['owner.group'],
		isThinned: facts.kept.polls < facts.kept.seen,
		from: facts.totals.start_ns,
		to: Math.max(facts.totals.end_ns, facts.totals.start_ns + 1),
	};
	data.threadOf = threadFinder(facts.polls_on);
	data.groupOf = i => data.ownerGroup[data.task[i]];
	data.threads = new Map(facts.threads.map(t => [t.thread, t]));
	data.threads.forEach(t => (t.label = clean(t.name) || 'thread ' + t.tid));
	data.rowOfNr = new Map(Array.from(columns['task.nr'], (nr, row) => [nr, row]));
	data.ownerOfNr = new Map(Array.from(data.ownerNr, (nr, owner) => [nr, owner]));
	data.groups.forEach(g => g && (g.label = clean(g.short)));
	return data;
}
