// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Marks and spans of the program's own: each is told with its fields, in the run that it is in; a
 * span's ends find each other across threads; and what is missing makes no other wrong.
 */
#include "unit.h"

#include "script.h"

#define MARK(t, th, nr, i)                                                  \
	{                                                                   \
		.time = t, .thread = th, .kind = EV_MARK, .a = nr, .b = (i) \
	}
#define SPAN(t, th, nr, i)                                                        \
	{                                                                         \
		.time = t, .thread = th, .kind = EV_SPAN_START, .a = nr, .b = (i) \
	}
#define SPAN_END(t, th, nr, i)                                                  \
	{                                                                       \
		.time = t, .thread = th, .kind = EV_SPAN_END, .a = nr, .b = (i) \
	}
#define FIELD(t, th, fl, nr, v)                                                           \
	{                                                                                 \
		.time = t, .thread = th, .kind = EV_FIELD, .flags = fl, .a = nr, .b = (v) \
	}
#define TEXT(t, th, lo, hi)                                                  \
	{                                                                    \
		.time = t, .thread = th, .kind = EV_TEXT, .a = lo, .b = (hi) \
	}

struct copy {
	struct model_field v[MODEL_MAX_FIELDS];
	char text[MODEL_MAX_FIELDS][MODEL_MAX_TEXT_BYTES + 1];
	unsigned nr;
};

struct heard {
	struct model_mark marks[8];
	struct model_span spans[8];
	uint64_t tasks[8];  /* of marks; 0: none */
	struct copy fields; /* of the latest */
	unsigned nr_marks, nr_spans;
	struct model_totals totals;
};

static void keep(struct copy *to, const struct model_field *fields, uint32_t nr)
{
	*to = (struct copy){ .nr = nr };
	for (uint32_t i = 0; i < nr; i++) {
		to->v[i] = fields[i];
		memcpy(to->text[i], fields[i].text, fields[i].text_len);
	}
}

static void on_mark(void *sink, const struct model_mark *m)
{
	struct heard *h = sink;

	h->tasks[h->nr_marks] = m->task ? m->task->key.id : 0;
	h->marks[h->nr_marks++] = *m;
	keep(&h->fields, m->fields, m->nr_fields);
}

static void on_span(void *sink, const struct model_span *s)
{
	struct heard *h = sink;

	h->spans[h->nr_spans++] = *s;
	keep(&h->fields, s->fields, s->nr_fields);
}

static const struct model_ops ops = { .mark = on_mark, .span = on_span };

static void hear(struct heard *h, const struct event *evs, size_t nr, uint64_t start,
		 bool is_filtered)
{
	*h = (struct heard){ 0 };
	h->totals = play_to(&ops, h, evs, nr, start, is_filtered);
}

#define HEAR_FROM(h, start, is_filtered, ...)                                      \
	do {                                                                       \
		static const struct event evs_[] = { __VA_ARGS__ };                \
		hear(h, evs_, sizeof(evs_) / sizeof(evs_[0]), start, is_filtered); \
	} while (0)
#define HEAR(h, ...) HEAR_FROM(h, 0, false, __VA_ARGS__)

static void assert_span(const struct model_span *s, uint32_t name, uint64_t id, uint64_t start,
			uint64_t end)
{
	assert_int_equal(s->name, name);
	assert_int_equal(s->id, id);
	assert_int_equal(s->start_ns, start);
	assert_int_equal(s->end_ns, end);
}

static void test_in_runs(void **state)
{
	struct heard h;

	HEAR(&h, MARK(5, 0, 3, 7), POLL(10, 0, 1), MARK(20, 0, 3, 8), MARK(21, 1, 4, 0),
	     END(30, 0, 0), MARK(40, 0, 3, 9));
	assert_int_equal(h.nr_marks, 4);
	assert_int_equal(h.marks[1].time_ns, 20);
	assert_int_equal(h.marks[1].id, 8);
	assert_int_equal(h.marks[2].name, 4);
	assert_int_equal(h.marks[2].thread, 1);
	assert_int_equal(h.tasks[0], 0);
	assert_int_equal(h.tasks[1], 1);
	assert_int_equal(h.tasks[2], 0);
	assert_int_equal(h.tasks[3], 0);
}

static void test_fields(void **state)
{
	struct heard h;

	HEAR(&h, FIELD(5, 0, 0, 1, 10), FIELD(5, 1, 0, 9, 9), FIELD(5, 0, EF_FIELD_SIGNED, 2, -1),
	     FIELD(5, 0, EF_FIELD_TEXT, 3, 18), TEXT(5, 0, UINT64_C(0x3736353433323130), 0x4241),
	     TEXT(5, 0, 0x5a59, 0), MARK(5, 0, 7, 0));
	assert_int_equal(h.fields.nr, 3);
	assert_int_equal(h.fields.v[0].value, 10);
	assert_int_equal(h.fields.v[1].kind, MODEL_SIGNED);
	assert_int_equal((int64_t)h.fields.v[1].value, -1);
	assert_int_equal(h.fields.v[2].text_len, 18);
	assert_memory_equal(h.fields.text[2], "01234567AB\0\0\0\0\0\0YZ", 18);
}

/* More than there may be, pieces without a text, a text that says to be longer than it is. */
static void test_bad_fields(void **state)
{
	struct heard h;

	HEAR(&h, TEXT(1, 0, 1, 1), FIELD(1, 0, EF_FIELD_TEXT, 1, UINT64_MAX), TEXT(1, 0, 0x41, 0),
	     FIELD(1, 0, 0, 1, 1), TEXT(1, 0, 1, 1), FIELD(1, 0, 0, 1, 2), FIELD(1, 0, 0, 1, 3),
	     FIELD(1, 0, EF_FIELD_TEXT, 1, 5), TEXT(1, 0, 0x42, 0), MARK(1, 0, 1, 1),
	     MARK(2, 0, 1, 2));
	assert_int_equal(h.nr_marks, 2);
	assert_int_equal(h.marks[0].nr_fields, MODEL_MAX_FIELDS);
	assert_int_equal(h.marks[1].nr_fields, 0);
}

static void test_spans(void **state)
{
	struct heard h;

	HEAR(&h, POLL(10, 0, 1), FIELD(20, 0, 0, 5, 50), SPAN(20, 0, 3, 1), SPAN(30, 0, 3, 2),
	     END(40, 0, 0), POLL(50, 1, 2), SPAN_END(60, 1, 3, 1), SPAN(65, 1, 3, 4),
	     SPAN_END(70, 1, 3, 2), END(80, 1, 0));
	assert_int_equal(h.nr_spans, 3);
	assert_span(&h.spans[0], 3, 1, 20, 60);
	assert_int_equal(h.spans[0].thread, 0);
	assert_int_equal(h.spans[0].end_thread, 1);
	assert_true(h.spans[0].has_task);
	assert_int_equal(h.spans[0].task.id, 1);
	assert_int_equal(h.spans[0].nr_fields, 1);
	assert_span(&h.spans[1], 3, 2, 30, 70);
	assert_int_not_equal(h.spans[0].lane, h.spans[1].lane);
	/* what was open when the recording ended; its lane is free again */
	assert_span(&h.spans[2], 3, 4, 65, 1000);
	assert_true(h.spans[2].is_open);
	assert_int_equal(h.spans[2].task.id, 2);
	assert_int_equal(h.spans[2].lane, h.spans[0].lane);
	assert_int_equal(h.totals.nr_stray, 0);
}

/* Of one name and id the latest ends first; an end without a start is stray. */
static void test_same_ids(void **state)
{
	struct heard h;

	HEAR(&h, SPAN(10, 0, 3, 1), SPAN(20, 0, 3, 1), SPAN(25, 0, 4, 1), SPAN_END(30, 0, 3, 1),
	     SPAN_END(40, 0, 3, 1), SPAN_END(50, 0, 3, 1), SPAN_END(55, 0, 5, 1),
	     SPAN_END(60, 0, 4, 1));
	assert_int_equal(h.nr_spans, 3);
	assert_span(&h.spans[0], 3, 1, 20, 30);
	assert_span(&h.spans[1], 3, 1, 10, 40);
	assert_span(&h.spans[2], 4, 1, 25, 60);
	assert_int_equal(h.totals.nr_stray, 2);
}

static void test_range_and_filter(void **state)
{
	struct heard h;

	HEAR_FROM(&h, 100, false, MARK(10, 0, 1, 1), SPAN(20, 0, 3, 1), SPAN(30, 0, 3, 2),
		  SPAN_END(40, 0, 3, 2), MARK(110, 0, 1, 2), SPAN_END(120, 0, 3, 1));
	assert_int_equal(h.nr_marks, 1);
	assert_int_equal(h.marks[0].id, 2);
	assert_int_equal(h.nr_spans, 1);
	assert_span(&h.spans[0], 3, 1, 100, 120);

	HEAR_FROM(&h, 0, true, MARK(1, 0, 1, 1), POLL(10, 0, 2), MARK(12, 0, 1, 2),
		  SPAN(14, 0, 3, 1), END(20, 0, 0), POLL(30, 0, 1), MARK(32, 0, 1, 3),
		  SPAN_END(34, 0, 3, 1), SPAN(36, 0, 3, 2), SPAN_END(38, 0, 3, 2), END(40, 0, 0));
	assert_int_equal(h.nr_marks, 1);
	assert_int_equal(h.marks[0].id, 3);
	assert_int_equal(h.nr_spans, 1);
	assert_span(&h.spans[0], 3, 2, 36, 38);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_runs),	   cmocka_unit_test(test_fields),
		cmocka_unit_test(test_bad_fields), cmocka_unit_test(test_spans),
		cmocka_unit_test(test_same_ids),   cmocka_unit_test(test_range_and_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
