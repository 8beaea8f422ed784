// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/lobby.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

#define PAGE_WORDS	  (WIRE_PAGE / sizeof(uint64_t))

#define SMALL_BYTES	  65536
#define MIN_BIG		  16
#define RINGS_PART(bytes) ((bytes) / 4 * 3) /* the rest is for stacks and paths */
#define SMALL_PART	  1024 /* a small ring is at most this part of what all rings may take */

uint64_t lobby_ring_bytes(uint64_t wish)
{
	uint64_t bytes = LOBBY_RING_MIN;

	while (bytes < wish && bytes < LOBBY_RING_MAX)
		bytes *= 2;
	return bytes;
}

/*
 * A large ring for each thread that may really run at the same time, and some more. The program's
 * address space is not ours to fill: all is little more than a gigabyte on small machines.
 */
static void choose_rings(struct wire_lobby *p, uint64_t bytes)
{
	uint64_t small_bytes = SMALL_BYTES;
	struct rlimit as;

	p->ring_words = lobby_ring_bytes(bytes ? bytes : LOBBY_RING_DEFAULT) / sizeof(uint64_t);
	/* Where memory is short, many small pieces serve more threads than few large ones. */
	if (p->rings.limit) {
		while (p->ring_words > PAGE_WORDS && p->ring_words * 8 > p->rings.limit / 2)
			p->ring_words /= 2;
		while (small_bytes > WIRE_PAGE && small_bytes > p->rings.limit / SMALL_PART)
			small_bytes /= 2;
	}
	p->small_words = MIN(p->ring_words, small_bytes / sizeof(uint64_t));
	p->nr_big = MIN(MAX(4 * sysconf(_SC_NPROCESSORS_ONLN), MIN_BIG), WIRE_MAX_BIG);
	/* Under `ulimit -v` the program needs the address space itself. */
	if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY) {
		while (p->ring_words > PAGE_WORDS && wire_region_size(p) > as.rlim_cur / 4)
			p->ring_words /= 2;
		p->small_words = MIN(p->ring_words, p->small_words);
		while (p->small_words > PAGE_WORDS && wire_region_size(p) > as.rlim_cur / 4)
			p->small_words /= 2;
	}
}

/* `ulimit -f` counts for a memfd too: then fewer doors, then smaller rings. */
static int set_size(int fd, struct wire_lobby *p, struct err *e)
{
	for (;;) {
		uint64_t bytes = WIRE_PAGE + p->nr_doors * wire_region_size(p);

		if (ftruncate(fd, bytes) == 0)
			return 0;
		if (errno != EFBIG)
			return err_sys(e, "cannot size the shared memory for events");
		if (p->nr_doors > 1)
			p->nr_doors /= 2;
		else if (p->ring_words > PAGE_WORDS)
			p->ring_words /= 2;
		else
			return err_set(e, ERR_TOO_LARGE,
				       "the limit on file sizes (ulimit -f) leaves no room for the "
				       "shared memory for events, and %llu MB would be enough",
				       (unsigned long long)(bytes >> 20) + 1);
		p->small_words = MIN(p->ring_words, p->small_words);
	}
}

int lobby_open(struct lobby *l, const struct lobby_opts *o, struct err *e)
{
	enum clock_kind clock = clock_choose();
	struct wire_lobby start = {
		.magic = WIRE_MAGIC,
		.version = WIRE_VERSION,
		.layout = WIRE_LAYOUT,
		.tool_pid = getpid(),
		.follow = o->follow,
		.spawn_stacks = o->spawn_stacks,
		.only_probes = o->only_probes,
		.region_off = WIRE_PAGE,
		.nr_doors = WIRE_MAX_DOORS,
		.clock = clock == CLOCK_KIND_TSC ? WIRE_CLOCK_TSC : WIRE_CLOCK_MONOTONIC,
		.base_ticks = clock_ticks(clock),
		.wait_ms = o->wait_ms,
		.rings.limit = RINGS_PART(o->memory_bytes),
		.places.limit = o->memory_bytes - RINGS_PART(o->memory_bytes),
	};
	void *page;

	*l = (struct lobby){ .clock = clock, .no_roots = o->no_roots, .no_await = o->no_await };
	l->fd = memfd_create("futrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (l->fd < 0)
		return err_sys(e, "cannot create the shared memory for events");
	choose_rings(&start, o->ring_bytes);
	if (set_size(l->fd, &start, e))
		goto fail;
	/* The program can reach this file: it must not be able to pull it from under our feet. */
	fcntl(l->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	page = mmap(NULL, WIRE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (page == MAP_FAILED) {
		err_sys(e, "cannot map the shared memory for events");
		goto fail;
	}
	start.region_size = wire_region_size(&start);
	l->sizes = start;
	l->ring_words = start.ring_words;
	l->ring_limit = start.rings.limit;
	l->page = page;
	*l->page = start;
	l->base_ns = clock_mono_ns();
	lobby_heartbeat(l);
	l->pulse = pulse_new(page);
	return 0;
fail:
	close(l->fd);
	l->fd = -1;
	return -1;
}

void lobby_heartbeat(struct lobby *l)
{
	__atomic_fetch_add(&l->page->heartbeat, 1, __ATOMIC_RELAXED);
}

void lobby_close(struct lobby *l)
{
	pulse_free(l->pulse);
	if (l->page)
		munmap(l->page, WIRE_PAGE);
	if (l->fd >= 0)
		close(l->fd);
	l->pulse = NULL;
	l->page = NULL;
	l->fd = -1;
}

static uint64_t region_off(const struct lobby *l, uint32_t door)
{
	return WIRE_PAGE + door * l->sizes.region_size;
}

/* Workers, which read foreign bytes, shall not reach it. */
static void *ours(void *p, size_t bytes)
{
	madvise(p, bytes, MADV_DONTFORK);
	return p;
}

struct wire_region *lobby_map_region(const struct lobby *l, uint32_t door)
{
	void *p = mmap(NULL, WIRE_RINGS_OFF, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd,
		       region_off(l, door));

	return p == MAP_FAILED ? NULL : ours(p, WIRE_RINGS_OFF);
}

/* By calls that need no address space, as that may be what there is no more of. */
void lobby_answer_nothing(const struct lobby *l, uint32_t door)
{
	uint64_t region = region_off(l, door),
		 objects = region + offsetof(struct wire_region, objects);
	const uint32_t answered = WIRE_OBJECT_ANSWERED;
	uint32_t nr, state;

	if (io_pread_all(l->fd, &nr, sizeof(nr), region + offsetof(struct wire_region, nr_objects)))
		return;
	for (uint32_t i = 0; i < MIN(nr, WIRE_MAX_OBJECTS); i++) {
		off_t at = objects + i * sizeof(struct wire_object) +
			   offsetof(struct wire_object, state);

		if (io_pread_all(l->fd, &state, sizeof(state), at) == 0 &&
		    state == WIRE_OBJECT_ANNOUNCED &&
		    pwrite(l->fd, &answered, sizeof(answered), at) < 0)
			return;
	}
}

void lobby_unmap_region(struct wire_region *r)
{
	if (r)
		munmap(r, WIRE_RINGS_OFF);
}

const uint64_t *lobby_map_ring(const struct lobby *l, const struct lobby_ring *r)
{
	void *p = mmap(NULL, r->words * sizeof(uint64_t), PROT_READ, MAP_SHARED, l->fd,
		       region_off(l, r->door) + r->off);

	return p == MAP_FAILED ? NULL : ours(p, r->words * sizeof(uint64_t));
}

void lobby_unmap_ring(const struct lobby_ring *r, const uint64_t *ring)
{
	if (ring)
		munmap((void *)ring, r->words * sizeof(uint64_t));
}

int lobby_find_ring(const struct lobby *l, uint32_t door, uint32_t slot, uint32_t big,
		    struct lobby_ring *r)
{
	if (big > l->sizes.nr_big)
		return -1;
	*r = (struct lobby_ring){ .door = door,
				  .big = big,
				  .off = wire_ring_off(&l->sizes, slot, big),
				  .words = wire_ring_words(&l->sizes, big) };
	return 0;
}

static void punch(const struct lobby *l, uint64_t off, uint64_t len)
{
	if (len)
		fallocate(l->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len);
}

void lobby_punch_ring(const struct lobby *l, const struct lobby_ring *r, uint64_t from, uint64_t to)
{
	from = ROUND_UP(from, PAGE_WORDS);
	to = MIN(to, r->words) / PAGE_WORDS * PAGE_WORDS;
	if (from < to)
		punch(l, region_off(l, r->door) + r->off + from * sizeof(uint64_t),
		      (to - from) * sizeof(uint64_t));
}

void lobby_recycle_door(const struct lobby *l, uint32_t door)
{
	struct wire_door *d = &l->page->doors[door];
	uint32_t nr_places = 0;

	/* by a read, for a look at memory that nobody touched would take some */
	if (pread(l->fd, &nr_places, sizeof(nr_places),
		  region_off(l, door) + offsetof(struct wire_region, nr_places)) ==
	    sizeof(nr_places))
		__atomic_fetch_sub(&l->page->places.used, (uint64_t)nr_places * WIRE_PAGE,
				   __ATOMIC_RELAXED);
	punch(l, region_off(l, door), l->sizes.region_size);
	__atomic_store_n(&d->pid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&d->state, WIRE_DOOR_FREE, __ATOMIC_RELEASE);
}

static void lower(uint64_t *limit, uint64_t bytes)
{
	if (!*limit || bytes < *limit)
		__atomic_store_n(limit, bytes, __ATOMIC_RELAXED);
}

void lobby_limit_memory(struct lobby *l, uint64_t bytes)
{
	bytes = MAX(bytes, LOBBY_MEMORY_MIN);
	lower(&l->page->rings.limit, RINGS_PART(bytes));
	lower(&l->page->places.limit, bytes - RINGS_PART(bytes));
	l->ring_limit = l->page->rings.limit;
}

void lobby_check_memory(struct lobby *l)
{
	uint64_t used = __atomic_load_n(&l->page->rings.used, __ATOMIC_RELAXED);

	l->is_tight = l->ring_limit && used > l->ring_limit / 2;
}

void lobby_credit(const struct lobby *l, struct wire_thread *t, bool is_big, uint64_t segments)
{
	uint64_t had = __atomic_fetch_and(&t->touched[is_big], ~segments, __ATOMIC_RELAXED);
	uint64_t words = wire_segment_words(wire_ring_words(&l->sizes, is_big));
	uint64_t bytes = __builtin_popcountll(had & segments) * words * sizeof(uint64_t);

	if (bytes)
		__atomic_fetch_sub(&l->page->rings.used, bytes, __ATOMIC_RELAXED);
}

void lobby_wait(const struct lobby *l, uint32_t seen, uint64_t timeout_ns)
{
	struct timespec ts = { .tv_sec = timeout_ns / 1000000000,
			       .tv_nsec = timeout_ns % 1000000000 };

	syscall(SYS_futex, &l->page->doorbell, FUTEX_WAIT, seen, &ts, NULL, 0);
}

void lobby_wake(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
