// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What is written comes back: every kind of event of event.def, every definition, in the order of
 * time.
 */
#include "make.h"

#include <fcntl.h>
#include <unistd.h>

#include "trace/encode.h"
#include "trace/format.h"

/*
 * Proves that a new line in event.def is covered: the loop below runs over event_descs, not over a
 * list.
 */
static void every_kind_comes_back(void **state)
{
	enum { EACH = 300 };
	VEC(struct event) want = { 0 };
	struct memory_file f;
	struct trace_writer *w;
	struct trace_stream *s;
	struct rng r = { 1 };
	const struct event *evs;
	uint64_t time = 0;
	size_t nr, at = 0, nr_kinds = 0;
	struct trace *t;

	memory_file_init(&f, "", 0);
	w = make_writer(&f);
	s = trace_writer_thread(w, 42);
	for (unsigned kind = 0; kind < EV_MAX; kind++) {
		if (!event_descs[kind].name)
			continue;
		nr_kinds++;
		/* addr and a share their place. */
		assert_false(event_descs[kind].task == EVENT_TASK_ADDR && event_descs[kind].a);
		for (int i = 0; i < EACH; i++) {
			time += rng_next(&r) >> (24 + rng_below(&r, 40));
			vec_push(&want, make_event(&r, kind, time));
		}
	}
	/* Once kind by kind, then mixed. */
	for (size_t i = 0; i < nr_kinds * EACH; i++) {
		struct event ev = want.v[rng_below(&r, nr_kinds * EACH)];

		ev.time = time += rng_below(&r, 70000);
		vec_push(&want, ev);
	}
	vec_each (ev, &want)
		trace_stream_put(s, ev);
	assert_null(trace_writer_error(w));
	assert_int_equal(trace_writer_close(w, &(struct trace_end){ .kind = TRACE_EXITED }, NULL),
			 0);

	t = trace_open(f.path, NULL);
	assert_non_null(t);
	assert_int_equal(trace_get_nr_events(t), want.nr);
	while ((nr = trace_read(t, &evs)))
		for (size_t i = 0; i < nr; i++) {
			assert_true(at < want.nr);
			assert_int_equal(evs[i].thread, 0);
			assert_same_event(&evs[i], &want.v[at++]);
		}
	assert_int_equal(at, want.nr);
	assert_false(trace_get_damage(t)->cut);
	assert_int_equal(trace_get_damage(t)->bad_blocks + trace_get_damage(t)->bad_events, 0);
	trace_close(t);
	memory_file_release(&f);
	vec_release(&want);
}

/*
 * Proves order: threads put in turns of random length come out by (time, thread), each thread in
 * its own order.
 */
static void threads_merge_in_time(void **state)
{
	enum { THREADS = 7, EVENTS = 200003 };
	struct memory_file f;
	struct trace_writer *w;
	struct trace_stream *s[THREADS];
	uint64_t next[THREADS] = { 0 }, time = 0, prev_time = 0, nr_seen = 0;
	struct rng r = { 2 };
	const struct event *evs;
	uint32_t prev_thread = 0;
	struct trace *t;
	size_t nr;

	memory_file_init(&f, "", 0);
	w = make_writer(&f);
	for (unsigned i = 0; i < THREADS; i++)
		s[i] = trace_writer_thread(w, i);
	for (uint64_t i = 0; i < EVENTS; i++) {
		unsigned thread = rng_below(&r, THREADS);

		/* Often the same moment on several threads. */
		time += rng_below(&r, 3);
		trace_stream_put(s[thread], &(struct event){ .kind = EV_SPAWN,
							     .time = time,
							     .a = next[thread]++,
							     .b = thread });
		if (rng_below(&r, 50000) == 0)
			trace_writer_flush(w);
	}
	assert_int_equal(trace_writer_close(w, NULL, NULL), 0);

	t = trace_open(f.path, NULL);
	assert_non_null(t);
	for (int round = 0; round < 2; round++) {
		prev_time = nr_seen = 0;
		for (unsigned i = 0; i < THREADS; i++)
			next[i] = 0;
		while ((nr = trace_read(t, &evs)))
			for (const struct event *ev = evs; ev < evs + nr; ev++) {
				assert_int_equal(ev->thread, ev->b);
				assert_int_equal(ev->a, next[ev->thread]++);
				assert_true(ev->time > prev_time ||
					    (ev->time == prev_time && ev->thread >= prev_thread) ||
					    nr_seen == 0);
				prev_time = ev->time;
				prev_thread = ev->thread;
				nr_seen++;
			}
		assert_int_equal(nr_seen, EVENTS);
		trace_rewind(t);
	}
	assert_true(trace_get_damage(t)->cut);
	assert_int_equal(trace_get_end(t)->kind, TRACE_CUT);
	trace_close(t);
	memory_file_release(&f);
}

static const struct trace_end test_end = { .kind = TRACE_SIGNALED,
					   .status = 9,
					   .ticks = 1500000,
					   .tool_cpu_ns = 77,
					   .target_cpu_ns = 88,
					   .lost = { [EV_WAKE] = UINT64_MAX },
					   .nr_unslotted = 3,
					   .nr_unfollowed = 5,
					   .nr_no_path = 6,
					   .nr_bad_path = 7,
					   .nr_apart = 8 };

static const struct trace_future test_futures[] = {
	{ .object = 3,
	  .seen = TRACE_FUTURE_SOME,
	  .is_generated = true,
	  .name = "shop::pay::{async block#0}",
	  .function = "shop::pay",
	  .file = "/src/pay.rs",
	  .line = 12,
	  .va = ~UINT64_C(0) },
	{ .seen = TRACE_FUTURE_UNSURE, .name = "a | b", .function = "", .file = "" },
};

static struct trace_type type_number(uint32_t i, const char *name)
{
	return (struct trace_type){ .runtime = i,
				    .kind = i % 4,
				    .name = name,
				    .scheduler = "local",
				    .file = "/b",
				    .line = i,
				    .nr_candidates = 2,
				    .va = i * 8,
				    .size_bytes = i + 1 };
}

/* Of one thread: the first comes late, the last runs backwards and is not believed. */
static const struct trace_cpu test_cpu[] = {
	{ .time = 1200000, .cpu_ns = 30, .wait_ns = UINT64_MAX },
	{ .time = 1100000, .cpu_ns = 10, .wait_ns = 5 },
	{ .time = 1300000, .cpu_ns = 29, .wait_ns = UINT64_MAX },
};

static void check_cpu(struct trace *t)
{
	uint32_t nr;
	const struct trace_cpu *u = trace_get_cpu(t, &nr);

	assert_int_equal(nr, 3);
	assert_int_equal(u[0].thread, 0);
	assert_int_equal(u[0].time, 100000);
	assert_int_equal(u[0].cpu_ns, 10);
	assert_int_equal(u[0].wait_ns, 5);
	assert_int_equal(u[1].time, 200000);
	assert_int_equal(u[1].wait_ns, UINT64_MAX);
	assert_int_equal(u[2].thread, 1);
	assert_int_equal(u[2].cpu_ns, 30);
}

static const struct trace_step test_steps[] = {
	{ .outer = TRACE_NO_STEP,
	  .state = TRACE_STEP_WAITS,
	  .is_generated = true,
	  .future = "a::{async_fn}",
	  .function = "a",
	  .file = "/src/a.rs",
	  .line = 7,
	  .last_line = ~0u,
	  .leaf = "",
	  .is_foreign = true },
	{ .outer = 0,
	  .state = TRACE_STEP_READY,
	  .future = "Sleep",
	  .function = "",
	  .file = "",
	  .leaf = "sleep",
	  .is_borrowed = true },
};

static void check_steps(struct trace *t)
{
	uint32_t nr;
	const struct trace_step *steps = trace_get_steps(t, &nr);
	const struct trace_path *paths;

	assert_int_equal(nr, ARRAY_SIZE(test_steps));
	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_step *s = &steps[i], *want = &test_steps[i];

		assert_int_equal(s->outer, want->outer);
		assert_int_equal(s->state, want->state);
		assert_int_equal(s->is_generated, want->is_generated);
		assert_string_equal(s->future, want->future);
		assert_string_equal(s->function, want->function);
		assert_string_equal(s->file, want->file);
		assert_int_equal(s->line, want->line);
		assert_int_equal(s->last_line, want->last_line);
		assert_string_equal(s->leaf, want->leaf);
		assert_int_equal(s->is_foreign, want->is_foreign);
		assert_int_equal(s->is_borrowed, want->is_borrowed);
	}
	paths = trace_get_paths(t, &nr);
	assert_int_equal(nr, 65536);
	assert_int_equal(paths[0].nr_steps, 0);
	assert_int_equal(paths[2].nr_steps, 0); /* nobody defined one of its steps */
	assert_int_equal(paths[65535].nr_steps, 3);
	assert_int_equal(paths[65535].steps[1], 0);
	assert_int_equal(paths[65535].steps[2], 1);
}

static void check_stands(struct trace *t)
{
	uint32_t nr;
	const struct trace_stand *s = trace_get_stands(t, &nr);

	assert_int_equal(nr, 2);
	assert_int_equal(s[0].task, 7);
	assert_int_equal(s[0].type, 1);
	assert_int_equal(s[0].path, 65535);
	assert_int_equal(s[1].task, (UINT64_C(1) << 48) - 1);
	assert_int_equal(s[1].type, 65535);
	assert_int_equal(s[1].path, 1);
	assert_true(s[0].time < s[1].time);
}

static const struct trace_instance test_instance = { .type = 4,
						     .owner = ~0ull,
						     .addr = 0x7f0000001000,
						     .scheduler = TRACE_LOCAL_RUNTIME,
						     .root = 0x7f0000001220 };

static void check_instances(struct trace *t)
{
	uint32_t nr;
	const struct trace_instance *i = trace_get_instances(t, &nr);

	assert_int_equal(nr, 3);
	assert_string_equal(i[1].scheduler, ""); /* nobody defined it */
	assert_int_equal(i[2].type, test_instance.type);
	assert_int_equal(i[2].owner, test_instance.owner);
	assert_int_equal(i[2].addr, test_instance.addr);
	assert_string_equal(i[2].scheduler, test_instance.scheduler);
	assert_int_equal(i[2].root, test_instance.root);
}

static void write_definitions(const struct memory_file *f)
{
	struct trace_writer *w = make_writer(f);
	struct trace_stream *s;

	assert_int_equal(trace_writer_object(w, &(struct trace_object){ "/a", "00", 1 }), 0);
	assert_int_equal(trace_writer_object(w, &(struct trace_object){ "/b", "", ~0ull }), 1);
	assert_int_equal(trace_writer_runtime(w, &(struct trace_runtime){ 1, "tokio", "" }), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		char *name = xasprintf("a_rather_long_module::with::path_%u", i);
		struct trace_type type = type_number(i, name);

		assert_int_equal(trace_writer_type(w, &type), i);
		free(name);
	}
	trace_writer_stack(w, 16383, &(struct trace_stack){ "/src/main.rs", 77 });
	trace_writer_stack(
		w, 3, &(struct trace_stack){ "/src/main.rs", ~0u, .scheduler = "multi_thread" });
	trace_writer_instance(w, 2, &test_instance);
	assert_int_equal(trace_writer_step(w, &test_steps[0]), 0);
	assert_int_equal(trace_writer_step(w, &test_steps[1]), 1);
	trace_writer_path(w, 65535, &(struct trace_path){ (const uint32_t[]){ 1, 0, 1 }, 3 });
	trace_writer_path(w, 2, &(struct trace_path){ (const uint32_t[]){ 0, 2 }, 2 });
	trace_writer_stand(
		w, &(struct trace_stand){ .task = 7, .type = 1, .path = 65535, .time = 1000005 });
	trace_writer_stand(w, &(struct trace_stand){ .task = (UINT64_C(1) << 48) - 1,
						     .type = 65535,
						     .path = 1,
						     .time = 2000000 });
	for (unsigned i = 0; i < ARRAY_SIZE(test_futures); i++)
		assert_int_equal(trace_writer_future(w, &test_futures[i]), i);
	s = trace_writer_thread(w, 5);
	trace_stream_put(s, &(struct event){ .kind = EV_THREAD_NAME, .a = 0x62, .b = 0 });
	trace_stream_put(s, &(struct event){ .kind = EV_THREAD_NAME,
					     .a = 0x6161616161616161,
					     .b = 0x6161616161616161 });
	for (unsigned i = 0; i < ARRAY_SIZE(test_cpu); i++)
		trace_stream_cpu(s, &test_cpu[i]);
	trace_stream_close(s);
	s = trace_writer_thread(w, 5);
	trace_stream_cpu(s, &test_cpu[0]);
	assert_int_equal(trace_writer_close(w, &test_end, NULL), 0);
}

static void check_meta(const struct trace_meta *m)
{
	assert_string_equal(m->tool, make_meta.tool);
	assert_string_equal(m->exe, make_meta.exe);
	assert_string_equal(m->cwd, make_meta.cwd);
	assert_string_equal(m->os, make_meta.os);
	assert_string_equal(m->cpu, make_meta.cpu);
	assert_string_equal(m->host, make_meta.host);
	assert_int_equal(m->argc, 4);
	for (uint32_t i = 0; i < m->argc; i++)
		assert_string_equal(m->argv[i], make_meta.argv[i]);
	assert_int_equal(m->pid, 4711);
	assert_int_equal(m->uid, 1000);
	assert_int_equal(m->nr_cpus, 2);
	assert_int_equal(m->parent_pid, 17);
	assert_int_equal(m->clock, CLOCK_KIND_TSC);
	assert_int_equal(m->base_ticks, 1000000);
}

static void check_types(struct trace *t)
{
	uint32_t nr;
	const struct trace_type *types = trace_get_types(t, &nr);

	assert_int_equal(nr, 5000);
	for (uint32_t i = 0; i < nr; i++) {
		char *name = xasprintf("a_rather_long_module::with::path_%u", i);

		assert_string_equal(types[i].name, name);
		assert_string_equal(types[i].scheduler, "local");
		assert_string_equal(types[i].file, "/b");
		assert_int_equal(types[i].runtime, i);
		assert_int_equal(types[i].kind, i % 4);
		assert_int_equal(types[i].line, i);
		assert_int_equal(types[i].nr_candidates, 2);
		assert_int_equal(types[i].va, i * 8);
		assert_int_equal(types[i].size_bytes, i + 1);
		free(name);
	}
}

static void check_stacks(struct trace *t)
{
	uint32_t nr;
	const struct trace_stack *stacks = trace_get_stacks(t, &nr);

	assert_int_equal(nr, 16384);
	assert_string_equal(stacks[16383].file, "/src/main.rs");
	assert_int_equal(stacks[16383].line, 77);
	assert_string_equal(stacks[16383].scheduler, "");
	assert_int_equal(stacks[3].line, ~0u);
	assert_string_equal(stacks[3].scheduler, "multi_thread");
	assert_string_equal(stacks[4].file, ""); /* nobody defined it */
}

static void check_futures(struct trace *t)
{
	uint32_t nr;
	const struct trace_future *futures = trace_get_futures(t, &nr);

	assert_int_equal(nr, ARRAY_SIZE(test_futures));
	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_future *want = &test_futures[i];

		assert_int_equal(futures[i].object, want->object);
		assert_int_equal(futures[i].seen, want->seen);
		assert_int_equal(futures[i].is_generated, want->is_generated);
		assert_string_equal(futures[i].name, want->name);
		assert_string_equal(futures[i].function, want->function);
		assert_string_equal(futures[i].file, want->file);
		assert_int_equal(futures[i].line, want->line);
		assert_int_equal(futures[i].va, want->va);
	}
}

/* Proves that every definition comes back as it was given. */
static void definitions_come_back(void **state)
{
	struct memory_file f;
	const struct trace_thread *threads;
	const struct clock_anchor *anchors;
	struct trace *t;
	uint32_t nr;

	memory_file_init(&f, "", 0);
	write_definitions(&f);
	t = trace_open(f.path, NULL);
	assert_non_null(t);
	check_meta(trace_get_meta(t));
	check_types(t);
	check_cpu(t);
	assert_int_equal(trace_get_objects(t, &nr)[1].base, ~0ull);
	assert_int_equal(nr, 2);
	assert_string_equal(trace_get_objects(t, &nr)[0].build_id, "00");
	assert_string_equal(trace_get_runtimes(t, &nr)[0].name, "tokio");
	check_stacks(t);
	check_instances(t);
	check_steps(t);
	check_stands(t);
	check_futures(t);
	threads = trace_get_threads(t, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(threads[0].tid, 5);
	assert_string_equal(threads[0].name, "aaaaaaaaaaaaaaaa");
	assert_string_equal(threads[1].name, "");
	anchors = trace_get_anchors(t, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(anchors[0].ticks, 999990);
	assert_int_equal(anchors[1].real_ns, 3007000);
	assert_memory_equal(trace_get_end(t), &test_end, sizeof(test_end));
	assert_int_equal(trace_get_duration(t), 500000);
	assert_int_equal(trace_get_nr_events(t), 2);
	trace_close(t);
	memory_file_release(&f);
}

static unsigned nr_released;

void __real_encoder_release(struct encoder *n);
void __wrap_encoder_release(struct encoder *n);

void __wrap_encoder_release(struct encoder *n)
{
	nr_released++;
	__real_encoder_release(n);
}

/* Proves that a stream that was idle for long gives its memory back, once, and goes on in order. */
static void idle_stream_goes_on(void **state)
{
	struct memory_file f;
	struct trace_writer *w;
	struct trace_stream *s;
	const struct event *evs;
	struct trace *t;

	memory_file_init(&f, "", 0);
	w = make_writer(&f);
	s = trace_writer_thread(w, 1);
	trace_stream_put(s, &(struct event){ .kind = EV_PANIC, .time = 100 });
	trace_writer_flush(w);
	trace_writer_flush(w);
	nr_released = 0;
	trace_stream_put(s, &(struct event){ .kind = EV_SLEEP, .time = 100 });
	for (int i = 0; i < 10; i++)
		trace_writer_flush(w);
	assert_int_equal(nr_released, 0);
	for (int i = 0; i < 100; i++)
		trace_writer_flush(w);
	assert_int_equal(nr_released, 1);
	trace_stream_put(s, &(struct event){ .kind = EV_AWAKE, .time = 90 });
	assert_int_equal(trace_writer_close(w, NULL, NULL), 0);
	assert_int_equal(nr_released, 2);
	t = trace_open(f.path, NULL);
	assert_int_equal(trace_read(t, &evs), 3);
	assert_int_equal(evs[0].kind, EV_PANIC);
	assert_int_equal(evs[2].kind, EV_AWAKE);
	assert_int_equal(evs[2].time, 100);
	trace_close(t);
	memory_file_release(&f);
}

/*
 * Proves that a file still being written reads up to the last flush, and that stamps that run
 * backwards are held.
 */
static void unfinished_file_reads(void **state)
{
	struct memory_file f;
	struct trace_writer *w;
	struct trace_stream *s;
	const struct event *evs;
	struct trace *t;

	memory_file_init(&f, "", 0);
	w = make_writer(&f);
	s = trace_writer_thread(w, 1);
	trace_stream_put(s, &(struct event){ .kind = EV_AWAKE, .time = 100 });
	trace_stream_put(s, &(struct event){ .kind = EV_AWAKE, .time = 50 });
	trace_writer_flush(w);
	trace_stream_put(s, &(struct event){ .kind = EV_PANIC, .time = 70 });
	trace_writer_flush(w);
	trace_stream_put(s, &(struct event){ .kind = EV_AWAKE, .time = 200 });

	t = trace_open(f.path, NULL);
	assert_non_null(t);
	assert_true(trace_get_damage(t)->cut);
	assert_int_equal(trace_read(t, &evs), 3);
	assert_int_equal(evs[1].time, 100);
	assert_int_equal(evs[2].time, 100);
	assert_int_equal(evs[2].kind, EV_PANIC);
	assert_int_equal(trace_read(t, &evs), 0);
	trace_close(t);
	assert_int_equal(trace_writer_close(w, NULL, NULL), 0);
	memory_file_release(&f);
}

/* Proves that a full disk is told once, at the end, with a reason. */
static void write_error_is_kept(void **state)
{
	struct trace_writer *w = trace_writer_new(open("/dev/full", O_WRONLY), &make_meta);
	struct trace_stream *s = trace_writer_thread(w, 1);
	struct err e = ERR_INIT;

	trace_stream_put(s, &(struct event){ .kind = EV_AWAKE });
	trace_writer_flush(w);
	assert_int_equal(trace_writer_error(w)->tag, ERR_SYS);
	assert_int_equal(trace_writer_bytes(w), 0);
	assert_true(trace_writer_close(w, &(struct trace_end){ .kind = TRACE_EXITED }, &e) < 0);
	assert_int_equal(e.tag, ERR_SYS);
}

/* Proves that a recorder killed right after its start leaves a trace: what, but no events. */
static void new_file_reads(void **state)
{
	struct memory_file f;
	struct trace_writer *w;
	const struct event *evs;
	struct trace *t;

	memory_file_init(&f, "", 0);
	w = trace_writer_new(dup(f.fd), &make_meta);
	t = trace_open(f.path, NULL);
	assert_non_null(t);
	assert_true(trace_get_damage(t)->cut);
	assert_string_equal(trace_get_meta(t)->exe, make_meta.exe);
	assert_int_equal(trace_read(t, &evs), 0);
	trace_close(t);
	assert_int_equal(trace_writer_close(w, NULL, NULL), 0);
	memory_file_release(&f);
}

/* More threads than a file can have end the recording; what was put before is in the file. */
static void too_many_threads(void **state)
{
	const struct event ev = { .kind = EV_SLEEP, .time = 1000 };
	struct memory_file f;
	struct trace_writer *w;
	struct trace *t;

	memory_file_init(&f, "", 0);
	w = make_writer(&f);
	for (unsigned i = 0; i <= THREADS_MAX; i++) {
		struct trace_stream *s = trace_writer_thread(w, i);

		if (i == THREADS_MAX - 1)
			trace_stream_put(s, &ev);
		if (i < THREADS_MAX - 1)
			trace_stream_close(s);
	}
	assert_non_null(trace_writer_error(w));
	assert_true(trace_writer_close(w, NULL, NULL) < 0);
	t = trace_open(f.path, NULL);
	assert_non_null(t);
	assert_int_equal(trace_get_nr_events(t), 1);
	trace_close(t);
	memory_file_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_comes_back), cmocka_unit_test(threads_merge_in_time),
		cmocka_unit_test(definitions_come_back), cmocka_unit_test(idle_stream_goes_on),
		cmocka_unit_test(unfinished_file_reads), cmocka_unit_test(write_error_is_kept),
		cmocka_unit_test(new_file_reads),	 cmocka_unit_test(too_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
