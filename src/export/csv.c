// SPDX-License-Identifier: MIT OR Apache-2.0
/* A line for every run, for spreadsheets and data frames. Quoting is that of RFC 4180. */
#include "base/csv.h"
#include "export/exporters.h"
#include "export/names.h"

struct state {
	const struct recording *rec;
	struct out *out;
	struct names types, threads; /* as fields */
};

static const char head[] = "start_ns,end_ns,run,task,runtime_id,kind,type,tid,thread,blocked_ns,"
			   "sched_ns,idle_ns,cause,waker\n";

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

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	struct strbuf *line = &s->out->buf;
	const struct model_key *key = &run->task->key;

	put_number(line, run->start_ns);
	put_number(line, run->end_ns);
	put_text(line, run->flags ? "drop" : "poll");
	put_number(line, key->id);
	if (key->runtime != MODEL_NO_RUNTIME)
		strbuf_adduint(line, key->runtime);
	strbuf_addch(line, ',');
	put_text(line, model_kind_name(run->task->kind));
	put_text(line, names_get(&s->types, key->type));
	put_number(line, recording_thread_tid(s->rec, run->thread));
	put_text(line, names_get(&s->threads, run->thread));
	put_number(line, run->blocked_ns);
	/* empty is not known */
	if (run->is_gap_known)
		strbuf_adduint(line, run->sched_ns);
	strbuf_addch(line, ',');
	if (run->is_gap_known)
		strbuf_adduint(line, run->idle_ns);
	strbuf_addch(line, ',');
	if (run->waker)
		strbuf_addstr(line, model_cause_name(run->waker->cause));
	strbuf_addch(line, ',');
	if (run->waker && run->waker->has_key)
		strbuf_adduint(line, run->waker->key.id);
	strbuf_addch(line, '\n');
	out_spill(s->out);
}

static const struct model_ops ops = { .run = on_run };

static int run(struct export_job *job, struct err *e)
{
	struct state s = { .rec = job->rec, .out = job->out };

	names_of_types(&s.types, job->rec, csv_add);
	names_of_threads(&s.threads, job->rec, csv_add);
	strbuf_addstr(&job->out->buf, head);
	model_free(recording_read(job->rec, &job->view, &(struct recording_sink){ &ops, &s }, 1));
	names_release(&s.types);
	names_release(&s.threads);
	return 0;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.summary = "a line for every run of a task, with what came before it and who woke it",
	.suffix = "csv",
	.is_text = true,
	.is_whole = true,
	.run = run,
};
