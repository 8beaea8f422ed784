// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the agent's hooks cost by themselves, on tasks and a table of our own, in CPU time: a run, a
 * wake, both; a run and a wake with the look whether somebody is attached to a probe; a run of a
 * task whose await path is read, five futures deep; beside two bare stamps with a store each. Back
 * to back, so the stamps themselves (rdtsc) are the floor: in a program they overlap with the
 * runtime's own work. `hook ROUNDS` prints the cheapest of ROUNDS, one line each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/fast.h"
#include "agent/hooks_futures.h"
#include "agent/probes.h"

#define RING_WORDS (UINT64_C(1) << 21)
#define NR_TASKS   100
#define NR_CALLS   500000

struct fake_task {
	uint64_t state, next, vtable, owner, scheduler, id, stage[8], trailer[4];
} __attribute__((aligned(128)));

struct old_task {
	uint64_t state, owned[2], next, vtable, rest[9];
};

static struct wire_lobby lobby = { .ring_words = RING_WORDS, .small_words = 512, .nr_big = 1 };
static uint64_t fake_table[10];
static struct fake_task tasks[NR_TASKS];
static uint64_t old_table[6];
static struct old_task old_tasks[NR_TASKS];
static uint64_t path_table[10];
static struct fake_task path_tasks[NR_TASKS];
static struct wire_thread *mine;
__thread struct wire_thread *hook_slot;
uint64_t stack_through;
/* those of the agent stand for perf's: nobody is attached to either */
const uint64_t *probes_watched = probes_semaphores;

static void claimed(struct wire_thread *t)
{
	mine = hook_slot = t;
}

static uint64_t find_tid_off(void)
{
	uint32_t tid = syscall(SYS_gettid);
	uint64_t tp, off = 0;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	while (*(uint32_t *)(tp + off) != tid)
		off += 4;
	return off;
}

#define DEPTH	  5
#define NR_STATES 5 /* of each future: not started, done, panicked, and two awaits */

static unsigned state_off(unsigned depth)
{
	return offsetof(struct fake_task, stage) + 9 * depth;
}

static void set_up_path(struct wire_region *r)
{
	uint32_t edge = 1; /* from the task */

	for (unsigned depth = 0; depth < DEPTH; depth++)
		r->nodes[1 + depth] = (struct wire_node){
			.kind = WIRE_NODE_STATE,
			.bytes = 1,
			.nr = NR_STATES,
			.off = depth ? 9 : state_off(0),
			.first = 2 + depth * NR_STATES,
		};
	r->edges[edge++].node = 1;
	for (unsigned depth = 0; depth < DEPTH; depth++)
		for (unsigned i = 0; i < NR_STATES; i++, edge++)
			r->edges[edge] = (struct wire_edge){
				.node = i < 3 || depth == DEPTH - 1 ? 0 : depth + 2,
				.off = depth ? 9 : state_off(0),
			};
	r->nr_nodes = 1 + DEPTH;
	r->nr_edges = edge;
}

static void place_task(struct fake_task *task, unsigned place)
{
	for (unsigned depth = 0; depth < DEPTH; depth++)
		((uint8_t *)task)[state_off(depth)] = 3 + (place >> (DEPTH - 1 - depth) & 1);
}

/* Tasks stand at that many places. */
static void place_tasks(unsigned nr_places)
{
	for (int i = 0; i < NR_TASKS; i++)
		place_task(&path_tasks[i], i % nr_places);
}

typedef uint64_t (*poll_fn)(struct fake_task *task);

/* An inner future that is pending. */
static __attribute__((noinline)) uint64_t poll(struct fake_task *task)
{
	__asm__ volatile("" ::: "memory");
	return 1;
}

static int set_up(void)
{
	struct wire_region *region = mmap(NULL, wire_region_size(&lobby), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (region == MAP_FAILED)
		return -1;
	core_page = (struct core_page){ .threads = region->threads,
					.fast_threads = region->threads,
					.tid_off = find_tid_off(),
					.clock = WIRE_CLOCK_TSC,
					.claimed = claimed,
					.region = region,
					.lobby = &lobby };
	*core_table_find((uint64_t)fake_table, true) =
		(struct core_table){ .id_off = offsetof(struct fake_task, id),
				     .stage_off = offsetof(struct fake_task, stage),
				     .trailer_off = offsetof(struct fake_task, trailer),
				     .scheduler_off = offsetof(struct fake_task, scheduler),
				     .addr = (uint64_t)fake_table };
	*core_table_find((uint64_t)old_table | CORE_OLD, true) =
		(struct core_table){ .addr = (uint64_t)old_table | CORE_OLD };
	core_bar_zero();
	set_up_path(region);
	*core_table_find((uint64_t)path_table, true) =
		(struct core_table){ .id_off = offsetof(struct fake_task, id),
				     .scheduler_off = offsetof(struct fake_task, scheduler),
				     .recipe = path_add(region, 1, 0),
				     .addr = (uint64_t)path_table };
	for (int i = 0; i < NR_TASKS; i++)
		old_tasks[i] = (struct old_task){ .state = 0xcc, .vtable = (uint64_t)old_table };
	for (int i = 0; i < NR_TASKS; i++)
		tasks[i] = (struct fake_task){ .state = 0xcc,
					       .vtable = (uint64_t)fake_table,
					       .owner = 1,
					       .scheduler = (uint64_t)tasks,
					       .id = i + 1 };
	for (int i = 0; i < NR_TASKS; i++) {
		path_tasks[i] = tasks[i];
		path_tasks[i].vtable = (uint64_t)path_table;
	}
	future_set(0,
		   &(struct wire_future){
			   .result = { .value = 1, .place = WIRE_RESULT_RETURNED, .nr_bytes = 1 } },
		   (uint64_t)poll, (uint64_t)poll);
	core_awake(core_sleep(0)); /* the first event takes the slot */
	return 0;
}

uint64_t bare_ring[1 << 13]; /* not static: the stores must not be dropped */

static void bare(struct fake_task *task)
{
	static unsigned at;

	bare_ring[at++ % (1 << 13)] = __builtin_ia32_rdtsc();
	bare_ring[at++ % (1 << 13)] = __builtin_ia32_rdtsc();
}

static void run(struct fake_task *task)
{
	struct core_entry entry = core_enter((uint64_t)task, CORE_POLL, mine);

	core_leave(&entry, mine);
}

/* As the agent's hooks do while nobody is attached. */
static void run_with_probes(struct fake_task *task)
{
	if (probes_wanted(PROBES_TOKIO))
		abort();
	run(task);
}

static void run_with_path(struct fake_task *task)
{
	run(&path_tasks[task - tasks]);
}

/* Each time at the next of four places. */
static void run_and_move(struct fake_task *task)
{
	static unsigned nr_runs;
	struct fake_task *moving = &path_tasks[task - tasks];

	run(moving);
	place_task(moving, (task - tasks + ++nr_runs / NR_TASKS) % 4);
}

/* Nobody knows where it will be next. */
static void run_and_jump(struct fake_task *task)
{
	static uint32_t random = 1;
	struct fake_task *moving = &path_tasks[task - tasks];

	run(moving);
	random = random * 1664525 + 1013904223;
	place_task(moving, random >> 27);
}

static void wake(struct fake_task *task)
{
	core_schedule((uint64_t)task, mine);
}

static void wake_with_probes(struct fake_task *task)
{
	if (probes_wanted(PROBES_TOKIO))
		abort();
	wake(task);
}

static void run_and_wake(struct fake_task *task)
{
	run(task);
	wake(task);
}

/* Of Tokio 1.9 to 1.20. */
static void old_run(struct fake_task *task)
{
	uint64_t header = (uint64_t)&old_tasks[task - tasks];
	struct core_entry entry = core_enter(header, CORE_POLL, mine);

	core_leave(&entry, mine);
}

static void bare_call(struct fake_task *task)
{
	poll(task);
}

static void future(struct fake_task *task)
{
	((poll_fn)future_stub(0))(task);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static double measure(void (*call)(struct fake_task *), int rounds)
{
	double best = 1e9;

	while (rounds-- > 0) {
		uint64_t start = cpu_ns();
		double ns;

		for (int i = 0; i < NR_CALLS; i++) {
			call(&tasks[i % NR_TASKS]);
			if (i % 1024 == 0) /* a tool that keeps up */
				__atomic_store_n(&mine->tail, mine->head, __ATOMIC_RELEASE);
		}
		ns = (double)(cpu_ns() - start) / NR_CALLS;
		best = ns < best ? ns : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20;

	if (set_up() < 0) {
		perror("hook: cannot map a ring");
		return 1;
	}
	printf("two stamps, two stores  %.1f ns\n", measure(bare, rounds));
	printf("run                     %.1f ns\n", measure(run, rounds));
	printf("wake                    %.1f ns\n", measure(wake, rounds));
	printf("run, with probes        %.1f ns\n", measure(run_with_probes, rounds));
	printf("wake, with probes       %.1f ns\n", measure(wake_with_probes, rounds));
	printf("run and wake            %.1f ns\n", measure(run_and_wake, rounds));
	printf("run, Tokio before 1.23  %.1f ns\n", measure(old_run, rounds));
	for (unsigned nr_places = 1; nr_places <= 1 << DEPTH; nr_places = nr_places * 8 - 4) {
		place_tasks(nr_places);
		printf("run, path, %2u places    %.1f ns\n", nr_places,
		       measure(run_with_path, rounds));
	}
	printf("run, path, moves on     %.1f ns\n", measure(run_and_move, rounds));
	printf("run, path, at random    %.1f ns\n", measure(run_and_jump, rounds));
	if (core_page.region->nr_bad_path || core_page.region->nr_no_path) {
		fprintf(stderr, "hook: paths were not read: the figures are wrong\n");
		return 1;
	}
	printf("poll of an inner future %.1f ns, without us %.1f ns\n", measure(future, rounds),
	       measure(bare_call, rounds));
	if (mine->lost[EV_FUTURE_START] || mine->lost[EV_RUN_START] || mine->lost[EV_WAKE]) {
		fprintf(stderr, "hook: events were lost: the figures are wrong\n");
		return 1;
	}
	return 0;
}
