// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Marks in the ring: fields, pieces of text and the mark itself, all or nothing; names that come
 * again have one number, and whatever the caller says, nothing is written past its room.
 */
#include "unit.h"
#include "world.h"
#include "wire/mark.h"

static int set_up(void **state)
{
	world_init();
	return 0;
}

static const uint64_t *ring_of(const struct wire_thread *t)
{
	return (uint64_t *)((char *)region + wire_ring_off(&lobby, t - region->threads, 0));
}

static unsigned kind_at(const uint64_t *at)
{
	return *at % EV_MAX;
}

static unsigned flags_at(const uint64_t *at)
{
	return *at >> EVENT_KIND_BITS & ((1 << EVENT_FLAG_BITS) - 1);
}

static void assert_text(uint64_t number, const char *want)
{
	const struct wire_text *t = &region->texts[number];

	assert_in_range(number, 1, WIRE_MAX_TEXTS - 1);
	assert_true(region->texts_used[number / 64] >> number % 64 & 1);
	assert_int_equal(t->len, strlen(want));
	assert_memory_equal(t->text, want, t->len);
}

static struct wire_mark mark_of(const char *name, uint64_t id, const struct wire_field *fields,
				unsigned nr)
{
	return (struct wire_mark){ .name = (uint64_t)name,
				   .name_len = strlen(name),
				   .id = id,
				   .fields = (uint64_t)fields,
				   .nr_fields = nr };
}

static struct wire_field field_of(const char *name, uint32_t kind, uint64_t value)
{
	return (struct wire_field){
		.name = (uint64_t)name, .name_len = strlen(name), .kind = kind, .value = value
	};
}

static void test_mark(void **state)
{
	static const char word[] = "seventeen letters";
	struct wire_field fields[] = { field_of("n", WIRE_FIELD_UNSIGNED, 5),
				       field_of("nothing", WIRE_FIELD_NONE, 0),
				       field_of("word", WIRE_FIELD_TEXT, (uint64_t)word) };
	struct wire_mark m = mark_of("name", 7, fields, 3);
	const uint64_t *at;

	fields[2].len = sizeof(word) - 1;
	core_mark(&m);
	at = ring_of(mine) + EVENT_WORDS_THREAD_START;
	assert_int_equal(kind_at(at), EV_FIELD);
	assert_text(at[1], "n");
	assert_int_equal(at[2], 5);
	assert_int_equal(kind_at(at + 3), EV_FIELD);
	assert_int_equal(flags_at(at + 3), EF_FIELD_TEXT);
	assert_text(at[4], "word");
	assert_int_equal(at[5], 17);
	assert_int_equal(kind_at(at + 6), EV_TEXT);
	assert_memory_equal(&at[7], "seventeen letter", 16);
	assert_int_equal(kind_at(at + 9), EV_TEXT);
	assert_memory_equal(&at[10], "s\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(kind_at(at + 12), EV_MARK);
	assert_text(at[13], "name");
	assert_int_equal(at[14], 7);
	assert_int_equal(mine->head, EVENT_WORDS_THREAD_START + 15);
}

static void test_names(void **state)
{
	char changes[] = "first";
	struct wire_mark m = mark_of(changes, 0, NULL, 0), same = mark_of("other", 0, NULL, 0);
	const uint64_t *at;

	for (unsigned i = 0; i < 3; i++)
		core_mark(&m);
	core_mark(&same);
	/* a library went, and another came to its place */
	memcpy(changes, "third", 5);
	core_mark(&m);
	at = ring_of(mine) + EVENT_WORDS_THREAD_START;
	assert_text(at[1], "first");
	assert_int_equal(at[4], at[1]);
	assert_int_equal(at[7], at[1]);
	assert_text(at[10], "other");
	assert_text(at[13], "third");
}

static void test_spans_and_bounds(void **state)
{
	static char long_name[300], cut_name[300], long_text[300];
	struct wire_field fields[9];
	struct wire_mark m;
	const uint64_t *at;
	uint64_t words;

	memset(long_name, 'n', sizeof(long_name) - 1);
	memset(long_text, 't', sizeof(long_text) - 1);
	for (unsigned i = 0; i < 9; i++) {
		fields[i] = field_of("f", i ? WIRE_FIELD_TEXT : 77, (uint64_t)long_text);
		fields[i].len = 100;
	}
	m = mark_of(long_name, 1, fields, 9);
	m.kind = WIRE_SPAN_START;
	core_mark(&m);
	/* four fields; 128 bytes of text: 100, then 28, then none */
	words = 4 * EVENT_WORDS_FIELD + (7 + 2) * EVENT_WORDS_TEXT + EVENT_WORDS_MARK;
	assert_int_equal(mine->head, EVENT_WORDS_THREAD_START + words);
	at = ring_of(mine) + mine->head - EVENT_WORDS_MARK;
	assert_int_equal(kind_at(at), EV_SPAN_START);
	assert_int_equal(region->texts[at[1]].len, WIRE_TEXT_BYTES);
	/* no part of a character: ü at bytes 111 and 112 */
	memcpy(cut_name, long_name, sizeof(cut_name));
	memcpy(cut_name + WIRE_TEXT_BYTES - 1, "\xc3\xbc", 2);
	m = mark_of(cut_name, 1, NULL, 0);
	core_mark(&m);
	at = ring_of(mine) + mine->head - EVENT_WORDS_MARK;
	assert_int_equal(region->texts[at[1]].len, WIRE_TEXT_BYTES - 1);
	m = mark_of("end", 1, NULL, 0);
	m.kind = WIRE_SPAN_END;
	core_mark(&m);
	at = ring_of(mine) + mine->head - EVENT_WORDS_MARK;
	assert_int_equal(kind_at(at), EV_SPAN_END);
}

static void test_full(void **state)
{
	struct wire_mark m = mark_of("again", 0, NULL, 0);

	for (unsigned i = 0; i < RING_WORDS; i++)
		core_mark(&m);
	/* nobody reads: as many as fit are there, and the others are counted */
	assert_in_range(mine->lost[EV_MARK], RING_WORDS - RING_WORDS / EVENT_WORDS_MARK,
			RING_WORDS - RING_WORDS / EVENT_WORDS_MARK + 16);
	assert_true(mine->head <= RING_WORDS);
}

/* More names than there is room for have the number of none. */
static void test_many_names(void **state)
{
	static char names[2 * WIRE_MAX_TEXTS][8];
	uint64_t nr_none = 0, last;

	for (unsigned i = 0; i < 2 * WIRE_MAX_TEXTS; i++) {
		struct wire_mark m = mark_of(names[i], i, NULL, 0);

		m.name_len = 4;
		core_mark(&m);
		last = *(uint64_t *)(mine->bias + (mine->head - 2) * 8);
		assert_true(last < WIRE_MAX_TEXTS);
		nr_none += !last;
		__atomic_store_n(&mine->tail, mine->head, __ATOMIC_RELEASE);
	}
	assert_in_range(nr_none, WIRE_MAX_TEXTS, 2 * WIRE_MAX_TEXTS);
}

static void test_off(void **state)
{
	struct wire_mark m = mark_of("off", 0, NULL, 0);

	core_page.threads = NULL;
	core_mark(&m);
	assert_null(mine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mark, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_spans_and_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_off, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
