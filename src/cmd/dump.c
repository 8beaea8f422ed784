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
	bool follow;
};

static const struct dump_opts defaults = { ALL, ALL, ALL, false };

static const struct opt dump_options[] = {
	OPT('t', "thread", OPT_UINT, struct dump_opts, tid, "TID", "only events of this thread"),
	OPT(0, "task", OPT_UINT, struct dump_opts, task, "ID",
	    "only events that name this task, and the ends of its runs"),
	OPT('n', "limit", OPT_UINT, struct dump_opts, limit, "N", "stop after N lines"),
	OPT('f', "follow", OPT_FLAG, struct dump_opts, follow, NULL,
	    "go on with what is recorded from now on, until the recording ends"),
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
	VEC(struct strbuf) thread_labels;
	VEC(struct strbuf) type_names;
	const struct trace_future *futures;
	uint32_t nr_futures;
	const struct trace *trace;
	VEC(struct runs) runs; /* per thread; only with --task */
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

/* Names may have changed since the last time. */
static void learn_threads(struct dump *d)
{
	uint32_t nr;

	d->threads = trace_get_threads(d->trace, &nr);
	while (d->thread_labels.nr < nr) {
		vec_push(&d->thread_labels, (struct strbuf)STRBUF_INIT);
		vec_push(&d->runs, (struct runs){ 0 });
	}
	for (uint32_t i = 0; i < nr; i++) {
		const char *name = d->threads[i].name;
		struct strbuf *label = &d->thread_labels.v[i];

		strbuf_reset(label);
		strbuf_addf(label, "%7" PRIu32 " ", d->threads[i].tid);
		add_word(label, *name ? name : "-", *name ? strlen(name) : 1);
	}
}

/* All anew: a recording that was begun anew has other types by these numbers. */
static void learn_types(struct dump *d)
{
	struct strbuf label = STRBUF_INIT, clean;
	const struct trace_type *types;
	uint32_t nr;

	vec_each (name, &d->type_names)
		strbuf_release(name);
	d->type_names.nr = 0;
	types = trace_get_types(d->trace, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		label_candidates(&label, types[i].name, types[i].nr_candidates);
		strbuf_init(&clean);
		strbuf_add_clean(&clean, label.s, label.len);
		if (!*types[i].name)
			strbuf_addf(&clean, "#%" PRIu32, i);
		strbuf_reset(&label);
		vec_push(&d->type_names, clean);
	}
	strbuf_release(&label);
}

/* Takes over what is defined by now. */
static void learn(struct dump *d)
{
	learn_threads(d);
	learn_types(d);
	d->futures = trace_get_futures(d->trace, &d->nr_futures);
}

static void dump_release(struct dump *d)
{
	vec_each (label, &d->thread_labels)
		strbuf_release(label);
	vec_each (runs, &d->runs)
		vec_release(&runs->tasks);
	vec_each (name, &d->type_names)
		strbuf_release(name);
	vec_release(&d->thread_labels);
	vec_release(&d->type_names);
	vec_release(&d->runs);
	strbuf_release(&d->line);
}

/*
 * Whether the event belongs to the wanted task. The end of a run names no task: it is that of the
 * last one begun.
 */
static bool concerns_task(struct dump *d, const struct event *ev)
{
	struct runs *r = &d->runs.v[ev->thread];

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
		    ev->time % 1000000000, d->thread_labels.v[ev->thread].s, desc->name);
	add_flags(b, ev);
	if (desc->task)
		strbuf_addf(b, " task=%" PRIu64, ev->task);
	if (desc->task == EVENT_TASK_ADDR)
		add_arg(b, "addr", ev->addr);
	add_args(d, b, ev);
	if (desc->task && ev->type < d->type_names.nr)
		strbuf_addf(b, " type_id=%u type=%s", ev->type, d->type_names.v[ev->type].s);
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

#define WAIT_MS 1000 /* at most: a writer that dies may do so without a sound */

/* -1: it turned out to be no trace. */
static int dump_all(struct dump *d, struct trace *t, struct err *e)
{
	const struct event *evs;
	size_t n;

	for (;;) {
		bool is_over = trace_is_over(t);

		learn(d);
		while ((n = trace_read(t, &evs)))
			if (!dump_events(d, evs, n))
				return 0;
		if (is_over)
			return 0;
		fflush(stdout);
		if (trace_wait(t, WAIT_MS, e) < 0)
			return -1;
	}
}

static void note_late(const struct trace *t, const char *path)
{
	uint64_t nr = trace_get_nr_late(t);

	if (nr)
		cmd_note("%" PRIu64 " event%s came too late for the order of time; "
			 "'futrace dump %s' has all of it in order",
			 nr, nr == 1 ? "" : "s", path);
}

static int run(const void *options, int nr, char **argv)
{
	const struct dump_opts *opts = options;
	const char *path = nr ? argv[0] : CMD_DEFAULT_FILE;
	struct err e = ERR_INIT;
	struct trace *t;
	struct dump d = { .opts = opts, .line = STRBUF_INIT };
	int rc;

	if (nr > 1)
		return cmd_usage("one FILE at a time, not also '%s'", argv[1]);
	t = (opts->follow ? trace_follow : trace_open)(path, &e);
	if (!t)
		return cmd_fail(&e);
	d.trace = t;
	rc = opts->limit ? dump_all(&d, t, &e) : 0;
	if (rc == 0) {
		damage_note(t, path);
		note_late(t, path);
	}
	if (rc == 0 && opts->limit && !d.nr_lines)
		note_no_match(opts, path);
	dump_release(&d);
	trace_close(t);
	return rc ? cmd_fail(&e) : EXIT_OK;
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
