// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Writes traces for the tests of the HTML page, and prints what is in them as JSON:
 *	make-html-trace polls NR_POLLS NR_THREADS FILE	as many polls as wanted, of all lengths
 *	make-html-trace spin NR_POLLS FILE		a task that wakes itself all the time
 *	make-html-trace hostile FILE			names that would like to be markup or script
 *	make-html-trace empty FILE			nothing at all
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/writer.h"

#define NR_TYPES     24u
#define LIVE_TASKS   50u  /* on a thread */
#define POLLS_A_LIFE 200u /* of a task */
#define HELPER	     NR_TYPES

static uint64_t random_state = 88172645463325252;

static uint64_t rnd(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

struct maker {
	struct trace_writer *w;
	struct trace_stream *s;
	uint64_t time, end;
	uint64_t polls, busy_ns, blocked_ns, max_ns;
	uint64_t nr_long; /* a millisecond or more */
};

static void put(struct maker *m, struct event ev)
{
	ev.time = m->time;
	trace_stream_put(m->s, &ev);
}

/* tid and name, and the task that makes it a worker. */
static void begin_thread(struct maker *m, uint32_t tid, const char *name, uint16_t helper)
{
	char comm[16] = { 0 };
	uint64_t words[2];

	memcpy(comm, name, MIN(strlen(name), sizeof(comm)));
	memcpy(words, comm, sizeof(words));
	m->s = trace_writer_thread(m->w, tid);
	m->time = 1000;
	put(m, (struct event){ .kind = EV_THREAD_START, .a = tid });
	put(m, (struct event){ .kind = EV_THREAD_NAME, .a = words[0], .b = words[1] });
	put(m, (struct event){ .kind = EV_RUN_START,
			       .type = helper,
			       .task = 1000000000u + tid,
			       .addr = 64 * (uint64_t)tid });
}

static void poll(struct maker *m, uint64_t task, uint16_t type, uint64_t took_ns,
		 uint64_t blocked_ns, uint8_t end_flags)
{
	put(m,
	    (struct event){
		    .kind = EV_RUN_START, .type = type, .task = task, .addr = 4096 + 128 * task });
	if (blocked_ns) {
		m->time += (took_ns - blocked_ns) / 2;
		put(m, (struct event){ .kind = EV_SLEEP, .flags = EF_SLEEP_TIMED });
		m->time += blocked_ns;
		put(m, (struct event){ .kind = EV_AWAKE });
		m->time += took_ns - blocked_ns - (took_ns - blocked_ns) / 2;
	} else {
		m->time += took_ns;
	}
	put(m, (struct event){ .kind = EV_RUN_END, .flags = end_flags });
	m->polls++;
	m->busy_ns += took_ns;
	m->blocked_ns += blocked_ns;
	m->max_ns = MAX(m->max_ns, took_ns);
	m->nr_long += took_ns >= 1000000;
}

static void put_types(struct maker *m)
{
	trace_writer_object(m->w, &(struct trace_object){ .path = "/bin/made", .build_id = "" });
	trace_writer_runtime(m->w, &(struct trace_runtime){ .name = "tokio", .version = "1.0.0" });
	for (unsigned i = 0; i <= NR_TYPES; i++) {
		char name[64];

		snprintf(name, sizeof(name), i == HELPER ? "launch" : "made::part_%u::work_%u",
			 i % 5, i);
		trace_writer_type(
			m->w, &(struct trace_type){ .kind = i == HELPER ? TRACE_HELPER : TRACE_TASK,
						    .name = name,
						    .scheduler = "multi_thread",
						    .file = "src/made.rs",
						    .line = 10 + i });
	}
}

/* From a hundred nanoseconds to some microseconds; seldom very long, more seldom asleep. */
static void poll_one(struct maker *m, uint64_t n, uint64_t task, uint8_t end_flags)
{
	bool is_long = n % 9973 == 17;
	uint64_t took_ns = (100 + rnd(100)) << rnd(is_long ? 18 : 6);

	poll(m, task, task % NR_TYPES, took_ns, is_long && !(n % 2) ? took_ns / 2 : 0, end_flags);
}

static void make_thread(struct maker *m, uint32_t thread, uint64_t nr_polls)
{
	begin_thread(m, 100 + thread, "made-worker", HELPER);
	for (uint64_t n = 0; n < nr_polls; n++) {
		/* each in its turn, and a task ends when it had enough of them */
		uint64_t round = n / LIVE_TASKS, life = round / POLLS_A_LIFE;
		uint64_t task =
			1 + thread * UINT64_C(10000000) + life * LIVE_TASKS + n % LIVE_TASKS;
		bool is_last = round % POLLS_A_LIFE == POLLS_A_LIFE - 1;

		m->time += 50 + rnd(rnd(50) ? 400 : 20000);
		poll_one(m, n, task, is_last ? EF_END_COMPLETE : 0);
		if (!is_last && rnd(2))
			put(m, (struct event){
				       .kind = EV_WAKE, .type = task % NR_TYPES, .task = task });
	}
	put(m, (struct event){ .kind = EV_RUN_END, .flags = EF_END_COMPLETE });
	m->end = MAX(m->end, m->time);
}

/* Now and then it sleeps for a millisecond. */
static void make_spinner(struct maker *m, uint64_t nr_polls)
{
	const uint64_t task = 7;

	begin_thread(m, 100, "made-worker", HELPER);
	for (uint64_t n = 1; n <= nr_polls; n++) {
		bool is_last = n == nr_polls, sleeps = n % 5000 == 0;

		m->time += 30;
		poll(m, task, 0, 400 + rnd(100), 0,
		     is_last  ? EF_END_COMPLETE
		     : sleeps ? 0
			      : EF_END_NOTIFIED);
		if (!sleeps || is_last)
			continue;
		m->time += 1000000;
		put(m, (struct event){ .kind = EV_WAKE, .type = 0, .task = task });
	}
	put(m, (struct event){ .kind = EV_RUN_END, .flags = EF_END_COMPLETE });
	m->end = MAX(m->end, m->time);
}

static void make_hostile(struct maker *m)
{
	static const char *const names[] = {
		"</script><script>window.hacked=1</script>",
		"<img src=x onerror=window.hacked=2>",
		"\"'`;window.hacked=3//\\u0022\\\"",
		"]]>--></style><style>body{display:none}</style>",
		"evil\xe2\x80\xae"
		"dlrow\xe2\x80\xa8line\xe2\x80\xa9para",
		"bell\a escape\x1b[31m del\x7f bad\xff\xfe utf8",
		"<!--<script>",
		"${window.hacked=4} {{constructor.constructor('window.hacked=5')()}}",
	};

	trace_writer_object(m->w, &(struct trace_object){ .path = "/bin/<b>made", .build_id = "" });
	trace_writer_runtime(m->w,
			     &(struct trace_runtime){ .name = "<i>tokio", .version = "</p>" });
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		trace_writer_type(m->w, &(struct trace_type){ .kind = TRACE_TASK,
							      .name = names[i],
							      .scheduler = "",
							      .file = names[i],
							      .line = i });
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		begin_thread(m, 200 + i, i % 2 ? "<b onload=x()>" : "</script>\"'\xe2\x80\xae\x1b",
			     0);
		m->time += 1000;
		poll(m, 100 + i, i, 80000000, 60000000, EF_END_COMPLETE);
		put(m, (struct event){ .kind = EV_RUN_END });
		m->end = MAX(m->end, m->time);
	}
}

static int make(const char *path, struct maker *m, uint64_t nr_polls, uint64_t nr_threads,
		bool is_hostile)
{
	static const char *const argv[] = { "made", "</script><script>window.hacked=6</script>" };
	struct trace_meta meta = { .tool = "make",
				   .cwd = "/",
				   .os = "",
				   .cpu = "",
				   .host = "",
				   .argv = argv,
				   .argc = 2,
				   .clock = CLOCK_KIND_MONOTONIC };
	struct err e = ERR_INIT;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0) {
		perror(path);
		return 1;
	}
	meta.exe = is_hostile ? "/bin/<img src=x onerror=window.hacked=7>" : "/bin/made";
	m->w = trace_writer_new(fd, &meta);
	if (is_hostile) {
		make_hostile(m);
	} else if (!nr_threads) {
		put_types(m);
		make_spinner(m, nr_polls);
	} else {
		put_types(m);
		for (uint32_t i = 0; i < nr_threads; i++)
			make_thread(m, i, nr_polls / nr_threads);
	}
	if (trace_writer_close(m->w,
			       &(struct trace_end){ .kind = TRACE_EXITED, .ticks = m->end + 1000 },
			       &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	printf("{\"polls\":%" PRIu64 ",\"busy_ns\":%" PRIu64 ",\"blocked_ns\":%" PRIu64
	       ",\"max_ns\":%" PRIu64 ",\"long\":%" PRIu64 "}\n",
	       m->polls, m->busy_ns, m->blocked_ns, m->max_ns, m->nr_long);
	return 0;
}

int main(int argc, char **argv)
{
	struct maker m = { 0 };

	if (argc == 3)
		return make(argv[2], &m, 0, 1, !strcmp(argv[1], "hostile"));
	if (argc == 4)
		return make(argv[3], &m, strtoull(argv[2], NULL, 10), 0, false);
	if (argc == 5)
		return make(argv[4], &m, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
			    false);
	return 2;
}
