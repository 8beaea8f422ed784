// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a change beyond the noise is told as one, noise is not, and what is in one recording
 * only appears or vanishes. */
#include "unit.h"

#include "script.h"

#include "analyze/compare.h"

#define NR_POLLS 320
#define STEP	 1000

static struct recording make(void)
{
	struct recording rec = { .types = script_types, .nr_types = NR_TYPES };

	recording_make_groups(&rec);
	return rec;
}

static uint64_t wake_at = 800; /* of a STEP: from then on it waits for a worker */

/* A model that the measure listens to. */
static struct model *measured_by(struct measure *ms, const struct recording *rec)
{
	struct model *m = model_new(rec->types, rec->nr_types);
	const struct recording_sink *sinks;
	size_t nr;

	sinks = measure_get_sinks(ms, &nr);
	for (size_t i = 0; i < nr; i++)
		model_add_sink(m, sinks[i].ops, sinks[i].sink);
	return m;
}

/* Polls of one task, each so long as the function says. */
static struct measure *play_polls(const struct recording *rec, uint16_t type,
				  uint64_t (*length)(unsigned i))
{
	uint64_t end = (uint64_t)NR_POLLS * STEP;
	struct measure *ms = measure_new(rec, 0, end);
	struct model *m = measured_by(ms, rec);

	for (unsigned i = 0; i < NR_POLLS; i++) {
		uint64_t at = (uint64_t)i * STEP;
		const struct event evs[] = { START(at, 0, 1, type, 0), END(at + length(i), 0, 0),
					     WAKE_TYPE(at + wake_at, 1, 1, type, 0) };

		model_feed(m, evs, ARRAY_SIZE(evs));
	}
	model_finish(m, end, NULL);
	model_free(m);
	return ms;
}

static uint64_t steady(unsigned i)
{
	return 100 + i % 3;
}

static uint64_t steady_too(unsigned i)
{
	return 100 + (i + 1) % 3;
}

static uint64_t slow(unsigned i)
{
	return 150 + i % 3;
}

/* On average the same as slow, but of one slice only. */
static uint64_t erratic(unsigned i)
{
	return i < NR_POLLS / 16 ? 700 : 100 + i % 3;
}

static void expect(uint64_t (*a)(unsigned), uint64_t (*b)(unsigned), enum compare_verdict verdict)
{
	struct recording rec = make();
	struct measure *ma = play_polls(&rec, ASYNC, a), *mb = play_polls(&rec, ASYNC, b);
	struct comparison c;

	compare(&c, ma, mb, 5);
	assert_int_equal(c.nr_rows, 1);
	assert_string_equal(c.rows[0].name, "app::work");
	assert_int_equal(c.rows[0].verdicts[COMPARE_POLL], verdict);
	comparison_release(&c);
	measure_free(ma);
	measure_free(mb);
	recording_close(&rec);
}

static void test_verdicts(void **state)
{
	expect(steady, steady_too, COMPARE_SAME);
	expect(steady, slow, COMPARE_SLOWER);
	expect(slow, steady, COMPARE_FASTER);
	expect(steady, erratic, COMPARE_SAME);
}

/* Polls are shorter and waits longer, or the other way round: the larger change counts. */
static void test_against_each_other(void **state)
{
	static const struct {
		uint64_t wake_a, wake_b;
		enum compare_verdict verdict;
	} cases[] = {
		{ 980, 950, COMPARE_FASTER }, /* waits 30 longer */
		{ 980, 800, COMPARE_SLOWER }, /* 180 longer */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct recording rec = make();
		struct measure *a, *b;
		struct comparison c;

		wake_at = cases[i].wake_a;
		a = play_polls(&rec, ASYNC, slow);
		wake_at = cases[i].wake_b;
		b = play_polls(&rec, ASYNC, steady); /* 50 shorter */
		compare(&c, a, b, 5);
		assert_int_equal(c.rows[0].verdict, cases[i].verdict);
		comparison_release(&c);
		measure_free(a);
		measure_free(b);
		recording_close(&rec);
	}
	wake_at = 800;
}

static void test_appears_and_vanishes(void **state)
{
	struct recording rec = make();
	struct measure *a = play_polls(&rec, ASYNC, steady), *b = play_polls(&rec, LOCAL, steady);
	struct comparison c;

	compare(&c, a, b, 5);
	assert_int_equal(c.nr_rows, 2);
	assert_int_equal(c.rows[0].verdict, COMPARE_APPEARED);
	assert_string_equal(c.rows[0].name, "app::local");
	assert_null(c.rows[0].sides[0].row);
	assert_int_equal(c.rows[1].verdict, COMPARE_VANISHED);
	assert_string_equal(c.rows[1].name, "app::work");
	comparison_release(&c);
	measure_free(a);
	measure_free(b);
	recording_close(&rec);
}

/* So many tasks that never end, in a second, and busy for a quarter of it. */
static struct measure *play_tasks(const struct recording *rec, unsigned nr_tasks, uint64_t nr_polls)
{
	uint64_t end = UINT64_C(1000000000), step = end / nr_polls;
	struct measure *ms = measure_new(rec, 0, end);
	struct model *m = measured_by(ms, rec);

	for (uint64_t i = 0; i < nr_polls; i++) {
		uint64_t at = i * step, task = 1 + i % nr_tasks;
		const struct event evs[] = { START(at, 0, task, ASYNC, 0),
					     END(at + step / 4 + i % 2, 0, 0),
					     WAKE_TYPE(at + step / 2, 1, task, ASYNC, 0) };

		model_feed(m, evs, ARRAY_SIZE(evs));
	}
	model_finish(m, end, NULL);
	model_free(m);
	return ms;
}

static void expect_left(struct measure *a, struct measure *b, enum compare_verdict verdict)
{
	struct comparison c;

	compare(&c, a, b, 5);
	assert_int_equal(c.nr_rows, 1);
	assert_int_equal(c.rows[0].left_verdict, verdict);
	comparison_release(&c);
	measure_free(a);
	measure_free(b);
}

static void test_leaks(void **state)
{
	struct recording rec = make();

	expect_left(play_tasks(&rec, 3, 1000), play_tasks(&rec, 5, 1000), COMPARE_SAME);
	expect_left(play_tasks(&rec, 3, 1000), play_tasks(&rec, 100, 1000), COMPARE_LEAKIER);
	expect_left(play_tasks(&rec, 100, 1000), play_tasks(&rec, 3, 1000), COMPARE_TIDIER);
	recording_close(&rec);
}

/* Polls that are a tenth of the time against many that are a quarter. */
static void test_spins(void **state)
{
	struct recording rec = make();
	struct measure *a = play_polls(&rec, ASYNC, steady), *b = play_tasks(&rec, 1, 100000);
	struct comparison c;

	compare(&c, a, b, 5);
	assert_int_equal(c.rows[0].verdicts[COMPARE_BUSY], COMPARE_BUSIER);
	comparison_release(&c);
	measure_free(a);
	measure_free(b);
	recording_close(&rec);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_against_each_other),
		cmocka_unit_test(test_appears_and_vanishes),
		cmocka_unit_test(test_leaks),
		cmocka_unit_test(test_spins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
