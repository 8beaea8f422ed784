// SPDX-License-Identifier: MIT OR Apache-2.0
/* Reads definitions and the end block: the mirror of what writer.c puts into them. */
#include "trace/load.h"

/* All strings of a file together: far more than any program has, far less than memory. */
#define STRING_BYTES_MAX (64u << 20)

/* More definitions than that do not fit into a byte that was lost, compressed as they are. */
#define DEFS_PER_BYTE 4
/* So many missing ones do no harm. */
#define MISSING_MAX 64

bool load_is_plausible(const struct load *l, enum def_tag tag, uint64_t number)
{
	return number < l->nr_records[tag] + MISSING_MAX + DEFS_PER_BYTE * l->nr_lost_bytes;
}

/* A field that is not there is 0: records may have grown since. */
static uint64_t take_field(struct cursor *c)
{
	return c->p < c->end ? cursor_varint(c) : 0;
}

static const char *take_string(struct load *l, struct cursor *c)
{
	uint64_t number = take_field(c);

	return number < l->strings.nr && l->strings.v[number] ? l->strings.v[number] : "";
}

/* Makes a vector reach up to number, which was checked. Elements in between are what is given. */
#define reach(vec, number, ...)                       \
	do {                                          \
		while ((vec)->nr <= (size_t)(number)) \
			vec_push(vec, __VA_ARGS__);   \
	} while (0)

/* Others borrow it, so a string once defined stays. */
static bool load_string(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c);
	size_t len = c->end - c->p;

	if (c->bad || number == 0 || number >= STRINGS_MAX ||
	    !load_is_plausible(l, DEF_STRING, number) ||
	    l->nr_string_bytes + len > STRING_BYTES_MAX)
		return false;
	reach(&l->strings, number, NULL);
	if (l->strings.v[number])
		return false;
	l->strings.v[number] = xstrndup((const char *)c->p, len);
	l->nr_string_bytes += len;
	return true;
}

/* In the file ticks count from time 0; the anchors that callers get have the clock's own count. */
static void set_base(struct load *l, uint64_t base_ticks)
{
	uint64_t by = base_ticks - l->meta.base_ticks;

	vec_each (a, &l->anchors)
		a->ticks += by;
	if (l->has_end)
		l->end.ticks += by;
	l->meta.base_ticks = base_ticks;
}

static bool load_meta(struct load *l, struct cursor *c)
{
	struct trace_meta *m = &l->meta;
	uint64_t argc;

	m->tool = take_string(l, c);
	m->exe = take_string(l, c);
	m->cwd = take_string(l, c);
	m->os = take_string(l, c);
	m->cpu = take_string(l, c);
	m->host = take_string(l, c);
	m->pid = take_field(c);
	m->uid = take_field(c);
	m->nr_cpus = take_field(c);
	m->parent_pid = take_field(c);
	m->clock = take_field(c) == CLOCK_KIND_TSC ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
	set_base(l, take_field(c));
	argc = take_field(c);
	l->argv.nr = 0;
	while (l->argv.nr < MIN(argc, (uint64_t)ARGS_MAX) && c->p < c->end)
		vec_push(&l->argv, take_string(l, c));
	m->argv = l->argv.v;
	m->argc = l->argv.nr;
	l->has_meta = true;
	return !c->bad;
}

static bool load_object(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c);

	if (c->bad || number >= OBJECTS_MAX || !load_is_plausible(l, DEF_OBJECT, number))
		return false;
	reach(&l->objects, number, (struct trace_object){ .path = "", .build_id = "" });
	l->objects.v[number].path = take_string(l, c);
	l->objects.v[number].build_id = take_string(l, c);
	l->objects.v[number].base = take_field(c);
	return !c->bad;
}

static bool load_runtime(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c);

	if (c->bad || number >= RUNTIMES_MAX || !load_is_plausible(l, DEF_RUNTIME, number))
		return false;
	reach(&l->runtimes, number, (struct trace_runtime){ .name = "", .version = "" });
	l->runtimes.v[number].object = take_field(c);
	l->runtimes.v[number].name = take_string(l, c);
	l->runtimes.v[number].version = take_string(l, c);
	return !c->bad;
}

static bool load_type(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c), kind;
	struct trace_type *t;

	if (c->bad || number >= TYPES_MAX || !load_is_plausible(l, DEF_TYPE, number))
		return false;
	reach(&l->types, number, (struct trace_type){ .name = "", .scheduler = "", .file = "" });
	t = &l->types.v[number];
	t->runtime = take_field(c);
	kind = take_field(c);
	t->kind = kind <= TRACE_BLOCK_ON ? kind : TRACE_TASK;
	t->name = take_string(l, c);
	t->scheduler = take_string(l, c);
	t->file = take_string(l, c);
	t->line = take_field(c);
	t->nr_candidates = take_field(c);
	t->va = take_field(c);
	t->size_bytes = take_field(c);
	t->has_numbers = take_field(c);
	return !c->bad;
}

void load_reach_thread(struct load *l, uint32_t thread)
{
	reach(&l->threads, thread, (struct trace_thread){ .name = "" });
}

static bool load_thread(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c);

	if (c->bad || number >= THREADS_MAX || !load_is_plausible(l, DEF_THREAD, number))
		return false;
	load_reach_thread(l, number);
	l->threads.v[number].tid = take_field(c);
	l->threads.v[number].name = take_string(l, c);
	return !c->bad;
}

static bool load_anchor(struct load *l, struct cursor *c)
{
	uint64_t since = unzigzag(cursor_varint(c));
	struct clock_anchor a = { .ticks = l->meta.base_ticks + since };

	a.mono_ns = take_field(c);
	a.boot_ns = take_field(c);
	a.real_ns = take_field(c);
	if (c->bad || l->anchors.nr >= ANCHORS_MAX)
		return false;
	vec_push(&l->anchors, a);
	if (take_field(c) && !(since >> 63))
		l->mark = MAX(l->mark, since);
	return true;
}

static bool load_cpu(struct load *l, struct cursor *c)
{
	uint64_t thread = cursor_varint(c);
	struct trace_cpu u = { .thread = thread, .time = unzigzag(take_field(c)) };

	u.cpu_ns = take_field(c);
	u.wait_ns = take_field(c);
	if (c->bad || thread >= THREADS_MAX)
		return false;
	if (l->cpu.nr < CPU_MAX)
		vec_push(&l->cpu, u);
	return true;
}

static bool load_stack(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c);

	if (c->bad || number >= STACKS_MAX)
		return false;
	reach(&l->stacks, number, (struct trace_stack){ .file = "" });
	l->stacks.v[number].file = take_string(l, c);
	l->stacks.v[number].line = take_field(c);
	l->stacks.v[number].is_foreign = take_field(c);
	l->stacks.v[number].is_local = take_field(c);
	l->stacks.v[number].scheduler = take_string(l, c);
	return !c->bad;
}

static bool load_instance(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c);

	if (c->bad || number == 0 || number >= TRACE_MAX_INSTANCES)
		return false;
	reach(&l->instances, number, (struct trace_instance){ .scheduler = "" });
	l->instances.v[number].type = take_field(c);
	l->instances.v[number].owner = take_field(c);
	l->instances.v[number].addr = take_field(c);
	l->instances.v[number].scheduler = take_string(l, c);
	l->instances.v[number].root = take_field(c);
	return !c->bad;
}

/* A step of a higher number cannot be around this one: so each way outwards ends. */
static bool load_step(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c), outer = take_field(c), state = take_field(c);
	struct trace_step *s;

	if (c->bad || number >= STEPS_MAX || !load_is_plausible(l, DEF_STEP, number) ||
	    outer > number)
		return false;
	reach(&l->steps, number,
	      (struct trace_step){ .outer = TRACE_NO_STEP,
				   .future = "",
				   .function = "",
				   .file = "",
				   .leaf = "" });
	s = &l->steps.v[number];
	s->outer = outer ? outer - 1 : TRACE_NO_STEP;
	s->state = state <= TRACE_STEP_READY ? state : TRACE_STEP_WAITS;
	s->is_generated = take_field(c);
	s->future = take_string(l, c);
	s->function = take_string(l, c);
	s->file = take_string(l, c);
	s->line = take_field(c);
	s->last_line = take_field(c);
	s->leaf = take_string(l, c);
	s->is_foreign = take_field(c);
	s->is_borrowed = take_field(c);
	return !c->bad;
}

static bool load_path(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c), nr = take_field(c);
	struct trace_path *p;
	uint32_t *steps;

	if (c->bad || number == 0 || number >= PATHS_MAX || nr > PATH_STEPS_MAX)
		return false;
	reach(&l->paths, number, (struct trace_path){ 0 });
	p = &l->paths.v[number];
	free((void *)p->steps);
	p->steps = steps = xcalloc(nr + 1, sizeof(*steps));
	p->nr_steps = nr;
	for (uint32_t i = 0; i < nr; i++) {
		steps[i] = take_field(c);
		/* a path of which a step is not known is not known */
		if (steps[i] >= l->steps.nr)
			p->nr_steps = 0;
	}
	return !c->bad;
}

static bool load_future(struct load *l, struct cursor *c)
{
	uint64_t number = cursor_varint(c), seen;
	struct trace_future *f;

	if (c->bad || number >= FUTURES_MAX || !load_is_plausible(l, DEF_FUTURE, number))
		return false;
	reach(&l->futures, number, (struct trace_future){ .name = "", .function = "", .file = "" });
	f = &l->futures.v[number];
	f->object = take_field(c);
	f->is_generated = take_field(c);
	f->name = take_string(l, c);
	f->function = take_string(l, c);
	f->file = take_string(l, c);
	f->line = take_field(c);
	f->va = take_field(c);
	seen = take_field(c);
	f->seen = seen <= TRACE_FUTURE_UNSURE ? seen : TRACE_FUTURE_UNSURE;
	return !c->bad;
}

static bool load_stand(struct load *l, struct cursor *c)
{
	uint64_t type = cursor_varint(c);
	struct trace_stand s = { .type = type, .task = take_field(c) };
	uint64_t path;

	s.time = unzigzag(take_field(c));
	s.path = path = take_field(c);
	if (c->bad || type >= TYPES_MAX || path >= PATHS_MAX)
		return false;
	if (l->stands.nr < STANDS_MAX)
		vec_push(&l->stands, s);
	return true;
}

bool load_defs(struct load *l, const uint8_t *raw, size_t len)
{
	static bool (*const readers[])(struct load *, struct cursor *) = {
		[DEF_STRING] = load_string, [DEF_META] = load_meta,
		[DEF_OBJECT] = load_object, [DEF_RUNTIME] = load_runtime,
		[DEF_TYPE] = load_type,	    [DEF_THREAD] = load_thread,
		[DEF_ANCHOR] = load_anchor, [DEF_CPU] = load_cpu,
		[DEF_STACK] = load_stack,   [DEF_INSTANCE] = load_instance,
		[DEF_STEP] = load_step,	    [DEF_PATH] = load_path,
		[DEF_FUTURE] = load_future, [DEF_STAND] = load_stand,
	};
	struct cursor c = { .p = raw, .end = raw + len };
	bool is_good = true;

	while (c.p < c.end) {
		uint64_t tag = cursor_varint(&c), body_len = cursor_varint(&c);
		struct cursor body = { .p = c.p };

		if (c.bad || body_len > (size_t)(c.end - c.p))
			return false;
		c.p += body_len;
		body.end = c.p;
		if (tag < ARRAY_SIZE(readers) && readers[tag]) {
			l->nr_records[tag]++;
			is_good &= readers[tag](l, &body);
		}
	}
	return is_good;
}

bool load_end(struct load *l, const uint8_t *raw, size_t len)
{
	struct cursor c = { .p = raw, .end = raw + len };
	struct trace_end end = { 0 };
	uint64_t kind = cursor_varint(&c), nr;

	end.kind = kind;
	end.status = cursor_varint(&c);
	end.ticks = unzigzag(cursor_varint(&c));
	end.tool_cpu_ns = cursor_varint(&c);
	end.target_cpu_ns = cursor_varint(&c);
	end.nr_unslotted = cursor_varint(&c);
	nr = cursor_varint(&c);
	for (uint64_t i = 0; i < MIN(nr, (uint64_t)ARRAY_SIZE(end.lost)); i++)
		end.lost[i] = cursor_varint(&c);
	/* files of earlier versions end here */
	end.nr_unfollowed = take_field(&c);
	end.nr_unredirected = take_field(&c);
	end.nr_no_path = take_field(&c);
	end.nr_bad_path = take_field(&c);
	end.nr_apart = take_field(&c);
	if (c.bad || kind == TRACE_CUT || kind > TRACE_GONE)
		return false;
	end.ticks += l->meta.base_ticks;
	l->end = end;
	l->has_end = true;
	return true;
}

void load_init_defs(struct load *l)
{
	l->meta = (struct trace_meta){ .tool = "",
				       .exe = "",
				       .cwd = "",
				       .os = "",
				       .cpu = "",
				       .host = "",
				       .clock = CLOCK_KIND_MONOTONIC };
}

static int compare_cpu(const void *pa, const void *pb)
{
	const struct trace_cpu *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->cpu_ns < b->cpu_ns ? -1 : a->cpu_ns > b->cpu_ns;
}

/* Counts of the kernel: sorted, without those that run backwards. */
void load_finish_defs(struct load *l)
{
	size_t kept = 0;

	if (l->cpu.nr)
		qsort(l->cpu.v, l->cpu.nr, sizeof(*l->cpu.v), compare_cpu);
	vec_each (u, &l->cpu) {
		const struct trace_cpu *last = kept ? &l->cpu.v[kept - 1] : NULL;

		if (u->time >> 63 || (last && last->thread == u->thread &&
				      (u->cpu_ns < last->cpu_ns || u->wait_ns < last->wait_ns)))
			continue;
		l->cpu.v[kept++] = *u;
	}
	l->cpu.nr = kept;
}
