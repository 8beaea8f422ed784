// SPDX-License-Identifier: MIT OR Apache-2.0
/* How many of a program's inner futures `record --futures` can time, and why not the others. */
#include "base/format.h"
#include "base/json.h"
#include "show/doctor.h"

static const struct {
	const char *text, *key;
} refusals[NR_FUTURES_REFUSALS] = {
	[FUTURES_MERGED] = { "the compiler merged it with another function", "merged" },
	[FUTURES_STACK] = { "it may take arguments on the stack", "stack" },
	[FUTURES_FIXED] = { "its first instructions cannot give way to a jump", "fixed" },
};

static void add_refused(struct strbuf *out, const struct found_futures *f)
{
	for (unsigned i = 0; i < NR_FUTURES_REFUSALS; i++)
		if (f->refused[i])
			strbuf_addf(out, "; %u cannot be: %s", f->refused[i], refusals[i].text);
	if (f->nr_beyond)
		strbuf_addf(out, "; %u are too many", f->nr_beyond);
}

void futures_field(const struct subject *s, struct strbuf *out)
{
	const struct found_futures *f;
	struct strbuf text = STRBUF_INIT;

	if (!s->with_futures)
		return;
	f = &s->with_futures->futures;
	strbuf_addf(&text, "%u function%s of the program's own can be timed (record --futures)",
		    f->nr, plural(f->nr));
	if (f->nr_by_tables)
		strbuf_addf(&text, ", %u of them by tables of dyn Future", f->nr_by_tables);
	if (f->nr_partly)
		strbuf_addf(&text, "; of %u %snot all polls are seen", f->nr_partly,
			    f->has_inlined ? "" : "perhaps ");
	add_refused(&text, f);
	if (f->has_inlined && f->nr_inlined)
		strbuf_addf(&text, "; %u async fns and blocks are inlined into their callers",
			    f->nr_inlined);
	if (f->note[0] && !s->d->is_debug_info_unusable)
		strbuf_addf(&text, " (%s)", f->note);
	doctor_field(out, "futures", text.s);
	strbuf_release(&text);
}

void futures_json(const struct subject *s, struct json *j)
{
	const struct found_futures *f;

	if (!s->with_futures) {
		json_null(j, "inner_futures");
		return;
	}
	f = &s->with_futures->futures;
	json_open_object(j, "inner_futures");
	json_uint(j, "timed", f->nr);
	json_uint(j, "by_tables", f->nr_by_tables);
	json_uint(j, "partly", f->nr_partly);
	json_open_object(j, "refused");
	for (unsigned i = 0; i < NR_FUTURES_REFUSALS; i++)
		json_uint(j, refusals[i].key, f->refused[i]);
	json_uint(j, "beyond", f->nr_beyond);
	json_close_object(j);
	if (f->has_inlined)
		json_uint(j, "inlined", f->nr_inlined);
	else
		json_null(j, "inlined");
	json_str(j, "note", *f->note ? f->note : NULL);
	json_close_object(j);
}
