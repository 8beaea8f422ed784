// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * profile.proto, gzipped: for `go tool pprof`, Parca, Pyroscope, speedscope. A stack is who spawned
 * whom by type; its values are how long tasks that came about that way were busy, scheduled and
 * idle, and how often they were polled. A function is a type, and stands where its future is
 * defined. By --weight=waiting a stack is who awaits whom at which line, and its values are how
 * long that took and how often.
 */
#include <string.h>
#include <zlib.h>

#include "base/intern.h"
#include "export/exporters.h"
#include "export/proto.h"
#include "export/waits.h"
#include "model/lineage.h"

/* Numbers of the fields of profile.proto (github.com/google/pprof, proto/profile.proto). */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2 };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_LINE = 4 };
enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILENAME = 4, FUNCTION_START_LINE = 5 };

struct value {
	const char *name, *unit;
};

static const struct value values[] = { { "busy", "nanoseconds" },
				       { "sched", "nanoseconds" },
				       { "idle", "nanoseconds" },
				       { "polls", "count" } };
static const struct value waiting_values[] = { { "waiting", "nanoseconds" }, { "waits", "count" } };

struct pprof {
	const struct recording *rec;
	struct strbuf *buf;
	struct intern *strings; /* 0 is "" */
};

/* Readers print names to terminals as they are. */
static uint64_t string_of(struct pprof *p, const char *s)
{
	struct strbuf clean = STRBUF_INIT;
	uint32_t id;

	strbuf_add_clean(&clean, s, strlen(s));
	id = intern_put(p->strings, clean.s, clean.len);
	strbuf_release(&clean);
	return id;
}

static void put_value_types(struct pprof *p, const struct value *v, size_t nr,
			    const struct value *usual)
{
	struct proto w = proto_start(p->buf);

	for (size_t i = 0; i < nr; i++) {
		size_t type = proto_open(&w, PROFILE_SAMPLE_TYPE);

		proto_uint(&w, VALUE_TYPE, string_of(p, v[i].name));
		proto_uint(&w, VALUE_UNIT, string_of(p, v[i].unit));
		proto_close(&w, type);
	}
	proto_uint(&w, PROFILE_DEFAULT_SAMPLE_TYPE, string_of(p, usual->name));
	proto_finish(&w, p->buf);
}

static void put_mapping(struct pprof *p)
{
	struct proto w = proto_start(p->buf);
	size_t mapping = proto_open(&w, PROFILE_MAPPING);

	proto_uint(&w, MAPPING_ID, 1);
	proto_uint(&w, MAPPING_FILENAME, string_of(p, p->rec->meta->exe));
	if (p->rec->nr_objects && strcmp(p->rec->objects[0].path, p->rec->meta->exe) == 0)
		proto_uint(&w, MAPPING_BUILD_ID, string_of(p, p->rec->objects[0].build_id));
	proto_uint(&w, MAPPING_HAS_FUNCTIONS, true); /* nothing is left to look up */
	proto_close(&w, mapping);
	proto_finish(&w, p->buf);
}

/* A function that has one line, and that line, under one number. */
struct place {
	uint64_t id;
	const char *name, *file;
	uint32_t line;
};

static void put_place(struct pprof *p, const struct place *at)
{
	struct proto w = proto_start(p->buf);
	size_t function = proto_open(&w, PROFILE_FUNCTION), location, line;

	proto_uint(&w, FUNCTION_ID, at->id);
	proto_uint(&w, FUNCTION_NAME, string_of(p, at->name));
	if (at->file[0]) {
		proto_uint(&w, FUNCTION_FILENAME, string_of(p, at->file));
		proto_uint(&w, FUNCTION_START_LINE, at->line);
	}
	proto_close(&w, function);
	location = proto_open(&w, PROFILE_LOCATION);
	proto_uint(&w, LOCATION_ID, at->id);
	proto_uint(&w, LOCATION_MAPPING_ID, 1);
	line = proto_open(&w, LOCATION_LINE);
	proto_uint(&w, LINE_FUNCTION_ID, at->id);
	proto_uint(&w, LINE_LINE, at->line);
	proto_close(&w, line);
	proto_close(&w, location);
	proto_finish(&w, p->buf);
}

static void put_group(struct pprof *p, uint32_t group)
{
	uint16_t type = p->rec->groups[group].type;
	const struct trace_type *t = type < p->rec->nr_types ? &p->rec->types[type] : NULL;
	char none[32];

	put_place(p, &(struct place){ .id = 1 + group,
				      .name = recording_type_name(p->rec, type, none),
				      .file = t ? t->file : "",
				      .line = t ? t->line : 0 });
}

static void put_label(struct pprof *p, struct proto *w, const char *key, const char *text)
{
	size_t label = proto_open(w, SAMPLE_LABEL);

	proto_uint(w, LABEL_KEY, string_of(p, key));
	proto_uint(w, LABEL_STR, string_of(p, text));
	proto_close(w, label);
}

static void put_sample(struct pprof *p, const struct lineage_path *paths, uint32_t path)
{
	const struct lineage_path *at = &paths[path];
	uint64_t numbers[] = { at->ns[MODEL_RUNNING], at->ns[MODEL_SCHEDULED], at->ns[MODEL_IDLE],
			       at->polls };
	const struct recording_group *group = &p->rec->groups[at->group];
	const char *runtime = recording_type_library(p->rec, group->type);
	struct proto w = proto_start(p->buf);
	size_t sample = proto_open(&w, PROFILE_SAMPLE);

	/* leaf first; lineages are not deep */
	for (; path != LINEAGE_ROOT; path = paths[path].parent)
		proto_uint(&w, SAMPLE_LOCATION_ID, 1 + paths[path].group);
	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++)
		proto_uint(&w, SAMPLE_VALUE, numbers[i]);
	put_label(p, &w, "kind", model_kind_name(group->kind));
	if (runtime)
		put_label(p, &w, "runtime", runtime);
	proto_close(&w, sample);
	proto_finish(&w, p->buf);
}

static void put_times(struct pprof *p, const struct model *m)
{
	struct clock_anchor zero = trace_get_zero(p->rec->trace);
	uint64_t lost[EV_MAX], nr_lost = recording_get_lost(p->rec, m, lost);
	struct proto w = proto_start(p->buf);

	if (zero.real_ns)
		proto_uint(&w, PROFILE_TIME_NANOS, zero.real_ns + model_get_start(m));
	proto_uint(&w, PROFILE_DURATION_NANOS, model_get_duration(m));
	if (nr_lost) {
		char *text = xasprintf("%llu events were lost", (unsigned long long)nr_lost);

		proto_uint(&w, PROFILE_COMMENT, string_of(p, text));
		free(text);
	}
	proto_finish(&w, p->buf);
}

static void put_strings(struct pprof *p)
{
	struct proto w = proto_start(p->buf);

	for (uint32_t i = 0; i < intern_count(p->strings); i++)
		proto_string(&w, p->buf, PROFILE_STRING_TABLE, intern_get(p->strings, i));
	proto_finish(&w, p->buf);
}

static int compress_into(struct out *out, const struct strbuf *from, struct err *e)
{
	z_stream z = { .next_in = (Bytef *)from->s, .avail_in = from->len };
	uint8_t room[16384];
	int rc;

	/* 15 + 16: the largest window, in the format of gzip */
	if (from->len > UINT32_MAX ||
	    deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
		return err_set(e, ERR_SYS, "cannot compress the profile");
	do {
		z.next_out = room;
		z.avail_out = sizeof(room);
		rc = deflate(&z, Z_FINISH);
		strbuf_add(&out->buf, room, sizeof(room) - z.avail_out);
		out_spill(out);
	} while (rc == Z_OK);
	deflateEnd(&z);
	return 0;
}

static struct model *put_lineages(struct pprof *p, struct export_job *job)
{
	struct lineage *l = lineage_new(job->rec);
	struct model *m = recording_read(job->rec, &job->view,
					 &(struct recording_sink){ &lineage_ops, l }, 1);
	uint32_t nr;
	const struct lineage_path *paths = lineage_get_paths(l, &nr);

	put_value_types(p, values, ARRAY_SIZE(values), &values[job->weight]);
	put_mapping(p);
	for (uint32_t i = 0; i < job->rec->nr_groups; i++)
		put_group(p, i);
	for (uint32_t i = 0; i < nr; i++)
		if (paths[i].nr_tasks)
			put_sample(p, paths, i);
	lineage_free(l);
	return m;
}

static void put_wait(struct pprof *p, const struct waits *waits, uint32_t frame)
{
	const struct waits_frame *at = &waits->frames.v[frame];
	struct proto w = proto_start(p->buf);
	size_t sample = proto_open(&w, PROFILE_SAMPLE);

	for (uint32_t f = frame; f != WAITS_ROOT; f = waits->frames.v[f].outer)
		proto_uint(&w, SAMPLE_LOCATION_ID, 1 + f);
	proto_uint(&w, SAMPLE_VALUE, at->ns);
	proto_uint(&w, SAMPLE_VALUE, at->nr);
	proto_close(&w, sample);
	proto_finish(&w, p->buf);
}

static struct model *put_waiting(struct pprof *p, struct export_job *job)
{
	struct waits waits;
	struct model *m = waits_read(&waits, job);

	put_value_types(p, waiting_values, ARRAY_SIZE(waiting_values), &waiting_values[0]);
	put_mapping(p);
	for (uint32_t i = 0; i < waits.frames.nr; i++) {
		uint32_t step = waits.frames.v[i].step;
		const struct trace_step *s =
			step < job->rec->nr_steps ? &job->rec->steps[step] : NULL;
		struct strbuf name = STRBUF_INIT;

		waits_add_label(&name, job->rec, step);
		put_place(p, &(struct place){ .id = 1 + i,
					      .name = name.s,
					      .file = s ? s->file : "",
					      .line = s ? s->line : 0 });
		strbuf_release(&name);
	}
	for (uint32_t i = 0; i < waits.frames.nr; i++)
		if (waits.frames.v[i].ns || waits.frames.v[i].nr)
			put_wait(p, &waits, i);
	waits_release(&waits);
	return m;
}

static int run(struct export_job *job, struct err *e)
{
	struct strbuf buf = STRBUF_INIT;
	struct pprof p = { .rec = job->rec, .buf = &buf, .strings = intern_new() };
	struct model *m;
	int rc;

	string_of(&p, "");
	m = job->weight == EXPORT_WAITING ? put_waiting(&p, job) : put_lineages(&p, job);
	put_times(&p, m);
	put_strings(&p);
	rc = compress_into(job->out, &buf, e);
	model_free(m);
	intern_free(p.strings);
	strbuf_release(&buf);
	return rc;
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.summary =
		"a profile for go tool pprof, Parca, Pyroscope: time of tasks by chain of spawns",
	.suffix = "pb.gz",
	.is_whole = true,
	.has_stacks = true,
	.run = run,
};
