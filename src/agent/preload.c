// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The way in by LD_PRELOAD: before the program's own constructors run, find the tool's shared
 * memory, take a door, tell which objects are loaded, hook what the tool answers. When anything is
 * amiss the agent stays off and the program runs as if it were not there.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>

static struct wire_lobby *lobby;
static pthread_key_t slot_key;
static bool has_slot_key;
static uint32_t objects_lock;
static uint64_t last_dlopen_ns;

struct env_entry agent_env;
bool agent_follows;
int agent_pid;

/* The program's own syscall() is interposed; ours must not be seen. */
static long raw_syscall(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static uint64_t read_monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- threads ---- */

/* Key destructors run after those of Rust's thread locals: late enough to retire the slot. */
static void thread_gone(void *slot)
{
	core_thread_stop(slot);
	hook_set_slot(NULL);
}

void agent_slot_claimed(struct wire_thread *t)
{
	static __thread bool is_counted __attribute__((tls_model("initial-exec")));

	if (!t && !is_counted) {
		is_counted = true;
		__atomic_fetch_add(&core_page.region->nr_unslotted, 1, __ATOMIC_RELAXED);
	}
	if (!t)
		return;
	hook_set_slot(t);
	/* the first 32 keys of a process need no memory, and ours is made before main */
	if (has_slot_key)
		pthread_setspecific(slot_key, t);
}

/* Where the thread's control block holds its id: it must be found, or slots could be mixed up. */
static uint64_t find_tid_off(void)
{
	uint32_t tid = raw_syscall(SYS_gettid, 0, 0, 0, 0);
	uint64_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	for (uint64_t off = 0; off < 2048; off += 4)
		if (*(uint32_t *)(tp + off) == tid)
			return off;
	return 0;
}

/* ---- the dialogue ---- */

static void ring_doorbell(void)
{
	__atomic_fetch_add(&lobby->doorbell, 1, __ATOMIC_RELEASE);
	raw_syscall(SYS_futex, (long)&lobby->doorbell, FUTEX_WAKE, 1, 0);
}

static bool tool_is_alive(void)
{
	bool is_tsc = core_page.clock == WIRE_CLOCK_TSC;

	return core_is_tool_alive(lobby, is_tsc ? __builtin_ia32_rdtsc() : read_monotonic());
}

/* Waits for the tool's answer, a bounded time and only as long as the tool lives. */
static bool wait_for_answer(struct wire_object *o)
{
	uint64_t until = read_monotonic() + (uint64_t)lobby->wait_ms * 1000000;
	struct timespec pause = { .tv_nsec = 1000000 };

	while (__atomic_load_n(&o->state, __ATOMIC_ACQUIRE) == WIRE_OBJECT_ANNOUNCED) {
		if (read_monotonic() > until || !tool_is_alive())
			return false;
		raw_syscall(SYS_futex, (long)&o->state, FUTEX_WAIT, WIRE_OBJECT_ANNOUNCED,
			    (long)&pause);
	}
	return true;
}

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

/*
 * Which loaded object is entry i of the region's objects. Kept here because a forked child must not
 * ask the loader: its lock may be held by a thread that the child does not have.
 */
static struct known_object {
	struct patch_object object;
	const char *name;
	bool is_used, is_seen;
} known[WIRE_MAX_OBJECTS];
static uint32_t nr_known, nr_announced, nr_hooked;

static bool is_same_object(const struct known_object *k, const struct dl_phdr_info *info)
{
	return k->is_used && k->object.base == info->dlpi_addr &&
	       k->object.phdrs == info->dlpi_phdr && k->name == info->dlpi_name;
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

static void copy_path(char to[WIRE_PATH_MAX], const char *path)
{
	size_t len = path ? strnlen(path, WIRE_PATH_MAX - 1) : 0;

	memcpy(to, path, len);
	to[len] = '\0';
}

static void announce(uint32_t i, const char *name)
{
	struct wire_region *r = core_page.region;
	struct wire_object *o = &r->objects[i];

	memset(o, 0, sizeof(*o));
	o->base = known[i].object.base;
	copy_path(o->path, name);
	copy_build_id(o, &known[i].object);
	__atomic_store_n(&o->state, WIRE_OBJECT_ANNOUNCED, __ATOMIC_RELEASE);
	if (i >= r->nr_objects)
		__atomic_store_n(&r->nr_objects, i + 1, __ATOMIC_RELEASE);
	nr_announced++;
}

/* Keeps what the loader tells of an object, in a place of its own or of one that is gone. */
static int note_object(struct dl_phdr_info *info, size_t size, void *data)
{
	uint32_t i, place = WIRE_MAX_OBJECTS;

	if (is_ours_or_kernels(info))
		return 0;
	for (i = 0; i < nr_known; i++) {
		if (is_same_object(&known[i], info)) {
			known[i].is_seen = true;
			return 0;
		}
		if (!known[i].is_used && place == WIRE_MAX_OBJECTS)
			place = i;
	}
	if (place == WIRE_MAX_OBJECTS)
		place = nr_known;
	if (place >= WIRE_MAX_OBJECTS) {
		core_page.region->note = WIRE_NOTE_OBJECTS;
		return 0;
	}
	known[place] = (struct known_object){
		.object = { info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum },
		.name = info->dlpi_name,
		.is_used = true,
		.is_seen = true,
	};
	nr_known += place == nr_known;
	announce(place, info->dlpi_name);
	return 0;
}

/* Objects that were unloaded free their places: another may come to the same address. */
static void forget_unloaded(void)
{
	for (uint32_t i = 0; i < nr_known; i++) {
		known[i].is_used &= known[i].is_seen;
		known[i].is_seen = false;
	}
}

static void hook_answered(uint32_t i)
{
	struct wire_region *r = core_page.region;
	struct wire_object *o = &r->objects[i];
	struct patch_result result = { 0 };

	if (o->state != WIRE_OBJECT_ANSWERED)
		return;
	if (o->first_table <= WIRE_MAX_TABLES && o->nr_tables <= WIRE_MAX_TABLES - o->first_table)
		patch_tables(&known[i].object, r->tables + o->first_table, o->nr_tables, &result);
	o->nr_hooked = result.nr_hooked;
	o->nr_refused = result.nr_refused;
	if (result.note)
		r->note = result.note;
	__atomic_store_n(&o->state, WIRE_OBJECT_DONE, __ATOMIC_RELEASE);
	nr_hooked += result.nr_hooked;
}

/* Tables were hooked: from here on events count. */
static void go_live(struct wire_region *r)
{
	if (core_page.threads)
		return;
	__atomic_store_n(&core_page.threads, r->threads, __ATOMIC_RELEASE);
	if (core_page.clock == WIRE_CLOCK_TSC)
		__atomic_store_n(&core_page.fast_threads, r->threads, __ATOMIC_RELEASE);
	__atomic_store_n(&r->state, WIRE_REGION_LIVE, __ATOMIC_RELEASE);
}

/* Waits for the answers to all that was announced, and hooks what they say. */
static void finish_talk(void)
{
	struct wire_region *r = core_page.region;

	if (!nr_announced)
		return;
	nr_announced = nr_hooked = 0;
	ring_doorbell();
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].is_used && !wait_for_answer(&r->objects[i])) {
			r->note = WIRE_NOTE_NO_ANSWER;
			return;
		}
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].is_used)
			hook_answered(i);
	if (nr_hooked)
		go_live(r);
}

static void talk(void)
{
	dl_iterate_phdr(note_object, NULL);
	forget_unloaded();
	finish_talk();
}

/* The same in a forked child, of what the parent knew. */
static void talk_again(void)
{
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].is_used)
			announce(i, known[i].name);
	finish_talk();
}

/*
 * dlopen is entered by a jump, so nobody tells us when it is done, and other threads may pass here
 * while it still loads. So look at every chance for a while after a dlopen began, and at every
 * dlsym ever after.
 */
#define LOOK_NS UINT64_C(3000000000)

void agent_objects_changed(void)
{
	__atomic_store_n(&last_dlopen_ns, read_monotonic(), __ATOMIC_RELAXED);
}

void agent_look_for_objects(bool always)
{
	uint64_t last = __atomic_load_n(&last_dlopen_ns, __ATOMIC_RELAXED);

	if (__builtin_expect(!last, 1) || !core_page.region)
		return;
	if (!always && read_monotonic() - last > LOOK_NS)
		return;
	while (__atomic_exchange_n(&objects_lock, 1, __ATOMIC_ACQUIRE)) {
		struct timespec pause = { .tv_nsec = 50000 };

		/* Whoever resolves a symbol is about to call into what was loaded: not before it is
		 * hooked. */
		if (!always || !tool_is_alive())
			return;
		raw_syscall(SYS_nanosleep, (long)&pause, 0, 0, 0);
	}
	if (core_page.region->state != WIRE_REGION_STOP && tool_is_alive())
		talk();
	__atomic_store_n(&objects_lock, 0, __ATOMIC_RELEASE);
}

/* ---- coming in ---- */

static int take_door(void)
{
	for (uint32_t i = 0; i < lobby->nr_doors && i < WIRE_MAX_DOORS; i++) {
		uint32_t free = WIRE_DOOR_FREE;

		/* pid first would be nicer, but the state is what is fought for: the tool waits for
		 * both */
		if (__atomic_compare_exchange_n(&lobby->doors[i].state, &free, WIRE_DOOR_TAKEN,
						false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			__atomic_store_n(&lobby->doors[i].pid, agent_pid, __ATOMIC_RELEASE);
			return i;
		}
	}
	__atomic_fetch_add(&lobby->nr_turned_away, 1, __ATOMIC_RELAXED);
	return -1;
}

static bool map_region(int fd, int door)
{
	uint64_t off = lobby->region_off + (uint64_t)door * lobby->region_size;
	void *region = mmap(NULL, lobby->region_size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, fd, off);
	struct core_page *p = &core_page;
	struct wire_region *r = region;

	if (region == MAP_FAILED)
		return false;
	/* gigabytes of mostly nothing, in every core dump of the program */
	madvise(region, lobby->region_size, MADV_DONTDUMP);
	p->tid_off = find_tid_off();
	p->base_ticks = lobby->base_ticks;
	p->clock = lobby->clock;
	p->read_clock = read_monotonic;
	p->claimed = agent_slot_claimed;
	p->lobby = lobby;
	p->region = r;
	r->pid = agent_pid;
	if (!p->tid_off)
		r->note = WIRE_NOTE_NO_TID;
	__atomic_store_n(&r->state, WIRE_REGION_HELLO, __ATOMIC_RELEASE);
	return p->tid_off != 0;
}

static bool is_ring_size(uint64_t words)
{
	return words >= WIRE_PAGE / 8 && !(words & (words - 1));
}

static bool lobby_is_good(const struct wire_lobby *l)
{
	return l->magic == WIRE_MAGIC && l->version == WIRE_VERSION && l->layout == WIRE_LAYOUT &&
	       is_ring_size(l->ring_words) && is_ring_size(l->small_words) &&
	       l->nr_big <= WIRE_MAX_BIG && l->nr_doors <= WIRE_MAX_DOORS &&
	       l->region_size == wire_region_size(l);
}

/* A program that was given little address space needs it for itself. */
static bool has_room(uint64_t bytes)
{
	struct rlimit as;

	return getrlimit(RLIMIT_AS, &as) < 0 || as.rlim_cur == RLIM_INFINITY ||
	       bytes <= as.rlim_cur / 4;
}

/* Without this promise of the kernel's a fork would spoil the recording. */
static bool wipe_page_on_fork(void)
{
	return madvise(&core_page, sizeof(core_page), MADV_WIPEONFORK) == 0;
}

/* Is this process one to be traced, and can it be? */
static bool is_wanted(void)
{
	if (!lobby_is_good(lobby) || (!lobby->follow && lobby->target_pid != (uint32_t)agent_pid))
		return false;
	if (has_room(lobby->region_size))
		return true;
	__atomic_fetch_add(&lobby->nr_no_room, 1, __ATOMIC_RELAXED);
	return false;
}

static void come_in(const char *ctl, void (*talk_first)(void))
{
	int fd = open(ctl, O_RDWR | O_CLOEXEC), door;
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, WIRE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		goto out;
	lobby = map;
	agent_pid = getpid();
	if (is_wanted() && wipe_page_on_fork() && (door = take_door()) >= 0 &&
	    map_region(fd, door)) {
		talk_first();
		goto out;
	}
	agent_pid = 0;
out:
	close(fd);
}

/* A fork: the page is wiped already. With --follow the child comes in by a door of its own. */
static void forked(void)
{
	agent_pid = 0;
	hook_set_slot(NULL);
	objects_lock = 0;
	last_dlopen_ns = 0;
	if (lobby && lobby->follow && agent_env.ctl)
		come_in(agent_env.ctl + sizeof(WIRE_ENV), talk_again);
}

/* ---- the environment ---- */

/* Takes entry i out, or puts another string in its place. */
static void replace_env(char **at, char *with)
{
	if (with) {
		*at = with;
		return;
	}
	for (; *at; at++)
		at[0] = at[1];
}

/*
 * Children shall not inherit what was meant for this process: our variables go, and exec.c gives
 * them on to what this process itself becomes, or with --follow to every program it starts, if that
 * can take the agent at all.
 */
static void clean_env(void)
{
	static char rest[4096] = "LD_PRELOAD=";

	for (char **at = environ; at && *at;) {
		char *colon = NULL, *entry = *at;

		if (strncmp(entry, WIRE_ENV "=", sizeof(WIRE_ENV)) == 0) {
			agent_env.ctl = entry;
		} else if (strncmp(entry, "LD_PRELOAD=", 11) == 0) {
			agent_env.preload = entry;
			colon = strchr(entry, ':');
		} else {
			at++;
			continue;
		}
		if (colon && strlen(colon) > sizeof(rest) - 12) {
			at++;
			continue;
		}
		if (colon)
			memcpy(rest + 11, colon + 1, strlen(colon));
		replace_env(at, colon ? rest : NULL);
		at += colon != NULL;
	}
}

__attribute__((constructor)) static void preload(void)
{
	const char *ctl = getenv(WIRE_ENV);
	int saved = errno;

	interpose_init();
	exec_init();
	if (ctl && *ctl == '/') {
		has_slot_key = pthread_key_create(&slot_key, thread_gone) == 0;
		pthread_atfork(NULL, NULL, forked);
		come_in(ctl, talk);
	}
	clean_env();
	agent_follows = lobby && lobby->follow;
	errno = saved;
}
