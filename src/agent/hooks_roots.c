// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Root futures: what a thread waits for in block_on. Nothing calls their poll that we could stand
 * in front of; but a root is polled from when its thread enters the runtime until it parks, and
 * from when it is unparked until it parks again or leaves. See docs/internals/roots.md.
 *
 * Words: a *root* is a thread's stay in a runtime, and has a frame. They nest, if seldom. Workers
 * enter their runtime as well; the reader knows them by the run around theirs.
 */
#include "agent/redirect.h"
#include "agent/root_future.h"

#define MAX_NESTED    8
#define NR_GROUP      8
#define HANDLE_MAX    4096 /* bytes of a scheduler's handle, at most */
#define PARKING_BYTES 2048 /* of the frames between block_on and its parker, at most */

struct root {
	uint64_t number;	 /* no other root of the process has it */
	uint64_t frame;		 /* of the call that began it; its key */
	uint64_t park_frame;	 /* of the call that parks it, 0: not parked yet */
	uint64_t seed;		 /* somewhere in the handle of its runtime */
	uint64_t parker, handle; /* by which it waits, 0: not yet */
	uint16_t type;
	bool is_running;
	struct root_future future;
	struct core_root_run run;
};

/* Of each thread. Initial-exec, as hook_slot. */
static __thread struct {
	struct root roots[MAX_NESTED];
	unsigned nr, nr_drives, nr_builds;
	uint64_t driven; /* seed of the runtime that was last told to be one */
	uint64_t beyond; /* frame of the outermost root that there was no room for, 0: there is none
			  */
} mine __attribute__((tls_model("initial-exec")));

/*
 * Which root waits for what: for a parker or for a scheduler's flag. Written by its own thread,
 * read by who wakes it. A thread has one of each at most, if seldom more: with as many threads as
 * there can be, each group is a quarter full.
 */
static struct waiting {
	uint64_t addr; /* of the parker or the scheduler's handle, 0: free */
	uint64_t root; /* key and type, as events have them; 0: gone */
} waiting[WIRE_MAX_THREADS][NR_GROUP] __attribute__((aligned(64)));

/* How far behind the beginning of a current_thread scheduler's handle its generator of seeds lies;
 * 0: not known yet. */
static uint64_t seed_off;

static void start(struct root *r)
{
	core_root_start(&r->run, r->frame, r->type, root_future_path(&r->future));
	r->is_running = true;
}

static void pause_run(struct root *r)
{
	core_root_end(&r->run, 0);
	r->is_running = false;
}

static struct waiting *group_of(uint64_t addr)
{
	return waiting[addr * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}
_Static_assert(WIRE_MAX_THREADS == 1 << 12, "group_of takes the upper 12 bits");

static struct waiting *find_waiting(uint64_t addr)
{
	struct waiting *group = group_of(addr);

	for (struct waiting *w = group; w < group + NR_GROUP; w++)
		if (__atomic_load_n(&w->addr, __ATOMIC_ACQUIRE) == addr)
			return w;
	return NULL;
}

static struct waiting *make_waiting(uint64_t addr)
{
	struct waiting *group = group_of(addr);

	for (struct waiting *w = group; w < group + NR_GROUP; w++) {
		uint64_t free = 0;

		if (__atomic_compare_exchange_n(&w->addr, &free, addr, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return w;
	}
	return NULL;
}

static void wait_for(const struct root *r, uint64_t addr)
{
	struct waiting *w = find_waiting(addr);

	if (!w)
		w = make_waiting(addr);
	if (w)
		__atomic_store_n(&w->root, EVENT_WORD1(r->frame, r->type), __ATOMIC_RELAXED);
	else
		core_root_unseen(EV_WAKE); /* whoever wakes it is not told */
}

static void wait_no_more(const struct root *r, uint64_t addr)
{
	struct waiting *w = addr ? find_waiting(addr) : NULL;

	if (!w || w->root != EVENT_WORD1(r->frame, r->type))
		return;
	__atomic_store_n(&w->root, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w->addr, 0, __ATOMIC_RELEASE);
}

static void wait_by(struct root *r, uint64_t parker)
{
	if (r->parker != parker)
		wait_no_more(r, r->parker);
	r->parker = parker;
	wait_for(r, parker);
}

static void wake(uint64_t addr)
{
	struct waiting *w = core_page.threads ? find_waiting(addr) : NULL;
	uint64_t root = w ? __atomic_load_n(&w->root, __ATOMIC_RELAXED) : 0;

	if (root)
		core_root_wake(root, EF_WAKE_TRIED);
}

static void finish(struct root *r)
{
	/* it ends by being polled, seen or not; but the future may be gone */
	r->future.addr = 0;
	if (!r->is_running)
		start(r);
	core_root_end(&r->run, EF_END_COMPLETE | EF_END_WANTED);
	wait_no_more(r, r->parker);
	wait_no_more(r, r->handle);
	mine.nr--;
	mine.beyond = 0;
	if (!mine.nr) /* one that the program jumped out of is over, too */
		mine.nr_drives = 0;
}

/* Did it end with the run that it began in? */
static bool is_over(const struct root *r)
{
	return r->is_running && r->run.run && !core_root_is_open(&r->run);
}

static struct root *innermost(void)
{
	struct root *r = mine.nr ? &mine.roots[mine.nr - 1] : NULL;

	for (; r && is_over(r); r = mine.nr ? r - 1 : NULL)
		finish(r);
	return r;
}

static struct root *add_root(uint64_t frame)
{
	static uint64_t nr_roots;
	struct root *r = &mine.roots[mine.nr++];

	*r = (struct root){ .number = __atomic_add_fetch(&nr_roots, 1, __ATOMIC_RELAXED),
			    .frame = frame,
			    .is_running = true };
	return r;
}

/* NULL: it is over, or another thread's: a call may return on another one than it was made on. */
static struct root *find_root(uint64_t number)
{
	for (unsigned i = 0; i < mine.nr; i++)
		if (mine.roots[i].number == number)
			return &mine.roots[i];
	return NULL;
}

/* A root that begins while there is no room to know of it. What it does is not its outer one's. */
static void go_beyond(uint64_t frame)
{
	if (frame == mine.beyond)
		return;
	core_root_unseen(EV_SPAWN);
	if (frame > mine.beyond)
		mine.beyond = frame;
}

/* Nothing of ours is between: neither a task that runs in the root nor one that it runs in. */
static bool is_on_top(const struct root *r)
{
	uint64_t run = r->is_running ? r->run.run : r->run.outer;
	struct core_current now;

	if (core_root_is_forgotten(&r->run))
		return !core_get_current(&now);
	if (r->is_running && !run)
		return false;
	return core_get_current(&now) ? core_is_same_run(now.run, run) : !run;
}

/* ---- begin and end ---- */

static uint16_t type_of(uint16_t type, const struct redirect *how)
{
	return type == EVENT_TYPE_NONE ? how->type : type;
}

static void begin(uint64_t seed, const uint64_t *frame, const struct redirect *how)
{
	uint64_t key = (uint64_t)(frame + 2);
	struct root *r;

	/* who builds a runtime asks for a seed as well, and has the generator on the stack */
	if (!core_page.threads || mine.nr_builds || stack_holds((uint64_t)frame, seed))
		return;
	/* the end of one whose frame is gone was not seen */
	while ((r = innermost()) && r->frame <= key)
		finish(r);
	if (mine.nr == MAX_NESTED) {
		go_beyond(key);
		return;
	}
	r = add_root(key);
	r->seed = seed;
	r->type = type_of(root_future_type(frame, mine.nr > 1 ? r[-1].frame : UINT64_MAX), how);
	if (seed_off) {
		r->handle = seed - seed_off;
		wait_for(r, r->handle);
	}
	core_root_begin(&r->run, key, r->type, stack_take(frame), seed);
}

/*
 * A guard lies in the frame that entered the runtime, or above. One that lies below is of somebody
 * who entered another meanwhile, one that lies elsewhere was kept by Handle::enter's caller. So may
 * be one that lies above, in the root future itself: but that is dropped by its poll, from further
 * down the stack than the runtime was entered.
 */
static bool leaves(uint64_t entered, uint64_t guard, const uint64_t *frame,
		   const struct redirect *how)
{
	return guard >= entered && !(how->flag_off && (uint64_t)(frame + 2) < entered);
}

static void end(uint64_t guard, const uint64_t *frame, const struct redirect *how)
{
	struct root *r = innermost();

	if (!r || !stack_holds((uint64_t)frame, guard))
		return;
	if (leaves(r->frame, guard, frame, how))
		finish(r);
	else if (leaves(mine.beyond, guard, frame, how))
		mine.beyond = 0;
}

/*
 * Its frame may lie somewhat above the call that we saw it begin with. Then it must be no other
 * root's.
 */
static void find_future(struct root *r, const uint64_t *frame)
{
	root_future_find(&r->future, frame, mine.nr > 1 ? r->frame : UINT64_MAX);
}

/* ---- parking ---- */

/* The root that is about to park, NULL: whoever parks here is none. */
static struct root *parks(uint64_t parker, const uint64_t *frame)
{
	uint64_t here = (uint64_t)(frame + 2);
	struct root *r = innermost();

	/* a runtime without drivers parks by a parker too */
	if (!r || mine.nr_drives || !core_page.threads || !is_on_top(r))
		return NULL;
	/* in its poll it may call what blocks by a parker: from further down the stack */
	if ((r->park_frame && here < r->park_frame) || here < mine.beyond)
		return NULL;
	if (here != r->park_frame)
		find_future(r, frame);
	r->park_frame = here;
	wait_by(r, parker);
	pause_run(r);
	return r;
}

/*
 * The same of the crate parking: nothing is seen of such a root before it waits for the first time,
 * when its first poll is over. It looks for a notification when it is ready, too.
 */
static struct root *parks_itself(uint64_t parker, const uint64_t *frame, const struct redirect *how)
{
	struct root_future found = { 0 };
	struct root *r;

	if (core_page.threads)
		root_future_find(&found, frame, (uint64_t)(frame + 2) + PARKING_BYTES);
	if (!found.frame)
		return NULL;
	while ((r = innermost()) && r->frame < found.frame)
		finish(r);
	if (r && r->frame == found.frame && found.is_done && is_on_top(r))
		finish(r);
	if (found.is_done || !found.addr || (r && r->frame == found.frame && !is_on_top(r)))
		return NULL;
	if (!r || r->frame != found.frame) {
		if (mine.nr == MAX_NESTED) {
			go_beyond(found.frame);
			return NULL;
		}
		r = add_root(found.frame);
		r->type = type_of(found.type, how);
		core_root_begin(&r->run, r->frame, r->type, stack_take(frame), 0);
	}
	r->future = found;
	wait_by(r, parker);
	if (r->is_running)
		pause_run(r);
	return r;
}

/* ---- current_thread ---- */

/* Who drives a runtime knows what it is: no other tells, if it runs no task. */
static void tell_driven(const struct root *r, uint64_t handle, const struct redirect *how)
{
	bool is_local = how->local_off && *(volatile uint64_t *)(handle + how->local_off);

	if (mine.driven == r->seed)
		return;
	mine.driven = r->seed;
	core_root_instance(r->frame, r->type, r->seed,
			   EF_INSTANCE_DRIVEN | (is_local ? EF_INSTANCE_LOCAL : 0));
}

static struct root *drives(uint64_t handle, const uint64_t *frame, const struct redirect *how)
{
	struct root *r = innermost();

	mine.nr_drives++;
	if (!r || !core_page.threads || r->seed - handle >= HANDLE_MAX || !is_on_top(r))
		return NULL;
	if (r->handle != handle) {
		seed_off = r->seed - handle;
		wait_no_more(r, r->handle);
		r->handle = handle;
		wait_for(r, handle);
	}
	if (!r->future.frame)
		find_future(r, frame);
	if (r->is_running)
		pause_run(r);
	tell_driven(r, handle, how);
	return r;
}

static void driven(struct root *r, uint64_t handle, const struct redirect *how, bool was_woken)
{
	if (!mine.nr_drives) /* forked meanwhile */
		return;
	mine.nr_drives--;
	if (!r || r->is_running || !*(volatile uint8_t *)(handle + how->flag_off))
		return;
	if (!was_woken)
		core_root_wake(EVENT_WORD1(r->frame, r->type), EF_WAKE_TRIED);
	start(r);
}

/* ---- the hooks ---- */

typedef unsigned __int128 both; /* what a function may return in two registers */
typedef both (*moved_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

struct call {
	const struct redirect *how;
	uint64_t root; /* its number, 0: the call is none's */
	uint64_t handle;
	bool was_woken;
	both result;
	struct wire_thread *asleep;
};

/* Not inlined: it may run on another thread than `before` did, and must look at that one's. */
static __attribute__((noinline)) void after(struct call *c)
{
	struct root *r = c->root ? find_root(c->root) : NULL;

	if (c->how->kind == WIRE_ROOT_DRIVE)
		driven(r, c->handle, c->how, c->was_woken);
	else if (c->how->kind == WIRE_DRIVER_WAIT)
		core_awake(c->asleep);
	else if (c->how->kind == WIRE_RUNTIME_BUILD)
		mine.nr_builds -= mine.nr_builds > 0;
	else if (r && !r->is_running &&
		 (c->how->kind != WIRE_ROOT_PARKING || (uint8_t)c->result & 1))
		start(r);
}

/* Also when a panic unwinds through. */
#define CALL struct call c __attribute__((cleanup(after)))

static uint64_t number_of(const struct root *r)
{
	return r ? r->number : 0;
}

static __attribute__((noinline)) void before(struct call *c, const uint64_t args[4],
					     const uint64_t *frame)
{
	switch (c->how->kind) {
	case WIRE_ROOT_BEGIN:
		begin(args[0], frame, c->how);
		break;
	case WIRE_ROOT_END:
		end(args[0], frame, c->how);
		break;
	case WIRE_ROOT_PARK:
		c->root = number_of(parks(args[0], frame));
		break;
	case WIRE_ROOT_PARKING:
		c->root = number_of(parks_itself(args[0], frame, c->how));
		break;
	case WIRE_ROOT_UNPARK:
	case WIRE_ROOT_UNPARKING:
		wake(args[0]);
		break;
	case WIRE_ROOT_DRIVE:
		c->handle = args[2];
		c->root = number_of(drives(c->handle, frame, c->how));
		c->was_woken = c->root && *(volatile uint8_t *)(c->handle + c->how->flag_off);
		break;
	case WIRE_RUNTIME_BUILD:
		mine.nr_builds++;
		break;
	case WIRE_DRIVER_WAIT:
		/* seconds and nanoseconds; without a timeout the latter are more than a second's */
		if (args[c->how->flag_off] || (uint32_t)args[c->how->flag_off + 1])
			c->asleep = core_sleep(EF_SLEEP_EPOLL);
		break;
	}
}

#define HOOK(i)                                                                            \
	static both futrace_hook_root_##i(uint64_t a, uint64_t b, uint64_t c_, uint64_t d, \
					  uint64_t e, uint64_t f)                          \
	{                                                                                  \
		CALL = { .how = &redirects[i] };                                           \
                                                                                           \
		before(&c, (uint64_t[]){ a, b, c_, d }, __builtin_frame_address(0));       \
		c.result = ((moved_fn)(void *)c.how->moved)(a, b, c_, d, e, f);            \
		return c.result;                                                           \
	}

HOOK(0)
HOOK(1)
HOOK(2)
HOOK(3)
HOOK(4)
HOOK(5)
HOOK(6)
HOOK(7)
HOOK(8)
HOOK(9)
HOOK(10)
HOOK(11)
HOOK(12)
HOOK(13)
HOOK(14)
HOOK(15)

const void *const root_hooks[WIRE_MAX_REDIRECTS] = {
	futrace_hook_root_0,  futrace_hook_root_1,  futrace_hook_root_2,  futrace_hook_root_3,
	futrace_hook_root_4,  futrace_hook_root_5,  futrace_hook_root_6,  futrace_hook_root_7,
	futrace_hook_root_8,  futrace_hook_root_9,  futrace_hook_root_10, futrace_hook_root_11,
	futrace_hook_root_12, futrace_hook_root_13, futrace_hook_root_14, futrace_hook_root_15,
};

/* ---- wakers of current_thread ---- */

static struct root_waker wakers[4];

#define WAKER(i)                                                                                \
	static void wake_##i(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,        \
			     uint64_t f)                                                        \
	{                                                                                       \
		wake(a);                                                                        \
		wakers[i].wake(a, b, c, d, e, f);                                               \
	}                                                                                       \
	static void wake_by_ref_##i(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, \
				    uint64_t f)                                                 \
	{                                                                                       \
		wake(a);                                                                        \
		wakers[i].wake_by_ref(a, b, c, d, e, f);                                        \
	}

WAKER(0)
WAKER(1)
WAKER(2)
WAKER(3)

static struct root_waker wakers[4] = {
	{ .wake_hook = wake_0, .wake_by_ref_hook = wake_by_ref_0 },
	{ .wake_hook = wake_1, .wake_by_ref_hook = wake_by_ref_1 },
	{ .wake_hook = wake_2, .wake_by_ref_hook = wake_by_ref_2 },
	{ .wake_hook = wake_3, .wake_by_ref_hook = wake_by_ref_3 },
};

struct root_waker *root_waker_take(uint64_t addr)
{
	for (unsigned i = 0; i < sizeof(wakers) / sizeof(*wakers); i++)
		if (!wakers[i].addr) {
			wakers[i].addr = addr;
			return &wakers[i];
		}
	return NULL;
}

bool root_waker_is_hook(uint64_t word)
{
	for (unsigned i = 0; i < sizeof(wakers) / sizeof(*wakers); i++)
		if (word == (uint64_t)wakers[i].wake_hook)
			return true;
	return false;
}

bool roots_is_driving(void)
{
	return mine.nr_drives;
}

bool roots_are_seen(void)
{
	for (unsigned i = 0; i < WIRE_MAX_REDIRECTS; i++)
		if (redirects[i].addr && redirects[i].kind == WIRE_ROOT_DRIVE)
			return true;
	return false;
}

void roots_forget(void)
{
	mine.nr = mine.nr_drives = mine.nr_builds = 0;
	mine.beyond = mine.driven = 0;
}
