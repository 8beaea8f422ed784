// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/diff_findings.h"

#include <string.h>

#include "base/format.h"
#include "model/shorten.h"
#include "show/wrap.h"

#define INDENT	  2
#define MAX_SHOWN 10

static const char *type_of(const struct diff_finding *f, char buf[32])
{
	return f->finding->type == EVENT_TYPE_NONE
		       ? ""
		       : recording_type_name(f->rec, f->finding->type, buf);
}

static bool is_same(const struct diff_finding *a, const struct diff_finding *b)
{
	char buf_a[32], buf_b[32];

	return a->finding->analysis == b->finding->analysis &&
	       strcmp(type_of(a, buf_a), type_of(b, buf_b)) == 0;
}

void diff_findings_init(struct diff_findings *d, const struct recording *recs[2],
			struct analyzer *const analyzers[2])
{
	size_t nr_a, nr_b;
	const struct finding *fa = analyzer_get_findings(analyzers[0], &nr_a);
	const struct finding *fb = analyzer_get_findings(analyzers[1], &nr_b);
	bool *is_taken = xcalloc(nr_b + 1, sizeof(*is_taken));

	*d = (struct diff_findings){ 0 };
	for (size_t i = 0; i < nr_a; i++) {
		struct diff_finding a = { recs[0], &fa[i] };
		size_t k = 0;

		while (k < nr_b &&
		       (is_taken[k] || !is_same(&a, &(struct diff_finding){ recs[1], &fb[k] })))
			k++;
		is_taken[k] = true;
		if (k < nr_b)
			d->nr_both++;
		else
			vec_push(&d->vanished, a);
	}
	for (size_t k = 0; k < nr_b; k++)
		if (!is_taken[k])
			vec_push(&d->appeared, ((struct diff_finding){ recs[1], &fb[k] }));
	free(is_taken);
}

void diff_findings_release(struct diff_findings *d)
{
	vec_release(&d->appeared);
	vec_release(&d->vanished);
}

/* "  critical blocked-poll, render_page: 7 polls slept 428ms in all, …" */
static void add_finding(const struct diff_finding *f, const struct styles *styles,
			struct strbuf *out)
{
	static const enum style style_of[] = { STYLE_NOTE, STYLE_WARNING, STYLE_CRITICAL };
	struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
	const struct finding *it = f->finding;
	const char *severity = severity_name(it->severity);
	char buf[32];

	strbuf_addf(&text, "%s %s", severity, it->analysis->name);
	if (it->type != EVENT_TYPE_NONE) {
		strbuf_addstr(&text, ", ");
		shorten_type(&text, type_of(f, buf), styles->width / 2);
	}
	strbuf_addf(&text, ": %s", it->what ? it->what : it->analysis->summary);
	wrap_sentence(&line, text.s, 2 * INDENT, styles);
	strbuf_addf(out, "%*s%s%s%s%s", INDENT, "", style_on(styles, style_of[it->severity]),
		    severity, style_off(styles), line.s + strlen(severity));
	strbuf_release(&line);
	strbuf_release(&text);
}

void diff_findings_text(const struct diff_findings *d, const struct styles *styles,
			struct strbuf *out)
{
	const struct {
		const char *head;
		const struct diff_finding *v;
		size_t nr;
	} parts[] = { { "findings of B that A has not", d->appeared.v, d->appeared.nr },
		      { "findings of A that B has not", d->vanished.v, d->vanished.nr } };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i].nr)
			continue;
		strbuf_addf(out, "\n%s%zu %s%s\n", style_on(styles, STYLE_HEAD), parts[i].nr,
			    parts[i].head, style_off(styles));
		for (size_t k = 0; k < MIN(parts[i].nr, (size_t)MAX_SHOWN); k++)
			add_finding(&parts[i].v[k], styles, out);
		if (parts[i].nr > MAX_SHOWN)
			strbuf_addf(out, "%*sand %zu more, less bad\n", INDENT, "",
				    parts[i].nr - MAX_SHOWN);
	}
	if (d->nr_both)
		strbuf_addf(out, "\n%zu finding%s %s in both\n", d->nr_both, plural(d->nr_both),
			    d->nr_both == 1 ? "is" : "are");
	else if (!d->appeared.nr && !d->vanished.nr)
		strbuf_addstr(out, "\nno findings in either\n");
}

static void put_findings(const struct diff_finding *v, size_t nr, struct json *j, const char *key)
{
	char buf[32];

	json_open_array(j, key);
	for (size_t i = 0; i < nr; i++) {
		const struct finding *f = v[i].finding;

		json_open_object(j, NULL);
		json_str(j, "rule", f->analysis->name);
		json_str(j, "severity", severity_name(f->severity));
		json_str(j, "type", f->type == EVENT_TYPE_NONE ? NULL : type_of(&v[i], buf));
		json_uint(j, "time_ns", f->time_ns);
		json_uint(j, "harm_ns", f->harm_ns);
		json_str(j, "what", f->what);
		json_str(j, "advice", f->advice);
		json_close_object(j);
	}
	json_close_array(j);
}

void diff_findings_json(const struct diff_findings *d, struct json *j)
{
	put_findings(d->appeared.v, d->appeared.nr, j, "findings_appeared");
	put_findings(d->vanished.v, d->vanished.nr, j, "findings_vanished");
}
