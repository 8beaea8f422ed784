// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * On which stack is a task spawned? The walk goes from our own function, which the allocation of
 * the task called, up to the hook around the run that spawned it, or to the thread's first frame.
 * It reads the stack and the program's own unwind tables, calls nothing and writes nothing but two
 * caches: what cfi.c said of a return address, and the stacks that were met before, which lie in
 * the region for the tool to read. So it may be done anywhere: in a signal handler, in a
 * destructor, during a panic.
 */
#include "agent/agent.h"

#define NR_CACHED 4096 /* a power of two */
#define NR_TRIES  16
#define MAX_STACK (UINT64_C(1) << 30)

/*
 * A cached rule is one word, so that it is read and written whole:
 *	0 is it there | 1 known | 2 by rbp | 3-18 cfa_off / 8 | 19-28 rbp_below / 8 | 29-63 page
 * The lower 12 bits of the address follow from the page and the place in the cache.
 */
#define ENTRY_THERE 1
#define ENTRY_KNOWN 2
#define ENTRY_RBP   4
#define CFA_SHIFT   3
#define CFA_BITS    16
#define RBP_SHIFT   19
#define RBP_BITS    10
#define TAG_SHIFT   29
#define BITS(n)	    ((UINT64_C(1) << (n)) - 1)

/* Our own image, as the linker knows it. */
extern const char __ehdr_start[] HIDDEN, etext[] HIDDEN;

static uint64_t cache[NR_CACHED];
static struct cfi_object objects[WIRE_MAX_OBJECTS];
static uint32_t nr_objects;
static uint64_t nr_forgotten; /* objects whose addresses may mean others now */
static uint64_t main_top;
uint64_t stack_through;

void stack_init(const void *above_main)
{
	main_top = (uint64_t)above_main;
}

void stack_add_object(uint32_t index, const struct patch_object *o)
{
	struct cfi_object *c = &objects[index];
	uint64_t from = UINT64_MAX, to = 0;

	__atomic_store_n(&c->to, 0, __ATOMIC_RELAXED);
	c->base = o->base;
	c->header = NULL;
	c->text_from = UINT64_MAX;
	c->text_to = 0;
	for (unsigned i = 0; i < o->nr_phdrs; i++) {
		const ElfW(Phdr) *ph = &o->phdrs[i];
		uint64_t start = o->base + ph->p_vaddr, end = start + ph->p_memsz;

		if (ph->p_type == PT_GNU_EH_FRAME)
			c->header = (const uint8_t *)start;
		if (ph->p_type != PT_LOAD)
			continue;
		from = start < from ? start : from;
		to = end > to ? end : to;
		if ((ph->p_flags & (PF_R | PF_X)) == (PF_R | PF_X)) {
			c->text_from = start < c->text_from ? start : c->text_from;
			c->text_to = end > c->text_to ? end : c->text_to;
		}
	}
	c->from = from;
	if (index >= nr_objects)
		__atomic_store_n(&nr_objects, index + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&c->to, c->header ? to : 0, __ATOMIC_RELEASE);
}

/* What was cached of its addresses is no longer true. */
void stack_drop_object(uint32_t index)
{
	if (!objects[index].to)
		return;
	__atomic_store_n(&objects[index].to, 0, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < NR_CACHED; i++)
		__atomic_store_n(&cache[i], 0, __ATOMIC_RELAXED);
}

void stack_forget_object(uint32_t index)
{
	stack_drop_object(index);
	__atomic_fetch_add(&nr_forgotten, 1, __ATOMIC_RELEASE);
}

bool stack_has_object(uint32_t index)
{
	return objects[index].to != 0;
}

bool stack_is_object(uint64_t addr)
{
	uint32_t nr = __atomic_load_n(&nr_objects, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr; i++)
		if (addr < __atomic_load_n(&objects[i].to, __ATOMIC_ACQUIRE) &&
		    addr >= objects[i].from)
			return true;
	return false;
}

static const struct cfi_object *find_object(uint64_t pc)
{
	uint32_t nr = __atomic_load_n(&nr_objects, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr; i++) {
		const struct cfi_object *o = &objects[i];

		if (__atomic_load_n(&o->to, __ATOMIC_ACQUIRE) && pc >= o->text_from &&
		    pc < o->text_to)
			return o;
	}
	return NULL;
}

/*
 * Stacks that a program made itself begin with a return address that no call put there, often of an
 * ordinary function, whose tables would lead beyond the stack. call: E8 and a distance; FF /2.
 */
static bool follows_call(const struct cfi_object *o, uint64_t pc)
{
	enum { LONGEST = 7 };
	const uint8_t *at = (const uint8_t *)pc;

	if (pc - o->text_from < LONGEST)
		return false;
	if (at[-5] == 0xe8)
		return true;
	for (int len = 2; len <= LONGEST; len++)
		if (at[-len] == 0xff && (at[1 - len] & 0x38) == 0x10)
			return true;
	return false;
}

/* pc is a return address. 0: it lies in no object that we know. */
static __attribute__((noinline, cold)) uint64_t look_up(uint64_t pc, uint64_t *cached)
{
	const struct cfi_object *o = find_object(pc - 1);
	uint64_t entry = ENTRY_THERE | pc >> 12 << TAG_SHIFT;
	struct cfi_rule rule;

	if (!o && !(pc >= (uint64_t)__ehdr_start && pc < (uint64_t)etext))
		return 0; /* unknown today, but it may be loaded later */
	if (pc == stack_through)
		rule = (struct cfi_rule){ true, true, 16, 16 };
	else
		rule = o && follows_call(o, pc) ? cfi_find(o, pc - 1) : (struct cfi_rule){ 0 };
	if (rule.is_known && rule.cfa_off / 8 <= BITS(CFA_BITS) &&
	    rule.rbp_below / 8 <= BITS(RBP_BITS))
		entry |= ENTRY_KNOWN | (rule.by_rbp ? ENTRY_RBP : 0) |
			 (uint64_t)rule.cfa_off / 8 << CFA_SHIFT |
			 (uint64_t)rule.rbp_below / 8 << RBP_SHIFT;
	__atomic_store_n(cached, entry, __ATOMIC_RELAXED);
	return entry;
}

static inline uint64_t rule_of(uint64_t pc)
{
	uint64_t *cached = &cache[(pc ^ pc >> 12) % NR_CACHED];
	uint64_t entry = __atomic_load_n(cached, __ATOMIC_RELAXED);

	if (__builtin_expect(entry >> TAG_SHIFT == pc >> 12 && entry & ENTRY_THERE, 1))
		return entry;
	return look_up(pc, cached);
}

/*
 * Where the stack that sp points into may end at most. The tables lead nowhere else, unless
 * somebody wrote them by hand and wrongly; this is for then. glibc puts a thread's control block
 * above its stack. 0: a stack of an unknown kind.
 */
static uint64_t end_of_stack(uint64_t sp)
{
	struct core_current run;
	uint64_t tp = arch_thread_pointer();

	/* the frame of a root is the one that is looked for */
	if (core_get_current(&run) && !run.is_root && run.frame > sp && run.frame - sp < MAX_STACK)
		return run.frame;
	if (tp > sp && tp - sp < MAX_STACK)
		return tp;
	return main_top > sp && main_top - sp < MAX_STACK ? main_top : 0;
}

bool stack_holds(uint64_t sp, uint64_t addr)
{
	return addr > sp && addr < end_of_stack(sp);
}

/* Where the frame's caller is; false: that is not known. The tables' word for its pc is `entry`. */
static inline bool find_end(struct stack_frame *f, uint64_t entry, uint64_t top, uint64_t *below)
{
	f->end = (entry & ENTRY_RBP ? f->rbp : f->sp) + (entry >> CFA_SHIFT & BITS(CFA_BITS)) * 8;
	*below = (entry >> RBP_SHIFT & BITS(RBP_BITS)) * 8;
	return entry & ENTRY_KNOWN && f->end > f->sp && f->end <= top && f->end % 8 == 0 &&
	       *below <= f->end - f->sp;
}

static inline void go_up(struct stack_frame *f, uint64_t below)
{
	f->pc = *(uint64_t *)(f->end - 8);
	if (below)
		f->rbp = *(uint64_t *)(f->end - below);
	f->sp = f->end;
}

static inline struct stack_frame caller_of(const uint64_t *frame)
{
	return (struct stack_frame){ .pc = frame[1], .sp = (uint64_t)(frame + 2), .rbp = frame[0] };
}

/* Return addresses from the caller of `frame` on; returns how many. */
static unsigned walk(const uint64_t *frame, uint64_t *pcs)
{
	struct stack_frame f = caller_of(frame);
	uint64_t top = end_of_stack(f.sp), below;
	unsigned nr = 0;

	while (nr < WIRE_MAX_FRAMES) {
		uint64_t entry = rule_of(f.pc);

		if (!entry)
			break;
		pcs[nr++] = f.pc;
		if (!find_end(&f, entry, top, &below))
			break;
		go_up(&f, below);
	}
	return nr;
}

bool stack_find(const uint64_t *frame, bool (*is_it)(const struct stack_frame *f, void *arg),
		void *arg)
{
	struct stack_frame f = caller_of(frame);
	uint64_t top = end_of_stack(f.sp), below;

	for (unsigned i = 0; i < WIRE_MAX_FRAMES; i++) {
		if (!find_end(&f, rule_of(f.pc), top, &below))
			return false;
		if (is_it(&f, arg))
			return true;
		go_up(&f, below);
	}
	return false;
}

static void publish_stack(struct wire_region *r, uint32_t number, unsigned nr_frames)
{
	r->stacks[number].nr_frames = nr_frames;
	__atomic_fetch_or(&r->stacks_used[number / 64], UINT64_C(1) << number % 64,
			  __ATOMIC_RELEASE);
}

static void write_frames(struct wire_region *r, uint32_t number, const uint64_t *pcs, unsigned nr)
{
	struct wire_stack *s = &r->stacks[number];

	for (unsigned i = 0; i < nr; i++) {
		const struct cfi_object *o = find_object(pcs[i] - 1);
		uint64_t index = o ? o - objects : WIRE_MAX_OBJECTS;

		s->frames[i] = index << WIRE_FRAME_SHIFT |
			       (o ? (pcs[i] - o->base) & BITS(WIRE_FRAME_SHIFT) : 0);
	}
	publish_stack(r, number, nr);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* The place of that hash; is_new: its frames are to be filled in. */
static uint32_t find_stack(struct wire_region *r, uint64_t hash, bool *is_new)
{
	*is_new = false;
	for (unsigned i = 0; i < NR_TRIES; i++) {
		uint32_t number = ((hash >> 8) + i) % WIRE_MAX_STACKS;
		uint64_t *at = &r->stacks[number].hash,
			 have = __atomic_load_n(at, __ATOMIC_RELAXED);

		if (!have && !core_charge_place(r))
			return WIRE_NO_STACK;
		*is_new = !have && __atomic_compare_exchange_n(at, &have, hash, false,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		if (*is_new || have == hash)
			return number;
	}
	return WIRE_NO_STACK;
}

uint32_t stack_take(const uint64_t *frame)
{
	struct wire_region *r = core_page.region;
	uint64_t pcs[WIRE_MAX_FRAMES], hash = __atomic_load_n(&nr_forgotten, __ATOMIC_RELAXED);
	uint32_t number;
	unsigned nr;
	bool is_new;

	if (!r || !core_page.lobby->spawn_stacks)
		return WIRE_NO_STACK;
	nr = walk(frame, pcs);
	if (!nr)
		return WIRE_NO_STACK;
	for (unsigned i = 0; i < nr; i++)
		hash = mix(hash, pcs[i]);
	number = find_stack(r, hash | 1, &is_new);
	if (is_new)
		write_frames(r, number, pcs, nr);
	return number;
}

uint32_t stack_take_place(uint64_t location)
{
	uint32_t nr = __atomic_load_n(&nr_objects, __ATOMIC_ACQUIRE), number;
	struct wire_region *r = core_page.region;
	bool is_new;

	if (!r || !core_page.lobby->spawn_stacks)
		return WIRE_NO_STACK;
	for (uint32_t i = 0; i < nr; i++) {
		const struct cfi_object *o = &objects[i];

		if (location < o->from || location >= __atomic_load_n(&o->to, __ATOMIC_ACQUIRE))
			continue;
		number = find_stack(r, mix(~UINT64_C(0), location) | 1, &is_new);
		if (is_new) {
			r->stacks[number].frames[0] =
				WIRE_FRAME_PLACE | (uint64_t)i << WIRE_FRAME_SHIFT |
				((location - o->base) & BITS(WIRE_FRAME_SHIFT));
			publish_stack(r, number, 1);
		}
		return number;
	}
	return WIRE_NO_STACK;
}
