// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves what the analyzer does for all rules, on a recording from a file: limits and what is left
 * out, a part of the time, and what the kernel counted of threads. */
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

/*
 * nr polls on one worker, `every_ns` apart, each of a task of its own that never ends. Counted, if
 * at all, after every tenth poll, with so much for each poll.
 */
static void file_init_counted(struct file *f, unsigned nr, uint64_t every_ns, uint64_t poll_ns,
			      const struct trace_cpu *each)
{
	struct trace_end end = { .kind = TRACE_EXITED,
				 .ticks = make_meta.base_ticks + nr * every_ns };
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
		if (each && i % 10 == 9)
			trace_stream_cpu(s,
					 &(struct trace_cpu){ .time = make_meta.base_ticks +
								      i * every_ns + poll_ns,
							      .cpu_ns = (i + 1) * each->cpu_ns,
							      .wait_ns = (i + 1) * each->wait_ns });
	}
	assert_int_equal(trace_writer_close(w, &end, &e), 0);
	assert_int_equal(recording_open(&f->rec, f->memory.path, &e), 0);
	f->config = analyze_config_new();
}

static void file_init(struct file *f, unsigned nr, uint64_t every_ns, uint64_t poll_ns)
{
	file_init_counted(f, nr, every_ns, poll_ns, NULL);
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

/* What is found of 100 polls that take poll_ns each and are counted so. */
static const struct finding *find_counted(struct file *f, uint64_t poll_ns, uint64_t from_ns,
					  struct trace_cpu each)
{
	file_init_counted(f, 100, 100 * MS, poll_ns, &each);
	file_analyze(f, from_ns);
	return find(f, "long-poll");
}

/* Polls that used a CPU are work, and so are those that waited for one for the smaller part. */
static void test_on_cpu(void **state)
{
	const struct finding *found;
	struct file f;

	for (uint64_t wait_ns = 0; wait_ns <= 8 * MS; wait_ns += 8 * MS) {
		found = find_counted(
			&f, 20 * MS, 0,
			(struct trace_cpu){ .cpu_ns = 21 * MS - wait_ns, .wait_ns = wait_ns });
		assert_non_null(found);
		assert_int_equal(found->severity, SEVERITY_WARNING);
		assert_non_null(strstr(found->advice, "yield_now"));
		assert_null(strstr(found->advice, "block ("));
		assert_int_equal(figure_of(found, "busy_ns"), 2000 * MS);
		assert_int_equal(figure_of(found, "cpu_wait_ns"), 100 * wait_ns);
		assert_int_equal(figure_of(found, "unseen_ns"), 0);
		assert_int_equal(found->harm_ns, 2000 * MS - 100 * wait_ns);
		file_release(&f);
	}
}

/* Neither used a CPU nor waited for one: they were in a call that is not seen. Of a part of the
 * time as well. */
static void test_unseen(void **state)
{
	const struct trace_cpu each = { .cpu_ns = 3 * MS, .wait_ns = 2 * MS };
	const struct finding *found;
	struct file f;

	found = find_counted(&f, 20 * MS, 0, each);
	assert_non_null(found);
	assert_int_equal(figure_of(found, "unseen_ns"), 1500 * MS);
	assert_int_equal(figure_of(found, "cpu_wait_ns"), 200 * MS);
	assert_int_equal(figure_of(found, "unknown_ns"), 0);
	assert_non_null(strstr(found->what, "at least 1.5s of it in calls that block"));
	assert_non_null(strstr(found->advice, "spawn_blocking"));
	file_release(&f);
	found = find_counted(&f, 20 * MS, 5 * SECOND, each);
	assert_non_null(found);
	assert_int_equal(figure_of(found, "polls"), 50);
	assert_int_equal(figure_of(found, "unseen_ns"), 750 * MS);
	file_release(&f);
}

/* What the machine made long is nobody's fault; so much of it that it hurts is worth a note. */
static void test_starved(void **state)
{
	const struct finding *found;
	struct file f;

	found = find_counted(&f, 20 * MS, 0,
			     (struct trace_cpu){ .cpu_ns = 4 * MS, .wait_ns = 16 * MS });
	assert_null(found); /* short ones, although 400 ms in all */
	file_release(&f);
	found = find_counted(&f, 20 * MS, 0,
			     (struct trace_cpu){ .cpu_ns = 6 * MS, .wait_ns = 14 * MS });
	assert_non_null(found);
	file_release(&f);
	found = find_counted(&f, 20 * MS, 0,
			     (struct trace_cpu){ .cpu_ns = MS, .wait_ns = 20 * MS });
	assert_null(found);
	file_release(&f);
	found = find_counted(&f, 60 * MS, 0,
			     (struct trace_cpu){ .cpu_ns = MS, .wait_ns = 60 * MS });
	assert_non_null(found);
	assert_int_equal(found->severity, SEVERITY_NOTE);
	assert_non_null(strstr(found->advice, "no CPU free"));
	file_release(&f);
}

/* In doubt the long polls waited; but not where the rest of the time is too short for the CPU that
 * the thread had. */
static void test_busy_thread(void **state)
{
	struct file f;
	const struct finding *found = find_counted(
		&f, 90 * MS, 0, (struct trace_cpu){ .cpu_ns = 70 * MS, .wait_ns = 60 * MS });

	assert_non_null(found);
	/* ten windows of 1 s, but for the first, which begins with its first poll: 900 ms of polls
	 * in 990 ms and then 1 s, so that 610 ms and then 600 ms of CPU are theirs for certain */
	assert_int_equal(figure_of(found, "cpu_wait_ns"), 290 * MS + 9 * 300 * MS);
	file_release(&f);
}

/* Without counts both are said, and nothing is held back. */
static void test_uncounted(void **state)
{
	struct file f;

	file_init(&f, 100, 100 * MS, 20 * MS);
	file_analyze(&f, 0);
	assert_non_null(find(&f, "long-poll"));
	assert_int_equal(figure_of(find(&f, "long-poll"), "unknown_ns"), 2 * SECOND);
	assert_non_null(strstr(find(&f, "long-poll")->advice, "yield_now"));
	assert_non_null(strstr(find(&f, "long-poll")->advice, "calls that block"));
	file_release(&f);
}

/* A leak is a leak in the latter part of the recording as well, where the tasks of the first part
 * are there from the start. */
static void test_part(void **state)
{
	struct file f;

	file_init(&f, 200, 100 * MS, MS);
	file_analyze(&f, 0);
	assert_int_equal(figure_of(find(&f, "task-leak"), "alive"), 200);
	file_release(&f);
	file_init(&f, 200, 100 * MS, MS);
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

	file_init(&f, 200, 100 * MS, 20 * MS);
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
		cmocka_unit_test(test_on_cpu),	     cmocka_unit_test(test_unseen),
		cmocka_unit_test(test_starved),	     cmocka_unit_test(test_busy_thread),
		cmocka_unit_test(test_uncounted),    cmocka_unit_test(test_part),
		cmocka_unit_test(test_left_out),     cmocka_unit_test(test_config),
		cmocka_unit_test(test_descriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
