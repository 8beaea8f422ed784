// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers and names for people, and elements made without any markup: all text from the recording
// goes through textContent, and what could turn it around or hide in it is written out.

const UNITS = [
	[1e9 * 86400, 'd'],
	[1e9 * 3600, 'h'],
	[1e9 * 60, 'min'],
	[1e9, 's'],
	[1e6, 'ms'],
	[1e3, 'µs'],
];

function formatSpan(ns) {
	for (const [size, unit] of UNITS)
		if (ns >= size * 0.9995) {
			const n = ns / size;
			return (
				(n >= 99.95 ? n.toFixed(0) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2)) +
				' ' +
				unit
			);
		}
	return Math.round(ns) + ' ns';
}

const formatCount = n => Math.round(n).toLocaleString('en-US');

function formatShare(part) {
	const percent = part * 100;
	return (percent && percent < 9.95 ? percent.toFixed(1) : percent.toFixed(0)) + '%';
}

// A moment, as exact as steps of step_ns need it.
function formatTime(ns, step_ns) {
	const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step_ns / 1e9) - 1e-9)));
	return (ns / 1e9).toFixed(digits) + ' s';
}

function formatBytes(n) {
	for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
		if (n < 1024 || unit === 'GiB')
			return (n < 10 && unit !== 'B' ? n.toFixed(1) : n.toFixed(0)) + ' ' + unit;
		n /= 1024;
	}
}

const plural = (n, word) => formatCount(n) + ' ' + word + (n === 1 ? '' : 's');

// Control characters, and those that turn the direction of writing or take no room.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function clean(text) {
	return String(text ?? '').replace(UNSEEN, c =>
		c < '\u0100'
			? '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0')
			: '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'),
	);
}

// The end of a long path is what tells.
function shortPlace(place) {
	const parts = clean(place).split('/');
	return parts.length > 3 ? '…/' + parts.slice(-2).join('/') : parts.join('/');
}

const byId = id => document.getElementById(id);

// make('p.quiet.mono', 'text', element, …)
function make(what, ...children) {
	const [tag, ...classes] = what.split('.');
	const e = document.createElement(tag);
	if (classes.length) e.className = classes.join(' ');
	for (const c of children)
		if (c !== null && c !== undefined && c !== false)
			e.append(c instanceof Node ? c : document.createTextNode(clean(c)));
	return e;
}

// A list of [term, description] as <dl> children; pairs without a description are left out.
function describe(list, pairs) {
	list.replaceChildren(
		...pairs
			.filter(p => p && p[1] !== null && p[1] !== undefined && p[1] !== '')
			.map(([term, value]) => make('div', make('dt', term), make('dd', value))),
	);
	return list;
}

// The colours of the style sheet, for canvases.
const theme = {};

function readTheme() {
	const style = getComputedStyle(document.documentElement);
	for (const name of [
		'text',
		'quiet',
		'faint',
		'line',
		'lane',
		'rest',
		'critical',
		'accent',
		'panel',
		'busy',
		'ready',
	])
		theme[name] = style.getPropertyValue('--' + name).trim();
}

// Types that take most of the time get a colour, all others are grey. Red is for what is wrong.
const PALETTE = [
	'#4e79a7',
	'#f28e2b',
	'#59a14f',
	'#b07aa1',
	'#76b7b2',
	'#d4b13c',
	'#9c755f',
	'#e58fa0',
	'#4fa6d8',
	'#8c8cd9',
	'#98a33c',
	'#c07f4d',
];
const GREY = '#98a2b0';

// A canvas as sharp as the screen, and its size in CSS pixels.
function prepare(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	const w = Math.round(width * ratio);
	const h = Math.round(height * ratio);
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.height = height + 'px';
	}
	const g = canvas.getContext('2d');
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.clearRect(0, 0, width, height);
	g.font = '11px system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
	return g;
}

// The step of an axis that has marks at least so far apart: 1, 2 or 5 times a power of ten.
function niceStep(least) {
	const power = 10 ** Math.floor(Math.log10(least));
	for (const n of [1, 2, 5, 10]) if (n * power >= least * 0.999) return n * power;
}

// Text cut to fit into so many pixels.
function fitText(g, text, width) {
	if (width < 16) return '';
	if (g.measureText(text).width <= width) return text;
	let low = 0;
	let high = text.length;
	while (low < high) {
		const mid = (low + high + 1) >> 1;
		if (g.measureText(text.slice(0, mid) + '…').width <= width) low = mid;
		else high = mid - 1;
	}
	return low ? text.slice(0, low) + '…' : '';
}
