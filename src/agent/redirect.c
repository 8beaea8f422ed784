// SPDX-License-Identifier: MIT OR Apache-2.0
#include "agent/redirect.h"
#include "agent/hooks_futures.h"
#include "arch/jump.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_MASK (~(uint64_t)(WIRE_PAGE - 1))
#define REACH	  (ARCH_JUMP_REACH / 2)
#define STEP	  (UINT64_C(1) << 20)

/*
 * What lies in our pages for each: a way to the hook, and the instructions that were moved. A
 * guard, if there is one, ends where they begin, and decides.
 */
struct thunk {
	uint8_t jump[ARCH_FAR_JUMP_OFF]; /* to the hook */
	uint64_t hook;
	uint8_t guard[16];
	uint8_t moved[WIRE_MOVED_BYTES + ARCH_JUMP_BYTES + 11];
};
_Static_assert(sizeof(struct thunk) == 64, "thunk");

/*
 * All of a program's memory may come from an allocator's function, so what is not aligned like a
 * task stays here.
 */
#define TO_HOOK ((uint8_t)-offsetof(struct thunk, moved)) /* from the end of the guard */
static const struct guard {
	uint8_t nr_bytes;
	uint8_t bytes[sizeof(((struct thunk *)0)->guard)];
} guards[NR_ALLOC_KINDS] = {
	[ALLOC_INDEX(WIRE_ALLOC_MALLOCX)] = {
		ARCH_GUARD_LOG_BYTES, ARCH_GUARD_LOG(6, TO_HOOK), /* the alignment's logarithm */
	},
	[ALLOC_INDEX(WIRE_ALLOC_ALIGNED)] = {
		ARCH_GUARD_BYTES, ARCH_GUARD(127, TO_HOOK),
	},
};
_Static_assert(TASK_ALIGN == 128, "as in the guards");

struct redirect redirects[WIRE_MAX_REDIRECTS];
static uint32_t nr_used;

static bool is_single_thread(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

/* Does it lie in code that the object has, and is that as planned? */
static bool agrees(const struct patch_object *o, const struct wire_redirect *r)
{
	if (r->nr_bytes < ARCH_JUMP_BYTES || r->nr_bytes > WIRE_MOVED_BYTES ||
	    r->distance_at + sizeof(int32_t) > r->nr_bytes)
		return false;
	for (unsigned i = 0; i < o->nr_phdrs; i++) {
		const ElfW(Phdr) *ph = &o->phdrs[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X && !(ph->p_flags & PF_W) &&
		    r->va >= ph->p_vaddr && r->va + r->nr_bytes <= ph->p_vaddr + ph->p_filesz)
			return memcmp((void *)(o->base + r->va), r->bytes, r->nr_bytes) == 0;
	}
	return false;
}

static uint64_t thunk_bytes(uint32_t nr)
{
	return (nr * sizeof(struct thunk) + WIRE_PAGE - 1) & PAGE_MASK;
}

/* Pages for so many that a near jump from addr reaches. */
static struct thunk *map_near(uint64_t addr, uint32_t nr)
{
	uint64_t bytes = thunk_bytes(nr);

	addr &= PAGE_MASK;
	for (uint64_t off = STEP; off < REACH && off < addr; off += STEP) {
		void *pages = mmap((void *)(addr - off), bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (pages == (void *)(addr - off))
			return pages;
		if (pages != MAP_FAILED) /* a kernel that takes the address for a hint */
			munmap(pages, bytes);
	}
	return NULL;
}

static bool make_code(struct thunk *pages, uint32_t nr)
{
	if (mprotect(pages, thunk_bytes(nr), PROT_READ | PROT_EXEC) == 0)
		return true;
	munmap(pages, thunk_bytes(nr));
	return false;
}

static const struct guard *guard_of(const struct wire_redirect *r)
{
	static const struct guard none;

	return wire_is_alloc(r->kind) ? &guards[ALLOC_INDEX(r->kind)] : &none;
}

/* Where calls of the function are to come in. */
static const uint8_t *entry_of(const struct thunk *t, const struct wire_redirect *r)
{
	const struct guard *g = guard_of(r);

	return g->nr_bytes ? t->moved - g->nr_bytes : t->jump;
}

/* The same data is at another distance from there. If that is too far, the thunk has no hook. */
static void mend_distance(struct thunk *t, const struct wire_redirect *r, uint64_t addr)
{
	int64_t distance;
	int32_t near;

	memcpy(&near, r->bytes + r->distance_at, sizeof(near));
	distance = near + (int64_t)(addr - (uint64_t)t->moved);
	near = distance;
	memcpy(t->moved + r->distance_at, &near, sizeof(near));
	if (near != distance)
		t->hook = 0;
}

static void fill_thunk(struct thunk *t, const struct wire_redirect *r, uint64_t addr,
		       const void *hook)
{
	const struct guard *g = guard_of(r);

	arch_put_far_jump(t->jump);
	t->hook = (uint64_t)hook;
	memcpy(t->guard + sizeof(t->guard) - g->nr_bytes, g->bytes, g->nr_bytes);
	memcpy(t->moved, r->bytes, r->nr_bytes);
	arch_put_jump(t->moved + r->nr_bytes, (uint64_t)t->moved + r->nr_bytes, addr + r->nr_bytes);
	if (r->distance_at)
		mend_distance(t, r, addr);
}

/*
 * As a debugger writes, through the file of our own memory. By mprotect the code would be no code
 * for a moment, and a policy may forbid to make it code again once it was written to (SELinux's
 * execmod): the program would be lost. Here it is written or it is not.
 */
static bool write_code(uint64_t addr, const uint8_t bytes[ARCH_JUMP_BYTES])
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	bool done = fd >= 0 && pwrite(fd, bytes, ARCH_JUMP_BYTES, addr) == ARCH_JUMP_BYTES;

	if (fd >= 0)
		close(fd);
	return done;
}

static bool write_jump(uint64_t addr, const uint8_t *entry)
{
	uint8_t jump[ARCH_JUMP_BYTES];

	arch_put_jump(jump, addr, (uint64_t)entry);
	return write_code(addr, jump);
}

static void take_back(uint64_t base, const struct wire_redirect *plan, uint32_t nr)
{
	for (const struct wire_redirect *r = plan; r < plan + nr; r++)
		write_code(base + r->va, r->bytes);
}

/* There is one hook for each kind of allocator. */
static bool is_taken(const struct wire_redirect *r)
{
	return wire_is_alloc(r->kind) && alloc_moved[ALLOC_INDEX(r->kind)];
}

/* The function's hook, which is told where its instructions were moved to. */
static const void *give_hook(uint32_t slot, uint8_t kind, uint8_t *moved)
{
	if (!wire_is_alloc(kind))
		return root_hooks[slot];
	alloc_moved[ALLOC_INDEX(kind)] = (alloc_fn)moved;
	return alloc_hooks[ALLOC_INDEX(kind)];
}

/* Nothing was redirected, and what was moved is gone: another object may want the same. */
static void take_hooks_back(const struct wire_redirect *plan, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		redirects[nr_used + i] = (struct redirect){ 0 };
		if (wire_is_alloc(plan[i].kind))
			alloc_moved[ALLOC_INDEX(plan[i].kind)] = NULL;
	}
}

uint32_t redirect_all(const struct patch_object *o, const struct wire_redirect *plan, uint32_t nr)
{
	struct thunk *page;

	if (!nr || nr > WIRE_MAX_REDIRECTS - nr_used || !is_single_thread())
		return 0;
	for (const struct wire_redirect *r = plan; r < plan + nr; r++)
		if (is_taken(r) || r->distance_at || !agrees(o, r))
			return 0;
	page = map_near(o->base + plan[0].va, nr);
	if (!page)
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct redirect *to = &redirects[nr_used + i];
		uint64_t addr = o->base + plan[i].va;

		fill_thunk(&page[i], &plan[i], addr,
			   give_hook(nr_used + i, plan[i].kind, page[i].moved));
		*to = (struct redirect){ (hook_fn)page[i].moved, plan[i].flag_off,
					 plan[i].local_off,	 plan[i].type,
					 plan[i].kind,		 addr };
	}
	if (!make_code(page, nr)) {
		take_hooks_back(plan, nr);
		return 0;
	}
	for (uint32_t i = 0; i < nr; i++)
		if (!write_jump(o->base + plan[i].va, entry_of(&page[i], &plan[i]))) {
			take_back(o->base, plan, i + 1);
			return 0;
		}
	nr_used += nr;
	return nr;
}

uint32_t redirect_again(uint64_t base, const struct wire_redirect *plan, uint32_t nr)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < nr && nr <= WIRE_MAX_REDIRECTS; i++)
		for (uint32_t k = 0; k < nr_used; k++)
			if (redirects[k].addr == base + plan[i].va) {
				redirects[k].type = plan[i].type;
				done++;
			}
	return done;
}

uint32_t redirect_futures(const struct patch_object *o, const struct wire_future *plan, uint32_t nr,
			  uint32_t first)
{
	struct thunk *thunks;
	uint32_t done = 0;

	if (!nr || !is_single_thread())
		return 0;
	thunks = map_near(o->base + plan[0].redirect.va, nr);
	if (!thunks)
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		if (agrees(o, &plan[i].redirect))
			fill_thunk(&thunks[i], &plan[i].redirect, o->base + plan[i].redirect.va,
				   future_stub(first + i));
	if (!make_code(thunks, nr))
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct wire_redirect *r = &plan[i].redirect;
		uint64_t addr = o->base + r->va;

		if (r->kind != WIRE_FUTURE || !thunks[i].hook)
			continue;
		future_set(first + i, &plan[i], addr, (uint64_t)thunks[i].moved);
		done += write_jump(addr, entry_of(&thunks[i], r));
	}
	return done;
}
