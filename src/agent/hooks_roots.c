// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Root futures: what a thread waits for in block_on. Nothing calls their poll that we could stand in
 * front of; but a root is polled from when its thread enters the runtime until it parks, and from
 * when it is unparked until it parks again or leaves. See docs/INTERNALS.md.
 *
 * Words: a *root* is a thread's stay in a runtime, and has a frame. They nest, if seldom. Workers
 * enter their runtime as well; the reader knows them by the run around theirs.
 */
#include "agent/redirect.h"

#define MAX_NESTED 4
#define NR_PARKED  256 /* a power of two */
#define NR_TRIES   8
#define HANDLE_MAX 4096 /* bytes of a scheduler's handle, at most */

struct root {
	uint64_t frame;	     /* of the call that began it; its key */
	uint64_t park_frame; /* of the call that parks it, 0: not parked yet */
	uint64_t seed;	     /* somewhere in the handle of its runtime */
	uint16_t type;
	bool is_running;
	struct core_run run;
};

/* Of each thread. Initial-exec, as my_slot in hooks.c. */
static __thread struct {
	struct root roots[MAX_NESTED];
	unsigned nr, nr_drives;
} mine __attribute__((tls_model("initial-exec")));

/* Which root waits by which parker: written by its own thread, read by who unparks it. */
static struct parked {
	uint64_t parker, key;
} parked[NR_PARKED];

static struct root *innermost(void)
{
	return mine.nr ? &mine.roots[mine.nr - 1] : NULL;
}

static void start(struct root *r)
{
	core_root_start(&r->run, r->frame, r->type);
	r->is_running = true;
}

static void pause_run(struct root *r)
{
	core_root_end(&r->run, 0);
	r->is_running = false;
}

static void finish(struct root *r)
{
	/* it ends by being polled, seen or not */
	if (!r->is_running)
		start(r);
	core_root_end(&r->run, EF_END_COMPLETE | EF_END_WANTED);
	mine.nr--;
}

/* Nothing of ours is between: neither a task that runs in the root nor one that it runs in. */
static bool is_on_top(const struct root *r)
{
	return core_current_run() == (r->is_running ? &r->run : r->run.outer);
}

/* ---- begin and end ---- */

static void begin(uint64_t seed, const uint64_t *frame, const struct redirect *how)
{
	uint64_t key = (uint64_t)(frame + 2);
	struct root *r;

	/* who builds a runtime asks for a seed as well, and has the generator on the stack */
	if (!core_page.threads || stack_holds((uint64_t)frame, seed))
		return;
	/* the end of one whose frame is gone was not seen */
	while ((r = innermost()) && r->frame <= key)
		finish(r);
	if (mine.nr == MAX_NESTED)
		return;
	r = &mine.roots[mine.nr++];
	*r = (struct root){ .frame = key, .seed = seed, .type = how->type, .is_running = true };
	core_root_begin(&r->run, key, how->type, stack_take(frame));
}

/*
 * A guard lies in the frame that entered the runtime, or above. One that lies below is of somebody
 * who entered another meanwhile.
 */
static void end(uint64_t guard, const uint64_t *frame)
{
	struct root *r = innermost();

	if (!r || (stack_holds((uint64_t)frame, guard) && guard < r->frame))
		return;
	finish(r);
}

/* ---- parking ---- */

static struct parked *find_parked(uint64_t parker, bool make)
{
	uint64_t i = parker * UINT64_C(0x9e3779b97f4a7c15) >> 56;

	for (unsigned tries = 0; tries < NR_TRIES; tries++, i++) {
		struct parked *p = &parked[i % NR_PARKED];
		uint64_t have = __atomic_load_n(&p->parker, __ATOMIC_ACQUIRE);

		if (have == parker)
			return p;
		if (make && !have &&
		    __atomic_compare_exchange_n(&p->parker, &have, parker, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return p;
	}
	return NULL;
}

/* Its own thread alone changes the entry of a parker, which lives as long as the thread. */
static void note_parker(uint64_t parker, uint64_t key)
{
	struct parked *p = find_parked(parker, true);

	if (p && p->key != key)
		__atomic_store_n(&p->key, key, __ATOMIC_RELAXED);
}

/* The root that is about to park, NULL: whoever parks here is none. */
static struct root *parks(uint64_t parker, const uint64_t *frame)
{
	uint64_t here = (uint64_t)(frame + 2);
	struct root *r = innermost();

	/* a runtime without drivers parks by a parker too */
	if (!r || mine.nr_drives || !core_page.threads || !is_on_top(r))
		return NULL;
	/* in its poll it may call what blocks by a parker: from further down the stack */
	if (r->park_frame && here < r->park_frame)
		return NULL;
	r->park_frame = here;
	note_parker(parker, r->frame);
	pause_run(r);
	return r;
}

static void unparks(uint64_t parker, const struct redirect *how)
{
	struct parked *p = core_page.threads ? find_parked(parker, false) : NULL;
	uint64_t key = p ? __atomic_load_n(&p->key, __ATOMIC_RELAXED) : 0;

	if (key)
		core_root_wake(key, how->type, EF_WAKE_TRIED);
}

/* ---- current_thread ---- */

static struct root *drives(uint64_t handle)
{
	struct root *r = innermost();

	mine.nr_drives++;
	if (!r || !core_page.threads || r->seed - handle >= HANDLE_MAX || !is_on_top(r))
		return NULL;
	if (r->is_running)
		pause_run(r);
	return r;
}

static void driven(struct root *r, uint64_t handle, const struct redirect *how, bool was_woken)
{
	mine.nr_drives--;
	if (!r || !*(volatile uint8_t *)(handle + how->flag_off))
		return;
	if (!was_woken)
		core_root_wake(r->frame, r->type, EF_WAKE_TRIED);
	start(r);
}

/* ---- the hooks ---- */

typedef unsigned __int128 both; /* what a function may return in two registers */
typedef both (*moved_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

struct call {
	const struct redirect *how;
	struct root *root;
	uint64_t handle;
	bool was_woken;
};

static void after(struct call *c)
{
	if (c->how->kind == WIRE_ROOT_DRIVE)
		driven(c->root, c->handle, c->how, c->was_woken);
	else if (c->root)
		start(c->root);
}

/* Also when a panic unwinds through. */
#define CALL struct call c __attribute__((cleanup(after)))

static inline __attribute__((always_inline)) void before(struct call *c, uint64_t a, uint64_t handle,
							 const uint64_t *frame)
{
	switch (c->how->kind) {
	case WIRE_ROOT_BEGIN:
		begin(a, frame, c->how);
		break;
	case WIRE_ROOT_END:
		end(a, frame);
		break;
	case WIRE_ROOT_PARK:
		c->root = parks(a, frame);
		break;
	case WIRE_ROOT_UNPARK:
		unparks(a, c->how);
		break;
	case WIRE_ROOT_DRIVE:
		c->handle = handle;
		c->root = drives(handle);
		c->was_woken = c->root && *(volatile uint8_t *)(handle + c->how->flag_off);
		break;
	}
}

#define HOOK(i)                                                                         \
	static both futrace_hook_root_##i(uint64_t a, uint64_t b, uint64_t c_, uint64_t d, \
					  uint64_t e, uint64_t f)                       \
	{                                                                               \
		CALL = { .how = &redirects[i] };                                        \
                                                                                        \
		before(&c, a, c_, __builtin_frame_address(0));                          \
		return ((moved_fn)(void *)c.how->moved)(a, b, c_, d, e, f);                     \
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
	futrace_hook_root_0,  futrace_hook_root_1,	futrace_hook_root_2,  futrace_hook_root_3,
	futrace_hook_root_4,  futrace_hook_root_5,	futrace_hook_root_6,  futrace_hook_root_7,
	futrace_hook_root_8,  futrace_hook_root_9,	futrace_hook_root_10, futrace_hook_root_11,
	futrace_hook_root_12, futrace_hook_root_13, futrace_hook_root_14, futrace_hook_root_15,
};

void roots_forget(void)
{
	mine.nr = mine.nr_drives = 0;
}
