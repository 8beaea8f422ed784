// SPDX-License-Identifier: MIT OR Apache-2.0
/* The report for people, as wide as the terminal: what was recorded and what was not, then the
 * table. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/format.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/report.h"
#include "model/shorten.h"

#define DEFAULT_WIDTH 100
#define MIN_WIDTH     80
#define MAX_WIDTH     1000

static void print_outcome(const struct report *r)
{
	static const char *const stops[] = { "", " (its duration was over)",
					     " (the file had its size)", " (interrupted)",
					     " (by an error)" };
	const struct trace_end *end = trace_get_end(r->rec.trace);

	switch (end->kind) {
	case TRACE_EXITED:
		printf("the program exited with status %u", end->status);
		break;
	case TRACE_SIGNALED:
		printf("the program was killed by signal %u", end->status);
		break;
	case TRACE_EXECED:
		printf("the process went on as another program");
		break;
	case TRACE_STOPPED:
		printf("the recording stopped before the program%s",
		       end->status < ARRAY_SIZE(stops) ? stops[end->status] : "");
		break;
	default:
		printf("how the program ended is not known");
	}
}

/* A cut file skips what is left of its last block; that is no damage. */
static bool is_damaged(const struct report *r)
{
	const struct trace_damage *d = trace_get_damage(r->rec.trace);

	return d->bad_blocks || d->bad_events || (d->bytes_skipped && !d->cut);
}

/* What is unreadable is lost as well, and how much that is nobody knows exactly. */
static void print_lost_sum(const struct report *r, uint64_t sum)
{
	const struct trace_damage *d = trace_get_damage(r->rec.trace);
	uint64_t all = sum + d->bad_events;
	char a[32], b[32];

	if (!is_damaged(r) && !sum)
		printf("nothing%s", d->cut ? " up to the cut" : "");
	else if (!is_damaged(r))
		printf("%s event%s%s", format_grouped(sum, a), plural(sum),
		       d->cut ? " up to the cut" : "");
	else if (!all)
		printf("unknown: the file is damaged");
	else
		printf("at least %s event%s: %s unreadable, %s while recording",
		       format_grouped(all, a), plural(all), format_grouped(d->bad_events, b),
		       sum ? "the others" : "none");
}

static void print_lost(const struct report *r, const struct by_type_row *total)
{
	uint64_t lost[EV_MAX], sum = recording_get_lost(&r->rec, r->model, lost);
	uint32_t nr_unslotted = trace_get_end(r->rec.trace)->nr_unslotted;
	const char *sep = " (";
	char a[32];

	printf("lost        ");
	print_lost_sum(r, sum);
	for (unsigned i = 0; sum && i < EV_MAX; i++) {
		if (!lost[i])
			continue;
		printf("%s%s %s", sep, event_descs[i].name ? event_descs[i].name : "unknown",
		       format_grouped(lost[i], a));
		sep = ", ";
	}
	printf("%s", sum ? ")" : "");
	if (nr_unslotted)
		printf("; %s thread%s not recorded", format_grouped(nr_unslotted, a),
		       nr_unslotted == 1 ? " was" : "s were");
	putchar('\n');
	if (total->ns[MODEL_UNKNOWN])
		printf("unknown     what tasks did for %s, after a loss or before a first sighting\n",
		       format_span(total->ns[MODEL_UNKNOWN], a));
}

static void print_file(const struct report *r)
{
	const struct trace_damage *d = trace_get_damage(r->rec.trace);
	const struct model_totals *totals = model_get_totals(r->model);
	char a[32], b[32], c[32];

	printf("file        %s event%s, %s bytes, ", format_grouped(totals->nr_events, a),
	       plural(totals->nr_events), format_grouped(trace_get_size(r->rec.trace), b));
	printf("%s\n", d->cut	       ? "CUT: it has no end, what came later is missing"
		       : is_damaged(r) ? "DAMAGED"
				       : "complete");
	if (is_damaged(r))
		printf("DAMAGE      %s block%s and %s event%s unreadable, %s byte%s skipped\n",
		       format_grouped(d->bad_blocks, a), plural(d->bad_blocks),
		       format_grouped(d->bad_events, b), plural(d->bad_events),
		       format_grouped(d->bytes_skipped, c), plural(d->bytes_skipped));
	if (totals->nr_stray)
		printf("stray       %s event%s nothing that came before\n",
		       format_grouped(totals->nr_stray, a),
		       totals->nr_stray == 1 ? " fits" : "s fit");
}

static void print_cost(const struct report *r)
{
	const struct trace_end *end = trace_get_end(r->rec.trace);
	char a[32], b[32];

	if (end->kind == TRACE_CUT) {
		printf("cost        not known: the recording has no end\n");
		return;
	}
	printf("cost        futrace used %s of CPU", format_span(end->tool_cpu_ns, a));
	if (end->target_cpu_ns)
		printf(", the program %s (the agent's share included)",
		       format_span(end->target_cpu_ns, b));
	putchar('\n');
}

static void print_unresolved(const struct report *r, const struct by_type_row *const *rows,
			     size_t nr, const struct by_type_row *total)
{
	uint64_t nr_unnamed = 0, nr_several = 0;
	const char *sep = "unresolved  ";
	char a[32];

	for (size_t i = 0; i < nr; i++) {
		nr_unnamed += !rows[i]->group->name;
		nr_several += rows[i]->group->name && !rows[i]->group->is_exact;
	}
	if (nr_unnamed)
		printf("%s%s type%s without a name", sep, format_grouped(nr_unnamed, a),
		       plural(nr_unnamed));
	sep = nr_unnamed ? "; " : sep;
	if (nr_several)
		printf("%s%s type%s with several possible names", sep,
		       format_grouped(nr_several, a), plural(nr_several));
	sep = nr_several ? "; " : sep;
	if (total->nr_first_seen)
		printf("%sthe spawn of %s task%s was not seen: %s times begin with the first sighting",
		       sep, format_grouped(total->nr_first_seen, a), plural(total->nr_first_seen),
		       total->nr_first_seen == 1 ? "its" : "their");
	if (nr_unnamed || nr_several || total->nr_first_seen)
		putchar('\n');
}

struct thread_counts {
	uint64_t nr[3]; /* by enum model_thread_kind */
};

static void count_thread(void *sink, const struct model_thread *t)
{
	((struct thread_counts *)sink)->nr[t->kind]++;
}

static const struct model_ops count_ops = { .thread = count_thread };

static void print_header(const struct report *r, const struct thread_counts *threads,
			 const struct by_type_row *total)
{
	struct strbuf exe = STRBUF_INIT;
	uint64_t wakes = 0;
	char a[32], b[32], c[32];

	strbuf_add_clean(&exe, r->rec.meta->exe, strlen(r->rec.meta->exe));
	printf("program     %s (pid %u)\n", exe.s, r->rec.meta->pid);
	strbuf_release(&exe);
	printf("recorded    %s; ", format_span(model_get_duration(r->model), a));
	print_outcome(r);
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		wakes += total->wakes[i];
	printf("\ntasks       %s (%s alive at the end), ", format_grouped(total->nr_tasks, a),
	       format_grouped(total->ends[MODEL_ALIVE], b));
	printf("%s poll%s, %s wake%s (%s by the task itself)\n", format_grouped(total->polls, a),
	       plural(total->polls), format_grouped(wakes, b), plural(wakes),
	       format_grouped(total->wakes[MODEL_BY_SELF], c));
	printf("threads     %s worker%s, %s blocking, %s other%s\n",
	       format_grouped(threads->nr[MODEL_WORKER], a), plural(threads->nr[MODEL_WORKER]),
	       format_grouped(threads->nr[MODEL_BLOCKING], b),
	       format_grouped(threads->nr[MODEL_OTHER], c), plural(threads->nr[MODEL_OTHER]));
}

/* Names the type whose polls slept longest. */
static void print_blocked(const struct report *r, const struct by_type_row *const *rows, size_t nr,
			  size_t width)
{
	const struct by_type_row *worst = NULL;
	struct strbuf type = STRBUF_INIT;
	uint64_t others = 0;
	char a[32], name[32];

	for (size_t i = 0; i < nr; i++) {
		if (!report_may_not_block(rows[i]) || !rows[i]->nr_blocked_polls)
			continue;
		others += rows[i]->nr_blocked_polls;
		if (!worst || rows[i]->blocked_ns > worst->blocked_ns)
			worst = rows[i];
	}
	if (!worst)
		return;
	others -= worst->nr_blocked_polls;
	shorten_type(&type, recording_type_name(&r->rec, worst->group->type, name), width - 60);
	if (worst->group->name && !worst->group->is_exact)
		strbuf_addf(&type, " #%u", worst->group->type);
	printf("blocked     %s poll%s of %s slept %s in all",
	       format_grouped(worst->nr_blocked_polls, a), plural(worst->nr_blocked_polls), type.s,
	       format_span(worst->blocked_ns, name));
	printf(" (max %s)", format_span(worst->max_blocked_poll_ns, a));
	if (others)
		printf("; %s of other types", format_grouped(others, a));
	putchar('\n');
	strbuf_release(&type);
}

static size_t terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize size;

	if (!width && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (!width)
		return DEFAULT_WIDTH;
	return MAX(MIN_WIDTH, MIN(width, MAX_WIDTH));
}

static int busier_first(const void *pa, const void *pb)
{
	const struct by_type_row *a = *(void *const *)pa, *b = *(void *const *)pb;

	if (a->ns[MODEL_RUNNING] != b->ns[MODEL_RUNNING])
		return a->ns[MODEL_RUNNING] < b->ns[MODEL_RUNNING] ? 1 : -1;
	return (a->group->type > b->group->type) - (a->group->type < b->group->type);
}

void report_table(struct report *r)
{
	struct by_type *by = by_type_new(&r->rec);
	struct thread_counts threads = { 0 };
	const struct recording_sink sinks[] = { { &by_type_ops, by }, { &count_ops, &threads } };
	VEC(const struct by_type_row *) rows = { 0 };
	struct by_type_row total;
	size_t width = terminal_width();

	r->model = recording_read(&r->rec, &r->view, sinks, ARRAY_SIZE(sinks));
	for (uint32_t g = 0; g < r->rec.nr_groups; g++)
		if (by_type_get_rows(by)[g].nr_tasks)
			vec_push(&rows, &by_type_get_rows(by)[g]);
	if (rows.nr)
		qsort(rows.v, rows.nr, sizeof(*rows.v), busier_first);
	by_type_get_total(by, &total);
	print_header(r, &threads, &total);
	print_blocked(r, rows.v, rows.nr, width);
	print_lost(r, &total);
	print_file(r);
	print_unresolved(r, rows.v, rows.nr, &total);
	print_cost(r);
	report_rows(r, rows.v, rows.nr, width);
	by_type_row_release(&total);
	vec_release(&rows);
	by_type_free(by);
}
