// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that beginnings and ends of slices stand in an order in which a reader nests them as they
 * ran, whatever begins or ends in one nanosecond, and that a size is turned into the right length.
 */
#include "unit.h"

#include "export/perfetto.h"

/* What a reader sees: 'b' and 'e' of slices, with their tracks and times, in the order of time. */
struct seen {
	uint64_t time, track, name;
	unsigned type;
};

typedef VEC(struct seen) seen_list;

static uint64_t get_varint(const uint8_t **at)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = *(*at)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
}

static void parse(const uint8_t *at, const uint8_t *end, bool is_event, struct seen *s)
{
	while (at < end) {
		uint64_t tag = get_varint(&at), field = tag >> 3, v = 0;

		if ((tag & 7) == PROTO_FIXED64) {
			at += 8;
			continue;
		}
		v = get_varint(&at);
		if ((tag & 7) == PROTO_BYTES) {
			if (!is_event && field == PACKET_TRACK_EVENT)
				parse(at, at + v, true, s);
			at += v;
		} else if (!is_event && field == PACKET_TIMESTAMP) {
			s->time = v;
		} else if (is_event && field == EVENT_TYPE) {
			s->type = v;
		} else if (is_event && field == EVENT_TRACK) {
			s->track = v;
		} else if (is_event && field == EVENT_NAME_IID) {
			s->name = v;
		}
	}
	assert_true(at == end);
}

static void parse_all(const struct strbuf *buf, seen_list *list)
{
	const uint8_t *at = (const uint8_t *)buf->s, *end = at + buf->len;

	while (at < end) {
		struct seen s = { 0 };
		uint64_t len;

		assert_int_equal(get_varint(&at), TRACE_PACKET << 3 | PROTO_BYTES);
		len = get_varint(&at);
		parse(at, at + len, false, &s);
		at += len;
		if (s.type)
			vec_push(list, s);
	}
	/* by time; among equals the order of the file */
	for (size_t i = 1; i < list->nr; i++)
		for (size_t k = i; k > 0 && list->v[k].time < list->v[k - 1].time; k--) {
			struct seen swap = list->v[k];

			list->v[k] = list->v[k - 1];
			list->v[k - 1] = swap;
		}
}

static struct trace_type types[3] = { { .name = "outer", .file = "" },
				      { .name = "inner", .file = "" },
				      { .name = "innermost", .file = "" } };

struct fixture {
	struct recording rec;
	struct out out;
	struct slices slices;
};

static void setup(struct fixture *f)
{
	*f = (struct fixture){ .rec = { .types = types, .nr_types = ARRAY_SIZE(types) } };
	recording_make_groups(&f->rec);
	out_init(&f->out, -1);
	f->slices = (struct slices){
		.rec = &f->rec, .out = &f->out, .buf = &f->out.buf, .next_flow = 1
	};
}

static void teardown(struct fixture *f)
{
	slices_release(&f->slices);
	strbuf_release(&f->out.buf);
	free(f->rec.groups);
	free(f->rec.group_of_type);
}

static void tell(struct fixture *f, uint16_t type, uint64_t start, uint64_t end, uint64_t outer)
{
	struct model_task task = { .key = { .id = type, .type = type },
				   .spawn_thread = MODEL_NO_THREAD };
	struct model_run run = { .path = MODEL_NO_PATH,
				 .task = &task,
				 .start_ns = start,
				 .end_ns = end,
				 .outer_start_ns = outer,
				 .around_ns = outer };

	slices_ops.run(&f->slices, &run);
}

static void tell_sleep(struct fixture *f, uint64_t start, uint64_t end, uint64_t run_start)
{
	struct model_task task = { 0 };

	slices_ops.sleep(&f->slices, &(struct model_sleep){ .task = &task,
							    .start_ns = start,
							    .end_ns = end,
							    .run_start_ns = run_start,
							    .around_ns = run_start,
							    .flags = EF_SLEEP_FUTEX });
}

/* Slices as "name begin end" in the order of their ends, by a stack as readers have it. */
static void assert_slices(struct fixture *f, const char *expected)
{
	static const char *const names[] = { "outer", "inner", "innermost" };
	seen_list list = { 0 }, stack = { 0 };
	struct strbuf got = STRBUF_INIT;

	slices_finish(&f->slices);
	parse_all(&f->out.buf, &list);
	vec_each (s, &list) {
		const struct seen *top;

		if (s->type == TYPE_SLICE_BEGIN) {
			vec_push(&stack, *s);
			continue;
		}
		assert_int_equal(s->type, TYPE_SLICE_END);
		assert_true(stack.nr > 0);
		top = &stack.v[--stack.nr];
		strbuf_addf(&got, "%s %d %d, ",
			    top->name >= NAME_GROUPS ? names[top->name - NAME_GROUPS] : "asleep",
			    (int)top->time, (int)s->time);
	}
	assert_int_equal(stack.nr, 0);
	assert_string_equal(got.s, expected);
	strbuf_release(&got);
	vec_release(&list);
	vec_release(&stack);
}

static void test_nesting(void **state)
{
	struct fixture f;

	setup(&f);
	tell(&f, 1, 20, 30, 10);
	tell(&f, 1, 30, 40, 10);
	tell(&f, 0, 10, 40, MODEL_NO_RUN);
	tell(&f, 0, 40, 40, MODEL_NO_RUN);
	tell(&f, 0, 40, 50, MODEL_NO_RUN);
	assert_slices(&f, "inner 20 30, inner 30 40, outer 10 40, outer 40 40, outer 40 50, ");
	teardown(&f);
}

/* All begin together; inner ones are told first. */
static void test_one_beginning(void **state)
{
	struct fixture f;

	setup(&f);
	tell(&f, 0, 0, 10, MODEL_NO_RUN);
	tell_sleep(&f, 10, 15, 10);
	tell(&f, 2, 10, 20, 10);
	tell(&f, 1, 10, 30, 10);
	tell(&f, 1, 35, 38, 10);
	tell(&f, 0, 10, 40, MODEL_NO_RUN);
	assert_slices(&f, "outer 0 10, asleep 10 15, innermost 10 20, inner 10 30, inner 35 38, "
			  "outer 10 40, ");
	teardown(&f);
}

static void test_empty_runs(void **state)
{
	struct fixture f;

	setup(&f);
	tell(&f, 2, 10, 10, 10);
	tell(&f, 1, 10, 20, 10);
	tell(&f, 0, 10, 30, MODEL_NO_RUN);
	assert_slices(&f, "innermost 10 10, inner 10 20, outer 10 30, ");
	teardown(&f);
}

/* The run around never comes: what waits for it is not lost. */
static void test_outer_missing(void **state)
{
	struct fixture f;

	setup(&f);
	tell(&f, 2, 10, 20, 10);
	tell(&f, 1, 10, 30, 10);
	assert_slices(&f, "innermost 10 20, inner 10 30, ");
	teardown(&f);
}

/* Polls of every length are measured; the length found keeps as many as fit, and not one more. */
static void test_fit(void **state)
{
	struct strbuf scratch = STRBUF_INIT;
	struct fixture f;
	uint64_t sum = 0, size;

	setup(&f);
	f.slices.buf = &scratch;
	f.slices.sizes = xcalloc(THIN_SIZES, sizeof(*f.slices.sizes));
	for (uint64_t ns = 0; ns < 64; ns++)
		tell(&f, 0, 1000, 1000 + ns, MODEL_NO_RUN);
	for (unsigned i = 0; i < THIN_SIZES; i++)
		sum += f.slices.sizes[i];
	size = f.slices.sizes[63];
	assert_true(size > 20);
	assert_int_equal(thin_fit(f.slices.sizes, sum), 0);
	assert_int_equal(thin_fit(f.slices.sizes, sum - 1), 1);
	assert_int_equal(thin_fit(f.slices.sizes, size), 63);
	assert_int_equal(thin_fit(f.slices.sizes, size - 1), 64);
	tell(&f, 0, 0, UINT64_MAX, MODEL_NO_RUN);
	assert_int_equal(thin_fit(f.slices.sizes, 0), UINT64_MAX);
	/* a bucket's shortest length is not above those that it holds, nor the next one's below */
	for (unsigned shift = 0; shift < 63; shift++) {
		uint64_t ns = (UINT64_C(1) << shift) + 5;

		memset(f.slices.sizes, 0, THIN_SIZES * sizeof(*f.slices.sizes));
		tell(&f, 0, 0, ns, MODEL_NO_RUN);
		sum = 0;
		for (unsigned i = 0; i < THIN_SIZES; i++)
			sum += f.slices.sizes[i];
		assert_true(thin_fit(f.slices.sizes, sum - 1) > ns);
		tell(&f, 0, 0, UINT64_MAX, MODEL_NO_RUN);
		assert_true(thin_fit(f.slices.sizes, sum + 10) > ns);
		assert_int_equal(thin_fit(f.slices.sizes, 10 * sum), 0);
	}
	free(f.slices.sizes);
	strbuf_release(&scratch);
	teardown(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),	   cmocka_unit_test(test_one_beginning),
		cmocka_unit_test(test_empty_runs), cmocka_unit_test(test_outer_missing),
		cmocka_unit_test(test_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
