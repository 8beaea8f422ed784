// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves what the analyzer does for all rules, on a recording from a file: limits and what is left
 * out, a part of the time, and the doubt when the program had less CPU than its polls took. */
#include "../trace/make.h"
#include "found.h"

#define SECOND (1000 * MS)

struct file {
	struct memory_file memory;
	struct recording rec;
	struct analyze_config *config;
	struct analyzer *analyzer;
	struct model *model;
	const struct finding *v;
	size_t nr;
};

/* nr polls on one worker, `every_ns` apart, each of a task of its own that never ends. */
static void file_init(struct file *f, unsigned nr, uint64_t every_ns, uint64_t poll_ns,
		      uint64_t cpu_ns)
{
	struct trace_end end = { .kind = TRACE_EXITED,
				 .ticks = make_meta.base_ticks + nr * every_ns,
				 .target_cpu_ns = cpu_ns };
	struct trace_writer *w;
	struct trace_stream *s;
	struct err e = ERR_INIT;

	memset(f, 0, sizeof(*f));
	memory_file_init(&f->memory, "", 0);
	w = make_writer(&f->memory);
	trace_writer_object(w, &(struct trace_object){ "/srv/server", "abcd", 0 });
	trace_writer_runtime(w, &(struct trace_runtime){ 0, "tokio", "1.54.1" });
	trace_writer_type(w, &script_types[ASYNC]);
	s = trace_writer_thread(w, 4711);
	for (unsigned i = 0; i < nr; i++) {
		struct event start = POLL(i * every_ns, 0, i + 1);
		struct event stop = END(i * every_ns + poll_ns, 0, 0);

		trace_stream_put(s, &start);
		trace_stream_put(s, &stop);
	}
	assert_int_equal(trace_writer_close(w, &end, &e), 0);
	assert_int_equal(recording_open(&f->rec, f->memory.path, &e), 0);
	f->config = analyze_config_new();
}

static void file_analyze(struct file *f, uint64_t from_ns)
{
	struct recording_view view = { .from_ns = from_ns };
	const struct recording_sink *sinks;
	size_t nr;

	f->analyzer = analyzer_new(&f->rec, f->config);
	sinks = analyzer_get_sinks(f->analyzer, &nr);
	f->model = recording_read(&f->rec, &view, sinks, nr);
	analyzer_finish(f->analyzer, f->model);
	f->v = analyzer_get_findings(f->analyzer, &f->nr);
}

static void file_release(struct file *f)
{
	analyzer_free(f->analyzer);
	analyze_config_free(f->config);
	model_free(f->model);
	recording_close(&f->rec);
	memory_file_release(&f->memory);
}

static const struct finding *find(const struct file *f, const char *rule)
{
	for (size_t i = 0; i < f->nr; i++)
		if (strcmp(f->v[i].analysis->name, rule) == 0)
			return &f->v[i];
	return NULL;
}

/* 100 polls of 20 ms are 2 s. With all of that as CPU time, or when nobody knows, they are long. */
static void test_on_cpu(void **state)
{
	struct file f;

	for (uint64_t cpu_ns = 0; cpu_ns <= 2 * SECOND; cpu_ns += 2 * SECOND) {
		file_init(&f, 100, 100 * MS, 20 * MS, cpu_ns);
		file_analyze(&f, 0);
		assert_non_null(find(&f, "long-poll"));
		assert_non_null(strstr(find(&f, "long-poll")->advice, "yield_now"));
		file_release(&f);
	}
	/* a part of the time was not CPU time */
	file_init(&f, 100, 100 * MS, 20 * MS, 600 * MS);
	file_analyze(&f, 0);
	assert_non_null(find(&f, "long-poll"));
	file_release(&f);
}

/* With a quarter of it the machine may have been busy: only what is over the critical limit is
 * believed. */
static void test_off_cpu(void **state)
{
	struct file f;

	file_init(&f, 100, 100 * MS, 20 * MS, 400 * MS);
	file_analyze(&f, 0);
	assert_null(find(&f, "long-poll"));
	file_release(&f);
	file_init(&f, 100, 100 * MS, 60 * MS, 400 * MS);
	file_analyze(&f, 0);
	assert_non_null(find(&f, "long-poll"));
	assert_non_null(strstr(find(&f, "long-poll")->advice, "calls that block"));
	file_release(&f);
}

/* A leak is a leak in the latter part of the recording as well, where the tasks of the first part
 * are there from the start. */
static void test_part(void **state)
{
	struct file f;

	file_init(&f, 200, 100 * MS, MS, 0);
	file_analyze(&f, 0);
	assert_int_equal(figure_of(find(&f, "task-leak"), "alive"), 200);
	file_release(&f);
	file_init(&f, 200, 100 * MS, MS, 0);
	file_analyze(&f, 15 * SECOND);
	assert_int_equal(figure_of(find(&f, "task-leak"), "alive"), 200);
	assert_int_equal(figure_of(find(&f, "task-leak"), "more_per_s"), 10);
	assert_int_equal(find(&f, "task-leak")->time_ns, 15 * SECOND);
	file_release(&f);
}

static void test_left_out(void **state)
{
	struct err e = ERR_INIT;
	struct file f;

	file_init(&f, 200, 100 * MS, 20 * MS, 0);
	assert_int_equal(analyze_config_allow(f.config, "task-leak", &e), 0);
	file_analyze(&f, 0);
	assert_null(find(&f, "task-leak"));
	assert_non_null(find(&f, "long-poll"));
	file_release(&f);
}

/* Names and values that are wrong are refused, and what there is is told. */
static void test_config(void **state)
{
	static const char *const bad[] = { "long-poll",	      "long-poll=",   "long-poll=x",
					   "long-poll=10%",   "long=10ms",    "=10ms",
					   "self-wakes=10ms", "task-leak=-1", "" };
	struct analyze_config *c = analyze_config_new();
	struct err e = ERR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_not_equal(analyze_config_set(c, bad[i], &e), 0);
	assert_int_not_equal(analyze_config_set(c, "long=10ms", &e), 0);
	assert_int_equal(e.tag, ERR_USAGE);
	assert_non_null(strstr(e.msg, "long-poll-critical"));
	assert_int_not_equal(analyze_config_allow(c, "long-poll-critical", &e), 0);
	assert_non_null(strstr(e.msg, "task-leak"));
	assert_int_equal(analyze_config_set(c, "long-poll=10ms", &e), 0);
	assert_int_equal(analyze_config_set(c, "self-wakes=60%", &e), 0);
	assert_int_equal(analyze_config_set(c, "self-wakes=60", &e), 0);
	assert_int_equal(analyze_config_set(c, "task-leak=10", &e), 0);
	analyze_config_free(c);
}

/* What help and the manual say of each: a name, a summary, and limits that are named after it. */
static void test_descriptions(void **state)
{
	for (const struct analysis *const *an = analyses; *an; an++) {
		assert_non_null((*an)->summary);
		assert_non_null((*an)->finish);
		for (const struct threshold *t = (*an)->thresholds; t && t->name; t++) {
			assert_int_equal(strncmp(t->name, (*an)->name, strlen((*an)->name)), 0);
			assert_non_null(t->help);
		}
		for (const struct analysis *const *b = analyses; b != an; b++)
			assert_string_not_equal((*an)->name, (*b)->name);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_cpu), cmocka_unit_test(test_off_cpu),
		cmocka_unit_test(test_part),   cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_config), cmocka_unit_test(test_descriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
