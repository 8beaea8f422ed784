// SPDX-License-Identifier: MIT OR Apache-2.0
/* Functions are redirected all or not at all, do what they did, and only if they are as planned. */
#include "agent/redirect.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"

/* lea (%rdi,%rsi),%rax; lea (%rax,%rdx),%rax; ret: two functions, a page apart */
static const uint8_t code[] = { 0x48, 0x8d, 0x04, 0x37, 0x48, 0x8d, 0x04, 0x10, 0xc3 };
enum { MOVED = 8, SECOND = WIRE_PAGE };

typedef uint64_t (*sum_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static unsigned nr_calls[WIRE_MAX_REDIRECTS];

static uint64_t hook(unsigned i, uint64_t a, uint64_t b, uint64_t c)
{
	nr_calls[i]++;
	return ((sum_fn)(void *)redirects[i].moved)(a, b, c, 0, 0, 0);
}

#define HOOK(i)                                                      \
	static uint64_t hook_##i(uint64_t a, uint64_t b, uint64_t c) \
	{                                                            \
		return hook(i, a, b, c);                             \
	}
HOOK(0)
HOOK(1)
HOOK(2)
HOOK(3)

const void *const root_hooks[WIRE_MAX_REDIRECTS] = { hook_0, hook_1, hook_2, hook_3 };

/* lea (%rdi,%rsi),%rax; nop; ret: an allocator that gives size + how */
static const uint8_t alloc_code[] = { 0x48, 0x8d, 0x04, 0x37, 0x90, 0xc3 };
enum { ALLOC_MOVED = 5, TASK_SIZE = 384, NOT_A_TASK = 100 };

static struct {
	uint64_t addr, size, return_address;
	unsigned nr;
} spawned;

/* Recording, and nobody is attached to a probe. */
struct core_page core_page = { .threads = (struct wire_thread *)&spawned };
const uint64_t probes_semaphores[PROBE_WORDS];
const uint64_t *probes_watched = probes_semaphores;

void probes_spawned(uint64_t addr, uint64_t size)
{
}

bool core_is_task_size(uint64_t size)
{
	return size == TASK_SIZE || size > UINT64_MAX / 2;
}

uint32_t stack_take(const uint64_t *frame)
{
	spawned.return_address = frame[1];
	return WIRE_NO_STACK;
}

void core_spawn(uint64_t addr, uint64_t size, uint32_t stack)
{
	spawned.addr = addr;
	spawned.size = size;
	spawned.nr++;
}

/* Inner futures: the hooks that are here do as their stubs. */
static uint64_t future_polls[4];

const void *future_stub(uint32_t index)
{
	return root_hooks[index];
}

void future_set(uint32_t index, const struct wire_future *plan, uint64_t addr, uint64_t poll)
{
	future_polls[index] = poll;
}

static const ElfW(Phdr) phdr = { .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_filesz = 3 * WIRE_PAGE };

static struct patch_object make(void)
{
	uint8_t *text = mmap(NULL, 3 * WIRE_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(text != MAP_FAILED);
	memcpy(text, code, sizeof(code));
	memcpy(text + SECOND, code, sizeof(code));
	assert_int_equal(mprotect(text, 3 * WIRE_PAGE, PROT_READ | PROT_EXEC), 0);
	return (struct patch_object){ (uint64_t)text, &phdr, 1 };
}

static void plan_both(struct wire_redirect plan[2])
{
	for (int i = 0; i < 2; i++) {
		plan[i] = (struct wire_redirect){ .va = i * SECOND,
						  .nr_bytes = MOVED,
						  .kind = WIRE_ROOT_PARK };
		memcpy(plan[i].bytes, code, MOVED);
	}
}

static uint64_t call(const struct patch_object *o, uint64_t va)
{
	return ((sum_fn)(o->base + va))(1, 20, 300, 0, 0, 0);
}

static bool is_untouched(const struct patch_object *o)
{
	return memcmp((void *)o->base, code, sizeof(code)) == 0 &&
	       memcmp((void *)(o->base + SECOND), code, sizeof(code)) == 0;
}

static bool refuses_code;

/* As a policy that lets no page become code. */
int mprotect(void *addr, size_t len, int prot)
{
	if (refuses_code)
		return -1;
	return syscall(SYS_mprotect, addr, len, prot);
}

/* Where no code can be made, nothing is redirected, and nothing is kept of it. */
static void test_no_code(void **state)
{
	struct patch_object o = make();
	struct wire_redirect plan[2];

	plan_both(plan);
	plan[1].kind = WIRE_ALLOC_ALIGNED;
	refuses_code = true;
	assert_int_equal(redirect_all(&o, plan, 2), 0);
	refuses_code = false;
	assert_true(is_untouched(&o));
	assert_null(alloc_moved[ALLOC_INDEX(WIRE_ALLOC_ALIGNED)]);
	assert_int_equal(redirects[0].addr, 0);
}

/* What does not agree with the plan is left alone, and so is all else. */
static void test_refused(void **state)
{
	struct patch_object o = make();
	struct wire_redirect plan[2];

	plan_both(plan);
	plan[1].bytes[7] ^= 1;
	assert_int_equal(redirect_all(&o, plan, 2), 0);
	plan_both(plan);
	plan[1].va = 3 * WIRE_PAGE - 4; /* reaches out of the object */
	assert_int_equal(redirect_all(&o, plan, 2), 0);
	plan_both(plan);
	plan[1].nr_bytes = 4;
	assert_int_equal(redirect_all(&o, plan, 2), 0);
	plan[1].nr_bytes = WIRE_MOVED_BYTES + 1;
	assert_int_equal(redirect_all(&o, plan, 2), 0);
	assert_int_equal(redirect_all(&o, plan, WIRE_MAX_REDIRECTS + 1), 0);
	assert_true(is_untouched(&o));
	assert_int_equal(call(&o, 0), 321);
}

static void *wait_for(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

/* Another thread might be running the very instructions. */
static void test_threads(void **state)
{
	struct patch_object o = make();
	struct wire_redirect plan[2];
	pthread_barrier_t barrier;
	pthread_t thread;

	plan_both(plan);
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_for, &barrier), 0);
	assert_int_equal(redirect_all(&o, plan, 2), 0);
	assert_true(is_untouched(&o));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}

/* Calls come to the hook, which gets the arguments and can call on; pages are as they were. */
static void test_redirected(void **state)
{
	struct patch_object o = make(), more = make();
	struct wire_redirect plan[2];

	plan_both(plan);
	assert_int_equal(redirect_all(&o, plan, 2), 2);
	assert_int_equal(call(&o, 0), 321);
	assert_int_equal(call(&o, SECOND), 321);
	assert_int_equal(call(&o, SECOND), 321);
	assert_int_equal(nr_calls[0], 1);
	assert_int_equal(nr_calls[1], 2);
	assert_int_equal(mprotect((void *)o.base, WIRE_PAGE, PROT_READ | PROT_EXEC), 0);
	/* a second object has hooks of its own */
	assert_int_equal(redirect_all(&more, plan, 2), 2);
	assert_int_equal(call(&more, 0), 321);
	assert_int_equal(nr_calls[2], 1);
	assert_int_equal(nr_calls[0], 1);
	/* a forked child finds them, under other types */
	plan[0].type = plan[1].type = 7;
	assert_int_equal(redirect_again(o.base, plan, 2), 2);
	assert_int_equal(redirects[1].type, 7);
	assert_int_equal(redirects[2].type, 0);
	assert_int_equal(redirect_again(o.base + 1, plan, 2), 0);
}

/* Each by itself: one that is not as planned, or has nothing to move, is left alone. */
static void test_futures(void **state)
{
	struct patch_object o = make();
	struct wire_future plan[4] = { 0 };
	struct wire_redirect both[2];

	plan_both(both);
	both[0].kind = both[1].kind = WIRE_FUTURE;
	plan[0].redirect = both[0];
	plan[0].redirect.bytes[3] ^= 1;
	plan[1].redirect = both[1];
	plan[2].redirect = both[0];
	plan[2].redirect.nr_bytes = 0;
	plan[3].redirect = both[0];
	plan[3].redirect.va = 3 * WIRE_PAGE - 4;
	assert_int_equal(redirect_futures(&o, plan, 4, 0), 1);
	assert_memory_equal((void *)o.base, code, sizeof(code));
	assert_true(future_polls[1] && !future_polls[0] && !future_polls[2] && !future_polls[3]);
	assert_int_equal(((sum_fn)future_polls[1])(1, 20, 300, 0, 0, 0), 321);
	redirects[1].moved = (hook_fn)future_polls[1];
	nr_calls[1] = 0;
	assert_int_equal(call(&o, SECOND), 321);
	assert_int_equal(nr_calls[1], 1);
}

/*
 * mov 0x1ff9(%rip),%rax; add %rdi,%rax; ret: the number lies two pages behind the function. What is
 * moved finds it from where it is now; what could not is left alone.
 */
static void test_far(void **state)
{
	static const uint8_t far[] = { 0x48, 0x8b, 0x05, 0xf9, 0x1f, 0x00,
				       0x00, 0x48, 0x01, 0xf8, 0xc3 };
	const int32_t farthest = INT32_MAX; /* and farther from below, where thunks are */
	const uint64_t number = 0x1122334455667700;
	struct patch_object o = make();
	struct wire_future plan[2] = {
		{ .redirect = { .nr_bytes = 7, .kind = WIRE_FUTURE, .distance_at = 3 } }
	};
	uint8_t *text = (void *)o.base;

	assert_int_equal(mprotect(text, 3 * WIRE_PAGE, PROT_READ | PROT_WRITE), 0);
	memcpy(text, far, sizeof(far));
	memcpy(text + SECOND, far, sizeof(far));
	memcpy(text + SECOND + 3, &farthest, sizeof(farthest));
	memcpy(text + 2 * WIRE_PAGE, &number, sizeof(number));
	assert_int_equal(mprotect(text, 3 * WIRE_PAGE, PROT_READ | PROT_EXEC), 0);
	memcpy(plan[0].redirect.bytes, far, 7);
	plan[1] = plan[0];
	plan[1].redirect.va = SECOND;
	memcpy(plan[1].redirect.bytes, text + SECOND, 7);
	future_polls[0] = future_polls[1] = 0;
	assert_int_equal(redirect_futures(&o, plan, 2, 0), 1);
	assert_true(future_polls[0] && !future_polls[1]);
	assert_memory_equal(text + SECOND, plan[1].redirect.bytes, 7);
	redirects[0].moved = (hook_fn)future_polls[0];
	nr_calls[0] = 0;
	assert_int_equal(call(&o, 0), number + 1);
	assert_int_equal(nr_calls[0], 1);
	/* a distance that is not among the bytes */
	plan[1].redirect.distance_at = 4;
	assert_int_equal(redirect_futures(&o, plan + 1, 1, 1), 0);
	/* others have none */
	plan[1].redirect.kind = WIRE_ROOT_PARK;
	plan[1].redirect.distance_at = 3;
	assert_int_equal(redirect_all(&o, &plan[1].redirect, 1), 0);
}

/* The hook is to find this function's frame above it. */
static __attribute__((noinline)) uint64_t allocate(const struct patch_object *o, uint64_t size,
						   uint64_t how)
{
	volatile uint64_t p = (uint64_t)((alloc_fn)o->base)(size, how);

	return p;
}

/* The parts of an allocator's function that matter: what is told of which call. */
static void check_alloc(uint8_t kind, uint64_t task_how, uint64_t other_how)
{
	struct patch_object o = make(), more = make();
	struct wire_redirect plan = { .nr_bytes = ALLOC_MOVED, .kind = kind };
	unsigned nr = spawned.nr;

	memcpy(plan.bytes, alloc_code, ALLOC_MOVED);
	for (int i = 0; i < 2; i++) {
		void *text = (void *)(i ? more : o).base;

		assert_int_equal(mprotect(text, WIRE_PAGE, PROT_READ | PROT_WRITE), 0);
		memcpy(text, alloc_code, sizeof(alloc_code));
		assert_int_equal(mprotect(text, WIRE_PAGE, PROT_READ | PROT_EXEC), 0);
	}
	assert_int_equal(redirect_all(&o, &plan, 1), 1);
	assert_int_equal(allocate(&o, TASK_SIZE, other_how), TASK_SIZE + other_how);
	assert_int_equal(allocate(&o, NOT_A_TASK, task_how), NOT_A_TASK + task_how);
	assert_int_equal(allocate(&o, -task_how, task_how), 0); /* no memory left */
	assert_int_equal(spawned.nr, nr);
	assert_int_equal(allocate(&o, TASK_SIZE, task_how), TASK_SIZE + task_how);
	assert_int_equal(spawned.nr, nr + 1);
	assert_int_equal(spawned.addr, TASK_SIZE + task_how);
	assert_int_equal(spawned.size, TASK_SIZE);
	assert_in_range(spawned.return_address, (uint64_t)allocate, (uint64_t)allocate + 64);
	/* one of each kind, in a process */
	assert_int_equal(redirect_all(&more, &plan, 1), 0);
	assert_memory_equal((void *)more.base, alloc_code, sizeof(alloc_code));
}

static void test_allocators(void **state)
{
	/* MALLOCX_ZERO is 64: no part of the alignment; above an int's bits a register has anything
	 */
	check_alloc(WIRE_ALLOC_MALLOCX, 64 | 7, UINT64_C(7) << 32 | 64 | 6);
	check_alloc(WIRE_ALLOC_ALIGNED, 128, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_code),	   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_threads),	   cmocka_unit_test(test_redirected),
		cmocka_unit_test(test_allocators), cmocka_unit_test(test_futures),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
