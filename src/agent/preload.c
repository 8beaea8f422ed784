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
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>

static struct wire_lobby *lobby;
static pthread_key_t slot_key;
static bool has_slot_key;
static uint32_t objects_dirty, objects_lock;

struct env_entry agent_env;
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
	uint64_t now =
		core_page.clock == WIRE_CLOCK_TSC ? __builtin_ia32_rdtsc() : read_monotonic();

	return now - __atomic_load_n(&lobby->heartbeat_ticks, __ATOMIC_RELAXED) <
	       lobby->stale_ticks;
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

static void copy_build_id(struct wire_object *o, const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + ph->p_vaddr),
			   *end = at + ph->p_memsz;

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

static bool is_announced(const struct wire_region *r, const struct dl_phdr_info *info)
{
	for (uint32_t i = 0; i < r->nr_objects; i++)
		if (r->objects[i].base == info->dlpi_addr &&
		    strncmp(r->objects[i].path, info->dlpi_name, WIRE_PATH_MAX - 1) == 0)
			return true;
	return false;
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

static int announce(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wire_region *r = core_page.region;
	uint32_t *nr_new = data;
	struct wire_object *o;

	if (is_ours_or_kernels(info) || is_announced(r, info) || r->nr_objects >= WIRE_MAX_OBJECTS)
		return 0;
	o = &r->objects[r->nr_objects];
	o->base = info->dlpi_addr;
	copy_path(o->path, info->dlpi_name);
	copy_build_id(o, info);
	__atomic_store_n(&o->state, WIRE_OBJECT_ANNOUNCED, __ATOMIC_RELEASE);
	__atomic_store_n(&r->nr_objects, r->nr_objects + 1, __ATOMIC_RELEASE);
	++*nr_new;
	return 0;
}

static int hook_answered(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wire_region *r = core_page.region;
	struct patch_object object = { info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum };

	for (uint32_t i = 0; i < r->nr_objects; i++) {
		struct wire_object *o = &r->objects[i];
		struct patch_result result = { 0 };

		if (o->state != WIRE_OBJECT_ANSWERED || o->base != info->dlpi_addr ||
		    strncmp(o->path, info->dlpi_name ? info->dlpi_name : "", WIRE_PATH_MAX - 1))
			continue;
		if (o->first_table <= WIRE_MAX_TABLES &&
		    o->nr_tables <= WIRE_MAX_TABLES - o->first_table)
			patch_tables(&object, r->tables + o->first_table, o->nr_tables, &result);
		o->nr_hooked = result.nr_hooked;
		o->nr_refused = result.nr_refused;
		if (result.note)
			r->note = result.note;
		__atomic_store_n(&o->state, WIRE_OBJECT_DONE, __ATOMIC_RELEASE);
		*(uint32_t *)data += result.nr_hooked;
	}
	return 0;
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

static void talk(void)
{
	struct wire_region *r = core_page.region;
	uint32_t first = r->nr_objects, nr_new = 0, nr_hooked = 0;

	dl_iterate_phdr(announce, &nr_new);
	if (!nr_new)
		return;
	ring_doorbell();
	for (uint32_t i = first; i < first + nr_new; i++)
		if (!wait_for_answer(&r->objects[i])) {
			r->note = WIRE_NOTE_NO_ANSWER;
			return;
		}
	dl_iterate_phdr(hook_answered, &nr_hooked);
	if (nr_hooked)
		go_live(r);
}

void agent_objects_changed(void)
{
	__atomic_store_n(&objects_dirty, 1, __ATOMIC_RELAXED);
}

void agent_look_for_objects(void)
{
	if (__builtin_expect(!__atomic_load_n(&objects_dirty, __ATOMIC_RELAXED), 1))
		return;
	if (!core_page.region || __atomic_exchange_n(&objects_lock, 1, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&objects_dirty, 0, __ATOMIC_RELAXED);
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
	p->rings = (uint64_t *)((char *)region + WIRE_RINGS_OFF);
	p->ring_words = lobby->ring_words;
	p->segment_words = wire_segment_words(lobby->ring_words);
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

static bool lobby_is_good(const struct wire_lobby *l)
{
	return l->magic == WIRE_MAGIC && l->version == WIRE_VERSION && l->layout == WIRE_LAYOUT &&
	       l->ring_words >= WIRE_PAGE / 8 && !(l->ring_words & (l->ring_words - 1)) &&
	       l->nr_doors <= WIRE_MAX_DOORS &&
	       l->region_size >= WIRE_RINGS_OFF + WIRE_MAX_THREADS * l->ring_words * 8;
}

/* Without this promise of the kernel's a fork would spoil the recording. */
static bool wipe_page_on_fork(void)
{
	return madvise(&core_page, sizeof(core_page), MADV_WIPEONFORK) == 0;
}

static void come_in(const char *ctl)
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
	if (lobby_is_good(lobby) && (lobby->follow || lobby->target_pid == (uint32_t)agent_pid) &&
	    wipe_page_on_fork() && (door = take_door()) >= 0 && map_region(fd, door)) {
		talk();
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
	objects_dirty = objects_lock = 0;
	if (lobby && lobby->follow && agent_env.ctl)
		come_in(agent_env.ctl + sizeof(WIRE_ENV));
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
 * them on to what this process itself becomes. With --follow they stay.
 */
static void clean_env(bool keep)
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
		if (keep || (colon && strlen(colon) > sizeof(rest) - 12)) {
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
		come_in(ctl);
	}
	clean_env(lobby && lobby->follow);
	errno = saved;
}
