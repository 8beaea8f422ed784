// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace dump: every event of a trace as one line of text, in the order of time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/candidates.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/damage.h"
#include "trace/reader.h"

#define ALL UINT64_MAX

struct dump_opts {
	uint64_t tid, task, limit; /* ALL: not given */
};

static const struct dump_opts defaults = { ALL, ALL, ALL };

static const struct opt dump_options[] = {
	OPT('t', "thread", OPT_UINT, struct dump_opts, tid, "TID", "only events of this thread"),
	OPT(0, "task", OPT_UINT, struct dump_opts, task, "ID",
	    "only events that name this task, and the ends of its runs"),
	OPT('n', "limit", OPT_UINT, struct dump_opts, limit, "N", "stop after N lines"),
	{ 0 },
};

struct runs {
	VEC(uint64_t) tasks; /* innermost last */
};

/* Text that is made once, and the tasks that run on each thread. */
struct dump {
	const struct dump_opts *opts;
	struct strbuf line;
	const struct trace_thread *threads;
	struct strbuf *thread_labels;
	uint32_t nr_threads;
	struct strbuf *type_names;
	uint32_t nr_types;
	const struct trace_future *futures;
	uint32_t nr_futures;
	const struct trace *trace;
	struct runs *runs; /* per thread; only with --task */
	uint64_t nr_lines;
};

/* Without blanks, so that the columns of a line can be counted. */
static void add_word(struct strbuf *b, const char *s, size_t len)
{
	struct strbuf clean = STRBUF_INIT;

	strbuf_add_clean(&clean, s, len);
	for (const char *p = clean.s; *p; p++)
		if (*p == ' ')
			strbuf_addstr(b, "\\x20");
		else
			strbuf_addch(b, *p);
	strbuf_release(&clean);
}

static void dump_init(struct dump *d, const struct dump_opts *opts, struct trace *t)
{
	const struct trace_type *types = trace_get_types(t, &d->nr_types);
	struct strbuf label = STRBUF_INIT;

	d->opts = opts;
	d->trace = t;
	strbuf_init(&d->line);
	d->threads = trace_get_threads(t, &d->nr_threads);
	d->futures = trace_get_futures(t, &d->nr_futures);
	d->thread_labels = xcalloc(d->nr_threads + 1, sizeof(*d->thread_labels));
	d->type_names = xcalloc(d->nr_types + 1, sizeof(*d->type_names));
	d->runs = xcalloc(d->nr_threads + 1, sizeof(*d->runs));
	for (uint32_t i = 0; i < d->nr_threads; i++) {
		const char *name = d->threads[i].name;

		strbuf_init(&d->thread_labels[i]);
		strbuf_addf(&d->thread_labels[i], "%7" PRIu32 " ", d->threads[i].tid);
		add_word(&d->thread_labels[i], *name ? name : "-", *name ? strlen(name) : 1);
	}
	for (uint32_t i = 0; i < d->nr_types; i++) {
		strbuf_init(&d->type_names[i]);
		label_candidates(&label, types[i].name, types[i].nr_candidates);
		strbuf_add_clean(&d->type_names[i], label.s, label.len);
		if (!*types[i].name)
			strbuf_addf(&d->type_names[i], "#%" PRIu32, i);
		strbuf_reset(&label);
	}
	strbuf_release(&label);
}

static void dump_release(struct dump *d)
{
	for (uint32_t i = 0; i < d->nr_threads; i++) {
		strbuf_release(&d->thread_labels[i]);
		vec_release(&d->runs[i].tasks);
	}
	for (uint32_t i = 0; i < d->nr_types; i++)
		strbuf_release(&d->type_names[i]);
	free(d->thread_labels);
	free(d->type_names);
	free(d->runs);
	strbuf_release(&d->line);
}

/*
 * Whether the event belongs to the wanted task. The end of a run names no task: it is that of the
 * last one begun.
 */
static bool concerns_task(struct dump *d, const struct event *ev)
{
	struct runs *r = &d->runs[ev->thread];

	if (ev->kind == EV_RUN_START)
		vec_push(&r->tasks, ev->task);
	if (ev->kind == EV_RUN_END && r->tasks.nr)
		return r->tasks.v[--r->tasks.nr] == d->opts->task;
	return event_descs[ev->kind].task && ev->task == d->opts->task;
}

static void add_flags(struct strbuf *b, const struct event *ev)
{
	const char *sep = " flags=";

	for (unsigned bit = 0; bit < EVENT_FLAG_BITS; bit++) {
		const char *name = event_descs[ev->kind].flags[bit];

		if (!(ev->flags >> bit & 1))
			continue;
		strbuf_addstr(b, sep);
		if (name)
			strbuf_addstr(b, name);
		else
			strbuf_addf(b, "bit%u", bit);
		sep = ",";
	}
}

/* Numbers are printed by their name in event.def: addresses as such, kinds of event as words. */
static void add_arg(struct strbuf *b, const char *name, uint64_t value)
{
	if (!name || (!value && strcmp(name, "path") == 0))
		return;
	if (strcmp(name, "addr") == 0)
		strbuf_addf(b, " addr=0x%" PRIx64, value);
	else if (strcmp(name, "kind") == 0 && value < EV_MAX && event_descs[value].name)
		strbuf_addf(b, " kind=%s", event_descs[value].name);
	else
		strbuf_addf(b, " %s=%" PRIu64, name, value);
}

/* Both numbers of a piece of text, which is called "name" or "text". */
static void add_piece(struct strbuf *b, const char *arg, const struct event *ev)
{
	char text[16];

	memcpy(text, &ev->a, 8);
	memcpy(text + 8, &ev->b, 8);
	strbuf_addf(b, " %.4s=", arg);
	add_word(b, text, strnlen(text, sizeof(text)));
}

static void add_value(struct strbuf *b, const struct event *ev)
{
	double fraction;

	memcpy(&fraction, &ev->b, sizeof(fraction));
	if (ev->flags & EF_FIELD_TEXT)
		strbuf_addf(b, " bytes=%" PRIu64, ev->b);
	else if (ev->flags & EF_FIELD_FLOAT)
		strbuf_addf(b, " value=%.17g", fraction);
	else if (ev->flags & EF_FIELD_SIGNED)
		strbuf_addf(b, " value=%" PRId64, (int64_t)ev->b);
	else
		strbuf_addf(b, " value=%" PRIu64, ev->b);
}

static void add_args(const struct dump *d, struct strbuf *b, const struct event *ev)
{
	const struct event_desc *desc = &event_descs[ev->kind];
	const char *name;

	if (desc->a && (strcmp(desc->a, "name_lo") == 0 || strcmp(desc->a, "text_lo") == 0)) {
		add_piece(b, desc->a, ev);
		return;
	}
	if (desc->a && strcmp(desc->a, "name") == 0) {
		name = trace_get_string(d->trace, ev->a);
		strbuf_addstr(b, " name=");
		add_word(b, *name ? name : "-", *name ? strlen(name) : 1);
	} else {
		add_arg(b, desc->a, ev->a);
	}
	if (ev->kind == EV_FIELD)
		add_value(b, ev);
	else
		add_arg(b, desc->b, ev->b);
}

static void dump_line(struct dump *d, const struct event *ev)
{
	const struct event_desc *desc = &event_descs[ev->kind];
	struct strbuf *b = &d->line;

	strbuf_addf(b, "%5" PRIu64 ".%09" PRIu64 " %-23s %s", ev->time / 1000000000,
		    ev->time % 1000000000, d->thread_labels[ev->thread].s, desc->name);
	add_flags(b, ev);
	if (desc->task)
		strbuf_addf(b, " task=%" PRIu64, ev->task);
	if (desc->task == EVENT_TASK_ADDR)
		add_arg(b, "addr", ev->addr);
	add_args(d, b, ev);
	if (desc->task && ev->type < d->nr_types)
		strbuf_addf(b, " type_id=%u type=%s", ev->type, d->type_names[ev->type].s);
	else if (desc->task)
		strbuf_addstr(b, " type=-");
	if (ev->kind == EV_FUTURE_START && ev->a < d->nr_futures) {
		const char *name = d->futures[ev->a].name;

		strbuf_addstr(b, " name=");
		strbuf_add_clean(b, name, strlen(name));
	}
	strbuf_addch(b, '\n');
}

/* False when enough was printed, or nobody reads on. */
static bool dump_events(struct dump *d, const struct event *evs, size_t nr)
{
	bool go_on = true;

	strbuf_reset(&d->line);
	for (size_t i = 0; i < nr && go_on; i++) {
		if (d->opts->task != ALL && !concerns_task(d, &evs[i]))
			continue;
		if (d->opts->tid != ALL && d->threads[evs[i].thread].tid != d->opts->tid)
			continue;
		dump_line(d, &evs[i]);
		go_on = ++d->nr_lines < d->opts->limit;
	}
	return fwrite(d->line.s, 1, d->line.len, stdout) == d->line.len && go_on;
}

/* An empty output that was not asked for needs a word: a wrong number looks the same. */
static void note_no_match(const struct dump_opts *o, const char *path)
{
	struct strbuf what = STRBUF_INIT;

	if (o->task != ALL)
		strbuf_addf(&what, " of task %" PRIu64, o->task);
	if (o->tid != ALL)
		strbuf_addf(&what, " of thread %" PRIu64, o->tid);
	if (what.len)
		cmd_note("no event%s in %s", what.s, path);
	strbuf_release(&what);
}

static int run(const void *options, int nr, char **argv)
{
	const struct dump_opts *opts = options;
	const char *path = nr ? argv[0] : CMD_DEFAULT_FILE;
	struct err e = ERR_INIT;
	const struct event *evs;
	struct trace *t;
	struct dump d = { 0 };
	size_t n;

	if (nr > 1)
		return cmd_usage("one FILE at a time, not also '%s'", argv[1]);
	t = trace_open(path, &e);
	if (!t)
		return cmd_fail(&e);
	dump_init(&d, opts, t);
	while (opts->limit && (n = trace_read(t, &evs)) && dump_events(&d, evs, n))
		;
	damage_note(t, path);
	if (opts->limit && !d.nr_lines)
		note_no_match(opts, path);
	dump_release(&d);
	trace_close(t);
	return EXIT_OK;
}

const struct command cmd_dump = {
	.name = "dump",
	.summary = "print a recording event by event",
	.synopsis = "[options] [FILE]",
	.options = dump_options,
	.options_size = sizeof(struct dump_opts),
	.defaults = &defaults,
	.run = run,
};
