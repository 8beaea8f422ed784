// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The walk up the stack finds what libgcc's unwinder finds, frame by frame, through frames of all
 * shapes and through libc; ends where it must; and does not trip over broken tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

#include "agent/agent.h"

#define NOINLINE __attribute__((noinline, noclone))
#define NR_FLIPS 20000

static struct wire_lobby lobby;
static struct wire_region *region;
static struct patch_object self;
static uint32_t number;			/* of the stack that was taken last */
static uint64_t truth[WIRE_MAX_FRAMES]; /* as libgcc sees the same stack */
static unsigned nr_truth;
static volatile unsigned nr_calls; /* keeps calls from being tail calls */

/* ---- both views of one stack ---- */

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *arg)
{
	unsigned *skip = arg;

	if (*skip)
		(*skip)--;
	else if (nr_truth < WIRE_MAX_FRAMES)
		truth[nr_truth++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static NOINLINE void look(void)
{
	unsigned skip = 1; /* this function's own */

	nr_truth = 0;
	_Unwind_Backtrace(note_frame, &skip);
	number = stack_take(__builtin_frame_address(0));
	nr_calls++;
}

static void same_as_truth(unsigned nr_least)
{
	const struct wire_stack *s = &region->stacks[number];

	assert_int_not_equal(number, WIRE_NO_STACK);
	assert_true(region->stacks_used[number / 64] >> number % 64 & 1);
	assert_true(s->nr_frames >= nr_least);
	for (unsigned i = 0; i < nr_least; i++) {
		assert_int_equal(s->frames[i] >> WIRE_FRAME_SHIFT, 0);
		assert_int_equal(s->frames[i] + self.base, truth[i]);
	}
}

/* ---- frames of all shapes ---- */

static NOINLINE void plain(unsigned depth)
{
	if (depth)
		plain(depth - 1);
	else
		look();
	nr_calls++;
}

/* Its size is known at run time only, so rbp is the base. */
static NOINLINE void growing(unsigned bytes)
{
	volatile char *room = alloca(bytes);

	room[0] = 1;
	plain(2);
	nr_calls += room[0];
}

static NOINLINE void large(void)
{
	volatile char room[100000];

	room[5] = 1;
	growing(nr_calls % 64 + 100);
	nr_calls += room[5];
}

/* More alignment than the stack has: realigned, by rbp. */
static NOINLINE void aligned(void)
{
	volatile char room[64] __attribute__((aligned(256)));

	room[1] = 1;
	large();
	nr_calls += room[1];
}

static NOINLINE void all_shapes(void)
{
	uint64_t a = nr_calls, b = a * 3, c = b ^ 5, d = c + a, e = d * b, f = e - c;

	aligned();
	/* alive across the call: in registers that must be saved, rbp among them */
	nr_calls += a + b + c + d + e + f;
}

static int add_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	self = (struct patch_object){ info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum };
	return 1; /* the program itself is the first */
}

static int set_up(void **state)
{
	lobby = (struct wire_lobby){ .spawn_stacks = 1 };
	region = mmap(NULL, sizeof(*region), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	core_page = (struct core_page){ .region = region, .lobby = &lobby };
	stack_init(environ);
	dl_iterate_phdr(add_self, NULL);
	stack_add_object(0, &self);
	return 0;
}

static int tear_down(void **state)
{
	stack_drop_object(0);
	core_page = (struct core_page){ 0 };
	munmap(region, sizeof(*region));
	return 0;
}

/* Frames by rsp and by rbp, small, large, growing and realigned. */
static void test_shapes(void **state)
{
	all_shapes();
	same_as_truth(7);
}

/* The same stack has the same number, another one another. */
static void test_numbers(void **state)
{
	uint32_t first = WIRE_NO_STACK, other;

	/* volatile: unrolled, each call would come from a place of its own */
	for (volatile int i = 0; i < 3; i++) {
		plain(4);
		assert_true(i == 0 || number == first);
		first = number;
	}
	plain(5);
	other = number;
	assert_int_not_equal(other, first);
	assert_int_equal(region->stacks[other].nr_frames, region->stacks[first].nr_frames + 1);
}

/* When an object is gone, another may be at its addresses: the same ones are another stack. */
static void test_other_object(void **state)
{
	uint32_t first = WIRE_NO_STACK;

	for (volatile int i = 0; i < 3; i++) {
		plain(4);
		same_as_truth(5);
		if (i == 0)
			first = number;
		assert_true((number == first) == (i < 2));
		stack_drop_object(0);
		assert_false(stack_has_object(0));
		if (i == 1)
			stack_forget_object(0);
		stack_add_object(0, &self);
		assert_true(stack_has_object(0));
	}
}

/* No more than the room for it. */
static void test_deep(void **state)
{
	plain(500);
	same_as_truth(WIRE_MAX_FRAMES);
	assert_int_equal(region->stacks[number].nr_frames, WIRE_MAX_FRAMES);
}

static void *on_thread(void *arg)
{
	all_shapes();
	return NULL;
}

/* A thread's stack, and a small one. */
static void test_threads(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;

	for (int i = 0; i < 2; i++) {
		pthread_attr_init(&attr);
		if (i)
			pthread_attr_setstacksize(&attr, 192 << 10);
		assert_int_equal(pthread_create(&thread, &attr, on_thread, NULL), 0);
		pthread_join(thread, NULL);
		pthread_attr_destroy(&attr);
		same_as_truth(7);
	}
}

static void on_signal(int sig)
{
	plain(3);
}

/* The walk ends where the signal came in: what it interrupted did not spawn. */
static void test_signal(void **state)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	stack_t other = { .ss_size = 64 << 10, .ss_sp = malloc(64 << 10) },
		none = { .ss_flags = SS_DISABLE };

	for (int i = 0; i < 2; i++) {
		if (i)
			assert_int_equal(sigaltstack(&other, NULL), 0);
		sigaction(SIGUSR1, &action, NULL);
		number = WIRE_NO_STACK;
		raise(SIGUSR1);
		/* a stack of an unknown kind may also not be walked at all */
		if (number != WIRE_NO_STACK) {
			same_as_truth(5);
			assert_int_equal(region->stacks[number].nr_frames, 5);
		}
	}
	sigaltstack(&none, NULL);
	free(other.ss_sp);
}

static int compare(const void *a, const void *b)
{
	plain(0);
	return 0;
}

/* What is not known ends the walk: libc was not announced. */
static void test_unknown_object(void **state)
{
	int numbers[2] = { 1, 2 };

	qsort(numbers, 2, sizeof(*numbers), compare);
	same_as_truth(2);
	assert_int_equal(region->stacks[number].nr_frames, 2);
	stack_drop_object(0);
	plain(0);
	/* now all that is left is what our own image tells of itself: nothing */
	assert_true(number == WIRE_NO_STACK || region->stacks[number].nr_frames == 1);
}

static void *walk_made_up(void *arg)
{
	uint64_t *top = arg;

	for (unsigned i = 0; i < 4; i++) { /* a prologue: no call yet */
		top[-1] = (uint64_t)all_shapes + i;
		top[-2] = (uint64_t)top;
		number = stack_take(top - 2);
		assert_int_not_equal(number, WIRE_NO_STACK);
		assert_int_equal(region->stacks[number].nr_frames, 1);
	}
	return NULL;
}

/* The first frame of a stack that the program made itself: nothing above it may be read. */
static void test_made_up_stack(void **state)
{
	const size_t size = 1 << 20, guard = 2 * WIRE_PAGE;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(mprotect(memory + WIRE_PAGE, WIRE_PAGE, PROT_NONE), 0);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstack(&attr, memory + guard, size - guard), 0);
	assert_int_equal(pthread_create(&thread, &attr, walk_made_up, memory + WIRE_PAGE), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	munmap(memory, size);
}

/* Switched off, and no room. */
static void test_none(void **state)
{
	lobby.spawn_stacks = 0;
	plain(1);
	assert_int_equal(number, WIRE_NO_STACK);
	lobby.spawn_stacks = 1;
	for (uint32_t i = 0; i < WIRE_MAX_STACKS; i++)
		region->stacks[i].hash = 2; /* of no stack: hashes are odd */
	plain(1);
	assert_int_equal(number, WIRE_NO_STACK);
}

/* A copy of the whole image, with a byte here and there that is wrong: found or not, nothing else
 * is touched. */
static void test_damaged_tables(void **state)
{
	uint64_t from = UINT64_MAX, to = 0, header = 0, seed = 88172645463325252;
	uint8_t *copy;

	for (unsigned i = 0; i < self.nr_phdrs; i++) {
		const ElfW(Phdr) *ph = &self.phdrs[i];

		if (ph->p_type == PT_GNU_EH_FRAME)
			header = ph->p_vaddr;
		if (ph->p_type == PT_LOAD && !(ph->p_flags & PF_W)) {
			from = ph->p_vaddr < from ? ph->p_vaddr : from;
			to = ph->p_vaddr + ph->p_filesz > to ? ph->p_vaddr + ph->p_filesz : to;
		}
	}
	copy = calloc(1, to - from);
	for (unsigned i = 0; i < self.nr_phdrs; i++) {
		const ElfW(Phdr) *ph = &self.phdrs[i];

		if (ph->p_type == PT_LOAD && !(ph->p_flags & PF_W))
			memcpy(copy + ph->p_vaddr - from, (void *)(self.base + ph->p_vaddr),
			       ph->p_filesz);
	}
	for (int i = 0; i < NR_FLIPS; i++) {
		struct cfi_object o = { .from = (uint64_t)copy,
					.to = (uint64_t)copy + (to - from),
					.header = copy + (header - from) };
		uint64_t pc = (uint64_t)all_shapes - self.base - from + (uint64_t)copy + i % 200;
		uint8_t *at;

		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		at = copy + (header - from) + seed % (to - header);
		*at ^= 1 << seed % 8;
		cfi_find(&o, pc);
		if (i % 4)
			*at ^= 1 << seed % 8;
	}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shapes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_object, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_deep, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_signal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_object, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_made_up_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_tables, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
