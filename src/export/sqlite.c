// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A SQLite database: tables of tasks, polls, wakes, futures, threads, types and findings, and views
 * that put the names in. The schema is documented in futrace-export(1) and does not change without
 * a reason.
 */
#include <sqlite3.h>

#include "base/utf8.h"
#include "export/exporters.h"
#include "export/marks.h"
#include "export/sqlite_schema.h"

enum statement {
	TASK,
	POLL,
	WAKE,
	THREAD,
	TYPE,
	RUNTIME,
	CAUSE,
	STEP,
	PATH_STEP,
	PATH_AWAIT,
	FUTURE,
	FUTURE_POLL,
	FINDING,
	MARK,
	SPAN,
	META,
	NR_STATEMENTS
};

static const char *const statements[NR_STATEMENTS] = {
	[TASK] = "INSERT INTO task VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[POLL] = "INSERT INTO poll VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[WAKE] = "INSERT INTO wake VALUES (?,?,?,?,?,?)",
	[THREAD] = "INSERT INTO thread VALUES (?,?,?,?,?,?,?,?,?,?,?)",
	[TYPE] = "INSERT INTO type VALUES (?,?,?,?,?,?,?,?,?)",
	[RUNTIME] = "INSERT INTO runtime VALUES (?,?,?,?,?,?)",
	[CAUSE] = "INSERT INTO cause VALUES (?,?)",
	[STEP] = "INSERT INTO step VALUES (?,?,?,?,?,?,?,?,?,?,?)",
	[PATH_STEP] = "INSERT INTO path_step VALUES (?,?)",
	[PATH_AWAIT] = "INSERT INTO path_await VALUES (?,?)",
	[FUTURE] = "INSERT INTO future VALUES (?,?,?,?,?,?,?)",
	[FUTURE_POLL] = "INSERT INTO future_poll VALUES (?,?,?,?,?,?,?,?,?,?)",
	[FINDING] = "INSERT INTO finding VALUES (?,?,?,?,?,?,?,?,?,?)",
	[MARK] = "INSERT INTO mark VALUES (?,?,?,?,?,?)",
	[SPAN] = "INSERT INTO span VALUES (?,?,?,?,?,?,?,?,?)",
	[META] = "INSERT INTO meta VALUES (?,?)",
};

struct state {
	const struct recording *rec;
	sqlite3 *db;
	sqlite3_stmt *st[NR_STATEMENTS];
	int rc;	    /* the first that was not good */
	int column; /* the next to bind */
};

static void put(struct state *s, enum statement st, uint64_t value)
{
	sqlite3_bind_int64(s->st[st], ++s->column, value);
}

static void put_null(struct state *s, enum statement st)
{
	sqlite3_bind_null(s->st[st], ++s->column);
}

static void put_known(struct state *s, enum statement st, bool is_known, uint64_t value)
{
	if (is_known)
		put(s, st, value);
	else
		put_null(s, st);
}

/* Text of our own: it must stay until the row is in. */
static void put_text(struct state *s, enum statement st, const char *text)
{
	if (text && text[0])
		sqlite3_bind_text(s->st[st], ++s->column, text, -1, SQLITE_STATIC);
	else
		put_null(s, st);
}

/* Text of the target, which may be anything. */
static void put_foreign(struct state *s, enum statement st, const char *text)
{
	struct strbuf clean = STRBUF_INIT;

	if (!text || !text[0]) {
		put_null(s, st);
		return;
	}
	strbuf_add_utf8(&clean, text);
	sqlite3_bind_text(s->st[st], ++s->column, clean.s, clean.len, SQLITE_TRANSIENT);
	strbuf_release(&clean);
}

static void put_row(struct state *s, enum statement st)
{
	int rc = sqlite3_step(s->st[st]);

	sqlite3_reset(s->st[st]);
	s->column = 0;
	if (rc != SQLITE_DONE && s->rc == SQLITE_OK)
		s->rc = rc;
}

static void put_type(struct state *s, enum statement st, uint16_t type)
{
	put_known(s, st, type < s->rec->nr_types, type);
}

/* NULL when no task did it. */
static void put_waker(struct state *s, enum statement st, const struct model_waker *w)
{
	bool is_task = w && w->has_key;

	put_known(s, st, is_task, is_task ? w->key.id : 0);
	put_type(s, st, is_task ? w->key.type : EVENT_TYPE_NONE);
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	const struct model_waker *w = run->waker;

	put(s, POLL, run->task->nr);
	put(s, POLL, run->thread);
	put(s, POLL, run->start_ns);
	put(s, POLL, run->end_ns - run->start_ns);
	put(s, POLL, run->blocked_ns);
	put_known(s, POLL, run->is_gap_known, run->sched_ns);
	put_known(s, POLL, run->is_gap_known, run->idle_ns);
	put_known(s, POLL, w, w ? w->cause : 0);
	put_waker(s, POLL, w);
	put(s, POLL, run->flags != 0);
	put(s, POLL, run->is_open);
	put_known(s, POLL, run->path != MODEL_NO_PATH, run->path);
	put_row(s, POLL);
}

static void on_future(void *sink, const struct model_future *f)
{
	struct state *s = sink;

	put_known(s, FUTURE_POLL, f->future < s->rec->nr_futures, f->future);
	put_known(s, FUTURE_POLL, f->task, f->task ? f->task->nr : 0);
	put(s, FUTURE_POLL, f->thread);
	put(s, FUTURE_POLL, f->start_ns);
	put(s, FUTURE_POLL, f->end_ns - f->start_ns);
	put(s, FUTURE_POLL, f->self_ns);
	put(s, FUTURE_POLL, f->depth);
	put_text(s, FUTURE_POLL, f->flags ? model_result_name(f->flags) : NULL);
	put(s, FUTURE_POLL, f->is_recursive);
	put(s, FUTURE_POLL, f->is_open);
	put_row(s, FUTURE_POLL);
}

static void on_wake(void *sink, const struct model_wake *wake)
{
	struct state *s = sink;
	const struct model_waker *w = wake->waker;

	put(s, WAKE, wake->task->nr);
	put(s, WAKE, wake->time_ns);
	put(s, WAKE, w->cause);
	put_known(s, WAKE, w->thread != MODEL_NO_THREAD, w->thread);
	put_waker(s, WAKE, w);
	put_row(s, WAKE);
}

static void on_task(void *sink, const struct model_task *t)
{
	struct state *s = sink;

	put(s, TASK, t->nr);
	put(s, TASK, t->key.id);
	put_foreign(s, TASK, t->name);
	put_known(s, TASK, t->key.runtime != MODEL_NO_RUNTIME, t->key.runtime);
	put_type(s, TASK, t->key.type);
	put_text(s, TASK, model_kind_name(t->kind));
	put_known(s, TASK, t->has_parent, t->parent.id);
	put_type(s, TASK, t->has_parent ? t->parent.type : EVENT_TYPE_NONE);
	put(s, TASK, t->spawn_exact);
	put(s, TASK, t->spawn_ns);
	put_known(s, TASK, t->end != MODEL_ALIVE, t->end_ns);
	put_text(s, TASK, model_end_name(t->end));
	put(s, TASK, t->polls);
	put(s, TASK, t->ns[MODEL_RUNNING]);
	put(s, TASK, t->ns[MODEL_SCHEDULED]);
	put(s, TASK, t->ns[MODEL_IDLE]);
	put(s, TASK, t->ns[MODEL_UNKNOWN]);
	put(s, TASK, t->max_poll_ns);
	put(s, TASK, t->max_sched_ns);
	put(s, TASK, t->blocked_ns);
	put(s, TASK, t->max_blocked_ns);
	put(s, TASK, model_sum_wakes(t->wakes));
	put(s, TASK, t->wakes[MODEL_BY_SELF]);
	put_known(s, TASK, t->last_path != MODEL_NO_PATH, t->last_path);
	put_row(s, TASK);
}

static void on_thread(void *sink, const struct model_thread *t)
{
	struct state *s = sink;

	put(s, THREAD, t->thread);
	put(s, THREAD, recording_thread_tid(s->rec, t->thread));
	put_foreign(s, THREAD, recording_thread_name(s->rec, t->thread));
	put_text(s, THREAD, model_thread_kind_name(t->kind));
	put_known(s, THREAD, t->runtime != MODEL_NO_RUNTIME, t->runtime);
	put(s, THREAD, t->polls);
	put(s, THREAD, t->busy_ns);
	put(s, THREAD, t->asleep_ns);
	put(s, THREAD, t->sleeps);
	put(s, THREAD, t->blocked_ns);
	put(s, THREAD, t->nr_blocks);
	put_row(s, THREAD);
}

/* As JSON, for json_extract; NULL when there are none. */
static void put_fields(struct state *s, enum statement st, const struct model_field *fields,
		       uint32_t nr)
{
	struct strbuf text = STRBUF_INIT;
	struct json j;

	json_init(&j, &text);
	if (nr)
		marks_put_fields(&j, NULL, s->rec, fields, nr);
	put_foreign(s, st, text.s);
	strbuf_release(&text);
}

static void on_mark(void *sink, const struct model_mark *m)
{
	struct state *s = sink;

	put_foreign(s, MARK, mark_name(s->rec, m->name));
	put(s, MARK, m->id);
	put(s, MARK, m->time_ns);
	put_known(s, MARK, m->task, m->task ? m->task->nr : 0);
	put(s, MARK, m->thread);
	put_fields(s, MARK, m->fields, m->nr_fields);
	put_row(s, MARK);
}

static void on_span(void *sink, const struct model_span *span)
{
	struct state *s = sink;

	put_foreign(s, SPAN, mark_name(s->rec, span->name));
	put(s, SPAN, span->id);
	put(s, SPAN, span->start_ns);
	put(s, SPAN, span->end_ns - span->start_ns);
	put_known(s, SPAN, span->has_task, span->task_nr);
	put(s, SPAN, span->thread);
	put(s, SPAN, span->end_thread);
	put_fields(s, SPAN, span->fields, span->nr_fields);
	put(s, SPAN, span->is_open);
	put_row(s, SPAN);
}

static const struct model_ops ops = { .run = on_run,
				      .wake = on_wake,
				      .future = on_future,
				      .mark = on_mark,
				      .span = on_span,
				      .task = on_task,
				      .thread = on_thread };

static void put_types(struct state *s)
{
	for (uint32_t i = 0; i < s->rec->nr_types; i++) {
		const struct trace_type *t = &s->rec->types[i];

		put(s, TYPE, i);
		put_foreign(s, TYPE, t->name);
		put(s, TYPE, recording_group_of(s->rec, i));
		put(s, TYPE, t->nr_candidates);
		put_text(s, TYPE, model_kind_name(t->kind));
		put_known(s, TYPE, recording_type_runtime(s->rec, i) != MODEL_NO_RUNTIME,
			  recording_type_runtime(s->rec, i));
		put_foreign(s, TYPE, t->file);
		put_known(s, TYPE, t->file[0], t->line);
		put_known(s, TYPE, t->size_bytes, t->size_bytes);
		put_row(s, TYPE);
	}
}

static void put_steps(struct state *s)
{
	for (uint32_t i = 0; i < s->rec->nr_steps; i++) {
		const struct trace_step *step = &s->rec->steps[i];

		put(s, STEP, i);
		put_known(s, STEP, step->outer != TRACE_NO_STEP, step->outer);
		put_text(s, STEP, step_state_name(step->state));
		put(s, STEP, step->is_generated);
		put_foreign(s, STEP, step->future);
		put_foreign(s, STEP, step->function);
		put_foreign(s, STEP, step->file);
		put_known(s, STEP, step->file[0], step->line);
		put_known(s, STEP, step->last_line, step->last_line);
		put_foreign(s, STEP, step->leaf);
		put(s, STEP, step->is_foreign);
		put_row(s, STEP);
	}
}

static void put_pair(struct state *s, enum statement st, uint32_t path, uint32_t step)
{
	put(s, st, path);
	put(s, st, step);
	put_row(s, st);
}

static void put_paths(struct state *s)
{
	const struct recording *rec = s->rec;
	struct path_seats seats;

	path_seats_init(&seats, &rec->awaits, rec->paths, rec->nr_paths);
	for (uint32_t i = 0; i < rec->nr_paths; i++) {
		for (uint32_t k = 0; k < rec->paths[i].nr_steps; k++)
			put_pair(s, PATH_STEP, i, rec->paths[i].steps[k]);
		for (uint32_t k = seats.first[i]; k < seats.first[i + 1]; k++)
			put_pair(s, PATH_AWAIT, i, rec->awaits.points[seats.v[k]]);
	}
	path_seats_release(&seats);
}

static void put_futures(struct state *s)
{
	for (uint32_t i = 0; i < s->rec->nr_futures; i++) {
		const struct trace_future *f = &s->rec->futures[i];

		put(s, FUTURE, i);
		put_foreign(s, FUTURE, f->name);
		put_foreign(s, FUTURE, f->function);
		put_foreign(s, FUTURE, f->file);
		put_known(s, FUTURE, f->file[0], f->line);
		put(s, FUTURE, f->is_generated);
		put_text(s, FUTURE, model_seen_name(f->seen));
		put_row(s, FUTURE);
	}
}

static void put_definitions(struct state *s)
{
	const struct recording *rec = s->rec;

	put_types(s);
	put_steps(s);
	put_paths(s);
	put_futures(s);
	for (uint32_t i = 0; i < rec->nr_runtimes; i++) {
		const struct recording_runtime *r = &rec->runtimes[i];

		if (r->never_ran)
			continue;
		put(s, RUNTIME, i);
		put_foreign(s, RUNTIME, r->name);
		put_foreign(s, RUNTIME, r->version);
		put_foreign(s, RUNTIME,
			    r->object < rec->nr_objects ? rec->objects[r->object].path : NULL);
		put_foreign(s, RUNTIME, r->scheduler);
		put(s, RUNTIME, r->copy);
		put_row(s, RUNTIME);
	}
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++) {
		put(s, CAUSE, i);
		put_text(s, CAUSE, model_cause_name(i));
		put_row(s, CAUSE);
	}
}

static void put_findings(struct state *s, const struct analyzer *a)
{
	size_t nr;
	const struct finding *f = analyzer_get_findings(a, &nr);

	for (size_t i = 0; i < nr; i++, f++) {
		put(s, FINDING, i);
		put_text(s, FINDING, f->analysis->name);
		put_text(s, FINDING, severity_name(f->severity));
		put_type(s, FINDING, f->type);
		put_known(s, FINDING, f->has_task, f->task.id);
		put_known(s, FINDING, f->thread != MODEL_NO_THREAD, f->thread);
		put(s, FINDING, f->time_ns);
		put(s, FINDING, f->span_ns);
		put_foreign(s, FINDING, f->what);
		put_foreign(s, FINDING, f->advice);
		put_row(s, FINDING);
	}
}

static void put_meta(struct state *s, const char *key, const char *value)
{
	put_text(s, META, key);
	put_foreign(s, META, value);
	put_row(s, META);
}

static void put_meta_number(struct state *s, const char *key, uint64_t value)
{
	put_text(s, META, key);
	put(s, META, value);
	put_row(s, META);
}

static void put_metas(struct state *s, const struct model *m)
{
	uint64_t lost[EV_MAX];

	put_meta_number(s, "schema", SQLITE_SCHEMA_VERSION);
	put_meta(s, "tool", "futrace " FUTRACE_VERSION);
	put_meta(s, "exe", s->rec->meta->exe);
	put_meta_number(s, "pid", s->rec->meta->pid);
	put_meta_number(s, "start_ns", model_get_start(m));
	put_meta_number(s, "duration_ns", model_get_duration(m));
	put_meta_number(s, "events", model_get_totals(m)->nr_events);
	put_meta_number(s, "lost", recording_get_lost(s->rec, m, lost));
}

static int open_db(struct state *s, const char *path)
{
	int rc = sqlite3_open(path, &s->db);

	/* Nobody sees the file before it is whole, so nothing has to survive a crash. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db,
				  "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
				  "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536;"
				  "PRAGMA page_size=8192; BEGIN;",
				  NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db, sqlite_schema, NULL, NULL, NULL);
	for (unsigned i = 0; rc == SQLITE_OK && i < NR_STATEMENTS; i++)
		rc = sqlite3_prepare_v3(s->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
					&s->st[i], NULL);
	return rc;
}

static void fill(struct state *s, struct export_job *job)
{
	struct analyzer *a = analyzer_new(job->rec, job->config);
	struct model *m;

	m = export_read(job, a, &ops, s);
	put_definitions(s);
	put_findings(s, a);
	put_metas(s, m);
	model_free(m);
	analyzer_free(a);
}

static int run(struct export_job *job, struct err *e)
{
	struct state s = { .rec = job->rec };
	int rc = 0;

	s.rc = open_db(&s, job->path);
	if (s.rc == SQLITE_OK)
		fill(&s, job);
	if (s.rc == SQLITE_OK)
		s.rc = sqlite3_exec(s.db, "COMMIT", NULL, NULL, NULL);
	if (s.rc != SQLITE_OK)
		rc = err_set(e, ERR_SYS, "cannot write the database: %s", sqlite3_errmsg(s.db));
	for (unsigned i = 0; i < NR_STATEMENTS; i++)
		sqlite3_finalize(s.st[i]);
	sqlite3_close(s.db);
	return rc;
}

const struct exporter exporter_sqlite = {
	.name = "sqlite",
	.summary = "a SQLite database with tables of tasks, polls, wakes, and views over them",
	.suffix = "sqlite",
	.is_database = true,
	.is_whole = true,
	.run = run,
};
