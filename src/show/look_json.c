// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/look_json.h"

#include <pthread.h>

#include "model/model.h"
#include "show/look_text.h"
#include "show/tree_say.h"

struct printer {
	struct look *look;
	const char *filter;
	const struct findings *findings;
	pthread_mutex_t lock;
	struct out *out;
	struct json j;
};

static void print_runtimes(const struct look *l, struct json *j)
{
	uint32_t id = 0;

	json_open_array(j, "runtimes");
	vec_each (o, &l->objects.list)
		for (uint32_t i = 0; i < o->d->nr_runtimes; i++, id++) {
			const struct found_runtime *r = &o->d->runtimes[i];

			json_open_object(j, NULL);
			json_uint(j, "id", id);
			json_str(j, "name", r->name);
			json_str(j, "version", *r->version ? r->version : NULL);
			json_str(j, "object", o->d->path);
			json_close_object(j);
		}
	json_close_array(j);
}

static void print_head(const struct look *l, struct json *j)
{
	json_uint(j, "schema", 1);
	if (l->memory->pid)
		json_uint(j, "pid", l->memory->pid);
	else
		json_null(j, "pid");
	json_str(j, "exe", l->memory->exe);
	json_bool(j, "core", l->memory->is_core);
	json_uint(j, "missing_bytes", l->memory->nr_missing_bytes);
	print_runtimes(l, j);
}

static void print_task(struct look *l, const struct findings *f, const struct census_task *t,
		       const struct walk_result *r, struct json *j)
{
	static const char *const no_tree[] = {
		[WALK_OK] = NULL,
		[WALK_RUNNING] = "running",
		[WALK_GONE] = "gone",
		[WALK_UNKNOWN] = "no debug info",
		[WALK_BROKEN] = "unreadable",
	};
	const struct found_table *table = look_table(l, t);
	struct strbuf text = STRBUF_INIT;
	struct say say = { .tree = r->tree,
			   .now_ns = look_now(l),
			   .ties = f ? &f->ties : NULL,
			   .peers = &l->peers };

	json_open_object(j, NULL);
	json_uint(j, "id", t->id);
	json_str(j, "runtime", look_runtime(l, t)->name);
	json_uint(j, "runtime_id", look_runtime_id(l, t));
	json_str(j, "kind", model_kind_name(table->kind));
	json_str(j, "state", look_state_name(r->state));
	look_add_type(l, t, &text);
	json_str(j, "type", *table->name ? text.s : NULL);
	strbuf_reset(&text);
	if (*table->file)
		strbuf_addf(&text, "%s:%u", table->file, table->line);
	json_str(j, "location", *table->file ? text.s : NULL);
	json_uint(j, "addr", t->addr);
	json_null(j, "age_ns"); /* no runtime keeps when a task was spawned */
	json_bool(j, "guess", look_is_guess(l, t));
	json_str(j, "no_tree", no_tree[r->status]);
	json_bool(j, "tree_cut", r->tree->is_cut);
	say_json(&say, j);
	json_close_object(j);
	strbuf_release(&text);
}

static void on_task(void *arg, size_t index, const struct walk_result *r)
{
	struct printer *p = arg;
	const struct census_task *t = &p->look->census.tasks.v[index];

	if (r->status == WALK_GONE || !look_fits(p->look, p->filter, t, r->tree))
		return;
	pthread_mutex_lock(&p->lock);
	print_task(p->look, p->findings, t, r, &p->j);
	out_spill(p->out);
	pthread_mutex_unlock(&p->lock);
}

void look_json(struct look *l, const struct look_json_opts *opts, struct out *out)
{
	struct printer p = { .look = l,
			     .filter = opts->filter,
			     .findings = opts->findings,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .out = out };

	json_init(&p.j, &out->buf);
	p.j.pretty = true;
	json_open_object(&p.j, NULL);
	print_head(l, &p.j);
	json_open_array(&p.j, "tasks");
	walk_tasks(&l->census, &(struct walk_opts){ .locals = opts->locals }, on_task, &p);
	json_close_array(&p.j);
	findings_json(opts->findings, &p.j);
	json_close_object(&p.j);
	strbuf_addch(&out->buf, '\n');
}
