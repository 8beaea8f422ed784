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
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>

#include "wire/stamp.h"

static const struct wire_stamp stamp __attribute__((section(WIRE_STAMP_SECTION), used)) = {
	.magic = WIRE_MAGIC,
	.version = WIRE_VERSION,
	.layout = WIRE_LAYOUT,
};

static pthread_key_t slot_key;
static bool has_slot_key;

struct env_entry agent_env;
bool agent_follows;
int agent_pid;

static struct wire_lobby *lobby;
static struct wire_region *region; /* of this process, or of the one that it was forked from */
static uint64_t tid_off;

/* ---- threads ---- */

/* Key destructors run after those of Rust's thread locals: late enough to retire the slot. */
static void thread_gone(void *slot)
{
	hook_set_slot(NULL); /* first: a signal handler must not find a slot that is given up */
	core_thread_stop(slot);
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

/* A word of the thread's control block. */
static uint32_t control_block_word(uint64_t off)
{
	return *(uint32_t *)(arch_thread_pointer() + off);
}

/* Where the thread's control block holds its id: it must be found, or slots could be mixed up. */
static uint64_t find_tid_off(void)
{
	uint32_t tid = agent_syscall(SYS_gettid, 0, 0, 0, 0);

	for (uint64_t off = 0; off < 2048; off += 4)
		if (control_block_word(off) == tid)
			return off;
	return 0;
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
	void *map = mmap(NULL, lobby->region_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE, fd, off);
	struct core_page *p = &core_page;
	struct wire_region *r = map;

	if (map == MAP_FAILED)
		return false;
	/* gigabytes of mostly nothing, in every core dump of the program */
	madvise(map, lobby->region_size, MADV_DONTDUMP);
	region = r;
	p->tid_off = tid_off = find_tid_off();
	p->base_ticks = lobby->base_ticks;
	p->clock = lobby->clock;
	p->read_clock = agent_monotonic_ns;
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

/* The path names a file of the process with a given number, which may be another by now. */
static bool may_be_lobby(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= WIRE_PAGE;
}

static void come_in(const char *ctl, void (*talk)(struct wire_lobby *))
{
	int fd = open(ctl, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), door;
	void *map;

	if (fd < 0)
		return;
	if (!may_be_lobby(fd))
		goto out;
	map = mmap(NULL, WIRE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		goto out;
	lobby = map;
	agent_pid = getpid();
	if (is_wanted() && wipe_page_on_fork() && (door = take_door()) >= 0 &&
	    map_region(fd, door)) {
		talk(lobby);
		goto out;
	}
	agent_pid = 0;
out:
	close(fd);
}

/*
 * Children by fork that go on as this program, unrecorded: whoever reads its recording should know
 * that there is more. One that execs is another program's affair. Process ids are as the C library
 * keeps them: a system call here could be one that a sandbox forbids.
 *
 * The parent counts a child before it is there: a daemon's parent ends at once, and its recording
 * with it, before the child has run at all.
 */
static int counted_pid;

static void count_child(int change)
{
	__atomic_fetch_add(&region->nr_forked, change, __ATOMIC_RELAXED);
}

/* Without tid_off nobody could tell a child that was counted from its parent. */
static bool has_counter(void)
{
	return region && tid_off;
}

static void tell_exec(bool begins)
{
	if (agent_pid)
		__atomic_store_n(&region->is_leaving, begins, __ATOMIC_RELAXED);
	else
		count_child(begins ? -1 : 1);
}

bool agent_is_tool_gone(void)
{
	return lobby && core_is_tool_gone(lobby);
}

bool agent_exec_begins(void)
{
	int owner = agent_pid ? agent_pid : counted_pid;

	/* not in a child by vfork, which has this memory but another id */
	if (!owner || owner != getpid())
		return false;
	tell_exec(true);
	return true;
}

bool agent_is_vforked(void)
{
	int owner = agent_pid ? agent_pid : counted_pid;

	return owner && owner != getpid();
}

void agent_exec_failed(void)
{
	tell_exec(false);
}

/* Nothing but errno tells whether a fork failed: the handlers run in any case. */
static __thread int errno_before_fork __attribute__((tls_model("initial-exec")));

static uint32_t *children_of(struct wire_region *r)
{
	return lobby->follow ? &r->nr_coming : &r->nr_forked;
}

static void fork_begins(void)
{
	if (!has_counter())
		return;
	__atomic_fetch_add(children_of(region), 1, __ATOMIC_RELAXED);
	errno_before_fork = errno;
	errno = 0;
}

static void fork_ends(void)
{
	if (!has_counter())
		return;
	if (errno)
		__atomic_fetch_sub(children_of(region), 1, __ATOMIC_RELAXED);
	else
		errno = errno_before_fork;
}

/* With --follow a child comes in by a door of its own, or counts as not recorded. */
static void follow_child(struct wire_region *parents)
{
	if (agent_env.ctl && !agent_is_tool_gone())
		come_in(agent_env.ctl + sizeof(WIRE_ENV), objects_announce_again);
	if (!parents)
		return;
	if (!agent_pid)
		__atomic_fetch_add(&parents->nr_forked, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&parents->nr_coming, 1, __ATOMIC_RELAXED);
}

/* In the child: the page is wiped already. */
static void forked(void)
{
	struct wire_region *parents = has_counter() ? region : NULL;

	if (parents)
		errno = errno_before_fork;
	agent_pid = counted_pid = 0;
	hook_set_slot(NULL);
	roots_forget();
	probes_forked();
	if (lobby && lobby->follow)
		follow_child(parents);
	if (agent_pid || !parents)
		return;
	region = parents;
	counted_pid = control_block_word(tid_off);
}

/* ---- the environment ---- */

/* The initial environment is overwritten by programs that show their state in ps: keep our own. */
static char ctl_copy[128], ours_copy[4096];

char agent_path[4096];

/*
 * A string of the environment that the kernel gave, whatever became of `environ`: constructors of
 * other preloaded libraries run before ours, and may change or clear it. The strings lie between
 * the last argument and the name of the program.
 */
static const char *find_initial(int argc, char **argv, const char *prefix)
{
	const char *end = (const char *)getauxval(AT_EXECFN);
	const char *at = argc > 0 ? argv[argc - 1] : NULL;

	/* a library's constructor may have put another string there */
	if (at <= (const char *)argv || at >= end)
		return NULL;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1)
		if (strncmp(at, prefix, strlen(prefix)) == 0)
			return at + strlen(prefix);
	return NULL;
}

static const char *find_value(int argc, char **argv, const char *name)
{
	char prefix[32];
	const char *value;

	wire_put(wire_put(prefix, name), "=");
	value = find_initial(argc, argv, prefix);
	return value ? value : getenv(name);
}

/* What of LD_PRELOAD is ours, as wire/preload.h has it. */
static void keep_ours(const char *list)
{
	size_t first = wire_preload_first(list), agent, len;

	list += first + (first && list[first]);
	list += first && *list == ':';
	agent = len = strcspn(list, ":");
	if (&futrace_probes && list[len])
		len += 1 + strcspn(list + len + 1, ":");
	if (len >= sizeof(ours_copy))
		return;
	memcpy(ours_copy, list, len);
	memcpy(agent_path, list, agent);
}

/* Takes an entry out, or puts another string in its place. */
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
 * can take the agent at all. rest: room for a list of preloads without ours; a second one, or one
 * that is too long, is changed in place.
 */
static void clean_env(char **env, char rest[4096])
{
	while (env && *env) {
		char *entry = *env;
		bool is_ctl = strncmp(entry, WIRE_ENV "=", sizeof(WIRE_ENV)) == 0;
		bool is_list = strncmp(entry, WIRE_PRELOAD, WIRE_PRELOAD_LEN) == 0;

		if (is_list) {
			if (!*rest && strlen(entry) < 4096)
				wire_put(entry = rest, *env);
			is_list = wire_preload_take(entry + WIRE_PRELOAD_LEN, ours_copy);
			if (!is_list && entry == rest)
				*rest = '\0';
		}
		if (is_ctl)
			replace_env(env, NULL);
		else if (is_list)
			replace_env(env, entry[WIRE_PRELOAD_LEN] ? entry : NULL);
		env += !is_ctl && (!is_list || entry[WIRE_PRELOAD_LEN]);
	}
}

static void keep_env(const char *ctl, const char *preload)
{
	if (ctl && sizeof(WIRE_ENV) + strlen(ctl) < sizeof(ctl_copy)) {
		wire_put(wire_put(ctl_copy, WIRE_ENV "="), ctl);
		agent_env.ctl = ctl_copy;
	}
	if (preload)
		keep_ours(preload);
	agent_env.ours = ours_copy;
}

/* The loader gives constructors what the kernel gave it. */
__attribute__((constructor)) static void preload(int argc, char **argv, char **envp)
{
	static char rest[2][4096];
	const char *ctl = find_value(argc, argv, WIRE_ENV);
	int saved = errno;

	interpose_init();
	exec_init();
	probes_init();
	/* the kernel put it above the stack of the first thread; `environ` may be elsewhere by now
	 */
	stack_init((const void *)getauxval(AT_EXECFN));
	keep_env(ctl, find_value(argc, argv, "LD_PRELOAD"));
	if (ctl && *ctl == '/') {
		has_slot_key = pthread_key_create(&slot_key, thread_gone) == 0;
		pthread_atfork(fork_begins, fork_ends, forked);
		come_in(ctl, objects_announce);
		if (core_page.region)
			probes_allow_calls();
	}
	clean_env(envp, rest[0]);
	if (environ != envp)
		clean_env(environ, rest[1]);
	agent_follows = lobby && lobby->follow;
	errno = saved;
}
