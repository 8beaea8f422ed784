// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The hook of inner futures: whatever registers a poll takes and gives pass through unchanged; what
 * it returned is told; start and end are in the ring together or not at all, also when a thread is
 * unwound through them.
 */
#include "agent/hooks_futures.h"

#include <pthread.h>

#include "agent/fast.h"
#include "unit.h"
#include "world.h"

#define NUMBER 77

__thread struct wire_thread *hook_slot;
uint64_t stack_through;

/* As the C library might. */
static void claimed_with_vectors(struct wire_thread *t)
{
	hook_slot = t;
	__asm__ volatile("pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1; pxor %%xmm7, %%xmm7" ::
				 : "xmm0", "xmm1", "xmm7");
}

static int set_up(void **state)
{
	world_init();
	core_page.claimed = claimed_with_vectors;
	memset(futures, 0, sizeof(futures));
	hook_slot = NULL;
	return 0;
}

/* A poll that goes to the hook, by its stub. */
static const void *hooked(uint32_t index, const void *poll, struct wire_result result)
{
	struct wire_future plan = { .redirect = { .flag_off = NUMBER + index }, .result = result };

	future_set(index, &plan, (uint64_t)poll, (uint64_t)poll);
	return future_stub(index);
}

static const struct wire_result unknown;

/* The words of all events of a kind, with their flags; returns how many there are. */
static unsigned count(const struct wire_thread *t, unsigned kind, unsigned flags)
{
	const uint64_t *ring =
		(uint64_t *)((char *)region + wire_ring_off(&lobby, t - region->threads, 0));
	unsigned nr = 0;

	/* behind the start of the thread, whose number may look like an event's word */
	for (uint64_t at = EVENT_WORDS_THREAD_START; at < t->head; at++)
		nr += ring[at] % EV_MAX == kind && ring[at] > RING_WORDS &&
		      (ring[at] >> EVENT_KIND_BITS & 31) == flags;
	return nr;
}

struct two {
	double x, y;
};
struct mixed {
	uint64_t n;
	double x;
};
typedef unsigned __int128 wide;

static __attribute__((noinline)) wide sum(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
					  uint64_t e, uint64_t f)
{
	return (wide)(a + b + c) << 64 | (d * e * f);
}

static __attribute__((noinline)) struct two halves(double a, double b, double c, double d, double e,
						   double f, double g, double h)
{
	return (struct two){ a + b + c + d, e * f * g * h };
}

/* Three words, as no function of C returns them. */
struct three {
	uint64_t rax, rdx, rcx;
};

__asm__(".text\n"
	"return_three:\n"
	"	mov	$1, %eax\n"
	"	mov	$2, %edx\n"
	"	mov	$3, %ecx\n"
	"	ret\n");
extern const char return_three[];

static __attribute__((noinline)) struct three call_three(const void *poll)
{
	struct three r;

	__asm__ volatile("call *%3"
			 : "=a"(r.rax), "=d"(r.rdx), "=c"(r.rcx)
			 : "r"(poll)
			 : "rdi", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	return r;
}

static __attribute__((noinline)) struct mixed mix(uint64_t n, double x)
{
	return (struct mixed){ n + 1, x / 2 };
}

/* The first call takes a slot for its thread, which is the unusual case; others do not. */
static void test_registers(void **state)
{
	wide (*sum_)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) =
		hooked(0, sum, unknown);
	struct two (*halves_)(double, double, double, double, double, double, double, double) =
		hooked(1, halves, unknown);
	struct mixed (*mix_)(uint64_t, double) = hooked(2, mix, unknown);
	const void *three_ = hooked(3, return_three, unknown);
	struct three three;

	for (int i = 0; i < 2; i++) {
		struct two h;
		struct mixed m;

		assert_int_equal(hook_slot != NULL, i);
		h = halves_(1, 2, 4, 8, 3, 5, 7, 11);
		assert_true(h.x == 15 && h.y == 1155);
		m = mix_(41, 5);
		assert_true(m.n == 42 && m.x == 2.5);
		assert_true(sum_(1, 2, 3, 4, 5, 6) == ((wide)6 << 64 | 120));
	}
	three = call_three(three_);
	assert_true(three.rax == 1 && three.rdx == 2 && three.rcx == 3);
	assert_int_equal(count(hook_slot, EV_FUTURE_START, 0), 7);
	assert_int_equal(count(hook_slot, EV_FUTURE_END, 0), 7);
	assert_int_equal(innermost(hook_slot)->id, CORE_UNTOLD);
}

static __attribute__((noinline)) uint64_t return_it(uint64_t value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

struct large {
	uint64_t n[4];
};

static __attribute__((noinline)) struct large large_result(uint64_t tag)
{
	return (struct large){ { 1, 2, tag, 4 } };
}

/* In rax or in memory, by some of its bytes; in memory only if it is where it must be. */
static void test_results(void **state)
{
	struct wire_result in_byte = { .value = 3, .place = WIRE_RESULT_RETURNED, .nr_bytes = 1 };
	struct wire_result in_word = { .value = UINT64_C(1) << 63,
				       .place = WIRE_RESULT_RETURNED,
				       .nr_bytes = 8 };
	struct wire_result large = {
		.value = 9, .off = 16, .place = WIRE_RESULT_LARGE, .nr_bytes = 4
	};
	uint64_t (*byte)(uint64_t) = hooked(0, return_it, in_byte);
	uint64_t (*whole)(uint64_t) = hooked(1, return_it, in_word);
	struct large (*in_memory)(uint64_t) = hooked(2, large_result, large);
	uint64_t (*not_so)(uint64_t, uint64_t) = hooked(3, sum, large);

	assert_int_equal(byte(0x10303), 0x10303);
	assert_int_equal(byte(0x10304), 0x10304);
	whole(UINT64_C(1) << 63);
	whole(1);
	assert_int_equal(in_memory(UINT64_C(5) << 32 | 9).n[3], 4);
	in_memory(8);
	not_so(1, 2);
	assert_int_equal(count(hook_slot, EV_FUTURE_END, EF_FUTURE_PENDING), 3);
	assert_int_equal(count(hook_slot, EV_FUTURE_END, EF_FUTURE_READY), 3);
	assert_int_equal(count(hook_slot, EV_FUTURE_END, 0), 1);
}

/* A coroutine's code, which leaves its state behind its second argument. */
static __attribute__((noinline)) uint64_t set_state(uint64_t out, uint16_t *state, uint64_t value)
{
	state[3] = value;
	return out;
}

static void test_states(void **state)
{
	struct wire_result second = {
		.value = 1, .off = 6, .place = WIRE_RESULT_ARG1, .nr_bytes = 2, .is_ready = 1
	};
	uint64_t (*poll)(uint64_t, uint16_t *, uint64_t) = hooked(0, set_state, second);
	uint16_t object[4] = { 1, 1, 1, 0 };

	poll(1, object, 1);
	poll(1, object, 3);
	poll(1, object, 257);
	assert_int_equal(count(hook_slot, EV_FUTURE_END, EF_FUTURE_READY), 1);
	assert_int_equal(count(hook_slot, EV_FUTURE_END, EF_FUTURE_PENDING), 2);
}

static uint64_t (*nested)(uint64_t);

static __attribute__((noinline)) uint64_t recurse(uint64_t depth)
{
	return depth ? nested(depth - 1) + 1 : 0;
}

/* More than a segment has room for: those whose end would not fit have no start either. */
static void test_pairs(void **state)
{
	enum { DEPTH = 600 };
	struct wire_thread *t;

	nested = hooked(0, recurse, unknown);
	assert_int_equal(nested(DEPTH - 1), DEPTH - 1);
	t = hook_slot;
	assert_in_range(count(t, EV_FUTURE_START, 0), 1, DEPTH - 1);
	assert_int_equal(count(t, EV_FUTURE_START, 0), count(t, EV_FUTURE_END, 0));
	assert_int_equal(count(t, EV_FUTURE_START, 0) + t->lost[EV_FUTURE_START], DEPTH);
	assert_int_equal(t->lost[EV_FUTURE_START], t->lost[EV_FUTURE_END]);
	assert_int_equal(innermost(t)->id, CORE_UNTOLD);
}

static struct wire_thread *unwound;

static __attribute__((noinline)) uint64_t leave_thread(uint64_t depth)
{
	unwound = hook_slot;
	if (!depth)
		pthread_exit(NULL);
	return nested(depth - 1);
}

static void *run_thread(void *arg)
{
	nested(2);
	return NULL;
}

static void test_unwound(void **state)
{
	pthread_t thread;

	nested = hooked(0, leave_thread, unknown);
	assert_int_equal(pthread_create(&thread, NULL, run_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_non_null(unwound);
	assert_int_equal(count(unwound, EV_FUTURE_START, 0), 3);
	assert_int_equal(count(unwound, EV_FUTURE_END, EF_FUTURE_UNWOUND), 3);
	assert_int_equal(innermost(unwound)->id, CORE_UNTOLD);
}

/* Nothing is recorded, and polls go on. */
static void test_off(void **state)
{
	uint64_t (*poll)(uint64_t) = hooked(0, return_it, unknown);

	core_page.threads = core_page.fast_threads = NULL;
	assert_int_equal(poll(5), 5);
	assert_null(hook_slot);
}

/* A forked child has other numbers for them. */
static void test_again(void **state)
{
	struct wire_future plan[2] = { { .redirect = { .va = 16, .flag_off = 5 } },
				       { .redirect = { .va = 32, .flag_off = 6 } } };

	future_set(3, &plan[0], 4096 + 16, 1);
	future_set(9, &plan[1], 4096 + 32, 1);
	plan[0].redirect.flag_off = 1;
	plan[1].redirect.flag_off = 0;
	assert_int_equal(future_set_again(4096, plan, 2), 2);
	assert_int_equal(futures[3].number, 1);
	assert_int_equal(futures[9].number, 0);
	assert_int_equal(future_set_again(8192, plan, 2), 0);
	assert_true(future_is_stub((uint64_t)future_stub(WIRE_MAX_FUTURES - 1)));
	assert_false(future_is_stub((uint64_t)future_stub(WIRE_MAX_FUTURES)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_registers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_results, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pairs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unwound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
