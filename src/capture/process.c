// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io.h"
#include "capture/cpu.h"
#include "capture/places.h"
#include "capture/whois.h"

#define MAX_CMDLINE (1 << 20)
#define HURRY	    8 /* how much sooner than others a small ring must be read */
/* A thread that ended counts as so many words: slots are given back before a program that starts
 * thousands of threads has used them up. */
#define ENDED_WORDS 64

static char *read_link(const char *fmt, uint32_t pid)
{
	char path[64], buf[4096];
	ssize_t len;

	snprintf(path, sizeof(path), fmt, pid);
	len = readlink(path, buf, sizeof(buf));
	return len < 0 ? xstrdup("") : xstrndup(buf, len);
}

static uint32_t parent_of(uint32_t pid)
{
	struct strbuf text = STRBUF_INIT;
	char path[64], *paren;
	unsigned ppid = 0;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (io_read_file(path, &text, 1 << 16, NULL) == 0) {
		/* pid (comm) state ppid: comm may hold anything, even ')' */
		paren = strrchr(text.s, ')');
		if (!paren || sscanf(paren + 1, " %*c %u", &ppid) != 1)
			ppid = 0;
	}
	strbuf_release(&text);
	return ppid;
}

static struct process *new_process(struct lobby *l, uint32_t pid, struct wire_region *region)
{
	struct process *p = xcalloc(1, sizeof(*p));

	p->lobby = l;
	p->pid = pid;
	p->region = region;
	p->texts.region = region;
	p->pidfd = -1;
	p->out = (struct output)OUTPUT_INIT;
	strbuf_init(&p->cmdline);
	p->rings = xcalloc(WIRE_MAX_THREADS, sizeof(*p->rings));
	return p;
}

/* Only a child can be in another pid namespace than CMD, and only with --follow does one come. */
static uint32_t pid_at(const struct lobby *l, uint32_t door)
{
	uint32_t pid = l->page->doors[door].pid;
	struct stat st;

	return l->sizes.follow && fstat(l->fd, &st) == 0 ? whois_find(pid, st.st_ino) : pid;
}

struct process *process_new(struct lobby *l, uint32_t door, struct err *e)
{
	struct wire_region *region = lobby_map_region(l, door);
	char path[64];
	struct process *p;

	if (!region) {
		err_sys(e, "cannot map the shared memory of a process");
		return NULL;
	}
	p = new_process(l, pid_at(l, door), region);
	p->door = door;
	p->parent_pid = parent_of(p->pid);
	p->pidfd = syscall(SYS_pidfd_open, p->pid, 0);
	/* Now, for when the file is begun the process may be gone. */
	p->exe = read_link("/proc/%u/exe", p->pid);
	p->cwd = read_link("/proc/%u/cwd", p->pid);
	snprintf(path, sizeof(path), "/proc/%u/cmdline", p->pid);
	io_read_file(path, &p->cmdline, MAX_CMDLINE, NULL);
	return p;
}

struct process *process_new_absent(struct lobby *l, uint32_t pid, const char *exe,
				   char *const *argv)
{
	void *region = mmap(NULL, WIRE_RINGS_OFF, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct process *p;

	if (region == MAP_FAILED)
		return NULL;
	p = new_process(l, pid, region);
	p->exe = xstrdup(exe);
	p->cwd = read_link("/proc/%u/cwd", getpid());
	for (; *argv; argv++)
		strbuf_add(&p->cmdline, *argv, strlen(*argv) + 1);
	return p;
}

static void drop_ring(struct process *p, uint32_t slot)
{
	struct drain *d = p->rings[slot];

	for (int k = 0; k < EV_MAX; k++) {
		p->nr_events[k] += d->nr_events[k];
		p->lost[k] += d->slot->lost[k];
	}
	p->nr_broken += d->nr_broken;
	for (int is_big = 0; is_big < 2; is_big++)
		lobby_credit(p->lobby, d->slot, is_big, ~UINT64_C(0));
	if (d->stream)
		trace_stream_close(d->stream);
	lobby_unmap_ring(&d->ring, d->words);
	free(d);
	p->rings[slot] = NULL;
}

void process_free(struct process *p)
{
	if (!p)
		return;
	if (p->writer) /* which asks for paths once more */
		trace_writer_close(p->writer, NULL, NULL);
	last_look_free(p->last_look);
	vec_each (slot, &p->active) {
		lobby_unmap_ring(&p->rings[*slot]->ring, p->rings[*slot]->words);
		free(p->rings[*slot]);
	}
	vec_each (o, &p->objects) {
		free(o->path);
		free(o->build_id);
		free(o->tables);
		if (o->fd >= 0)
			close(o->fd);
	}
	if (p->pidfd >= 0)
		close(p->pidfd);
	lobby_unmap_region(p->region);
	output_release(&p->out);
	vec_release(&p->objects);
	vec_release(&p->active);
	instances_release(&p->instances);
	paths_release(&p->paths);
	labels_release(&p->labels);
	free(p->rings);
	free(p->out_path);
	free(p->exe);
	free(p->cwd);
	strbuf_release(&p->cmdline);
	free(p);
}

static void fail(struct process *p, const struct err *e)
{
	if (p->error.tag == ERR_NONE) {
		p->error = *e;
		if (p->out.path && !strstr(e->msg, p->out.path))
			err_prefix(&p->error, "%s", p->out.path);
	}
	process_stop(p);
}

/* The strings stay where they are; the array is the caller's to free. */
static void split_args(const struct strbuf *text, const char ***argv, uint32_t *argc)
{
	VEC(const char *) v = { 0 };

	for (const char *s = text->s; s < text->s + text->len; s += strlen(s) + 1)
		vec_push(&v, s);
	*argv = v.v;
	*argc = v.nr;
}

/* "model name	: …" of the first CPU. */
static char *cpu_model(void)
{
	struct strbuf text = STRBUF_INIT;
	char *at = NULL, *name;

	if (io_read_file("/proc/cpuinfo", &text, 1 << 24, NULL) == 0)
		at = strstr(text.s, "model name");
	at = at ? strstr(at, ": ") : NULL;
	name = at ? xstrndup(at + 2, strcspn(at + 2, "\n")) : xstrdup("");
	strbuf_release(&text);
	return name;
}

static void put_anchor(struct process *p)
{
	struct clock_anchor a;

	clock_anchor(p->lobby->clock, &a);
	trace_writer_anchor(p->writer, &a);
}

/* Events name paths as soon as they are in the region. */
static void write_paths(void *arg)
{
	paths_write(arg);
}

static void begin(struct process *p, int fd)
{
	const char **argv = NULL;
	char *cpu = cpu_model(), os[256];
	struct utsname un;
	struct trace_meta meta = {
		.tool = "futrace " FUTRACE_VERSION,
		.exe = p->exe,
		.cwd = p->cwd,
		.os = os,
		.cpu = cpu,
		.host = un.nodename,
		.pid = p->pid,
		.parent_pid = p->parent_pid,
		.uid = getuid(),
		.nr_cpus = sysconf(_SC_NPROCESSORS_ONLN),
		.clock = p->lobby->clock,
		.base_ticks = p->lobby->page->base_ticks,
	};

	uname(&un);
	snprintf(os, sizeof(os), "%s %s %s", un.sysname, un.release, un.machine);
	split_args(&p->cmdline, &argv, &meta.argc);
	meta.argv = argv;
	p->writer = trace_writer_new(fd, &meta);
	trace_writer_set_prepare(p->writer, write_paths, p);
	p->begin_ns = clock_mono_ns();
	p->has_mark = false;
	put_anchor(p);
	free(argv);
	free(cpu);
}

int process_begin_file(struct process *p)
{
	int fd;

	if (p->writer)
		return 0;
	if (p->error.tag != ERR_NONE || p->is_ended)
		return -1;
	if (p->out.fd < 0) {
		struct trace_meta first = { .tool = "futrace",
					    .exe = p->exe,
					    .clock = p->lobby->clock };
		struct err e = ERR_INIT;

		if (output_open(&p->out, p->out_path, &first, &e)) {
			fail(p, &e);
			return -1;
		}
	}
	/* The writer closes its descriptor; ours stays, to rewind and to hand on. */
	fd = fcntl(p->out.fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0) {
		struct err e = ERR_INIT;

		err_sys(&e, "cannot write %s", p->out.path);
		fail(p, &e);
		return -1;
	}
	begin(p, fd);
	return 0;
}

uint16_t process_define_type(struct process *p, const struct trace_type *type)
{
	if (p->nr_types >= EVENT_TYPE_NONE)
		return EVENT_TYPE_NONE;
	p->nr_types++;
	return trace_writer_type(p->writer, type);
}

static void add_ring(struct process *p, uint32_t slot)
{
	struct wire_thread *t = &p->region->threads[slot];
	struct lobby_ring ring;
	struct drain *d;
	const uint64_t *words;

	if (lobby_find_ring(p->lobby, p->door, slot, 0, &ring) || process_begin_file(p))
		return;
	words = lobby_map_ring(p->lobby, &ring);
	if (!words) {
		struct err e = ERR_INIT;

		err_sys(&e, "cannot map the ring of a thread");
		fail(p, &e);
		return;
	}
	d = xcalloc(1, sizeof(*d));
	d->slot = t;
	d->words = words;
	d->lobby = p->lobby;
	d->ring = ring;
	d->segment_words = wire_segment_words(ring.words);
	d->pos = d->tail = __atomic_load_n(&t->tail, __ATOMIC_RELAXED);
	d->writer = p->writer;
	d->stream = trace_writer_thread(p->writer, t->tid);
	d->instances = &p->instances;
	d->texts = &p->texts;
	p->rings[slot] = d;
	vec_push(&p->active, slot);
}

static void scan(struct process *p)
{
	for (uint32_t i = 0; i < WIRE_SLOT_WORDS; i++) {
		uint64_t used = __atomic_load_n(&p->region->slots_used[i], __ATOMIC_ACQUIRE);

		for (; used; used &= used - 1) {
			uint32_t slot = i * 64 + __builtin_ctzll(used);

			if (!p->rings[slot])
				add_ring(p, slot);
		}
	}
}

/* The slot as nobody had ever used it, but for its count of lives; the key comes last, for it
 * invites the next. */
static void recycle_slot(struct process *p, uint32_t slot, const struct lobby_ring *ring)
{
	struct wire_thread *t = &p->region->threads[slot];
	uint64_t life = t->life;
	uint32_t big = __atomic_load_n(&t->big, __ATOMIC_RELAXED);

	lobby_punch_ring(p->lobby, ring, 0, ring->words);
	/* not ring->big: it may have taken one and left before it wrote there */
	if (big && big <= WIRE_MAX_BIG)
		__atomic_fetch_and(&p->region->big_used, ~(UINT64_C(1) << (big - 1)),
				   __ATOMIC_RELEASE);
	__atomic_fetch_and(&p->region->slots_used[slot / 64], ~(UINT64_C(1) << slot % 64),
			   __ATOMIC_RELAXED);
	__atomic_store_n(&t->state, WIRE_THREAD_FREE, __ATOMIC_RELAXED);
	t->tid = 0;
	memset((char *)t + offsetof(struct wire_thread, head), 0,
	       sizeof(*t) - offsetof(struct wire_thread, head));
	t->life = life;
	__atomic_store_n(&t->key, 0, __ATOMIC_RELEASE);
}

/*
 * The agent tells names that are given while it is in; the name that a thread has from before, or
 * from whoever made it, is the kernel's to tell. The agent does not ask it: a sandboxed thread may
 * not be allowed to.
 */
static void name_thread(struct process *p, struct drain *d)
{
	char *path = xasprintf("/proc/%u/task/%u/comm", p->pid, d->slot->tid);
	struct event ev = { .kind = EV_THREAD_NAME, .time = d->last_ticks };
	struct strbuf name = STRBUF_INIT;

	d->is_named = true;
	if (d->nr_events[EV_THREAD_NAME] == 0 && io_read_file(path, &name, 256, NULL) == 0) {
		for (size_t i = 0; i < MIN(name.len, (size_t)15) && name.s[i] != '\n'; i++)
			*(i < 8 ? &ev.a : &ev.b) |= (uint64_t)(unsigned char)name.s[i] << i % 8 * 8;
		trace_stream_put(d->stream, &ev);
		d->nr_events[EV_THREAD_NAME]++;
	}
	strbuf_release(&name);
	free(path);
}

/* No large ring is left: whoever needs one loses events unless we come in time. */
static bool is_crowded(const struct process *p)
{
	uint64_t used = __atomic_load_n(&p->region->big_used, __ATOMIC_RELAXED);

	return __builtin_popcountll(used) >= (int)p->lobby->sizes.nr_big;
}

uint64_t process_drain(struct process *p, bool scan_slots)
{
	uint64_t fullest = 0, hurry = is_crowded(p) ? HURRY : 1, ended = 0;
	size_t kept = 0;

	if (p->is_ending)
		return 0;
	if (scan_slots)
		scan(p);
	for (size_t i = 0; i < p->active.nr; i++) {
		uint32_t slot = p->active.v[i];
		struct drain *d = p->rings[slot];
		/* Before the head: a dead thread's head is its last. Its key is the last that it
		 * writes. */
		bool dead = __atomic_load_n(&d->slot->key, __ATOMIC_ACQUIRE) == WIRE_KEY_DEAD &&
			    __atomic_load_n(&d->slot->state, __ATOMIC_ACQUIRE) == WIRE_THREAD_DEAD;
		uint64_t full = drain_ring(d, p->max_bytes);

		fullest = MAX(fullest, d->ring.big ? full : full * hurry);
		/* with a stamp of its own events: it would be out of order */
		if (unlikely(!d->is_named && d->last_ticks))
			name_thread(p, d);
		if (dead && drain_is_empty(d)) {
			struct lobby_ring ring = d->ring;

			drop_ring(p, slot);
			recycle_slot(p, slot, &ring);
			ended += ENDED_WORDS;
		} else {
			p->active.v[kept++] = slot;
		}
	}
	p->active.nr = kept;
	return MAX(fullest, ended);
}

void process_flush(struct process *p, bool anchor)
{
	const struct err *e;

	if (!p->writer)
		return;
	cpu_count_threads(p);
	/* All rings were read since the last flush. What a thread stamped before that, and had not
	 * yet published by then, was held up for long. */
	if (p->has_mark)
		trace_writer_mark(p->writer, &p->mark);
	else
		trace_writer_flush(p->writer);
	p->has_mark = anchor;
	if (anchor)
		clock_anchor(p->lobby->clock, &p->mark);
	e = trace_writer_error(p->writer);
	if (e)
		fail(p, e);
}

void process_stop(struct process *p)
{
	p->is_stopped = true;
	__atomic_store_n(&p->region->state, WIRE_REGION_STOP, __ATOMIC_RELEASE);
}

static bool is_task_event(int kind)
{
	return kind == EV_RUN_START || kind == EV_WAKE || kind == EV_SPAWN || kind == EV_MARK ||
	       kind == EV_SPAN_START;
}

/* A child whose parent is gone, and the region another's, may have taken back what it never counted
 * there. */
static uint64_t nr_unfollowed(const struct process *p)
{
	int32_t nr = p->region->nr_forked;

	return MAX(nr, 0);
}

/* Functions of the plan that the agent left as they are. What it says of them may be anything. */
static uint64_t nr_unredirected(const struct process *p)
{
	uint64_t nr = 0;

	vec_each (o, &p->objects) {
		const struct wire_object *w = &p->region->objects[o->index];
		uint32_t planned = MIN(w->nr_redirects, (uint32_t)WIRE_MAX_REDIRECTS);

		if (w->state == WIRE_OBJECT_DONE)
			nr += planned - MIN(w->nr_redirected, planned);
	}
	return nr;
}

/* The agent tells how many functions it redirected; of other futures, tables were hooked. */
static void sum_futures(const struct process *p, const struct process_object *o,
			struct process_sum *sum)
{
	const struct found_futures *found = &o->d->futures;
	uint32_t nr_moved = 0, nr_done = p->region->objects[o->index].nr_futures_redirected;

	for (uint32_t i = 0; i < o->nr_futures; i++)
		nr_moved += found->v[i].plan.redirect.nr_bytes > 0;
	nr_done = MIN(nr_done, nr_moved);
	sum->nr_futures += o->nr_futures - nr_moved + nr_done;
	sum->nr_futures_refused += found->nr_refused + nr_moved - nr_done;
	sum->nr_futures_beyond += found->nr_beyond + found->nr - o->nr_futures;
	sum->nr_futures_inlined += found->nr_inlined;
	if (found->note && *found->note)
		sum->futures_note = found->note;
}

static void sum_roots(const struct process *p, const struct process_object *o,
		      struct process_sum *sum)
{
	for (uint32_t i = 0; i < o->d->nr_runtimes && !p->lobby->no_roots; i++) {
		const struct found_runtime *r = &o->d->runtimes[i];
		const struct found_fact *fact = &r->facts[FACT_BLOCK_ON];

		if (!r->nr_tables || fact->how != HOW_NOT || !fact->text)
			continue;
		sum->roots_runtime = r->name;
		sum->roots_note = fact->text;
	}
}

void process_sum(const struct process *p, struct process_sum *sum)
{
	*sum = (struct process_sum){ .nr_broken = p->nr_broken,
				     .nr_objects = p->objects.nr,
				     .futures_note = "" };
	for (int k = 0; k < EV_MAX; k++) {
		uint64_t events = p->nr_events[k], lost = p->lost[k] + p->region->lost[k];

		vec_each (slot, &p->active) {
			events += p->rings[*slot]->nr_events[k];
			lost += p->rings[*slot]->slot->lost[k];
		}
		sum->nr_events += events;
		sum->nr_lost += lost;
		if (is_task_event(k))
			sum->nr_task_events += events + lost;
	}
	vec_each (slot, &p->active)
		sum->nr_broken += p->rings[*slot]->nr_broken;
	vec_each (o, &p->objects) {
		sum->nr_tables += o->nr_planned + o->nr_marks;
		sum->nr_unreadable += !o->d;
		sum->nr_hooked += p->region->objects[o->index].nr_hooked;
		sum->nr_refused += p->region->objects[o->index].nr_refused;
		if (!o->d || !o->nr_planned)
			continue;
		sum_futures(p, o, sum);
		sum_roots(p, o, sum);
	}
	sum->nr_apart = p->nr_apart;
	sum->nr_unslotted = p->region->nr_unslotted;
	sum->nr_unfollowed = nr_unfollowed(p);
	sum->has_given_up = p->region->note == WIRE_NOTE_GAVE_UP;
	sum->bytes = p->writer ? trace_writer_bytes(p->writer) : p->bytes;
}

void process_end(struct process *p, struct trace_end *end)
{
	struct err e = ERR_INIT;
	uint64_t cpu_ns;

	if (p->writer && end->kind == TRACE_STOPPED)
		cpu_count_threads(p);
	p->is_ending = true;
	while (p->active.nr)
		drop_ring(p, p->active.v[--p->active.nr]);
	if (process_begin_file(p) == 0) {
		memcpy(end->lost, p->lost, sizeof(end->lost));
		end->lost[0] += p->nr_broken;
		for (int k = 0; k < EV_MAX; k++)
			end->lost[k] += p->region->lost[k];
		end->nr_unslotted = p->region->nr_unslotted;
		end->nr_unfollowed = nr_unfollowed(p);
		end->nr_unredirected = nr_unredirected(p);
		end->nr_apart = p->nr_apart;
		end->nr_no_path = p->region->nr_no_path;
		end->nr_bad_path = p->region->nr_bad_path;
		if (p->has_mark)
			trace_writer_anchor(p->writer, &p->mark);
		put_anchor(p);
		cpu_ns = clock_cpu_ns() + worker_cpu_ns();
		places_write(p);
		paths_write(p);
		last_look_write(p);
		end->tool_cpu_ns += clock_cpu_ns() + worker_cpu_ns() - cpu_ns;
		trace_writer_flush(p->writer);
		p->bytes = trace_writer_bytes(p->writer);
		if (trace_writer_close(p->writer, end, &e))
			fail(p, &e);
		p->writer = NULL;
	}
	p->is_ended = true;
	process_stop(p);
}

int process_discard(struct process *p)
{
	while (p->active.nr)
		drop_ring(p, p->active.v[--p->active.nr]);
	if (!p->writer)
		return 0;
	if (!p->out.is_regular)
		return -1;
	trace_writer_close(p->writer, NULL, NULL);
	p->writer = NULL;
	return output_rewind(&p->out);
}
