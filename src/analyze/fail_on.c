// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/fail_on.h"

#include <string.h>

#include "base/format.h"
#include "base/histogram.h"
#include "base/opts.h"
#include "base/vec.h"
#include "model/shorten.h"

/* Times of single polls. */
enum metric { POLL, BLOCKED, SCHED, IDLE, NR_METRICS };

static const char *const metric_names[] = { "poll", "blocked", "sched", "idle" };

/* What else can be counted. Rules come behind these, in the order of analyses[]. */
enum count { NOTE, WARNING, CRITICAL, FINDINGS, LOST, RULES };

static const char *const count_names[] = { "note", "warning", "critical", "findings", "lost" };

struct condition {
	char *text;
	bool is_time;
	unsigned what;	  /* enum metric, or enum count */
	unsigned percent; /* of a metric; 0: the greatest */
	bool is_at_least; /* >= */
	uint64_t limit;
};

struct worst {
	uint64_t ns, time_ns;
	struct model_key task;
	uint32_t thread;
	struct histogram all;
};

struct fail_on {
	VEC(struct condition) conditions;
	struct worst worst[NR_METRICS];
	struct recording_sink sink;
	bool has_times;
};

static void note(struct worst *w, const struct model_run *run, uint64_t time_ns, uint64_t ns)
{
	histogram_add(&w->all, ns);
	if (ns <= w->ns)
		return;
	w->ns = ns;
	w->time_ns = time_ns;
	w->task = run->task->key;
	w->thread = run->thread;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct fail_on *f = sink;

	if (run->flags)
		return;
	/* closures on the blocking pool, and block_in_place, are there to take long */
	if (run->task->kind != TRACE_BLOCKING && run->task->kind != TRACE_BLOCK_ON &&
	    !run->is_off_worker) {
		note(&f->worst[POLL], run, run->start_ns, run->end_ns - run->start_ns);
		note(&f->worst[BLOCKED], run, run->start_ns, run->blocked_ns);
	}
	if (!run->is_gap_known)
		return;
	note(&f->worst[SCHED], run, run->start_ns - run->sched_ns, run->sched_ns);
	if (run->idle_ns)
		note(&f->worst[IDLE], run, run->start_ns - run->sched_ns - run->idle_ns,
		     run->idle_ns);
}

static const struct model_ops ops = { .run = on_run };

static bool is_word(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && memcmp(name, text, len) == 0;
}

/* "poll" or "poll.p99" */
static bool find_metric(struct condition *c, const char *text, size_t len)
{
	const char *dot = memchr(text, '.', len);
	size_t name = dot ? (size_t)(dot - text) : len;
	char *end;

	for (c->what = 0; c->what < NR_METRICS; c->what++)
		if (is_word(metric_names[c->what], text, name))
			break;
	if (c->what == NR_METRICS)
		return false;
	c->is_time = true;
	if (!dot || is_word(".max", dot, len - name))
		return true;
	if (dot[1] != 'p' || dot[2] < '1' || dot[2] > '9')
		return false;
	c->percent = strtoul(dot + 2, &end, 10);
	return end == text + len && c->percent <= 100;
}

static bool find_count(struct condition *c, const char *text, size_t len)
{
	for (c->what = 0; c->what < RULES; c->what++)
		if (is_word(count_names[c->what], text, len))
			return true;
	for (; analyses[c->what - RULES]; c->what++)
		if (is_word(analyses[c->what - RULES]->name, text, len))
			return true;
	return false;
}

static int no_name(const char *text, size_t len, struct err *e)
{
	struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < NR_METRICS; i++)
		strbuf_addf(&names, "%s, ", metric_names[i]);
	for (size_t i = 0; i < RULES; i++)
		strbuf_addf(&names, "%s, ", count_names[i]);
	err_set(e, ERR_USAGE,
		"--fail-on: '%.*s' is unknown; there are %sand the rules that --thresholds "
		"lists, as in %s",
		(int)len, text, names.s, FAIL_ON_EXAMPLES);
	strbuf_release(&names);
	return -1;
}

static int parse_limit(struct condition *c, const char *s)
{
	return c->is_time ? parse_time(s, &c->limit) : parse_uint(s, &c->limit);
}

static int add_condition(struct fail_on *f, const char *text, size_t len, struct err *e)
{
	struct condition c = { .text = xstrndup(text, len) };
	size_t name = strcspn(c.text, "><=");
	const char *op = c.text + name;
	int rc = 0;

	if (!find_metric(&c, c.text, name)) {
		c.is_time = false;
		if (!find_count(&c, c.text, name))
			rc = no_name(c.text, name, e);
	}
	c.is_at_least = op[0] && op[1] == '=';
	if (!rc &&
	    (*op == '\0' ? c.is_time : *op != '>' || parse_limit(&c, op + 1 + c.is_at_least)))
		rc = err_set(e, ERR_USAGE,
			     "--fail-on: '%s' is not a condition; use for example "
			     "%s",
			     c.text, FAIL_ON_EXAMPLES);
	if (rc) {
		free(c.text);
		return rc;
	}
	f->has_times |= c.is_time;
	vec_push(&f->conditions, c);
	return 0;
}

struct fail_on *fail_on_new(const char *text, struct err *e)
{
	struct fail_on *f = xcalloc(1, sizeof(*f));

	f->sink = (struct recording_sink){ &ops, f };
	do {
		size_t len = strcspn(text, ",");

		if (add_condition(f, text, len, e)) {
			fail_on_free(f);
			return NULL;
		}
		text += len;
	} while (*text++ == ',');
	return f;
}

void fail_on_free(struct fail_on *f)
{
	if (!f)
		return;
	vec_each (c, &f->conditions)
		free(c->text);
	vec_release(&f->conditions);
	for (unsigned i = 0; i < NR_METRICS; i++)
		histogram_release(&f->worst[i].all);
	free(f);
}

const struct recording_sink *fail_on_get_sinks(struct fail_on *f, size_t *nr)
{
	*nr = f->has_times;
	return &f->sink;
}

static uint64_t count(unsigned what, const struct recording *rec, const struct model *m,
		      const struct analyzer *a)
{
	const struct finding *f;
	uint64_t lost[EV_MAX], sum = 0;
	size_t nr;

	if (what == LOST)
		return recording_get_lost(rec, m, lost);
	f = analyzer_get_findings(a, &nr);
	for (size_t i = 0; i < nr; i++)
		sum += what == FINDINGS ? 1
		       : what >= RULES	? f[i].analysis == analyses[what - RULES]
					: f[i].severity >= (enum severity)what;
	return sum;
}

static void add_where(const struct worst *w, const struct recording *rec, struct strbuf *out)
{
	const struct trace_type *type =
		w->task.type < rec->nr_types ? &rec->types[w->task.type] : NULL;
	char a[FORMAT_SIZE], buf[32];

	strbuf_addf(out, " at %s in task %llu, ", format_span(w->time_ns, a),
		    (unsigned long long)w->task.id);
	shorten_type(out, recording_type_name(rec, w->task.type, buf), 60);
	if (type && type->file[0]) {
		strbuf_addstr(out, ", ");
		shorten_place(out, type->file, type->line, 40);
	}
	strbuf_addf(out, ", on tid %u", recording_thread_tid(rec, w->thread));
}

static void say_time(const struct condition *c, const struct worst *w, uint64_t value,
		     const struct recording *rec, struct strbuf *out)
{
	char a[FORMAT_SIZE];

	strbuf_addf(out, "%s: it is %s", c->text, format_span(value, a));
	strbuf_addf(out, " (%s too much)", format_span(value - c->limit, a));
	if (c->percent) {
		strbuf_addf(out, " of %s polls", format_grouped(w->all.nr, a));
		strbuf_addf(out, "; the greatest is %s", format_span(w->ns, a));
	}
	strbuf_addch(out, ',');
	add_where(w, rec, out);
	strbuf_addch(out, '\n');
}

bool fail_on_judge(const struct fail_on *f, const struct recording *rec, const struct model *m,
		   const struct analyzer *a, struct strbuf *out)
{
	bool has_failed = false;

	vec_each (c, &f->conditions) {
		const struct worst *w = c->is_time ? &f->worst[c->what] : NULL;
		uint64_t value = !w	      ? count(c->what, rec, m, a)
				 : c->percent ? histogram_percentile(&w->all, c->percent)
					      : w->ns;

		/* a time that nobody measured is over no limit */
		if ((w && !w->all.nr) || (c->is_at_least ? value < c->limit : value <= c->limit))
			continue;
		has_failed = true;
		if (w)
			say_time(c, w, value, rec, out);
		else
			strbuf_addf(out, "%s: it is %llu\n", c->text, (unsigned long long)value);
	}
	return has_failed;
}
