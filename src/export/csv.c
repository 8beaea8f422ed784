// SPDX-License-Identifier: MIT OR Apache-2.0
/* A line for every run, for spreadsheets and data frames. Quoting is that of RFC 4180. */
#include "base/csv.h"
#include "export/exporters.h"
#include "export/safe_names.h"
#include "export/trunks.h"

struct state {
	const struct recording *rec;
	struct out *out;
	struct names types, threads; /* as fields */
	struct trunks trunks;
};

static const char head[] = "start_ns,end_ns,run,task,runtime_id,kind,type_id,type,tid,thread,"
			   "blocked_ns,sched_ns,idle_ns,cause,waker,waker_type_id,is_open,await\n";

static void put_number(struct strbuf *line, uint64_t n)
{
	strbuf_adduint(line, n);
	strbuf_addch(line, ',');
}

static void put_text(struct strbuf *line, const char *text)
{
	strbuf_addstr(line, text);
	strbuf_addch(line, ',');
}

/* Empty is not known, or none. */
static void put_known(struct strbuf *line, bool is_known, uint64_t n)
{
	if (is_known)
		strbuf_adduint(line, n);
	strbuf_addch(line, ',');
}

static void put_waker(struct state *s, struct strbuf *line, const struct model_waker *w)
{
	bool is_task = w && w->has_key;

	put_text(line, w ? model_cause_name(w->cause) : "");
	put_known(line, is_task, is_task ? w->key.id : 0);
	put_known(line, is_task && w->key.type < s->rec->nr_types, is_task ? w->key.type : 0);
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	struct strbuf *line = &s->out->buf;
	const struct model_key *key = &run->task->key;

	put_number(line, run->start_ns);
	put_number(line, run->end_ns);
	put_text(line, run->flags ? "drop" : "poll");
	put_number(line, key->id);
	put_known(line, key->runtime != MODEL_NO_RUNTIME, key->runtime);
	put_text(line, model_kind_name(run->task->kind));
	put_known(line, key->type < s->rec->nr_types, key->type);
	put_text(line, names_get(&s->types, key->type));
	put_number(line, recording_thread_tid(s->rec, run->thread));
	put_text(line, names_get(&s->threads, run->thread));
	put_number(line, run->blocked_ns);
	put_known(line, run->is_gap_known, run->sched_ns);
	put_known(line, run->is_gap_known, run->idle_ns);
	put_waker(s, line, run->waker);
	put_text(line, run->is_open ? "1" : "0");
	if (run->path != MODEL_NO_PATH)
		strbuf_addstr(line, names_get(&s->trunks.waits, run->path));
	strbuf_addch(line, '\n');
	out_spill(s->out);
}

static const struct model_ops ops = { .run = on_run };

static int run(struct export_job *job, struct err *e)
{
	struct state s = { .rec = job->rec, .out = job->out };
	struct model *m;

	names_of_types(&s.types, job->rec, csv_add);
	names_of_threads(&s.threads, job->rec, csv_add);
	trunks_init(&s.trunks, job, csv_add);
	strbuf_addstr(&job->out->buf, head);
	m = recording_read(job->rec, &job->view, &(struct recording_sink){ &ops, &s }, 1);
	export_note_lost(job, m);
	model_free(m);
	names_release(&s.types);
	names_release(&s.threads);
	trunks_release(&s.trunks);
	return 0;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.summary = "a line for every run of a task, with the wait before it and its cause",
	.suffix = "csv",
	.is_text = true,
	.is_whole = true,
	.run = run,
};
