// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Makes a trace file from lines of text on stdin: `compose FILE`. All that is not said there is the
 * same on every machine. A line is one of
 *
 *	exe PATH
 *	arg TEXT					one more of argv
 *	runtime NAME VERSION
 *	type KIND SCHEDULER PLACE:LINE SIZE NAME	of the latest runtime
 *	stack NUMBER PLACE:LINE				that tasks are spawned on
 *	step OUTER STATE[,foreign] PLACE:LINE[-LAST] LEAF FUNCTION FUTURE	numbered from 0;
 *without FUNCTION it is no async fn or block
 *	path NUMBER STEP...				the innermost step of each branch
 *	stand TIME TYPE TASK PATH			a task was seen to wait there
 *	text TEXT					of marks, which name it by its number, from
 *1 thread TIME TID NAME				starts, and has that name TIME TID EVENT
 *[FLAG | FIELD=NUMBER]...		names as event.def has them; kind= takes one, too cpu
 *TOOL_NS TARGET_NS				before the end end TIME exited|signaled|stopped
 *STATUS		without it the file is a cut one
 *
 * Definitions come before the first thread. The last word of a line may have spaces, "-" is
 *nothing, and \xNN is any byte.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/writer.h"

#define MAX_ARGS 16
#define REAL_NS	 UINT64_C(1767225600000000000) /* 2026-01-01 00:00:00 UTC */
#define MONO_NS	 UINT64_C(5000000000)
#define BOOT_NS	 UINT64_C(7000000000)

struct thread {
	uint32_t tid;
	struct trace_stream *stream;
};

struct composer {
	int fd;
	unsigned line;
	char *exe;
	char *argv[MAX_ARGS];
	uint32_t argc;
	struct trace_writer *w; /* NULL until the first definition */
	uint32_t nr_runtimes, nr_futures;
	VEC(struct thread) threads;
	VEC(uint32_t) texts; /* numbers in the file */
	struct trace_end end;
	bool has_end;
};

PRINTF(2, 3) static _Noreturn void die(const struct composer *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "compose: line %u: ", c->line);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

/* In place. */
static char *unescape(char *s)
{
	char *to = s;

	for (const char *from = s; *from;) {
		if (from[0] == '\\' && from[1] == 'x' && isxdigit(from[2]) && isxdigit(from[3])) {
			*to++ = strtoul((char[]){ from[2], from[3], '\0' }, NULL, 16);
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return s;
}

/* The next word, or all that is left of the line. */
static char *take(struct composer *c, char **rest, bool is_last)
{
	char *word = *rest;

	if (!word || !*word)
		die(c, "too short");
	if (is_last)
		*rest = NULL;
	else
		strsep(rest, " ");
	return strcmp(word, "-") ? unescape(word) : "";
}

static uint64_t number(struct composer *c, const char *word)
{
	char *end;
	uint64_t n = strtoull(word, &end, 0);

	if (end == word || *end)
		die(c, "'%s' is no number", word);
	return n;
}

static uint64_t take_number(struct composer *c, char **rest)
{
	return number(c, take(c, rest, false));
}

static void begin(struct composer *c)
{
	struct trace_meta meta = {
		.tool = "futrace golden",
		.exe = c->exe ? c->exe : "/usr/bin/shop",
		.argv = (const char *const *)c->argv,
		.argc = c->argc,
		.cwd = "/srv/shop",
		.os = "Linux 6.1.0 x86_64",
		.cpu = "Some CPU",
		.host = "host",
		.pid = 4711,
		.uid = 1000,
		.nr_cpus = 4,
		.clock = CLOCK_KIND_MONOTONIC,
		.base_ticks = MONO_NS,
	};

	if (c->w)
		return;
	c->w = trace_writer_new(c->fd, &meta);
	trace_writer_anchor(c->w, &(struct clock_anchor){ MONO_NS, MONO_NS, BOOT_NS, REAL_NS });
	trace_writer_object(c->w, &(struct trace_object){ meta.exe, "c0ffee", 0x550000000000 });
}

static void put_runtime(struct composer *c, char *rest)
{
	struct trace_runtime r = { 0 };

	begin(c);
	r.name = take(c, &rest, false);
	r.version = take(c, &rest, true);
	trace_writer_runtime(c->w, &r);
	c->nr_runtimes++;
}

static void put_type(struct composer *c, char *rest)
{
	static const char *const kinds[] = { "task", "local", "blocking", "helper", NULL };
	const char *kind = take(c, &rest, false);
	struct trace_type t = { 0 };
	char *place, *line;

	begin(c);
	t.has_numbers = !strcmp(kind, "numbered"); /* tasks whose ids are told */
	if (t.has_numbers)
		kind = "task";
	while (kinds[t.kind] && strcmp(kinds[t.kind], kind))
		t.kind++;
	if (!kinds[t.kind] || !c->nr_runtimes)
		die(c, "no kind '%s', or no runtime", kind);
	t.runtime = c->nr_runtimes - 1;
	t.scheduler = take(c, &rest, false);
	place = take(c, &rest, false);
	line = strrchr(place, ':');
	if (line) {
		*line = '\0';
		t.line = number(c, line + 1);
	}
	t.file = place;
	t.size_bytes = take_number(c, &rest);
	t.name = take(c, &rest, true);
	for (const char *bar = t.name; (bar = strstr(bar, " | ")); bar += 3)
		t.nr_candidates += t.nr_candidates ? 1 : 2; /* a list of candidates */
	trace_writer_type(c->w, &t);
}

static void put_stack(struct composer *c, char *rest)
{
	uint32_t nr = take_number(c, &rest);
	char *place = take(c, &rest, true), *line = strrchr(place, ':');

	begin(c);
	if (!line)
		die(c, "no line in '%s'", place);
	*line = '\0';
	trace_writer_stack(c->w, nr, &(struct trace_stack){ place, number(c, line + 1) });
}

/* Cuts the line off a place, and returns it. */
static uint32_t cut_line(struct composer *c, char *place, uint32_t *last_line)
{
	char *line = strrchr(place, ':'), *first = line ? line + 1 : NULL;

	if (!line)
		return 0;
	*line = '\0';
	line = strsep(&first, "-");
	*last_line = first ? number(c, first) : 0;
	return number(c, line);
}

static void put_step(struct composer *c, char *rest)
{
	static const char *const states[] = { "waits", "not_started", "done", "ready", NULL };
	const char *outer = take(c, &rest, false), *state, *foreign;
	struct trace_step s = { .outer = *outer ? number(c, outer) : TRACE_NO_STEP };
	char *words = take(c, &rest, false), *place = take(c, &rest, false);

	begin(c);
	state = strsep(&words, ",");
	foreign = words;
	while (states[s.state] && strcmp(states[s.state], state))
		s.state++;
	if (!states[s.state] || (foreign && strcmp(foreign, "foreign")))
		die(c, "no state '%s'", state);
	s.is_foreign = foreign;
	s.line = *place ? cut_line(c, place, &s.last_line) : 0;
	s.file = place;
	s.leaf = take(c, &rest, false);
	s.function = take(c, &rest, false);
	s.is_generated = *s.function;
	s.future = take(c, &rest, true);
	trace_writer_step(c->w, &s);
}

static void put_path(struct composer *c, char *rest)
{
	uint32_t nr = take_number(c, &rest);
	VEC(uint32_t) steps = { 0 };

	begin(c);
	while (rest)
		vec_push(&steps, take_number(c, &rest));
	trace_writer_path(c->w, nr, &(struct trace_path){ steps.v, steps.nr });
	vec_release(&steps);
}

static void put_stand(struct composer *c, char *rest)
{
	struct trace_stand s = { .time = MONO_NS + take_number(c, &rest) };

	begin(c);
	s.type = take_number(c, &rest);
	s.task = take_number(c, &rest);
	s.path = take_number(c, &rest);
	trace_writer_stand(c->w, &s);
}

static void put_instance(struct composer *c, char *rest)
{
	uint32_t nr = take_number(c, &rest);
	struct trace_instance i = { .type = take_number(c, &rest) };

	begin(c);
	i.owner = take_number(c, &rest);
	trace_writer_instance(c->w, nr, &i);
}

static void put_future(struct composer *c, char *rest)
{
	static const char *const seen[] = { "all", "some", "unsure", NULL };
	const char *word = take(c, &rest, false);
	struct trace_future f = { 0 };
	char *line;

	begin(c);
	while (seen[f.seen] && strcmp(seen[f.seen], word))
		f.seen++;
	if (!seen[f.seen])
		die(c, "what is seen is '%s'?", word);
	f.is_generated = take_number(c, &rest);
	f.file = take(c, &rest, false);
	line = strrchr(f.file, ':');
	if (line) {
		*line = '\0';
		f.line = number(c, line + 1);
	}
	f.function = take(c, &rest, false);
	f.name = take(c, &rest, true);
	f.va = 0x1000 * ++c->nr_futures;
	trace_writer_future(c->w, &f);
}

static void put_text(struct composer *c, char *rest)
{
	const char *text = take(c, &rest, true);

	begin(c);
	vec_push(&c->texts, trace_writer_string(c->w, text, strlen(text)));
}

/* The number of a text in the file; 0 and what was not defined: none. */
static uint32_t text_of(struct composer *c, uint64_t nr)
{
	return nr && nr <= c->texts.nr ? c->texts.v[nr - 1] : 0;
}

static struct trace_stream *stream_of(struct composer *c, uint32_t tid)
{
	vec_each (t, &c->threads)
		if (t->tid == tid)
			return t->stream;
	die(c, "no thread %u", tid);
}

static void put_thread(struct composer *c, char *rest)
{
	uint64_t time = take_number(c, &rest), words[2];
	uint32_t tid = take_number(c, &rest);
	char comm[16] = { 0 };
	struct thread t = { .tid = tid };
	const char *name = take(c, &rest, true);

	begin(c);
	memcpy(comm, name, MIN(strlen(name), sizeof(comm)));
	memcpy(words, comm, sizeof(words));
	t.stream = trace_writer_thread(c->w, tid);
	vec_push(&c->threads, t);
	trace_stream_put(t.stream,
			 &(struct event){ .time = time, .kind = EV_THREAD_START, .a = tid });
	trace_stream_put(t.stream, &(struct event){ .time = time,
						    .kind = EV_THREAD_NAME,
						    .a = words[0],
						    .b = words[1] });
}

static unsigned kind_of(struct composer *c, const char *name)
{
	for (unsigned kind = 0; kind < EV_MAX; kind++)
		if (event_descs[kind].name && !strcmp(event_descs[kind].name, name))
			return kind;
	die(c, "no event '%s'", name);
}

static void set_field(struct composer *c, struct event *ev, const char *name, const char *value)
{
	const struct event_desc *d = &event_descs[ev->kind];

	if (d->task && !strcmp(name, "task"))
		ev->task = number(c, value);
	else if (d->task && !strcmp(name, "type"))
		ev->type = number(c, value);
	else if (d->task == EVENT_TASK_ADDR && !strcmp(name, "addr"))
		ev->addr = number(c, value);
	else if (d->a && !strcmp(name, d->a) && !strcmp(name, "name"))
		ev->a = text_of(c, number(c, value));
	else if (d->a && !strcmp(name, d->a))
		ev->a = isalpha(value[0]) ? kind_of(c, value) : number(c, value);
	else if (d->b && !strcmp(name, d->b))
		ev->b = number(c, value);
	else
		die(c, "%s has no '%s'", d->name, name);
}

static void set_flag(struct composer *c, struct event *ev, const char *name)
{
	const struct event_desc *d = &event_descs[ev->kind];

	for (int i = 0; i < EVENT_FLAG_BITS; i++)
		if (d->flags[i] && !strcmp(d->flags[i], name)) {
			ev->flags |= 1 << i;
			return;
		}
	die(c, "%s has no flag '%s'", d->name, name);
}

static void put_event(struct composer *c, uint64_t time, char *rest)
{
	struct trace_stream *s = stream_of(c, take_number(c, &rest));
	struct event ev = { .time = time, .kind = kind_of(c, take(c, &rest, false)) };

	while (rest) {
		char *value = take(c, &rest, false), *name = strsep(&value, "=");

		if (value)
			set_field(c, &ev, name, value);
		else
			set_flag(c, &ev, name);
	}
	trace_stream_put(s, &ev);
}

static void put_counted(struct composer *c, char *rest)
{
	struct trace_cpu u = { .time = MONO_NS + take_number(c, &rest) };
	struct trace_stream *s = stream_of(c, take_number(c, &rest));

	u.cpu_ns = take_number(c, &rest);
	u.wait_ns = take_number(c, &rest);
	trace_stream_cpu(s, &u);
}

static void put_end(struct composer *c, char *rest)
{
	static const char *const kinds[] = { [TRACE_EXITED] = "exited",
					     [TRACE_SIGNALED] = "signaled",
					     [TRACE_STOPPED] = "stopped" };
	const char *kind;

	c->end.ticks = MONO_NS + take_number(c, &rest);
	kind = take(c, &rest, false);
	c->end.status = take_number(c, &rest);
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i] && !strcmp(kinds[i], kind)) {
			c->end.kind = i;
			c->has_end = true;
			return;
		}
	die(c, "no end '%s'", kind);
}

static void put_line(struct composer *c, char *line)
{
	const char *word = take(c, &line, false);

	if (isdigit(word[0])) {
		put_event(c, number(c, word), line);
	} else if (!strcmp(word, "exe")) {
		c->exe = xstrdup(take(c, &line, true));
	} else if (!strcmp(word, "arg")) {
		if (c->argc == MAX_ARGS)
			die(c, "too many arguments");
		c->argv[c->argc++] = xstrdup(take(c, &line, true));
	} else if (!strcmp(word, "runtime")) {
		put_runtime(c, line);
	} else if (!strcmp(word, "type")) {
		put_type(c, line);
	} else if (!strcmp(word, "stack")) {
		put_stack(c, line);
	} else if (!strcmp(word, "step")) {
		put_step(c, line);
	} else if (!strcmp(word, "path")) {
		put_path(c, line);
	} else if (!strcmp(word, "stand")) {
		put_stand(c, line);
	} else if (!strcmp(word, "instance")) {
		put_instance(c, line);
	} else if (!strcmp(word, "future")) {
		put_future(c, line);
	} else if (!strcmp(word, "text")) {
		put_text(c, line);
	} else if (!strcmp(word, "thread")) {
		put_thread(c, line);
	} else if (!strcmp(word, "cpu")) {
		c->end.tool_cpu_ns = take_number(c, &line);
		c->end.target_cpu_ns = take_number(c, &line);
	} else if (!strcmp(word, "counted")) {
		put_counted(c, line);
	} else if (!strcmp(word, "end")) {
		put_end(c, line);
	} else {
		die(c, "what is '%s'?", word);
	}
}

int main(int argc, char **argv)
{
	struct composer c = { 0 };
	struct err e = ERR_INIT;
	char *line = NULL;
	size_t room = 0;

	if (argc != 2)
		return 2;
	c.fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (c.fd < 0) {
		perror(argv[1]);
		return 1;
	}
	while (getline(&line, &room, stdin) > 0) {
		c.line++;
		line[strcspn(line, "\n")] = '\0';
		put_line(&c, line);
	}
	begin(&c);
	if (trace_writer_close(c.w, c.has_end ? &c.end : NULL, &e) < 0)
		die(&c, "%s", e.msg);
	vec_release(&c.threads);
	vec_release(&c.texts);
	for (uint32_t i = 0; i < c.argc; i++)
		free(c.argv[i]);
	free(c.exe);
	free(line);
	return 0;
}
