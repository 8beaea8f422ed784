// SPDX-License-Identifier: MIT OR Apache-2.0
/* What `doctor` says of a file, for people. */
#include <string.h>

#include "base/candidates.h"
#include "base/format.h"
#include "model/model.h"
#include "runtime/known.h"
#include "show/doctor.h"

#define WIDTH	 80
#define INDENT	 14
#define ROW	 4 /* its label begins here */
#define ROW_TEXT 19

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
		strbuf_addf(out, "  %-9s %-15s ", model_kind_name(t->kind),
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

void subject_text(const struct subject *s, bool verbose, struct strbuf *out)
{
	const struct discovery *d = s->d;
	struct strbuf text = STRBUF_INIT;
	const char *todo, *why = subject_obstacle(s, &todo);

	strbuf_add_clean(out, d->path, strlen(d->path));
	strbuf_addstr(out, ": ");
	subject_verdict(s, out);
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
	if (why && subject_has_use(s))
		doctor_field(out, "why", why);
	if (subject_has_use(s))
		print_names(d, &text, out);
	for (uint32_t i = 0; i < d->nr_runtimes; i++) {
		strbuf_reset(&text);
		runtime_text(d, i, &text);
		doctor_field(out, d->runtimes[i].name, text.s);
		if (discovery_has_use_of(d, i))
			seen_rows(d, i, out);
	}
	futures_field(s, out);
	if (why && subject_has_use(s) && *todo)
		doctor_field(out, "to do", todo);
	if (*d->rung_note && subject_has_use(s))
		doctor_field(out, why && *todo ? "" : "to do", d->rung_note);
	if (verbose && d->nr_tables)
		list_tables(d, out);
	strbuf_release(&text);
}
