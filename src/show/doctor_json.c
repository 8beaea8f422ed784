// SPDX-License-Identifier: MIT OR Apache-2.0
/* What `doctor` says of a file, for programs. */
#include "base/candidates.h"
#include "base/json.h"
#include "model/model.h"
#include "show/doctor.h"
#include "show/json_candidates.h"

static const char *rung_name(enum rung rung)
{
	static const char *const names[] = {
		[RUNG_NOTHING] = "nothing",
		[RUNG_SYMBOLS] = "symbols",
		[RUNG_LINES] = "lines",
		[RUNG_FULL] = "full",
	};

	return names[rung];
}

static void json_tables(const struct discovery *d, struct json *j)
{
	struct strbuf label = STRBUF_INIT;

	json_open_array(j, "tables");
	for (uint32_t i = 0; i < d->nr_tables; i++) {
		const struct found_table *t = &d->tables[i];

		if (!wire_is_task_table(t->plan.kind))
			continue;
		json_open_object(j, NULL);
		json_uint(j, "va", t->plan.va);
		json_uint(j, "runtime", t->runtime);
		json_str(j, "kind", model_kind_name(t->kind));
		json_str(j, "scheduler", *t->scheduler ? t->scheduler : NULL);
		label_candidates(&label, t->name, t->nr_candidates);
		json_str(j, "type", *t->name ? label.s : NULL);
		strbuf_reset(&label);
		json_uint(j, "candidates", t->nr_candidates);
		if (t->nr_candidates > 1)
			json_candidates(j, t->name);
		json_str(j, "file", *t->file ? t->file : NULL);
		json_uint(j, "line", t->line);
		if (t->size_bytes)
			json_uint(j, "size_bytes", t->size_bytes);
		else
			json_null(j, "size_bytes");
		json_close_object(j);
	}
	json_close_array(j);
	strbuf_release(&label);
}

static void json_runtimes(const struct discovery *d, struct json *j)
{
	json_open_array(j, "runtimes");
	for (uint32_t i = 0; i < d->nr_runtimes; i++) {
		const struct found_runtime *r = &d->runtimes[i];

		json_open_object(j, NULL);
		json_str(j, "name", r->name);
		json_str(j, "version", *r->version ? r->version : NULL);
		json_uint(j, "tables", r->nr_tables);
		json_uint(j, "refused", r->nr_refused);
		json_bool(j, "unstable", r->unstable);
		json_bool(j, "waker_known", r->waker_known);
		json_str(j, "note", *r->note ? r->note : NULL);
		json_str(j, "found_by", r->nr_tables ? r->found_by : NULL);
		seen_json_runtime(d, i, j);
		json_close_object(j);
	}
	json_close_array(j);
}

void subject_json(const struct subject *s, struct json *j)
{
	static const char *const links[] = {
		[ELF_DYNAMIC] = "dynamic",
		[ELF_DYNAMIC_MUSL] = "dynamic_musl",
		[ELF_STATIC] = "static",
		[ELF_STATIC_PIE] = "static_pie",
		[ELF_SHARED_OBJECT] = "shared_object",
	};
	const struct discovery *d = s->d;
	struct strbuf text = STRBUF_INIT;
	bool can = subject_verdict(s, &text);
	const char *todo;

	json_open_object(j, NULL);
	json_str(j, "path", d->path);
	json_str(j, "build_id", *d->build_id ? d->build_id : NULL);
	json_str(j, "debug_file", *d->debug_path ? d->debug_path : NULL);
	json_bool(j, "recordable", can);
	json_str(j, "verdict", text.s);
	json_str(j, "link", links[d->link]);
	json_bool(j, "pie", d->is_pie);
	json_bool(j, "privileged", s->is_privileged);
	json_str(j, "rung", rung_name(d->rung));
	json_str(j, "obstacle", subject_has_use(s) ? subject_obstacle(s, &todo) : NULL);
	json_str(j, "to_do", *d->rung_note ? d->rung_note : NULL);
	seen_json(d, j);
	json_uint(j, "broken", d->nr_broken);
	json_bool(j, "from_cache", d->from_cache);
	json_uint(j, "took_ns", d->took_ns);
	json_runtimes(d, j);
	futures_json(s, j);
	json_tables(d, j);
	json_close_object(j);
	strbuf_release(&text);
}
