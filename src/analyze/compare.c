// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/compare.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"

/* Fewer slices than this say nothing about how much they stray. */
#define MIN_SLICES 4
/*
 * How many standard errors are noise. Dozens of means are compared, and a few long polls weigh
 * much: two errors, as for a single mean, would find a change in most pairs of equal runs.
 */
#define NOISE_ERRORS 3.5
/* A type may be a thousandth of a CPU busier, and nobody will ever notice. */
#define MIN_BUSY_NS 1e6
/* Where a type is polled so many times more or less often, its polls are not the same ones. */
#define MAX_RATE_FACTOR 10
/* So many more tasks that are left may be those that happened to be under way. */
#define MIN_LEFT 10
/* Fewer types do not tell what is typical. */
#define MIN_TYPES 4

struct slice {
	uint64_t nr, sum_ns;
};

struct measure {
	const struct recording *rec;
	uint64_t from_ns, slice_ns;
	struct by_type *types;
	struct slice (*slices)[COMPARE_NR_METRICS][COMPARE_SLICES]; /* by group */
	struct recording_sink sinks[2];
};

static void add(struct measure *m, uint32_t group, enum compare_metric metric, size_t at,
		uint64_t ns)
{
	struct slice *s = &m->slices[group][metric][at];

	s->nr++;
	s->sum_ns += ns;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct measure *m = sink;
	uint32_t group = recording_group_of(m->rec, run->task->key.type);
	size_t at = MIN((run->start_ns - m->from_ns) / m->slice_ns, COMPARE_SLICES - 1);

	add(m, group, COMPARE_BUSY, at, run->end_ns - run->start_ns);
	if (run->flags)
		return;
	add(m, group, COMPARE_POLL, at, run->end_ns - run->start_ns);
	if (run->is_gap_known)
		add(m, group, COMPARE_SCHED, at, run->sched_ns);
}

static const struct model_ops slice_ops = { .run = on_run };

struct measure *measure_new(const struct recording *rec, uint64_t from_ns, uint64_t to_ns)
{
	struct measure *m = xcalloc(1, sizeof(*m));

	m->rec = rec;
	m->from_ns = from_ns;
	m->slice_ns = MAX((to_ns - from_ns) / COMPARE_SLICES + 1, 1);
	m->types = by_type_new(rec);
	m->slices = xcalloc(rec->nr_groups, sizeof(*m->slices));
	m->sinks[0] = (struct recording_sink){ &by_type_ops, m->types };
	m->sinks[1] = (struct recording_sink){ &slice_ops, m };
	return m;
}

void measure_free(struct measure *m)
{
	if (!m)
		return;
	by_type_free(m->types);
	free(m->slices);
	free(m);
}

const struct recording_sink *measure_get_sinks(struct measure *m, size_t *nr)
{
	*nr = ARRAY_SIZE(m->sinks);
	return m->sinks;
}

/*
 * The mean of all, and its error from how the means of slices stray around it. A slice weighs as
 * much as it has polls: the few of a quiet slice stray more and mean less.
 */
static struct estimate estimate(const struct slice *slices)
{
	struct estimate est = { .error_ns = -1 };
	double sum = 0, variance = 0;
	unsigned nr_slices = 0;

	for (unsigned i = 0; i < COMPARE_SLICES; i++) {
		est.nr += slices[i].nr;
		sum += slices[i].sum_ns;
		nr_slices += slices[i].nr > 0;
	}
	if (!est.nr)
		return est;
	est.mean_ns = sum / est.nr;
	if (nr_slices < MIN_SLICES)
		return est;
	for (unsigned i = 0; i < COMPARE_SLICES; i++) {
		double weight = (double)slices[i].nr / est.nr;
		double off =
			slices[i].nr ? (double)slices[i].sum_ns / slices[i].nr - est.mean_ns : 0;

		variance += weight * weight * off * off;
	}
	est.error_ns = sqrt(variance * nr_slices / (nr_slices - 1));
	return est;
}

/* How busy it is in a second, and how that strays: a slice without polls counts as any other. */
static struct estimate estimate_rate(const struct slice *slices, uint64_t slice_ns)
{
	struct estimate est = { .error_ns = -1 };
	double per_s = 1e9 / slice_ns, variance = 0;
	unsigned nr_slices = 0;

	for (unsigned i = 0; i < COMPARE_SLICES; i++) {
		est.nr += slices[i].nr;
		est.mean_ns += slices[i].sum_ns * per_s / COMPARE_SLICES;
		nr_slices += slices[i].nr > 0;
	}
	if (nr_slices < MIN_SLICES)
		return est;
	for (unsigned i = 0; i < COMPARE_SLICES; i++)
		variance += pow(slices[i].sum_ns * per_s - est.mean_ns, 2);
	est.error_ns = sqrt(variance / (COMPARE_SLICES - 1) / COMPARE_SLICES);
	return est;
}

static struct compare_side side_of(const struct measure *m, uint32_t group)
{
	struct compare_side side = { .row = &by_type_get_rows(m->types)[group] };

	for (unsigned i = 0; i < COMPARE_BUSY; i++)
		side.metrics[i] = estimate(m->slices[group][i]);
	side.metrics[COMPARE_BUSY] = estimate_rate(m->slices[group][COMPARE_BUSY], m->slice_ns);
	side.nr_left = side.row->ends[MODEL_ALIVE] + side.row->ends[MODEL_DROPPED];
	return side;
}

static bool is_on_both_sides(const struct compare_row *r)
{
	return r->sides[0].row && r->sides[1].row;
}

static void subtract(struct compare_row *r, unsigned i)
{
	const struct estimate *a = &r->sides[0].metrics[i], *b = &r->sides[1].metrics[i];

	r->change_ns[i] = b->mean_ns - a->mean_ns;
	r->noise_ns[i] = a->error_ns < 0 || b->error_ns < 0
				 ? -1
				 : NOISE_ERRORS * sqrt(a->error_ns * a->error_ns +
						       b->error_ns * b->error_ns);
}

/* By which factor it changed, as a logarithm. False: that cannot be told. */
static bool get_factor(const struct compare_row *r, unsigned i, double *log_factor)
{
	double a = r->sides[0].metrics[i].mean_ns, b = r->sides[1].metrics[i].mean_ns;

	if (!is_on_both_sides(r) || r->noise_ns[i] < 0 || a <= 0 || b <= 0)
		return false;
	*log_factor = log(b / a);
	return true;
}

static int ascending(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

/* The median of how much types changed, as a logarithm; 0 when they are too few. */
static double get_typical(const struct compare_row *rows, size_t nr, unsigned i)
{
	VEC(double) factors = { 0 };
	double factor, typical = 0;

	for (size_t k = 0; k < nr; k++)
		if (get_factor(&rows[k], i, &factor))
			vec_push(&factors, fabs(factor));
	if (factors.nr >= MIN_TYPES) {
		qsort(factors.v, factors.nr, sizeof(*factors.v), ascending);
		typical = factors.v[factors.nr / 2];
	}
	vec_release(&factors);
	return typical;
}

/* The factor that is noise, given the typical one; both as logarithms. */
static double allow(double typical)
{
	return MIN(3 * typical, log(COMPARE_MAX_TYPICAL));
}

/* The means of what somebody spins in are short, and say nothing about what was there before. */
static bool has_other_polls(const struct compare_row *r, double longer)
{
	double a = r->sides[0].row->polls * longer, b = r->sides[1].row->polls;

	return a > MAX_RATE_FACTOR * b || b > MAX_RATE_FACTOR * a;
}

static void judge_metric(struct compare_row *r, unsigned i, double typical, unsigned min_percent)
{
	static const enum compare_verdict more[] = { COMPARE_SLOWER, COMPARE_SLOWER,
						     COMPARE_BUSIER };
	static const enum compare_verdict less[] = { COMPARE_FASTER, COMPARE_FASTER,
						     COMPARE_CALMER };
	double before = r->sides[0].metrics[i].mean_ns, change = fabs(r->change_ns[i]), factor;

	if (!get_factor(r, i, &factor))
		r->verdicts[i] = COMPARE_UNSURE;
	else if (change <= r->noise_ns[i] || change * 100 < before * min_percent ||
		 (i == COMPARE_BUSY && change < MIN_BUSY_NS) || fabs(factor) <= allow(typical))
		r->verdicts[i] = COMPARE_SAME;
	else
		r->verdicts[i] = factor > 0 ? more[i] : less[i];
}

/*
 * Counts, so their noise is known: the square root. A leak grows with time: what a longer recording
 * has more by that is none.
 */
static void judge_left(struct compare_row *r, double longer, unsigned min_percent)
{
	double a = r->sides[0].nr_left * MAX(longer, 1.0);
	double b = r->sides[1].nr_left * MAX(1 / longer, 1.0);
	double change = fabs(b - a), least = MIN_LEFT + NOISE_ERRORS * sqrt(a + b);

	if (change > least && change * 100 >= a * min_percent)
		r->left_verdict = b > a ? COMPARE_LEAKIER : COMPARE_TIDIER;
}

struct pairing {
	const struct measure *a, *b;
	bool *is_taken; /* by group of b */
	bool is_one_build;
	VEC(struct compare_row) rows;
};

static const enum compare_verdict worst_first[] = {
	COMPARE_SLOWER, COMPARE_LEAKIER, COMPARE_BUSIER, COMPARE_APPEARED, COMPARE_VANISHED,
	COMPARE_FASTER, COMPARE_TIDIER,	 COMPARE_CALMER, COMPARE_SAME,	   COMPARE_UNSURE,
};

static unsigned rank_of(enum compare_verdict v)
{
	unsigned i = 0;

	while (worst_first[i] != v)
		i++;
	return i;
}

/*
 * Polls that became shorter by a millisecond, and wait for a worker longer by one of its
 * thousandths, are faster: where both speak against each other, the lesser says nothing.
 */
static void settle(struct compare_row *r)
{
	enum compare_verdict poll = r->verdicts[COMPARE_POLL], wait = r->verdicts[COMPARE_SCHED];
	bool is_poll_less = fabs(r->change_ns[COMPARE_POLL]) < fabs(r->change_ns[COMPARE_SCHED]);

	if ((poll == COMPARE_SLOWER && wait == COMPARE_FASTER) ||
	    (poll == COMPARE_FASTER && wait == COMPARE_SLOWER))
		r->verdicts[is_poll_less ? COMPARE_POLL : COMPARE_SCHED] = COMPARE_SAME;
}

static void judge(struct compare_row *r, const double *typical, const struct pairing *p,
		  unsigned min_percent)
{
	uint64_t b_ns = p->b->slice_ns;
	double longer = (double)b_ns / p->a->slice_ns;
	double polls_per_s = r->sides[1].row->polls * 1e9 / b_ns / COMPARE_SLICES;

	judge_left(r, longer, min_percent);
	r->verdict = COMPARE_UNSURE;
	for (unsigned i = 0; i < COMPARE_NR_METRICS; i++) {
		judge_metric(r, i, typical[i], min_percent);
		if (i != COMPARE_BUSY && has_other_polls(r, longer))
			r->verdicts[i] = COMPARE_UNSURE;
	}
	settle(r);
	for (unsigned i = 0; i < COMPARE_NR_METRICS; i++) {
		if (rank_of(r->verdicts[i]) < rank_of(r->verdict))
			r->verdict = r->verdicts[i];
		if (r->verdicts[i] == COMPARE_SLOWER || r->verdicts[i] == COMPARE_FASTER)
			r->harm_ns += r->change_ns[i] * polls_per_s;
		else if (r->verdicts[i] == COMPARE_BUSIER || r->verdicts[i] == COMPARE_CALMER)
			r->harm_ns += r->change_ns[i];
	}
	/* that it leaves no more tasks than before says little */
	if (r->left_verdict != COMPARE_SAME && rank_of(r->left_verdict) < rank_of(r->verdict))
		r->verdict = r->left_verdict;
}

static int worse_first(const void *pa, const void *pb)
{
	const struct compare_row *a = pa, *b = pb;
	double harm_a = fabs(a->harm_ns), harm_b = fabs(b->harm_ns);

	if (a->verdict != b->verdict)
		return rank_of(a->verdict) < rank_of(b->verdict) ? -1 : 1;
	if (harm_a != harm_b)
		return harm_a < harm_b ? 1 : -1;
	return strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

static bool is_one_build(const struct recording *a, const struct recording *b)
{
	return a->nr_objects && b->nr_objects && a->objects[0].build_id[0] &&
	       strcmp(a->objects[0].build_id, b->objects[0].build_id) == 0 &&
	       a->nr_types == b->nr_types;
}

/* A name that is one tells; other types have their number, as long as it is the same program. */
static bool is_same_type(const struct pairing *p, const struct recording_group *a,
			 const struct recording_group *b)
{
	if (a->kind != b->kind || !a->name != !b->name)
		return false;
	if (!a->is_exact && p->is_one_build)
		return a->type == b->type;
	return a->name && strcmp(a->name, b->name) == 0;
}

/* What is on one side only. Without a name it may be there on the other, too. */
static struct compare_row one_sided(const struct measure *m, uint32_t group, unsigned side,
				    enum compare_verdict verdict)
{
	const struct recording_group *g = &m->rec->groups[group];
	struct compare_row row = { .name = g->name, .type = g->type, .kind = g->kind };

	row.sides[side] = side_of(m, group);
	row.verdict = g->name ? verdict : COMPARE_UNSURE;
	row.harm_ns = row.sides[side].row->ns[MODEL_RUNNING];
	return row;
}

static void pair_up(struct pairing *p, uint32_t group_a)
{
	struct compare_row row = one_sided(p->a, group_a, 0, COMPARE_VANISHED);

	for (uint32_t g = 0; g < p->b->rec->nr_groups; g++) {
		if (p->is_taken[g] || !by_type_get_rows(p->b->types)[g].nr_tasks ||
		    !is_same_type(p, &p->a->rec->groups[group_a], &p->b->rec->groups[g]))
			continue;
		p->is_taken[g] = true;
		row.sides[1] = side_of(p->b, g);
		row.harm_ns = 0;
		for (unsigned i = 0; i < COMPARE_NR_METRICS; i++)
			subtract(&row, i);
		break;
	}
	vec_push(&p->rows, row);
}

static void add_appeared(struct pairing *p, uint32_t group)
{
	if (by_type_get_rows(p->b->types)[group].nr_tasks && !p->is_taken[group])
		vec_push(&p->rows, one_sided(p->b, group, 1, COMPARE_APPEARED));
}

void compare(struct comparison *c, const struct measure *a, const struct measure *b,
	     unsigned min_percent)
{
	struct pairing p = { .a = a, .b = b, .is_one_build = is_one_build(a->rec, b->rec) };
	double typical[COMPARE_NR_METRICS];

	p.is_taken = xcalloc(b->rec->nr_groups, sizeof(*p.is_taken));
	for (uint32_t g = 0; g < a->rec->nr_groups; g++)
		if (by_type_get_rows(a->types)[g].nr_tasks)
			pair_up(&p, g);
	for (uint32_t g = 0; g < b->rec->nr_groups; g++)
		add_appeared(&p, g);
	free(p.is_taken);
	for (unsigned i = 0; i < COMPARE_NR_METRICS; i++) {
		typical[i] = get_typical(p.rows.v, p.rows.nr, i);
		c->typical[i] = exp(typical[i]);
	}
	vec_each (row, &p.rows)
		if (is_on_both_sides(row))
			judge(row, typical, &p, min_percent);
	if (p.rows.nr)
		qsort(p.rows.v, p.rows.nr, sizeof(*p.rows.v), worse_first);
	c->rows = p.rows.v;
	c->nr_rows = p.rows.nr;
}

void comparison_release(struct comparison *c)
{
	free(c->rows);
	*c = (struct comparison){ 0 };
}

double comparison_get_allowed(const struct comparison *c, enum compare_metric metric)
{
	return exp(allow(log(c->typical[metric])));
}

bool compare_is_worse(enum compare_verdict v)
{
	return v == COMPARE_SLOWER || v == COMPARE_LEAKIER || v == COMPARE_BUSIER;
}

const char *compare_verdict_name(enum compare_verdict v)
{
	static const char *const names[] = {
		"same",	   "slower", "faster", "busier",   "calmer",
		"leakier", "tidier", "unsure", "appeared", "vanished"
	};

	return names[v];
}
