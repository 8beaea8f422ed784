// SPDX-License-Identifier: MIT OR Apache-2.0
/* The report for people: what was recorded and what was not, then a table by future type, 100
 * columns wide. */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "cmd/report.h"
#include "model/by_type.h"
#include "model/shorten.h"

#define WIDTH 100

/* 1234567 -> "1,234,567" */
static const char *grouped(uint64_t n, char buf[32])
{
	char plain[24];
	int len = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)n), to = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[to++] = ',';
		buf[to++] = plain[i];
	}
	buf[to] = '\0';
	return buf;
}

/* At most six characters. */
static const char *count(uint64_t n, char buf[32])
{
	if (n < 1000000)
		snprintf(buf, 32, "%llu", (unsigned long long)n);
	else if (n < UINT64_C(1000000000))
		snprintf(buf, 32, "%.4gM", n / 1e6);
	else
		snprintf(buf, 32, "%.4gG", n / 1e9);
	return buf;
}

/* At most seven characters. */
static const char *span(uint64_t ns, char buf[32])
{
	unsigned long long s = ns / 1000000000;

	if (ns < 1000)
		snprintf(buf, 32, "%lluns", (unsigned long long)ns);
	else if (ns < 999500)
		snprintf(buf, 32, "%.3gus", ns / 1e3);
	else if (ns < 999500000)
		snprintf(buf, 32, "%.3gms", ns / 1e6);
	else if (s < 100)
		snprintf(buf, 32, "%.3gs", ns / 1e9);
	else if (s < 6000)
		snprintf(buf, 32, "%llum%02llus", s / 60, s % 60);
	else
		snprintf(buf, 32, "%lluh%02llum", s / 3600, s / 60 % 60);
	return buf;
}

static void print_outcome(const struct report *r)
{
	static const char *const stops[] = { "", " (its duration was over)",
					     " (the file had its size)", " (interrupted)",
					     " (by an error)" };
	const struct trace_end *end = trace_get_end(r->trace);

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

static void print_lost(const struct report *r, const struct by_type_row *total)
{
	uint64_t lost[EV_MAX], sum = report_lost(r, lost);
	uint32_t nr_unslotted = trace_get_end(r->trace)->nr_unslotted;
	const char *sep = " (";
	char a[32];

	printf("lost        %s", sum ? grouped(sum, a) : "nothing");
	if (sum)
		printf(" events");
	for (unsigned i = 0; sum && i < EV_MAX; i++) {
		if (!lost[i])
			continue;
		printf("%s%s %s", sep, event_descs[i].name ? event_descs[i].name : "unknown",
		       grouped(lost[i], a));
		sep = ", ";
	}
	printf("%s", sum ? ")" : "");
	if (nr_unslotted)
		printf("; %s threads were not recorded", grouped(nr_unslotted, a));
	putchar('\n');
	if (total->ns[MODEL_UNKNOWN])
		printf("unknown     what tasks did for %s, after a loss or before a first sighting\n",
		       span(total->ns[MODEL_UNKNOWN], a));
}

static void print_file(const struct report *r)
{
	const struct trace_damage *d = trace_get_damage(r->trace);
	const struct model_totals *totals = model_get_totals(r->model);
	char a[32], b[32], c[32];

	printf("file        %s events, %s bytes, ", grouped(totals->nr_events, a),
	       grouped(trace_get_size(r->trace), b));
	printf("%s\n", d->cut ? "CUT: it has no end, what came later is missing" : "complete");
	if (d->bad_blocks || d->bad_events || d->bytes_skipped)
		printf("DAMAGE      %s blocks and %s events unreadable, %s bytes skipped\n",
		       grouped(d->bad_blocks, a), grouped(d->bad_events, b),
		       grouped(d->bytes_skipped, c));
	if (totals->nr_stray)
		printf("stray       %s events fit nothing that came before\n",
		       grouped(totals->nr_stray, a));
}

static void print_cost(const struct report *r)
{
	const struct trace_end *end = trace_get_end(r->trace);
	char a[32], b[32];

	if (end->kind == TRACE_CUT) {
		printf("cost        not known: the recording has no end\n");
		return;
	}
	printf("cost        futrace used %s of CPU", span(end->tool_cpu_ns, a));
	if (end->target_cpu_ns)
		printf(", the program %s (the agent's share included)",
		       span(end->target_cpu_ns, b));
	putchar('\n');
}

static void print_unresolved(const struct report *r, const struct by_type_row *rows, size_t nr,
			     const struct by_type_row *total)
{
	uint64_t nr_unnamed = 0;
	char a[32], b[32];

	for (size_t i = 0; i < nr; i++)
		nr_unnamed += !rows[i].name;
	if (!nr_unnamed && !total->nr_first_seen)
		return;
	printf("unresolved  ");
	if (nr_unnamed)
		printf("%s types without a name%s", grouped(nr_unnamed, a),
		       total->nr_first_seen ? "; " : "");
	if (total->nr_first_seen)
		printf("the spawn of %s tasks was not seen: their times begin with the first sighting",
		       grouped(total->nr_first_seen, b));
	putchar('\n');
}

struct thread_counts {
	uint64_t nr[3]; /* by enum model_thread_kind */
	uint64_t blocked_ns, nr_blocks;
};

static void count_thread(void *sink, const struct model_thread *t)
{
	struct thread_counts *c = sink;

	c->nr[t->kind]++;
	c->blocked_ns += t->blocked_ns;
	c->nr_blocks += t->nr_blocks;
}

static const struct model_ops count_ops = { .thread = count_thread };

static void print_header(const struct report *r, const struct thread_counts *threads,
			 const struct by_type_row *total)
{
	struct strbuf exe = STRBUF_INIT;
	uint64_t wakes = 0;
	char a[32], b[32], c[32];

	strbuf_add_clean(&exe, r->meta->exe, strlen(r->meta->exe));
	printf("program     %s (pid %u)\n", exe.s, r->meta->pid);
	strbuf_release(&exe);
	printf("recorded    %s; ", span(model_get_duration(r->model), a));
	print_outcome(r);
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		wakes += total->wakes[i];
	printf("\ntasks       %s (%s alive at the end), ", grouped(total->nr_tasks, a),
	       grouped(total->ends[MODEL_ALIVE], b));
	printf("%s polls, %s wakes (%s by the task itself)\n", grouped(total->polls, a),
	       grouped(wakes, b), grouped(total->wakes[MODEL_BY_SELF], c));
	printf("threads     %s workers, %s blocking, %s others",
	       grouped(threads->nr[MODEL_WORKER], a), grouped(threads->nr[MODEL_BLOCKING], b),
	       grouped(threads->nr[MODEL_OTHER], c));
	if (threads->nr_blocks)
		printf("; slept inside tasks %s times, %s in all", grouped(threads->nr_blocks, a),
		       span(threads->blocked_ns, b));
	putchar('\n');
}

/* "12c 3x": how those that ended did. */
static const char *ends(const struct by_type_row *row, char buf[96])
{
	static const char letters[MODEL_NR_ENDS] = { [MODEL_COMPLETED] = 'c',
						     [MODEL_CANCELLED] = 'x',
						     [MODEL_PANICKED] = 'p',
						     [MODEL_DROPPED] = 'd' };
	int len = 0;
	char a[32];

	buf[0] = '\0';
	for (unsigned i = MODEL_COMPLETED; i < MODEL_NR_ENDS; i++)
		if (row->ends[i])
			len += snprintf(buf + len, 96 - len, "%s%s%c", len ? " " : "",
					count(row->ends[i], a), letters[i]);
	return len ? buf : "-";
}

static void print_row(const struct report *r, const struct by_type_row *row, int ends_width)
{
	char c[8][32], e[96], name[32];
	struct strbuf type = STRBUF_INIT;
	int len = printf("%6s %6s %6s %7s %7s %7s %7s %-*s ", count(row->nr_tasks, c[0]),
			 count(row->ends[MODEL_ALIVE], c[1]), count(row->polls, c[2]),
			 span(row->ns[MODEL_RUNNING], c[3]), span(row->ns[MODEL_SCHEDULED], c[4]),
			 span(row->ns[MODEL_IDLE], c[5]), span(row->max_poll_ns, c[6]), ends_width,
			 ends(row, e));
	const char *suffix = row->kind == TRACE_LOCAL	   ? " (local)"
			     : row->kind == TRACE_BLOCKING ? " (blocking)"
							   : "";

	shorten_type(&type, report_type_name(r, row->type, name), WIDTH - len - strlen(suffix));
	printf("%s%s\n", type.s, suffix);
	strbuf_release(&type);
}

static void print_rows(const struct report *r, const struct by_type_row *rows, size_t nr)
{
	int width = strlen("ENDS");
	char e[96];

	if (!nr) {
		printf("\nNo task was recorded.\n");
		return;
	}
	for (size_t i = 0; i < nr; i++)
		width = MAX(width, (int)strlen(ends(&rows[i], e)));
	width = MIN(width, 24);
	printf("\n%6s %6s %6s %7s %7s %7s %7s %-*s %s\n", "TASKS", "ALIVE", "POLLS", "BUSY",
	       "SCHED", "IDLE", "MAXPOLL", width, "ENDS", "TYPE");
	for (size_t i = 0; i < nr; i++)
		print_row(r, &rows[i], width);
	printf("\nENDS: c completed, x cancelled, p panicked, d dropped with its runtime.\n");
}

void report_table(struct report *r)
{
	struct by_type *by = by_type_new(r->types, r->nr_types);
	struct thread_counts threads = { 0 };
	const struct by_type_row *rows;
	struct by_type_row total;
	size_t nr;

	model_add_sink(r->model, &by_type_ops, by);
	model_add_sink(r->model, &count_ops, &threads);
	report_read(r);
	rows = by_type_get_rows(by, &nr);
	total = by_type_total(by);
	print_header(r, &threads, &total);
	print_lost(r, &total);
	print_file(r);
	print_unresolved(r, rows, nr, &total);
	print_cost(r);
	print_rows(r, rows, nr);
	by_type_free(by);
}
