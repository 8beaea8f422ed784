// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The dialogue about loaded objects: tell the tool which there are, wait for its answer, hook the
 * tables that it names. At the start, after dlopen, and again in a forked child.
 *
 * dlopen is entered by a jump (dl.S), so nobody tells us when it is done; and an object is in the
 * loader's list before it is relocated, when its tables must not be touched. So we look when
 * somebody resolves a symbol: dlsym waits for the loader's lock anyhow, which dlopen holds to its
 * end, and whoever calls into a library has asked for its address first. dlclose does not care who
 * calls it: we do.
 */
#include "agent/agent.h"
#include "agent/path.h"
#include "agent/hooks_futures.h"
#include "agent/redirect.h"
#include "agent/root_future.h"
#include "arch/syscall.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define MAX_TRIES 10			       /* to catch a moment when no dlopen is under way */
#define SILENT_NS (4 * (uint64_t)WIRE_BEAT_NS) /* no wait for a heartbeat is longer */

/* What entry i of the region's objects is. Complete in itself: in a forked child the loader must
 * not be asked (its lock may be held by a thread that the child does not have), and objects may be
 * gone. */
static struct known_object {
	struct patch_object object;
	uint64_t end;		 /* of its memory */
	struct wire_object told; /* as it was announced */
	const uint64_t *hooked;	 /* a slot that holds our hook, NULL: none */
	bool is_used, is_seen;
	bool may_go; /* it was loaded later */
} known[WIRE_MAX_OBJECTS];
static uint32_t nr_known, nr_announced, nr_hooked;

static struct wire_lobby *lobby;
static uint32_t lock;
static uint64_t nr_begun, nr_looked; /* dlopens: all, and those whose objects we have seen */
static uint32_t nr_closing;	     /* dlcloses under way */
static bool must_show;		     /* show_loaded has something to do */

/* The program's own syscall() is interposed; ours must not be seen. */
long agent_syscall(long nr, long a, long b, long c, long d)
{
	return arch_syscall(nr, a, b, c, d);
}

uint64_t agent_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void ring_doorbell(void)
{
	__atomic_fetch_add(&lobby->doorbell, 1, __ATOMIC_RELEASE);
	agent_syscall(SYS_futex, (long)&lobby->doorbell, FUTEX_WAKE, 1, 0);
}

/* A wait for answers: how long it may take, and for how long the heartbeat has been the same. */
struct patience {
	uint64_t until_ns, seen_ns, silent_ns;
	uint64_t beat;
};

static struct patience patience_new(void)
{
	uint64_t now = agent_monotonic_ns();

	return (struct patience){ .until_ns = now + (uint64_t)lobby->wait_ms * 1000000,
				  .seen_ns = now,
				  .beat = __atomic_load_n(&lobby->heartbeat, __ATOMIC_RELAXED) };
}

/*
 * Is the tool stuck? Counted is time in which this thread has watched the heartbeat: a machine that
 * did not run this thread may not have run the tool either. Once is enough for all processes:
 * none waits for the same heartbeat again.
 */
static bool is_tool_silent(struct patience *p, uint64_t now)
{
	uint64_t beat = __atomic_load_n(&lobby->heartbeat, __ATOMIC_RELAXED);
	uint64_t gone = now - p->seen_ns;

	if (beat != p->beat)
		p->silent_ns = 0;
	else
		p->silent_ns += gone < WIRE_BEAT_NS ? gone : WIRE_BEAT_NS;
	p->beat = beat;
	p->seen_ns = now;
	if (p->silent_ns >= SILENT_NS)
		__atomic_store_n(&lobby->silent_beat, beat, __ATOMIC_RELAXED);
	return __atomic_load_n(&lobby->silent_beat, __ATOMIC_RELAXED) == beat;
}

/* Waits for the tool's answer; why there is none, as an enum wire_note. */
static uint32_t wait_for_answer(struct wire_object *o, struct patience *p)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	while (__atomic_load_n(&o->state, __ATOMIC_ACQUIRE) == WIRE_OBJECT_ANNOUNCED) {
		uint64_t now = agent_monotonic_ns();

		if (core_is_tool_gone(lobby) || is_tool_silent(p, now))
			return WIRE_NOTE_SILENT;
		if (now > p->until_ns)
			return WIRE_NOTE_NO_ANSWER;
		agent_syscall(SYS_futex, (long)&o->state, FUTEX_WAIT, WIRE_OBJECT_ANNOUNCED,
			      (long)&pause);
	}
	return WIRE_NOTE_NONE;
}

/* ---- what the loader tells ---- */

static void copy_build_id(struct wire_object *o, const struct patch_object *object)
{
	for (unsigned i = 0; i < object->nr_phdrs; i++) {
		const ElfW(Phdr) *ph = &object->phdrs[i];
		const char *at = (const char *)(object->base + ph->p_vaddr);
		const char *end = at + ph->p_memsz;

		while (ph->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *n = (const void *)at;
			const char *desc = at + sizeof(*n) + ((n->n_namesz + 3) & ~3u);

			if (desc + n->n_descsz > end)
				break;
			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    memcmp(n + 1, "GNU", 4) == 0 && n->n_descsz <= WIRE_BUILD_ID) {
				o->build_id_len = n->n_descsz;
				memcpy(o->build_id, desc, n->n_descsz);
				return;
			}
			at = desc + ((n->n_descsz + 3) & ~3u);
		}
	}
}

static void copy_path(char to[WIRE_PATH_MAX], const char *path)
{
	size_t len = path ? strnlen(path, WIRE_PATH_MAX - 1) : 0;

	memcpy(to, path, len);
	to[len] = '\0';
}

/* The vdso has no file, the agent no runtime. */
static bool is_ours_or_kernels(const struct dl_phdr_info *info)
{
	uint64_t me = (uint64_t)&core_page;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && me >= from && me < from + ph->p_memsz)
			return true;
	}
	return info->dlpi_name && strncmp(info->dlpi_name, "linux-", 6) == 0;
}

/* The one that we know, and not another that was loaded to its place: then its tables are its own
 * again. */
static bool is_same_object(const struct known_object *k, const struct dl_phdr_info *info)
{
	return k->is_used && k->object.base == info->dlpi_addr &&
	       k->object.phdrs == info->dlpi_phdr &&
	       strncmp(k->told.path, info->dlpi_name ? info->dlpi_name : "", WIRE_PATH_MAX - 1) ==
		       0 &&
	       (!k->hooked || patch_is_run_hook(*k->hooked));
}

static void announce(uint32_t i)
{
	struct wire_region *r = core_page.region;
	struct wire_object *o = &r->objects[i];

	*o = known[i].told;
	__atomic_store_n(&o->state, WIRE_OBJECT_ANNOUNCED, __ATOMIC_RELEASE);
	if (i >= r->nr_objects)
		__atomic_store_n(&r->nr_objects, i + 1, __ATOMIC_RELEASE);
	nr_announced++;
}

static uint64_t end_of(const struct patch_object *o)
{
	uint64_t end = o->base;

	for (unsigned i = 0; i < o->nr_phdrs; i++) {
		const ElfW(Phdr) *ph = &o->phdrs[i];

		if (ph->p_type == PT_LOAD && o->base + ph->p_vaddr + ph->p_memsz > end)
			end = o->base + ph->p_vaddr + ph->p_memsz;
	}
	return end;
}

/*
 * Where the object is known, or may be: its place, that of one that is gone, or a new one. Stacks
 * that were taken tell of hooked objects by their places, which are theirs for good.
 */
static uint32_t find_place(const struct dl_phdr_info *info)
{
	uint32_t free = nr_known;

	for (uint32_t i = nr_known; i-- > 0;) {
		if (is_same_object(&known[i], info))
			return i;
		if (!known[i].is_used && !known[i].hooked)
			free = i;
	}
	return free;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct known_object *k;
	uint32_t place;

	if (is_ours_or_kernels(info))
		return 0;
	place = find_place(info);
	if (place >= WIRE_MAX_OBJECTS) {
		core_page.region->note = WIRE_NOTE_OBJECTS;
		return 0;
	}
	k = &known[place];
	if (place < nr_known && k->is_used) {
		k->is_seen = true;
		return 0;
	}
	memset(k, 0, sizeof(*k));
	k->object = (struct patch_object){ info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum };
	k->end = end_of(&k->object);
	k->told.base = info->dlpi_addr;
	copy_path(k->told.path, info->dlpi_name);
	copy_build_id(&k->told, &k->object);
	k->is_used = k->is_seen = true;
	k->may_go = nr_begun > 0; /* what the program began with stays */
	if (!k->may_go)
		stack_add_object(place, &k->object);
	nr_known += place == nr_known;
	announce(place);
	return 0;
}

/*
 * Objects of other link namespaces (dlmopen, auditors): nothing that the agent stands in front of
 * is called there, not even by threads that a second C library made. So they are not hooked; but
 * the tool shall know whether something was missed. Lists as of glibc 2.35; before, they are not
 * known. The caller holds the lock of the loader's lists.
 */
struct namespace
{
	struct r_debug debug;
	struct namespace *next;
};

static bool is_known(uint64_t base)
{
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].is_used && known[i].object.base == base && !known[i].told.is_apart)
			return true;
	return false;
}

static void note_apart(const struct link_map *m)
{
	struct dl_phdr_info info = { .dlpi_addr = m->l_addr, .dlpi_name = m->l_name };
	struct known_object *k;
	uint32_t place;

	if (!*m->l_name || is_known(m->l_addr)) /* the loader itself is in all of them */
		return;
	place = find_place(&info);
	if (place >= WIRE_MAX_OBJECTS)
		return;
	k = &known[place];
	if (place < nr_known && k->is_used) {
		k->is_seen = true;
		return;
	}
	memset(k, 0, sizeof(*k));
	k->object.base = k->end = k->told.base = m->l_addr;
	copy_path(k->told.path, m->l_name);
	k->told.is_apart = 1;
	k->is_used = k->is_seen = k->may_go = true;
	nr_known += place == nr_known;
	announce(place);
}

static int note_namespaces(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct namespace *first = (const void *)&_r_debug;

	__asm__("" : "+r"(first)); /* it is larger than the compiler is told */
	for (const struct namespace *n = first->debug.r_version >= 2 ? first->next : NULL; n;
	     n = n->next)
		for (const struct link_map *m = n->debug.r_map; m; m = m->l_next)
			note_apart(m);
	return 1; /* once */
}

/* Another object may come to the address of one that was unloaded. */
static void forget_unloaded(void)
{
	for (uint32_t i = 0; i < nr_known; i++) {
		if (known[i].is_used && !known[i].is_seen && known[i].hooked) {
			stack_forget_object(i);
			path_forget(core_page.region, known[i].object.base, known[i].end);
		}
		known[i].is_used &= known[i].is_seen;
		known[i].is_seen = false;
	}
}

/* ---- what may be walked ---- */

/*
 * The stack walk reads the tables of objects that may go. None of those is known to it while a
 * dlclose is under way; afterwards whatever is still in the loader's list is shown again. The list
 * is locked here, and dlclose takes its lock before it unmaps anything: so if one begins now,
 * either it takes from the walk what we give (objects_dlclose_begins), or we see it and do.
 */
static int show_object(struct dl_phdr_info *info, size_t size, void *data)
{
	uint32_t i = find_place(info);

	if (i >= nr_known || !known[i].is_used || !known[i].hooked || stack_has_object(i))
		return 0;
	stack_add_object(i, &known[i].object);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&nr_closing, __ATOMIC_SEQ_CST))
		stack_drop_object(i);
	return 0;
}

/* Whoever has our lock does it in the end: to wait for it here, maybe in a destructor, with the
 * loader's lock held, could be for ever. */
static void show_loaded(void)
{
	while (__atomic_load_n(&must_show, __ATOMIC_SEQ_CST) &&
	       !__atomic_exchange_n(&lock, 1, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&must_show, false, __ATOMIC_SEQ_CST);
		dl_iterate_phdr(show_object, NULL);
		__atomic_store_n(&lock, 0, __ATOMIC_SEQ_CST);
	}
}

void objects_dlclose_begins(void)
{
	__atomic_fetch_add(&nr_closing, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < WIRE_MAX_OBJECTS; i++)
		if (__atomic_load_n(&known[i].may_go, __ATOMIC_RELAXED))
			stack_drop_object(i);
}

void objects_dlclose_ends(void)
{
	if (__atomic_sub_fetch(&nr_closing, 1, __ATOMIC_SEQ_CST) == 0 && core_page.region) {
		__atomic_store_n(&must_show, true, __ATOMIC_SEQ_CST);
		show_loaded();
	}
}

/* ---- what the tool answers ---- */

/* What roots need and what spawns need: each all or not at all. */
static uint32_t redirect_each(const struct patch_object *o, const struct wire_redirect *plan,
			      uint32_t nr)
{
	uint32_t nr_roots = 0;

	while (nr_roots < nr && !wire_is_alloc(plan[nr_roots].kind))
		nr_roots++;
	return redirect_all(o, plan, nr_roots) + redirect_all(o, plan + nr_roots, nr - nr_roots);
}

/* After the start other threads may be running the code: then it stays as it is. */
static void redirect_answered(uint32_t i, bool is_again)
{
	struct wire_region *r = core_page.region;
	struct wire_object *o = &r->objects[i];
	const struct wire_redirect *plan = r->redirects + o->first_redirect;

	root_futures_add(r, is_again);
	o->nr_redirected = 0;
	if (o->first_redirect > WIRE_MAX_REDIRECTS ||
	    o->nr_redirects > WIRE_MAX_REDIRECTS - o->first_redirect)
		return;
	if (is_again)
		o->nr_redirected = redirect_again(known[i].told.base, plan, o->nr_redirects);
	else if (!nr_begun)
		o->nr_redirected = redirect_each(&known[i].object, plan, o->nr_redirects);
}

/* The same of inner futures that have a function of their own; tables of others are hooked as all
 * are. */
static void redirect_futures_answered(uint32_t i, bool is_again)
{
	struct wire_region *r = core_page.region;
	struct wire_object *o = &r->objects[i];
	uint32_t first = o->first_future, nr = o->nr_futures;

	o->nr_futures_redirected = 0;
	if (first > WIRE_MAX_FUTURES || nr > WIRE_MAX_FUTURES - first)
		return;
	if (is_again)
		o->nr_futures_redirected =
			future_set_again(known[i].told.base, r->futures + first, nr);
	else if (!nr_begun)
		o->nr_futures_redirected =
			redirect_futures(&known[i].object, r->futures + first, nr, first);
}

static void hook_answered(uint32_t i, bool is_again)
{
	struct wire_region *r = core_page.region;
	struct wire_object *o = &r->objects[i];
	struct patch_result result = { 0 };

	if (o->state != WIRE_OBJECT_ANSWERED)
		return;
	if (known[i].told.is_apart) {
		__atomic_store_n(&o->state, WIRE_OBJECT_DONE, __ATOMIC_RELEASE);
		return;
	}
	if (o->first_table <= WIRE_MAX_TABLES && o->nr_tables <= WIRE_MAX_TABLES - o->first_table) {
		const struct wire_table *tables = r->tables + o->first_table;

		if (is_again)
			patch_tables_again(known[i].told.base, tables, o->nr_tables, &result);
		else
			patch_tables(&known[i].object, tables, o->nr_tables, &result);
	}
	redirect_answered(i, is_again);
	redirect_futures_answered(i, is_again);
	o->nr_hooked = result.nr_hooked;
	o->nr_refused = result.nr_refused;
	if (result.hooked)
		known[i].hooked = result.hooked;
	if (result.note)
		r->note = result.note;
	__atomic_store_n(&o->state, WIRE_OBJECT_DONE, __ATOMIC_RELEASE);
	/* a program without tasks may have roots */
	nr_hooked += o->nr_tables ? result.nr_hooked : o->nr_redirected;
}

/* Tables were hooked: from here on events count, unless recording was switched off already. */
static void go_live(struct wire_region *r)
{
	if (core_page.threads || core_page.is_stopped)
		return;
	if (!lobby->only_probes)
		__atomic_store_n(&core_page.threads, r->threads, __ATOMIC_RELEASE);
	if (!lobby->only_probes && core_page.clock == WIRE_CLOCK_TSC)
		__atomic_store_n(&core_page.fast_threads, r->threads, __ATOMIC_RELEASE);
	__atomic_store_n(&r->state, WIRE_REGION_LIVE, __ATOMIC_RELEASE);
}

/* Waits for the answers to all that was announced, and hooks what they say. */
static void finish(bool is_again)
{
	struct wire_region *r = core_page.region;
	struct patience patience = patience_new();

	if (!nr_announced)
		return;
	nr_announced = nr_hooked = 0;
	ring_doorbell();
	for (uint32_t i = 0; i < nr_known; i++) {
		uint32_t why = known[i].is_used ? wait_for_answer(&r->objects[i], &patience)
						: WIRE_NOTE_NONE;

		if (why) {
			r->note = why;
			return;
		}
	}
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].is_used)
			hook_answered(i, is_again);
	if (nr_hooked && !is_again)
		dl_iterate_phdr(show_object, NULL);
	if (nr_hooked)
		go_live(r);
}

/*
 * Returns when every dlopen that other threads were in is done; how many had begun. Not with our
 * lock held: a constructor that dlopen runs may resolve symbols, and would wait for that.
 */
static uint64_t wait_for_loader(void)
{
	uint64_t begun = __atomic_load_n(&nr_begun, __ATOMIC_ACQUIRE);
	void *self = begun && agent_real_dlopen ? ((void *(*)(const char *, int))agent_real_dlopen)(
							  NULL, RTLD_LAZY | RTLD_NOLOAD)
						: NULL;

	if (self)
		agent_real_dlclose(self);
	return begun;
}

/* All objects of the dlopens that are done. False: others have begun, some may be half loaded. */
static bool note_all(uint64_t begun)
{
	dl_iterate_phdr(note_object, NULL);
	dl_iterate_phdr(note_namespaces, NULL);
	forget_unloaded();
	if (__atomic_load_n(&nr_begun, __ATOMIC_ACQUIRE) != begun)
		return false;
	__atomic_store_n(&nr_looked, begun, __ATOMIC_RELAXED);
	return true;
}

void objects_announce(struct wire_lobby *l)
{
	lobby = l;
	for (int i = 0; i < MAX_TRIES; i++)
		if (note_all(wait_for_loader())) {
			finish(false);
			return;
		}
}

void objects_announce_again(struct wire_lobby *l)
{
	lobby = l;
	lock = 0;
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].is_used)
			announce(i);
	finish(true);
}

void objects_dlopen_begins(void)
{
	__atomic_fetch_add(&nr_begun, 1, __ATOMIC_RELEASE);
}

static bool is_heard(void)
{
	struct wire_region *r = core_page.region;

	return r && r->state != WIRE_REGION_STOP && !core_is_tool_gone(lobby);
}

/* False: there is nobody to look for. */
static bool take_lock(void)
{
	struct timespec pause = { .tv_nsec = 50000 };

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
		if (!is_heard())
			return false;
		agent_syscall(SYS_nanosleep, (long)&pause, 0, 0, 0);
	}
	return true;
}

static bool has_looked(void)
{
	return __atomic_load_n(&nr_begun, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&nr_looked, __ATOMIC_RELAXED);
}

/* Whoever resolves a symbol is about to call into what was loaded: not before it is hooked. */
void objects_look(void)
{
	for (int i = 0; __builtin_expect(!has_looked(), 0) && i < MAX_TRIES && is_heard(); i++) {
		uint64_t begun = wait_for_loader();

		if (!take_lock())
			return;
		if (!has_looked() && is_heard() && note_all(begun))
			finish(false);
		__atomic_store_n(&lock, 0, __ATOMIC_SEQ_CST);
		show_loaded();
	}
}
