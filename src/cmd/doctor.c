// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace doctor`: what can be seen of a file or process, what cannot, and how to change it.
 * Verdict first.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/candidates.h"
#include "base/format.h"
#include "base/io.h"
#include "base/json.h"
#include "base/vec.h"
#include "cmd/candidates.h"
#include "cmd/command.h"
#include "cmd/doctor.h"
#include "runtime/discover.h"
#include "runtime/known.h"

#define WIDTH	 80
#define INDENT	 14
#define ROW	 4 /* its label begins here */
#define ROW_TEXT 19

struct doctor_opts {
	bool json, verbose, no_cache;
};

static const struct opt options[] = {
	OPT('v', "verbose", OPT_FLAG, struct doctor_opts, verbose, NULL,
	    "list every task table: kind, scheduler, future type, where it is defined"),
	OPT(0, "json", OPT_FLAG, struct doctor_opts, json, NULL, "print JSON"),
	OPT(0, "no-cache", OPT_FLAG, struct doctor_opts, no_cache, NULL,
	    "look at symbols and debug info again"),
	{ 0 },
};

/* Words up to the width, then on below the first of them. */
static void add_wrapped(struct strbuf *out, const char *text, size_t indent)
{
	size_t column = indent;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column > indent && column + word > WIDTH) {
			strbuf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		strbuf_add_clean(out, text, word);
		column += word + 1;
		text += word;
		while (*text == ' ')
			text++;
		if (*text && column + strcspn(text, " ") <= WIDTH)
			strbuf_addch(out, ' ');
	}
	strbuf_addch(out, '\n');
}

void doctor_field(struct strbuf *out, const char *label, const char *text)
{
	strbuf_addf(out, "  %-*s", INDENT - 2, label);
	add_wrapped(out, text, INDENT);
}

void doctor_row(struct strbuf *out, const char *label, const char *text)
{
	strbuf_addf(out, "%*s%-*s", ROW, "", ROW_TEXT - ROW, label);
	add_wrapped(out, text, ROW_TEXT);
}

static const char *link_text(const struct discovery *d)
{
	static const char *const texts[] = {
		[ELF_DYNAMIC] = "dynamic program (glibc)",
		[ELF_DYNAMIC_MUSL] = "dynamic program (musl)",
		[ELF_STATIC] = "static program",
		[ELF_STATIC_PIE] = "static program (PIE)",
		[ELF_SHARED_OBJECT] = "shared library",
	};

	return texts[d->link];
}

/* Why the agent cannot get in, NULL when it can; *todo says what to do. */
static const char *obstacle(const struct subject *s, const char **todo)
{
	*todo = "";
	switch (s->d->link) {
	case ELF_STATIC:
	case ELF_STATIC_PIE:
		*todo = "build it for x86_64-unknown-linux-gnu, without crt-static";
		return "it is static, and so ignores LD_PRELOAD, by which the agent comes in";
	case ELF_DYNAMIC_MUSL:
		*todo = "build it for x86_64-unknown-linux-gnu";
		return "it runs on musl, and the agent needs glibc";
	case ELF_DYNAMIC:
	case ELF_SHARED_OBJECT:
		break;
	}
	if (s->is_privileged) {
		*todo = "record a copy without the setuid bit and capabilities";
		return "it is setuid or has capabilities, and the loader then ignores LD_PRELOAD";
	}
	return NULL;
}

/* "tokio 1.54.1 and smol 2.0.2": those that can be recorded, or the first. Returns how many can. */
static uint32_t name_runtimes(const struct discovery *d, struct strbuf *out)
{
	uint32_t nr = 0, first = 0;

	for (uint32_t i = d->nr_runtimes; i-- > 0;) {
		nr += discovery_has_use_of(d, i);
		if (discovery_has_use_of(d, i))
			first = i;
	}
	for (uint32_t i = first; i < d->nr_runtimes; i++) {
		const struct found_runtime *r = &d->runtimes[i];

		if (i != first && !discovery_has_use_of(d, i))
			continue;
		strbuf_addf(out, "%s%s%s%s", i == first ? "" : " and ", r->name,
			    *r->version ? " " : "", r->version);
		if (!nr)
			break;
	}
	return nr;
}

static bool has_use(const struct discovery *d)
{
	for (uint32_t i = 0; i < d->nr_runtimes; i++)
		if (discovery_has_use_of(d, i))
			return true;
	return false;
}

/* The first thing that a reader wants to know. Returns whether something can be recorded. */
static bool verdict(const struct subject *s, struct strbuf *out)
{
	const struct discovery *d = s->d;
	const char *todo, *why = obstacle(s, &todo);
	uint32_t nr;

	if (!d->nr_runtimes) {
		strbuf_addstr(out, "no async runtime inside that futrace knows: nothing to record");
		return false;
	}
	nr = name_runtimes(d, out);
	if (!nr || why) {
		strbuf_addf(out, " cannot be recorded%s", nr ? " yet" : "");
		return false;
	}
	if (d->link == ELF_SHARED_OBJECT)
		strbuf_addf(out, " %s recorded when a recorded program loads it",
			    nr == 1 ? "is" : "are");
	else
		strbuf_addstr(out, " can be recorded");
	return true;
}

/* A future type has a table for each scheduler; only exact names tell which are the same. */
static void count_types(const struct discovery *d, uint32_t runtime, struct strbuf *out)
{
	uint32_t nr = 0, nr_inexact = 0;

	for (uint32_t i = 0; i < d->nr_tables; i++) {
		const struct found_table *t = &d->tables[i];
		bool is_known = false;

		if (t->runtime != runtime || !wire_is_task_table(t->plan.kind) ||
		    (t->kind != TRACE_TASK && t->kind != TRACE_LOCAL))
			continue;
		if (!*t->name || t->nr_candidates > 1) {
			nr_inexact++;
			continue;
		}
		for (uint32_t j = 0; j < i && !is_known; j++)
			is_known = d->tables[j].runtime == runtime &&
				   d->tables[j].nr_candidates <= 1 &&
				   d->tables[j].kind != TRACE_BLOCKING &&
				   d->tables[j].kind != TRACE_HELPER &&
				   strcmp(d->tables[j].name, t->name) == 0;
		nr += !is_known;
	}
	if (nr)
		strbuf_addf(out, "%s%u future type%s in ", nr_inexact ? "at least " : "", nr,
			    plural(nr));
}

static void runtime_text(const struct discovery *d, uint32_t index, struct strbuf *out)
{
	static const char *const kinds[] = {
		[TRACE_TASK] = "for tasks",
		[TRACE_LOCAL] = "for local tasks",
		[TRACE_BLOCKING] = "for blocking calls",
		[TRACE_HELPER] = "of the runtime itself",
		[TRACE_BLOCK_ON] = "", /* they have none */
	};
	const struct found_runtime *r = &d->runtimes[index];
	uint32_t nr[ARRAY_SIZE(kinds)] = { 0 };
	const char *sep = ": ";

	for (uint32_t i = 0; i < d->nr_tables; i++)
		if (d->tables[i].runtime == index && wire_is_task_table(d->tables[i].plan.kind))
			nr[d->tables[i].kind]++;
	if (*r->version)
		strbuf_addf(out, "%s, as its panic messages say; ", r->version);
	else
		strbuf_addstr(out, "version unknown; ");
	count_types(d, index, out);
	strbuf_addf(out, "%u task table%s", r->nr_tables, plural(r->nr_tables));
	if (r->nr_tables)
		strbuf_addf(out, ", known by their %s", r->found_by);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!nr[i])
			continue;
		strbuf_addf(out, "%s%u %s", sep, nr[i], kinds[i]);
		sep = ", ";
	}
	if (r->nr_tables)
		strbuf_addstr(out,
			      r->waker_known ? "; waker table known" : "; waker table unknown");
	if (r->unstable)
		strbuf_addf(out, "; %s", known_runtime(r)->unstable);
	if (r->nr_refused)
		strbuf_addf(out, "; %u refused", r->nr_refused);
	if (*r->note)
		strbuf_addf(out, "; %s", r->note);
}

static const char *rung_text(enum rung rung)
{
	static const char *const texts[] = {
		[RUNG_NOTHING] = "stripped (1 of 4): types by number",
		[RUNG_SYMBOLS] = "symbols (2 of 4): types by symbols",
		[RUNG_LINES] = "line tables (3 of 4): exact types",
		[RUNG_FULL] = "full (4 of 4): exact types with file, line and size",
	};

	return texts[rung];
}

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

static const char *kind_name(enum trace_task_kind kind)
{
	static const char *const names[] = {
		[TRACE_TASK] = "task",	       [TRACE_LOCAL] = "local",
		[TRACE_BLOCKING] = "blocking", [TRACE_HELPER] = "helper",
		[TRACE_BLOCK_ON] = "block_on",
	};

	return names[kind];
}

static void name_counts(const struct discovery *d, struct strbuf *out)
{
	uint32_t nr = 0, exact = 0, several = 0, open = 0;

	for (uint32_t i = 0; i < d->nr_tables; i++) {
		if (!wire_is_task_table(d->tables[i].plan.kind))
			continue;
		nr++;
		exact += d->tables[i].nr_candidates == 1;
		several += d->tables[i].nr_candidates > 1;
		open += !d->tables[i].nr_candidates && *d->tables[i].name;
	}
	strbuf_addf(out, "%u of %u tables by name", exact + open, nr);
	if (open)
		strbuf_addstr(out, " (each may stand for other types of equal code, too: fat LTO "
				   "merged them and left no trace)");
	if (several)
		strbuf_addf(out, ", %u as a list of candidates (their code was merged)", several);
	if (nr > exact + open + several)
		strbuf_addf(out, ", %u by number", nr - exact - open - several);
}

/* Registry sources are known by crate and version; the folders before them are noise. */
static const char *short_path(const char *path)
{
	const char *at = strstr(path, "/registry/src/"), *slash;

	slash = at ? strchr(at + strlen("/registry/src/"), '/') : NULL;
	return slash ? slash + 1 : path;
}

/* One a line, below each other. */
static void add_candidate(void *arg, const char *name, size_t len)
{
	struct strbuf *out = arg;

	strbuf_addf(out, "%s%.*s",
		    out->s[out->len - 1] == ' ' ? "" : "\n                         or ", (int)len,
		    name);
}

static void list_tables(const struct discovery *d, struct strbuf *out)
{
	strbuf_addf(out, "\n  %-9s %-15s %s\n", "KIND", "SCHEDULER", "FUTURE");
	for (uint32_t i = 0; i < d->nr_tables; i++) {
		const struct found_table *t = &d->tables[i];

		if (!wire_is_task_table(t->plan.kind))
			continue;
		strbuf_addf(out, "  %-9s %-15s ", kind_name(t->kind),
			    *t->scheduler ? t->scheduler : "?");
		if (t->nr_candidates > 1)
			candidates_each(t->name, add_candidate, out);
		else if (*t->name)
			strbuf_addstr(out, t->name);
		else
			strbuf_addf(out, "? (table at 0x%llx)", (unsigned long long)t->plan.va);
		if (*t->file)
			strbuf_addf(out, "\n%*s%s:%u", 28, "", short_path(t->file), t->line);
		strbuf_addch(out, '\n');
	}
}

static void print_names(const struct discovery *d, struct strbuf *text, struct strbuf *out)
{
	strbuf_reset(text);
	strbuf_addf(text, "%s%s%s%s", rung_text(d->rung), *d->mangling ? "; " : "", d->mangling,
		    *d->mangling ? " symbol names" : "");
	doctor_field(out, "debug info", text->s);
	if (*d->debug_path)
		doctor_field(out, "", d->debug_path);
	if (!d->nr_tables)
		return;
	strbuf_reset(text);
	name_counts(d, text);
	doctor_field(out, "names", text->s);
}

static void print_subject(const struct subject *s, bool verbose, struct strbuf *out)
{
	const struct discovery *d = s->d;
	struct strbuf text = STRBUF_INIT;
	const char *todo, *why = obstacle(s, &todo);

	strbuf_add_clean(out, d->path, strlen(d->path));
	strbuf_addstr(out, ": ");
	verdict(s, out);
	strbuf_addch(out, '\n');
	strbuf_addf(&text, "x86-64, %s%s", link_text(d),
		    d->link == ELF_DYNAMIC && !d->is_pie ? ", not PIE" : "");
	if (d->nr_broken)
		strbuf_addf(&text, "; %llu broken part%s of the file skipped",
			    (unsigned long long)d->nr_broken,
			    d->nr_broken == 1 ? " was" : "s were");
	if (*d->allocator)
		strbuf_addf(&text, "; %s inside", d->allocator);
	doctor_field(out, "file", text.s);
	if (why && has_use(d))
		doctor_field(out, "why", why);
	if (has_use(d))
		print_names(d, &text, out);
	for (uint32_t i = 0; i < d->nr_runtimes; i++) {
		strbuf_reset(&text);
		runtime_text(d, i, &text);
		doctor_field(out, d->runtimes[i].name, text.s);
		if (discovery_has_use_of(d, i))
			seen_rows(d, i, out);
	}
	futures_field(s, out);
	if (why && has_use(d) && *todo)
		doctor_field(out, "to do", todo);
	if (*d->rung_note && has_use(d))
		doctor_field(out, why && *todo ? "" : "to do", d->rung_note);
	if (verbose && d->nr_tables)
		list_tables(d, out);
	strbuf_release(&text);
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
		json_str(j, "kind", kind_name(t->kind));
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

static void json_subject(const struct subject *s, struct json *j)
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
	bool can = verdict(s, &text);
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
	json_str(j, "obstacle", has_use(d) ? obstacle(s, &todo) : NULL);
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

bool subject_look(struct subject *s, const char *path, const char *shown, bool use_cache,
		  struct err *e)
{
	char *cache = use_cache ? cmd_cache_dir() : NULL;
	struct discover_opts opts = { .names = true, .allocator = true, .cache_dir = cache };
	struct stat st;

	s->d = discover_file(path, shown, &opts, e);
	free(cache);
	if (!s->d)
		return false;
	s->is_privileged = stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID);
	s->is_privileged |= getxattr(path, "security.capability", NULL, 0) > 0;
	return true;
}

static int finish(const struct checkup *c, const struct doctor_opts *o)
{
	struct strbuf out = STRBUF_INIT, text = STRBUF_INIT;
	bool any = false;

	for (size_t i = 0; i < c->subjects.nr; i++)
		any |= verdict(&c->subjects.v[i], &text);
	if (o->json) {
		struct json j;

		json_init(&j, &out);
		json_open_object(&j, NULL);
		json_uint(&j, "schema", 1);
		if (c->pid)
			json_uint(&j, "pid", c->pid);
		json_bool(&j, "recordable", any);
		json_uint(&j, "files_without_runtime", c->nr_without);
		json_uint(&j, "files_unreadable", c->nr_unreadable);
		json_open_array(&j, "files");
		for (size_t i = 0; i < c->subjects.nr; i++)
			json_subject(&c->subjects.v[i], &j);
		json_close_array(&j);
		json_close_object(&j);
		strbuf_addch(&out, '\n');
	} else {
		for (size_t i = 0; i < c->subjects.nr; i++)
			print_subject(&c->subjects.v[i], o->verbose, &out);
		checkup_summary(c, &out);
	}
	fwrite(out.s, 1, out.len, stdout);
	strbuf_release(&text);
	strbuf_release(&out);
	return any ? EXIT_OK : EXIT_FINDINGS;
}

static int run(const void *opts, int nr, char **argv)
{
	const struct doctor_opts *o = opts;
	struct checkup c = { .use_cache = !o->no_cache };
	struct err e = ERR_INIT;
	int rc;

	if (nr != 1)
		return cmd_usage("give one file or one process id");
	if (strspn(argv[0], "0123456789") == strlen(argv[0]) && *argv[0] &&
	    access(argv[0], F_OK) != 0) {
		rc = checkup_process(&c, argv[0], &e);
	} else {
		struct subject s = { 0 };

		rc = subject_look(&s, argv[0], NULL, c.use_cache, &e) ? 0 : -1;
		if (rc == 0) {
			futures_look(&s, argv[0]);
			vec_push(&c.subjects, s);
		}
	}
	rc = rc < 0 ? cmd_fail(&e) : finish(&c, o);
	checkup_release(&c);
	return rc;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "tell what can be seen of a program or process, and how to see more",
	.synopsis = "[options] FILE | PID",
	.options = options,
	.options_size = sizeof(struct doctor_opts),
	.operands = OPERANDS_BINARY,
	.run = run,
};
