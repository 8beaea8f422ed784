// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/dialogue.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/maps.h"
#include "base/rust_name.h"

static char *hex(const uint8_t *bytes, size_t nr)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < nr; i++)
		strbuf_addf(&out, "%02x", bytes[i]);
	return strbuf_take(&out);
}

/* By a relative path it was loaded from where the program was then; the map of its memory tells the
 * whole one. */
static char *mapped_path(const struct process *p, const struct process_object *o)
{
	struct maps_line line;
	struct maps maps;
	char *path = NULL;

	maps_open(&maps, p->pid, NULL);
	while (!path && maps_next(&maps, &line))
		if (o->base >= line.addr && o->base < line.end_addr && *line.path == '/')
			path = xasprintf("/proc/%u/root%s", p->pid, line.path);
	maps_close(&maps);
	return path ? path : xasprintf("/proc/%u/cwd/%s", p->pid, o->path);
}

static bool is_of_use(const struct discovery *d)
{
	return d->nr_tables || d->marks.nr || d->roots.nr_parks;
}

/* The program itself is announced by an empty path: the kernel knows best what it runs. */
static const struct reading *look(struct process *p, struct catalog *c, struct process_object *o)
{
	const struct reading *r;
	char *path;

	if (strcmp(o->path, p->exe) == 0)
		path = xasprintf("/proc/%u/exe", p->pid);
	else if (*o->path == '/')
		path = xasprintf("/proc/%u/root%s", p->pid, o->path);
	else
		path = mapped_path(p, o);
	r = catalog_get(c, path, o->path, NULL);
	if (r && is_of_use(r->d))
		o->fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	/* Replaced on disk since it was mapped: its tables would be at other addresses. */
	if (r && *r->d->build_id && *o->build_id && strcmp(r->d->build_id, o->build_id) != 0)
		r = NULL;
	return r;
}

static uint32_t define_type(struct process *p, const struct found_table *t, uint32_t first_runtime)
{
	struct trace_type type = {
		.runtime = first_runtime + t->runtime,
		.kind = t->kind,
		.name = t->name,
		.scheduler = t->scheduler,
		.file = t->file,
		.line = t->line,
		.nr_candidates = t->nr_candidates,
		.va = t->plan.va,
		.size_bytes = t->size_bytes,
		.has_numbers = t->plan.own_name.has_number,
	};

	return wire_is_task_table(t->plan.kind) ? process_define_type(p, &type) : EVENT_TYPE_NONE;
}

/* All runtimes of the object; returns the number of the first. */
static uint32_t define_runtimes(struct process *p, struct process_object *o)
{
	struct trace_object object = { .path = o->path, .build_id = o->build_id, .base = o->base };
	uint32_t first = 0;

	o->number = trace_writer_object(p->writer, &object);

	for (uint32_t i = 0; i < o->d->nr_runtimes; i++) {
		struct trace_runtime r = { .object = o->number,
					   .name = o->d->runtimes[i].name,
					   .version = o->d->runtimes[i].version };
		uint32_t nr = trace_writer_runtime(p->writer, &r);

		instances_know(&p->instances, known_runtime(&o->d->runtimes[i]));

		if (i == 0)
			first = nr;
	}
	return first;
}

/* Returns how many tables were put into the plan. */
static uint32_t plan(struct process *p, struct process_object *o, uint32_t first_table)
{
	uint32_t nr = MIN(o->d->nr_tables, WIRE_MAX_TABLES - first_table);

	if (process_begin_file(p))
		return 0;
	o->first_runtime = define_runtimes(p, o);
	o->tables = xcalloc((size_t)o->d->nr_tables + 1, sizeof(*o->tables));
	for (uint32_t i = 0; i < nr; i++) {
		struct wire_table *t = &p->region->tables[first_table + i];

		*t = o->d->tables[i].plan;
		t->type = define_type(p, &o->d->tables[i], o->first_runtime);
		t->recipe = t->local_off = 0; /* see paths_plan */
		o->tables[i].type = t->type;
		labels_plan(&p->labels, p->region, &o->d->tables[i], t);
		if (t->kind == WIRE_TABLE_FUTURE)
			t->id_off += p->nr_futures;
	}
	return nr;
}

/* Root futures have no table: of those that nothing more is known of, all are of one type. */
static uint32_t define_root_type(struct process *p, const struct process_object *o,
				 uint32_t runtime)
{
	struct trace_type type = {
		.runtime = o->first_runtime + runtime,
		.kind = TRACE_BLOCK_ON,
		.name = "block_on",
		.scheduler = "",
		.file = "",
	};

	return process_define_type(p, &type);
}

static struct wire_redirect *plan_redirect(struct process *p, const struct wire_redirect *r,
					   uint32_t type)
{
	struct wire_redirect *to = &p->region->redirects[p->nr_redirects++];

	*to = *r;
	to->type = type;
	return to;
}

static void plan_roots(struct process *p, const struct process_object *o)
{
	const struct found_roots *roots = &o->d->roots;
	uint32_t type = EVENT_TYPE_NONE, parking_type = EVENT_TYPE_NONE;

	if (!roots->nr_redirects || roots->nr_redirects > WIRE_MAX_REDIRECTS - p->nr_redirects)
		return;
	if (roots->nr_redirects > roots->nr_waits + roots->nr_parks)
		type = define_root_type(p, o, roots->runtime);
	for (uint32_t i = 0; i < roots->nr_redirects; i++) {
		bool is_parking = wire_is_parking(roots->redirects[i].kind);

		if (is_parking && parking_type == EVENT_TYPE_NONE)
			parking_type = define_root_type(p, o, roots->parking_runtime);
		plan_redirect(p, &roots->redirects[i], is_parking ? parking_type : type)
			->local_off = o->local_off;
	}
}

static void plan_redirects(struct process *p, const struct process_object *o, struct wire_object *w)
{
	w->first_redirect = p->nr_redirects;
	if (!p->lobby->no_roots) {
		plan_roots(p, o);
		/* behind the roots': the agent takes each part by itself */
		for (uint32_t i = 0; i < o->d->nr_allocs; i++)
			if (p->nr_redirects < WIRE_MAX_REDIRECTS)
				plan_redirect(p, &o->d->allocs[i].redirect, EVENT_TYPE_NONE);
	}
	w->nr_redirects = p->nr_redirects - w->first_redirect;
}

/* Of "app::fetch::{async block#0}" that is app::fetch. */
static char *function_of(const struct found_future *f)
{
	struct rust_name n;
	uint32_t item, path, end;

	if (!f->is_generated)
		return xstrdup("");
	rust_name_init(&n, f->name, strlen(f->name));
	end = n.nodes[RUST_NAME_ROOT].end;
	item = n.nodes[RUST_NAME_ROOT].first; /* it may be a list of candidates */
	path = item ? n.nodes[item].first : 0;
	if (path && n.nodes[path].kind == RUST_PATH)
		rust_name_each(segment, &n, path) if (n.nodes[segment].kind == RUST_BRACES &&
						      segment != n.nodes[path].first) end =
			MIN(end, n.nodes[segment].start - 2);
	rust_name_release(&n);
	return xstrndup(f->name, end);
}

static uint32_t define_future(struct process *p, const struct process_object *o,
			      const struct found_future *f)
{
	char *function = function_of(f);
	struct trace_future future = { .object = o->number,
				       .seen = f->seen,
				       .is_generated = f->is_generated,
				       .name = f->name,
				       .function = function,
				       .file = f->file,
				       .line = f->line,
				       .va = f->plan.redirect.va };
	uint32_t number = trace_writer_future(p->writer, &future);

	free(function);
	return number;
}

static void plan_futures(struct process *p, struct process_object *o, struct wire_object *w)
{
	uint32_t first = p->nr_futures, nr = MIN(o->d->futures.nr, WIRE_MAX_FUTURES - first);

	for (uint32_t i = 0; i < nr; i++) {
		struct wire_future *to = &p->region->futures[first + i];

		*to = o->d->futures.v[i].plan;
		to->redirect.flag_off = define_future(p, o, &o->d->futures.v[i]);
	}
	p->nr_futures += nr;
	o->nr_futures = nr;
	w->first_future = first;
	w->nr_futures = nr;
}

/* Behind the tables of tasks. */
static void plan_marks(struct process *p, struct process_object *o, uint32_t first)
{
	const struct found_marks *found = &o->d->marks;

	o->nr_marks = MIN(found->nr, WIRE_MAX_TABLES - first);
	for (uint32_t i = 0; i < o->nr_marks; i++)
		p->region->tables[first + i] = found->slots[i];
}

/* Of tasks, or of roots alone: then only if it is known where these lie. */
static void plan_all(struct process *p, struct process_object *o, struct wire_object *w,
		     uint32_t first_table)
{
	uint32_t nr_framed = p->paths.nr_framed;

	if (is_of_use(o->d))
		o->nr_planned = plan(p, o, first_table);
	if (p->writer)
		plan_marks(p, o, first_table + o->nr_planned);
	if ((o->nr_planned || (p->writer && o->d->roots.nr_parks)) && !p->lobby->no_await)
		paths_plan(p, o, first_table);
	if (o->nr_planned || p->paths.nr_framed > nr_framed) {
		plan_redirects(p, o, w);
		plan_futures(p, o, w);
	}
}

static void answer(struct process *p, struct catalog *c, uint32_t index)
{
	struct wire_object *w = &p->region->objects[index];
	uint32_t first = p->nr_tables;
	struct process_object o = { .base = w->base, .index = index, .fd = -1 };
	size_t len = strnlen(w->path, sizeof(w->path));

	o.path = len ? xstrndup(w->path, len) : xstrdup(p->exe);
	o.build_id = hex(w->build_id, MIN(w->build_id_len, WIRE_BUILD_ID));
	p->catalog = c;
	if (!p->is_stopped) {
		o.reading = look(p, c, &o);
		o.d = o.reading ? o.reading->d : NULL;
		if (o.d && w->is_apart)
			p->nr_apart += is_of_use(o.d);
		else if (o.d)
			plan_all(p, &o, w, first);
	}
	w->first_table = first;
	w->nr_tables = o.nr_planned + o.nr_marks;
	p->nr_tables += w->nr_tables;
	__atomic_store_n(&p->region->nr_tables, p->nr_tables, __ATOMIC_RELEASE);
	vec_push(&p->objects, o);
	__atomic_store_n(&w->state, WIRE_OBJECT_ANSWERED, __ATOMIC_RELEASE);
	lobby_wake(&w->state);
}

unsigned dialogue_answer(struct process *p, struct catalog *c)
{
	uint32_t nr = __atomic_load_n(&p->region->nr_objects, __ATOMIC_ACQUIRE);
	unsigned answered = 0;

	for (uint32_t i = 0; i < MIN(nr, WIRE_MAX_OBJECTS); i++) {
		if (__atomic_load_n(&p->region->objects[i].state, __ATOMIC_ACQUIRE) !=
		    WIRE_OBJECT_ANNOUNCED)
			continue;
		answer(p, c, i);
		answered++;
	}
	return answered;
}
