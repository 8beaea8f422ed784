// SPDX-License-Identifier: MIT OR Apache-2.0
/* What is wrong, worst first: a few lines each, or JSON. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyze/config.h"
#include "base/format.h"
#include "model/shorten.h"
#include "show/report.h"
#include "show/wrap.h"

#define INDENT	  10 /* behind the severity */
#define MIN_TYPE  20 /* columns that the name of a type gets at least */
#define MAX_SHOWN 10

static enum style style_of(enum severity s)
{
	return s == SEVERITY_CRITICAL  ? STYLE_CRITICAL
	       : s == SEVERITY_WARNING ? STYLE_WARNING
				       : STYLE_NOTE;
}

/* A pager forgets at the end of a line what style it was in. */
static void add_styled(const struct report *r, enum style style, const char *lines,
		       struct strbuf *out)
{
	for (size_t len; *lines; lines += len + (lines[len] == '\n')) {
		len = strcspn(lines, "\n");
		strbuf_addstr(out, style_on(&r->styles, style));
		strbuf_add(out, lines, len);
		strbuf_addf(out, "%s\n", style_off(&r->styles));
	}
}

static void add_severity(const struct report *r, enum severity s, struct strbuf *out)
{
	const char *name = severity_name(s);

	strbuf_addstr(out, style_on(&r->styles, style_of(s)));
	for (size_t i = 0; i < INDENT; i++)
		strbuf_addch(out, i < strlen(name) ? toupper(name[i]) : ' ');
	strbuf_addstr(out, style_off(&r->styles));
}

/* Its rule, and where the worst of it is to be found. */
static void add_origin(const struct report *r, const struct finding *f, struct strbuf *out)
{
	uint32_t tid = recording_thread_tid(&r->rec, f->thread);
	bool is_root =
		f->task.type < r->rec.nr_types && r->rec.types[f->task.type].kind == TRACE_BLOCK_ON;
	char a[FORMAT_SIZE];

	strbuf_addf(out, "  [%s", f->analysis->name);
	if (f->has_task)
		strbuf_addf(out, ", %s %llu", is_root ? "root" : "task",
			    (unsigned long long)f->task.id);
	if (f->span_ns || f->time_ns)
		strbuf_addf(out, " at %s", format_span(f->time_ns, a));
	if (r->verbose && f->thread != MODEL_NO_THREAD)
		strbuf_addf(out, ", tid %u", tid);
	strbuf_addch(out, ']');
}

/* There are findings about no type, even where the worst task of them is told. */
static bool is_about_type(const struct finding *f)
{
	return f->type != EVENT_TYPE_NONE;
}

/* The end of a place tells most. */
static void cut_place(struct strbuf *place, size_t width)
{
	struct strbuf cut = STRBUF_INIT;
	const char *tail;

	if (place->len <= width || width < 2)
		return;
	tail = place->s + place->len - (width - 2);
	while ((*tail & 0xc0) == 0x80)
		tail++;
	strbuf_addf(&cut, "..%s", tail);
	strbuf_release(place);
	*place = cut;
}

/* The await point that it is about, NULL: none. */
static const struct trace_step *step_of(const struct report *r, const struct finding *f)
{
	return f->step < r->rec.nr_steps ? &r->rec.steps[f->step] : NULL;
}

/* Where it is in the source: the await, or the type's definition. */
static void add_place(const struct report *r, const struct finding *f, size_t width,
		      struct strbuf *out)
{
	const struct trace_step *step = step_of(r, f);
	const struct trace_type *type = f->type < r->rec.nr_types ? &r->rec.types[f->type] : NULL;

	if (step && step->file[0])
		step_shorten_place(out, step, width);
	else if (type && type->file[0])
		shorten_place(out, type->file, type->line, width);
}

static void add_name(const struct report *r, const struct finding *f, size_t width,
		     struct strbuf *out)
{
	const struct trace_step *step = step_of(r, f);
	char buf[32];

	if (step)
		shorten_type(out, step_name(step), width);
	else if (is_about_type(f))
		shorten_type(out, recording_type_name(&r->rec, f->type, buf), width);
	else
		strbuf_addstr(out, f->analysis->summary);
}

/* "CRITICAL  app::render  src/main.rs:51  [blocked-poll, task 7 at 1.2s]" */
static void add_head(const struct report *r, const struct finding *f, struct strbuf *out)
{
	const struct trace_type *type = f->type < r->rec.nr_types ? &r->rec.types[f->type] : NULL;
	struct strbuf place = STRBUF_INIT, origin = STRBUF_INIT;
	bool is_list = type && type->nr_candidates > 1 && !step_of(r, f);
	size_t room = r->styles.width - INDENT - (is_list ? 6 : 0);

	add_origin(r, f, &origin);
	add_place(r, f, room / 3, &place);
	if (!r->verbose)
		cut_place(&place, room - MIN(room - MIN_TYPE, origin.len + 2 + MIN_TYPE));
	room -= MIN(room - MIN_TYPE, origin.len + (place.len ? place.len + 2 : 0));
	strbuf_addstr(out, style_on(&r->styles, STYLE_NAME));
	add_name(r, f, r->verbose ? SIZE_MAX : room, out);
	/* a list of candidates does not tell two tables apart, the number does */
	if (is_list)
		strbuf_addf(out, " #%u", f->type);
	strbuf_addf(out, "%s%s%s%s%s%s\n", style_off(&r->styles),
		    style_on(&r->styles, STYLE_DETAIL), place.len ? "  " : "", place.s, origin.s,
		    style_off(&r->styles));
	strbuf_release(&place);
	strbuf_release(&origin);
}

/* The value has its unit. */
static size_t name_len(const struct figure *g)
{
	const char *unit = g->unit == FIGURE_NS ? "_ns" : g->unit == FIGURE_BYTES ? "_bytes" : "";

	return strlen(g->name) - (str_has_suffix(g->name, unit) ? strlen(unit) : 0);
}

static void add_figures(const struct finding *f, struct strbuf *out)
{
	char a[FORMAT_SIZE];

	for (unsigned i = 0; i < f->nr_figures; i++) {
		const struct figure *g = &f->figures[i];

		strbuf_addf(out, "%s%.*s ", i ? ", " : "", (int)name_len(g), g->name);
		if (g->unit == FIGURE_PERCENT)
			strbuf_addf(out, "%llu%%", (unsigned long long)g->value);
		else
			strbuf_addstr(out, g->unit == FIGURE_NS	     ? format_span(g->value, a)
					   : g->unit == FIGURE_BYTES ? format_bytes(g->value, a)
								     : format_grouped(g->value, a));
	}
}

static void add_finding(const struct report *r, const struct finding *f, struct strbuf *out)
{
	struct strbuf figures = STRBUF_INIT, advice = STRBUF_INIT;

	strbuf_addch(out, '\n');
	add_severity(r, f->severity, out);
	add_head(r, f, out);
	strbuf_addf(out, "%*s", INDENT, "");
	wrap_sentence(out, f->what ? f->what : f->analysis->summary, INDENT, &r->styles);
	if (r->verbose && f->nr_figures) {
		add_figures(f, &figures);
		strbuf_addf(out, "%*s", INDENT, "");
		wrap_sentence(out, figures.s, INDENT, &r->styles);
	}
	if (f->advice) {
		const char *arrow = r->styles.is_ascii ? "->" : "→";

		strbuf_addf(&advice, "%*s%s ", INDENT, "", arrow);
		wrap_sentence(&advice, f->advice, INDENT + (r->styles.is_ascii ? 2 : 1) + 1,
			      &r->styles);
		add_styled(r, STYLE_ADVICE, advice.s, out);
	}
	strbuf_release(&advice);
	strbuf_release(&figures);
}

/* "3 findings: 1 critical, 2 warnings" */
static void add_summary(const struct finding *f, size_t nr, struct strbuf *out)
{
	size_t by_severity[SEVERITY_CRITICAL + 1] = { 0 };
	const char *sep = ": ";

	for (size_t i = 0; i < nr; i++)
		by_severity[f[i].severity]++;
	strbuf_addf(out, "%zu finding%s", nr, plural(nr));
	for (int s = SEVERITY_CRITICAL; s >= 0; s--) {
		if (!by_severity[s])
			continue;
		strbuf_addf(out, "%s%zu %s%s", sep, by_severity[s], severity_name(s),
			    s == SEVERITY_CRITICAL ? "" : plural(by_severity[s]));
		sep = ", ";
	}
}

static void add_none(const struct report *r, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT, lines = STRBUF_INIT;
	size_t nr = 0, nr_allowed = 0;

	for (; analyses[nr]; nr++)
		nr_allowed += analyze_config_is_allowed(r->config, analyses[nr]);
	nr -= nr_allowed;
	strbuf_addf(
		&text,
		"no findings: %zu analys%s found nothing over %s thresholds (--thresholds lists "
		"them)",
		nr, nr == 1 ? "is" : "es", nr == 1 ? "its" : "their");
	if (nr_allowed)
		strbuf_addf(&text, "; %zu left out by --allow", nr_allowed);
	wrap_text(&lines, text.s, 0, r->styles.width);
	strbuf_addch(out, '\n');
	add_styled(r, STYLE_GOOD, lines.s, out);
	strbuf_release(&lines);
	strbuf_release(&text);
}

void report_findings_text(const struct report *r, struct strbuf *out)
{
	bool all = r->verbose || r->all_findings;
	const struct finding *f;
	size_t nr, shown;

	f = analyzer_get_findings(r->analyzer, &nr);
	if (!nr) {
		add_none(r, out);
		return;
	}
	strbuf_addf(out, "\n%s", style_on(&r->styles, STYLE_HEAD));
	add_summary(f, nr, out);
	strbuf_addf(out, "%s\n", style_off(&r->styles));
	shown = all ? nr : MIN(nr, MAX_SHOWN);
	for (size_t i = 0; i < shown; i++)
		add_finding(r, &f[i], out);
	if (shown == nr)
		return;
	strbuf_addf(out, "\nand %zu more, less bad: --all-findings shows them\n", nr - shown);
}

static void put_finding(const struct report *r, const struct finding *f, struct json *j)
{
	char *place = recording_type_place(&r->rec, f->type);
	char buf[32];

	json_open_object(j, NULL);
	json_str(j, "rule", f->analysis->name);
	json_str(j, "severity", severity_name(f->severity));
	json_str(j, "type", is_about_type(f) ? recording_type_name(&r->rec, f->type, buf) : NULL);
	if (f->has_task) {
		json_uint(j, "task", f->task.id);
		if (f->task.runtime < r->rec.nr_runtimes)
			json_uint(j, "runtime_id", f->task.runtime);
	} else {
		json_null(j, "task");
	}
	json_str(j, "location", place);
	if (step_of(r, f)) {
		struct strbuf at = STRBUF_INIT;

		step_add_place(&at, step_of(r, f));
		json_str(j, "await", at.s);
		strbuf_release(&at);
	}
	json_uint(j, "time_ns", f->time_ns);
	json_uint(j, "span_ns", f->span_ns);
	if (f->thread == MODEL_NO_THREAD)
		json_null(j, "tid");
	else
		json_uint(j, "tid", recording_thread_tid(&r->rec, f->thread));
	json_open_object(j, "figures");
	for (unsigned i = 0; i < f->nr_figures; i++)
		json_uint(j, f->figures[i].name, f->figures[i].value);
	json_close_object(j);
	json_uint(j, "harm_ns", f->harm_ns);
	json_str(j, "what", f->what);
	json_str(j, "advice", f->advice);
	json_close_object(j);
	free(place);
}

void report_findings_json(const struct report *r, struct json *j)
{
	const struct finding *f;
	size_t nr;

	f = analyzer_get_findings(r->analyzer, &nr);
	json_open_array(j, "findings");
	for (size_t i = 0; i < nr; i++)
		put_finding(r, &f[i], j);
	json_close_array(j);
}

static const char *limit_text(const struct threshold *t, uint64_t value, char buf[FORMAT_SIZE])
{
	switch (t->unit) {
	case THRESHOLD_NS:
		return format_span(value, buf);
	case THRESHOLD_BYTES:
		return format_bytes(value, buf);
	case THRESHOLD_PERCENT:
		snprintf(buf, FORMAT_SIZE, "%llu%%", (unsigned long long)value);
		return buf;
	default:
		return format_grouped(value, buf);
	}
}

static void add_limits(const struct threshold *t, const uint64_t *limits,
		       const struct styles *styles, struct strbuf *out)
{
	char now[FORMAT_SIZE], usual[FORMAT_SIZE];
	struct strbuf help = STRBUF_INIT;

	for (; t && t->name; t++, limits++) {
		strbuf_reset(&help);
		strbuf_addstr(&help, t->help);
		if (*limits != t->value)
			strbuf_addf(&help, " (usually %s)", limit_text(t, t->value, usual));
		strbuf_addf(out, "  %-24s %8s  ", t->name, limit_text(t, *limits, now));
		wrap_sentence(out, help.s, 2 + 24 + 1 + 8 + 2, styles);
	}
	strbuf_release(&help);
}

void report_thresholds(const struct analyze_config *config, const struct styles *styles,
		       struct strbuf *out)
{
	for (const struct analysis *const *an = analyses; *an; an++) {
		strbuf_addf(out, "%s: %s%s\n", (*an)->name, (*an)->summary,
			    analyze_config_is_allowed(config, *an) ? " (left out)" : "");
		add_limits((*an)->thresholds, analyze_config_limits(config, *an), styles, out);
		strbuf_addch(out, '\n');
	}
	strbuf_addstr(out, "no finding, only counted:\n");
	add_limits(count_thresholds, analyze_config_counts(config), styles, out);
}
