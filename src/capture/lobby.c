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

#define PAGE_WORDS     (WIRE_PAGE / sizeof(uint64_t))
#define STALE_NS       UINT64_C(10000000000) /* a tool silent for so long is taken for dead */
#define MAX_TSC_PER_NS 6

static uint64_t region_size(uint64_t ring_words)
{
	return WIRE_RINGS_OFF + WIRE_MAX_THREADS * ring_words * sizeof(uint64_t);
}

static uint64_t wanted_ring_words(uint64_t bytes)
{
	uint64_t words = LOBBY_RING_MIN / sizeof(uint64_t);
	struct rlimit as;

	bytes = MIN(bytes ? bytes : LOBBY_RING_DEFAULT, LOBBY_RING_MAX);
	while (words * sizeof(uint64_t) < bytes)
		words *= 2;
	/* The agent maps the whole region. Under `ulimit -v` the program needs the address space
	 * itself. */
	if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY)
		while (words > PAGE_WORDS && region_size(words) > as.rlim_cur / 4)
			words /= 2;
	return words;
}

/* `ulimit -f` counts for a memfd too (the caller ignores SIGXFSZ): then fewer doors, then smaller
 * rings. */
static int set_size(struct lobby *l, uint32_t *nr_doors, struct err *e)
{
	for (;;) {
		if (ftruncate(l->fd, WIRE_PAGE + *nr_doors * region_size(l->ring_words)) == 0)
			return 0;
		if (errno != EFBIG)
			return err_sys(e, "cannot size the shared memory for events");
		if (*nr_doors > 1)
			*nr_doors /= 2;
		else if (l->ring_words > PAGE_WORDS)
			l->ring_words /= 2;
		else
			return err_set(e, ERR_SYS,
				       "the limit on file sizes (ulimit -f) leaves no room for the "
				       "shared memory for events; raise it");
	}
}

int lobby_open(struct lobby *l, const struct lobby_opts *o, struct err *e)
{
	uint32_t nr_doors = WIRE_MAX_DOORS;
	struct wire_lobby *page;

	*l = (struct lobby){ .clock = clock_choose(),
			     .ring_words = wanted_ring_words(o->ring_bytes) };
	l->fd = memfd_create("futrace", MFD_CLOEXEC);
	if (l->fd < 0)
		return err_sys(e, "cannot create the shared memory for events");
	if (set_size(l, &nr_doors, e))
		goto fail;
	page = mmap(NULL, WIRE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (page == MAP_FAILED) {
		err_sys(e, "cannot map the shared memory for events");
		goto fail;
	}
	l->page = page;
	*page = (struct wire_lobby){
		.magic = WIRE_MAGIC,
		.version = WIRE_VERSION,
		.layout = WIRE_LAYOUT,
		.tool_pid = getpid(),
		.follow = o->follow,
		.region_off = WIRE_PAGE,
		.region_size = region_size(l->ring_words),
		.nr_doors = nr_doors,
		.clock = l->clock == CLOCK_KIND_TSC ? WIRE_CLOCK_TSC : WIRE_CLOCK_MONOTONIC,
		.base_ticks = clock_ticks(l->clock),
		.wait_ms = o->wait_ms,
		.ring_words = l->ring_words,
	};
	l->base_ns = clock_mono_ns();
	lobby_heartbeat(l);
	return 0;
fail:
	close(l->fd);
	l->fd = -1;
	return -1;
}

void lobby_heartbeat(struct lobby *l)
{
	uint64_t ns = clock_mono_ns(), ticks = clock_ticks(l->clock);
	double per_ns = l->clock == CLOCK_KIND_TSC ? MAX_TSC_PER_NS : 1;

	/* How fast the TSC runs shows only as time goes by; until then assume the fastest. */
	if (l->clock == CLOCK_KIND_TSC && ns - l->base_ns > 5000000)
		per_ns = (double)(ticks - l->page->base_ticks) / (ns - l->base_ns);
	__atomic_store_n(&l->page->stale_ticks, STALE_NS * per_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&l->page->heartbeat_ns, ns, __ATOMIC_RELAXED);
	__atomic_store_n(&l->page->heartbeat_ticks, ticks, __ATOMIC_RELAXED);
}

void lobby_close(struct lobby *l)
{
	if (l->page)
		munmap(l->page, WIRE_PAGE);
	if (l->fd >= 0)
		close(l->fd);
	l->page = NULL;
	l->fd = -1;
}

static uint64_t region_off(const struct lobby *l, uint32_t door)
{
	return WIRE_PAGE + door * region_size(l->ring_words);
}

static uint64_t ring_off(const struct lobby *l, uint32_t door, uint32_t slot)
{
	return region_off(l, door) + WIRE_RINGS_OFF + slot * l->ring_words * sizeof(uint64_t);
}

struct wire_region *lobby_map_region(const struct lobby *l, uint32_t door)
{
	void *p = mmap(NULL, WIRE_RINGS_OFF, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd,
		       region_off(l, door));

	return p == MAP_FAILED ? NULL : p;
}

void lobby_unmap_region(struct wire_region *r)
{
	if (r)
		munmap(r, WIRE_RINGS_OFF);
}

const uint64_t *lobby_map_ring(const struct lobby *l, uint32_t door, uint32_t slot)
{
	void *p = mmap(NULL, l->ring_words * sizeof(uint64_t), PROT_READ, MAP_SHARED, l->fd,
		       ring_off(l, door, slot));

	return p == MAP_FAILED ? NULL : p;
}

void lobby_unmap_ring(const struct lobby *l, const uint64_t *ring)
{
	if (ring)
		munmap((void *)ring, l->ring_words * sizeof(uint64_t));
}

static void punch(const struct lobby *l, uint64_t off, uint64_t len)
{
	if (len)
		fallocate(l->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len);
}

void lobby_punch_ring(const struct lobby *l, uint32_t door, uint32_t slot, uint64_t from,
		      uint64_t to)
{
	from = ROUND_UP(from, PAGE_WORDS);
	to = MIN(to, l->ring_words) / PAGE_WORDS * PAGE_WORDS;
	if (from < to)
		punch(l, ring_off(l, door, slot) + from * sizeof(uint64_t),
		      (to - from) * sizeof(uint64_t));
}

void lobby_recycle_door(const struct lobby *l, uint32_t door)
{
	struct wire_door *d = &l->page->doors[door];

	punch(l, region_off(l, door), region_size(l->ring_words));
	__atomic_store_n(&d->pid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&d->state, WIRE_DOOR_FREE, __ATOMIC_RELEASE);
}

void lobby_check_memory(struct lobby *l, uint64_t limit_bytes)
{
	struct stat st;

	if (fstat(l->fd, &st) == 0)
		l->is_tight = (uint64_t)st.st_blocks * 512 > limit_bytes;
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
