// SPDX-License-Identifier: MIT OR Apache-2.0
/* Rings become events: every kind, across the ring's end, wrapped stamps, and whatever a broken
 * target writes. */
#include "capture/drain.h"

#include <sys/stat.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "fake.h"

struct setup {
	struct lobby lobby;
	struct fake_agent agent;
	struct wire_thread *t;
	struct drain d;
	struct instances instances;
	struct texts texts;
};

/* Slots of threads that have no large ring, and of those that take one when they need it. */
enum { SMALL_ONLY = 6, GROWING = 7 };

static void read_slot(struct setup *s, struct lobby *lobby, struct fake_agent *agent, uint32_t slot)
{
	s->t = fake_thread(agent, slot, 100);
	s->d = (struct drain){ .slot = s->t,
			       .lobby = lobby,
			       .instances = &s->instances,
			       .texts = &s->texts,
			       .stream = s->d.stream };
	assert_int_equal(lobby_find_ring(lobby, agent->door, slot, 0, &s->d.ring), 0);
	s->d.segment_words = wire_segment_words(s->d.ring.words);
	s->d.words = lobby_map_ring(lobby, &s->d.ring);
}

static int begin(void **state)
{
	struct setup *s = xcalloc(1, sizeof(*s));
	struct lobby_opts o = { .ring_bytes = 4096 };
	struct err e = ERR_INIT;

	fake_file_reset();
	assert_int_equal(lobby_open(&s->lobby, &o, &e), 0);
	fake_agent_init(&s->agent, &s->lobby, 4711);
	s->texts.region = s->agent.region;
	s->d.stream = trace_writer_thread(NULL, 100);
	read_slot(s, &s->lobby, &s->agent, SMALL_ONLY);
	*state = s;
	return 0;
}

static int end(void **state)
{
	struct setup *s = *state;

	trace_stream_close(s->d.stream);
	lobby_unmap_ring(&s->d.ring, s->d.words);
	fake_agent_release(&s->agent);
	lobby_close(&s->lobby);
	instances_release(&s->instances);
	free(s);
	fake_file_reset();
	return 0;
}

static struct event make(unsigned i)
{
	static const uint8_t kinds[] = { EV_RUN_START,	  EV_WAKE,	  EV_RUN_END,	 EV_SPAWN,
					 EV_THREAD_START, EV_THREAD_NAME, EV_SLEEP,	 EV_AWAKE,
					 EV_PANIC,	  EV_LOST,	  EV_THREAD_STOP };
	struct event ev = { .kind = kinds[i % ARRAY_SIZE(kinds)], .flags = i % 32, .time = 10 * i };

	if (ev.kind == EV_RUN_START || ev.kind == EV_WAKE) {
		ev.task = UINT64_C(0xf00000000000) + i;
		ev.type = i % 65536;
	}
	if (ev.kind != EV_WAKE && ev.kind != EV_RUN_END && ev.kind != EV_SLEEP &&
	    ev.kind != EV_AWAKE && ev.kind != EV_PANIC && ev.kind != EV_THREAD_STOP)
		ev.a = UINT64_C(0xabc000000000) + i;
	if (ev.kind == EV_SPAWN || ev.kind == EV_THREAD_NAME || ev.kind == EV_LOST)
		ev.b = i * 3;
	return ev;
}

static void assert_same(const struct event *got, const struct event *want)
{
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->flags, want->flags);
	assert_int_equal(got->time, want->time);
	assert_int_equal(got->task, want->task);
	assert_int_equal(got->type, want->type);
	assert_int_equal(got->a, want->a);
	assert_int_equal(got->b, want->b);
}

static void assert_all_made(unsigned nr)
{
	assert_int_equal(fake_file.events.nr, nr);
	for (unsigned i = 0; i < nr; i++) {
		struct event want = make(i);

		assert_same(&fake_file.events.v[i].ev, &want);
	}
}

/* All kinds come out as they went in, many times around the ring. */
static void test_every_kind(void **state)
{
	struct setup *s = *state;
	unsigned nr = 0;

	while (nr < 20011) {
		struct event ev = make(nr);

		if (fake_put(&s->agent, s->t, &ev))
			nr++;
		else
			drain_ring(&s->d, 0);
	}
	drain_ring(&s->d, 0);
	assert_all_made(nr);
	assert_int_equal(s->t->tail, s->t->head);
	assert_int_equal(s->d.nr_broken, 0);
	assert_true(drain_is_empty(&s->d));
}

/* How much there was is told, so that the loop knows when to come again. */
static void test_tells_how_much(void **state)
{
	struct setup *s = *state;
	struct event ev = { .kind = EV_SLEEP };

	assert_int_equal(drain_ring(&s->d, 0), 0);
	for (unsigned i = 0; i < s->lobby.ring_words / 2; i++)
		assert_true(fake_put(&s->agent, s->t, &ev));
	assert_int_equal(drain_ring(&s->d, 0), s->lobby.ring_words / 2);
	assert_int_equal(drain_ring(&s->d, 0), 0);
}

/* A zero word ends a segment, if it is one that the producer has left; the gap is not taken for
 * events. */
static void test_unused_rest(void **state)
{
	struct setup *s = *state;
	struct event ev = { .kind = EV_RUN_START };

	/* 64 words hold 21 such events and one word more */
	for (unsigned i = 0; i < 21 * 8; i++) {
		ev.task = i;
		assert_true(fake_put(&s->agent, s->t, &ev));
	}
	assert_false(fake_put(&s->agent, s->t, &ev));
	assert_int_equal(drain_ring(&s->d, 0), 21 * 8 * 3);
	assert_int_equal(s->d.nr_broken, 0);
	assert_int_equal(fake_file.events.nr, 21 * 8);
	for (unsigned i = 0; i < fake_file.events.nr; i++)
		assert_int_equal(fake_file.events.v[i].ev.task, i);
	assert_true(fake_put(&s->agent, s->t, &ev));
}

/* A segment number from the target that is none stays inside the ring. */
static void test_wild_order(void **state)
{
	struct setup *s = *state;
	struct event ev = { .kind = EV_SLEEP };

	fake_put(&s->agent, s->t, &ev);
	memset(s->t->order, 0xff, sizeof(s->t->order));
	drain_ring(&s->d, 0);
	assert_true(drain_is_empty(&s->d));
	assert_int_equal(s->d.nr_broken, 1);
}

/* A stamp is 54 bits wide: what comes behind the wrap is later, not earlier. */
static void test_stamps_wrap(void **state)
{
	struct setup *s = *state;
	uint64_t full = UINT64_C(1) << EVENT_TICK_BITS;
	const uint64_t times[] = { 5,		full / 3, full / 3 * 2,	   full - 1,
				   full,	full + 7, full + full / 3, 2 * full - full / 4,
				   2 * full + 1 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct event ev = { .kind = EV_SLEEP, .time = times[i] & (full - 1) };

		assert_true(fake_put(&s->agent, s->t, &ev));
	}
	drain_ring(&s->d, 0);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		assert_int_equal(fake_file.events.v[i].ev.time, times[i]);
}

static void assert_marked(const struct setup *s, uint64_t nr_broken)
{
	const struct event *last = &fake_file.events.v[fake_file.events.nr - 1].ev;

	assert_int_equal(s->d.nr_broken, nr_broken);
	assert_int_equal(last->kind, EV_LOST);
	assert_int_equal(last->a, 0);
	assert_int_equal(s->t->tail, s->t->head);
}

/* An unknown kind: the rest is skipped and marked, what comes later is read again. */
static void test_unknown_kind(void **state)
{
	struct setup *s = *state;
	const uint64_t bad[] = { EVENT_WORD0(31, 0, 5), 1, 2 }, zero = 0;
	struct event ev = { .kind = EV_SLEEP, .time = 3 };

	fake_put(&s->agent, s->t, &ev);
	fake_words(&s->agent, s->t, bad, 3);
	drain_ring(&s->d, 0);
	assert_int_equal(fake_file.events.nr, 2);
	assert_marked(s, 1);
	fake_words(&s->agent, s->t, &zero, 1);
	drain_ring(&s->d, 0);
	assert_marked(s, 2);
	fake_put(&s->agent, s->t, &ev);
	drain_ring(&s->d, 0);
	assert_int_equal(fake_file.events.v[fake_file.events.nr - 1].ev.kind, EV_SLEEP);
}

/* An event that reaches beyond the head is not believed. */
static void test_cut_event(void **state)
{
	struct setup *s = *state;
	const uint64_t half[] = { EVENT_WORD0(EV_RUN_START, 0, 5), 1 };

	fake_words(&s->agent, s->t, half, 2);
	drain_ring(&s->d, 0);
	assert_marked(s, 1);
}

/* A head that runs away, or backwards, ends in no endless reading. */
static void test_wild_head(void **state)
{
	struct setup *s = *state;

	s->t->head = s->lobby.ring_words + 1;
	drain_ring(&s->d, 0);
	assert_marked(s, 1);
	s->t->head = UINT64_MAX;
	drain_ring(&s->d, 0);
	assert_marked(s, 2);
	s->t->head = 3;
	drain_ring(&s->d, 0);
	assert_marked(s, 3);
}

/* Any bytes at all: nothing crashes, every word is consumed. */
static void test_random_words(void **state)
{
	struct setup *s = *state;
	uint64_t seed = 88172645463325252;

	for (unsigned i = 0; i < 2003; i++) {
		uint64_t words[64];
		size_t nr = unit_random(&seed) % 64;

		for (size_t k = 0; k < nr; k++)
			words[k] = unit_random(&seed);
		fake_words(&s->agent, s->t, words, nr);
		drain_ring(&s->d, 0);
		assert_true(drain_is_empty(&s->d));
	}
	assert_true(s->d.nr_broken > 100);
}

static uint64_t number_told(struct setup *s, uint64_t scheduler, uint64_t owner, unsigned flags)
{
	const uint64_t words[] = { EVENT_WORD0(EV_INSTANCE, flags, 5), EVENT_WORD1(42, 3),
				   scheduler, owner };

	fake_words(&s->agent, s->t, words, ARRAY_SIZE(words));
	drain_ring(&s->d, 0);
	return fake_file.events.v[fake_file.events.nr - 1].ev.a;
}

static uint64_t number_of(struct setup *s, uint64_t scheduler, uint64_t owner)
{
	return number_told(s, scheduler, owner, 0);
}

static uint64_t text_of(struct setup *s, uint64_t kind, uint64_t name)
{
	const uint64_t words[] = { EVENT_WORD0(kind, 0, 5), name, 99 };

	fake_words(&s->agent, s->t, words, ARRAY_SIZE(words));
	drain_ring(&s->d, 0);
	return fake_file.events.v[fake_file.events.nr - 1].ev.a;
}

/* Names of marks become strings of the file; what was not said to be there is none. */
static void test_texts(void **state)
{
	struct setup *s = *state;
	struct wire_region *r = s->agent.region;

	memcpy(r->texts[70].text, "four", 4);
	r->texts[70].len = 4;
	assert_int_equal(text_of(s, EV_MARK, 70), 0);
	r->texts_used[1] |= 1 << 6;
	assert_int_equal(text_of(s, EV_MARK, 70), 4);
	assert_int_equal(text_of(s, EV_SPAN_START, 70), 4);
	assert_int_equal(text_of(s, EV_SPAN_END, 70), 4);
	assert_int_equal(text_of(s, EV_FIELD, 70), 4);
	/* it is asked for once, and no longer than it can be */
	memset(r->texts[71].text, 'x', WIRE_TEXT_BYTES);
	r->texts[71].len = UINT32_MAX;
	r->texts_used[1] |= 1 << 7;
	assert_int_equal(text_of(s, EV_MARK, 71), WIRE_TEXT_BYTES);
	r->texts[71].len = 3;
	assert_int_equal(text_of(s, EV_MARK, 71), WIRE_TEXT_BYTES);
	assert_int_equal(text_of(s, EV_MARK, 0), 0);
	assert_int_equal(text_of(s, EV_MARK, WIRE_MAX_TEXTS), 0);
	assert_int_equal(text_of(s, EV_MARK, UINT64_MAX), 0);
}

/* Runtimes get numbers in the order of their first event; each is defined once, up to a bound. */
static void test_instances(void **state)
{
	struct setup *s = *state;

	assert_int_equal(number_of(s, 0x1000, 1), 1);
	assert_int_equal(number_of(s, 0x2000, 1), 2); /* of another copy of Tokio */
	assert_int_equal(number_of(s, 0x1000, 2), 3); /* at the same address, later */
	assert_int_equal(number_of(s, 0x1000, 1), 1);
	assert_int_equal(fake_file.instances.nr, 3);
	assert_int_equal(fake_file.instances.v[2].type, 3);
	assert_int_equal(fake_file.instances.v[2].owner, 2);
	for (uint64_t i = 4; i < TRACE_MAX_INSTANCES; i++)
		assert_int_equal(number_of(s, 0x1000, i), i);
	assert_int_equal(number_of(s, 0x1000, TRACE_MAX_INSTANCES), 0);
	assert_int_equal(number_of(s, 0x1000, 9), 9);
	assert_int_equal(fake_file.instances.nr, TRACE_MAX_INSTANCES - 1);
}

/* A runtime is defined with the address that the latest root on its thread told, if one did. */
static void test_roots_of_instances(void **state)
{
	static const uint64_t roots[] = { 0, 0, 0, 0x1220, 0x2220 }; /* in order of numbers */
	struct setup *s = *state;

	number_of(s, 0x9000, 1);
	number_of(s, 0x2220, 0);
	number_of(s, 0x1220, 0);
	number_of(s, 0x1000, 2);
	number_of(s, 0x2220, 0); /* known, and not defined again */
	number_of(s, 0x2000, 3);
	assert_int_equal(fake_file.instances.nr, ARRAY_SIZE(roots));
	for (unsigned i = 0; i < ARRAY_SIZE(roots); i++)
		assert_int_equal(fake_file.instances.v[i].root, roots[i]);
}

static void put_burst(struct setup *s, struct fake_agent *agent, unsigned *nr, unsigned count)
{
	while (count--) {
		struct event ev = make((*nr)++);

		assert_true(fake_put(agent, s->t, &ev));
	}
	drain_ring(&s->d, 0);
}

/* A thread that takes a large ring is followed there, wherever the reader is by then. */
static void test_growing(void **state)
{
	struct setup *s = *state;
	static const unsigned unread[] = { 10, 3000, 4000, 5003, 15000 };

	for (unsigned i = 0; i < ARRAY_SIZE(unread); i++) {
		struct lobby lobby;
		struct lobby_opts o = { .ring_bytes = 1 << 18 };
		struct fake_agent agent;
		struct err e = ERR_INIT;
		unsigned nr = 0;

		fake_file_reset();
		assert_int_equal(lobby_open(&lobby, &o, &e), 0);
		fake_agent_init(&agent, &lobby, 1);
		lobby_unmap_ring(&s->d.ring, s->d.words);
		read_slot(s, &lobby, &agent, GROWING);
		put_burst(s, &agent, &nr, unread[i]);
		for (unsigned k = 0; k < 100; k++)
			put_burst(s, &agent, &nr, k == 50 ? 5000 : 701);
		assert_true(s->t->big);
		assert_int_equal(s->d.ring.big, s->t->big);
		assert_all_made(nr);
		lobby_unmap_ring(&s->d.ring, s->d.words);
		s->d.words = NULL;
		fake_agent_release(&agent);
		lobby_close(&lobby);
	}
}

/* Whatever the target says of its large ring, nothing is read beyond it, and the reader goes on. */
static void test_wild_growth(void **state)
{
	struct setup *s = *state;
	static const struct {
		uint32_t big;
		uint64_t from;
	} wild[] = { { 65, 0 }, { UINT32_MAX, 64 }, { 1, UINT64_MAX }, { 1, 1 } };

	for (unsigned i = 0; i < ARRAY_SIZE(wild); i++) {
		struct event ev = make(i);

		assert_true(fake_put(&s->agent, s->t, &ev));
		s->t->ring_from = wild[i].from;
		s->t->big = wild[i].big;
		drain_ring(&s->d, 0);
		assert_int_equal(s->d.pos, s->t->head);
		s->t->ring_from = s->t->big = 0;
	}
}

/* What an event tells of its runtime is defined, if need be after the runtime itself, and once. */
static void test_told_instances(void **state)
{
	static const struct known_runtime known = { .other_scheduler = "one",
						    .local_scheduler = "local_one" },
					  other = { .worker_scheduler = "executor" };
	struct setup *s = *state;
	const unsigned all = EF_INSTANCE_DRIVEN | EF_INSTANCE_LOCAL;

	instances_know(&s->instances, &known);
	instances_know(&s->instances, &other);
	assert_int_equal(number_of(s, 0x1000, 0), 1);
	assert_int_equal(number_told(s, 0x1000, 0, EF_INSTANCE_DRIVEN), 1);
	assert_int_equal(number_told(s, 0x1000, 0, EF_INSTANCE_DRIVEN), 1);
	assert_int_equal(number_of(s, 0x1000, 0), 1);
	assert_int_equal(fake_file.instances.nr, 2);
	assert_string_equal(fake_file.instances.v[0].scheduler, "");
	assert_string_equal(fake_file.instances.v[1].scheduler, "one");
	assert_int_equal(fake_file.instances.v[1].addr, 0x1000);
	assert_int_equal(number_told(s, 0x2000, 0, all), 2);
	assert_string_equal(fake_file.instances.v[2].scheduler, "local_one");
	assert_int_equal(number_told(s, 0x3000, 7, EF_INSTANCE_LOCAL), 3);
	assert_string_equal(fake_file.instances.v[3].scheduler, "local_one");
}

/* When memory is tight, pages that were read are given back, and no event is lost by it. */
static void test_tight_memory(void **state)
{
	struct setup *s = *state;
	struct lobby big;
	struct stat st;
	struct lobby_opts o = { .ring_bytes = 1 << 20, .memory_bytes = 4 << 20 };
	struct fake_agent agent;
	struct err e = ERR_INIT;
	unsigned nr = 0;

	assert_int_equal(lobby_open(&big, &o, &e), 0);
	fake_agent_init(&agent, &big, 1);
	lobby_unmap_ring(&s->d.ring, s->d.words);
	read_slot(s, &big, &agent, GROWING);
	assert_int_equal(lobby_find_ring(&big, agent.door, 1, 65, &(struct lobby_ring){ 0 }), -1);
	big.is_tight = true; /* for all of it */
	while (nr < 300007) {
		struct event ev = make(nr);

		if (fake_put(&agent, s->t, &ev))
			nr++;
		if (nr % 20000 == 0)
			drain_ring(&s->d, 0);
	}
	drain_ring(&s->d, 0);
	assert_all_made(nr);
	lobby_check_memory(&big);
	assert_false(big.is_tight);
	assert_in_range(big.page->rings.used, 0, 256 << 10);
	assert_int_equal(fstat(big.fd, &st), 0);
	assert_in_range(st.st_blocks * 512, 0, 512 << 10);
	lobby_unmap_ring(&s->d.ring, s->d.words);
	s->d.words = NULL;
	fake_agent_release(&agent);
	lobby_close(&big);
}

/* --max-size holds although the ring has more than fits. */
static void test_stops_at_size(void **state)
{
	struct setup *s = *state;
	struct event ev = { .kind = EV_SLEEP };

	fake_file.bytes_per_event = 10;
	for (unsigned i = 0; i < 100; i++)
		fake_put(&s->agent, s->t, &ev);
	/* looked at between segments: 64 words */
	drain_ring(&s->d, 1);
	assert_int_equal(fake_file.events.nr, 64);
	assert_false(drain_is_empty(&s->d));
	drain_ring(&s->d, 640);
	assert_int_equal(fake_file.events.nr, 64);
	drain_ring(&s->d, 641);
	assert_int_equal(fake_file.events.nr, 100);
	assert_true(drain_is_empty(&s->d));
}

static void *produce(void *arg)
{
	struct setup *s = arg;

	for (unsigned i = 0; i < 300007;) {
		struct event ev = {
			.kind = EV_RUN_START, .task = i, .addr = EVENT_ID_MASK - i, .time = i
		};

		if (fake_put(&s->agent, s->t, &ev))
			i++;
		else
			sched_yield(); /* who empties it may have no CPU of its own */
	}
	return NULL;
}

/* Producer and consumer at the same time, over a small ring: nothing torn, nothing out of order. */
static void test_concurrent(void **state)
{
	struct setup *s = *state;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, produce, s), 0);
	while (fake_file.events.nr < 300007) {
		size_t before = fake_file.events.nr;

		drain_ring(&s->d, 0);
		if (fake_file.events.nr == before)
			sched_yield();
	}
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < 300007; i++) {
		const struct event *ev = &fake_file.events.v[i].ev;

		assert_true(ev->task == i && ev->addr == EVENT_ID_MASK - i && ev->time == i);
	}
	assert_int_equal(s->d.nr_broken, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_every_kind),	   TEST(test_tells_how_much),	  TEST(test_unused_rest),
		TEST(test_wild_order),	   TEST(test_stamps_wrap),	  TEST(test_unknown_kind),
		TEST(test_cut_event),	   TEST(test_wild_head),	  TEST(test_random_words),
		TEST(test_told_instances), TEST(test_roots_of_instances), TEST(test_instances),
		TEST(test_texts),	   TEST(test_tight_memory),	  TEST(test_growing),
		TEST(test_wild_growth),	   TEST(test_stops_at_size),	  TEST(test_concurrent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
