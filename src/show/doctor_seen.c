// SPDX-License-Identifier: MIT OR Apache-2.0
/* What of the tasks in a file will be seen, and what not: the same for every recording of it. */
#include <string.h>

#include "base/json.h"
#include "runtime/known.h"
#include "show/doctor.h"

static const struct {
	const char *label, *key;
} rows[NR_FACTS] = {
	[FACT_POLLS] = { "polls", "polls" },
	[FACT_KINDS] = { "kinds", "kinds" },
	[FACT_SPAWNS] = { "spawns", "spawns" },
	[FACT_PLACES] = { "spawn places", "spawn_places" },
	[FACT_AWAITS] = { "await paths", "await_paths" },
	[FACT_WAKES] = { "wakes", "wakes" },
	[FACT_PARKS] = { "parks", "parks" },
	[FACT_BLOCK_ON] = { "block_on", "block_on" },
	[FACT_BLOCKING] = { "blocking pool", "blocking_pool" },
	[FACT_ENDS] = { "ends", "ends" },
	[FACT_PANICS] = { "panics", "panics" },
};

static const struct {
	const char *text, *key, *sep; /* sep: before what is to be added */
} hows[] = {
	[HOW_EXACT] = { "exact", "exact", ", " },
	[HOW_SOME] = { "some", "some", ": " },
	[HOW_FIRST_SEEN] = { "when first seen", "first_seen", ", " },
	[HOW_NOT] = { "not seen", "no", ": " },
};

/* Has the file a table for this scheduler? */
static bool has_scheduler(const struct discovery *d, uint32_t runtime, const char *name)
{
	for (uint32_t i = 0; i < d->nr_tables; i++)
		if (d->tables[i].runtime == runtime && strcmp(d->tables[i].scheduler, name) == 0)
			return true;
	return false;
}

static void schedulers_text(const struct discovery *d, uint32_t runtime, struct strbuf *out)
{
	const char *const *name = known_runtime(&d->runtimes[runtime])->schedulers;

	for (; *name; name++)
		if (has_scheduler(d, runtime, *name))
			strbuf_addf(out, "%s%s", out->len ? ", " : "", *name);
	if (!out->len)
		strbuf_addstr(out, "not known without symbols");
}

/* A remedy stands in the first row that it is for. */
static bool was_said(const struct found_fact *facts, size_t nr, const char *remedy)
{
	for (size_t i = 0; i < nr; i++)
		if (facts[i].remedy && strcmp(facts[i].remedy, remedy) == 0)
			return true;
	return false;
}

/* Where no task is ever spawned, all that can be seen is what block_on does. */
static bool is_row(const struct discovery *d, uint32_t runtime, size_t fact)
{
	return d->runtimes[runtime].nr_tables ||
	       (discovery_has_use_of(d, runtime) &&
		(fact == FACT_AWAITS || fact == FACT_PARKS || fact == FACT_BLOCK_ON));
}

void seen_rows(const struct discovery *d, uint32_t runtime, struct strbuf *out)
{
	const struct found_fact *facts = d->runtimes[runtime].facts;
	struct strbuf text = STRBUF_INIT;

	schedulers_text(d, runtime, &text);
	if (d->runtimes[runtime].nr_tables)
		doctor_row(out, "schedulers", text.s);
	for (size_t i = 0; i < NR_FACTS; i++) {
		const struct found_fact *x = &facts[i];

		if (!is_row(d, runtime, i))
			continue;
		strbuf_reset(&text);
		strbuf_addstr(&text, hows[x->how].text);
		if (x->text)
			strbuf_addf(&text, "%s%s", hows[x->how].sep, x->text);
		if (x->remedy && !was_said(facts, i, x->remedy))
			strbuf_addf(&text, " (%s)", x->remedy);
		doctor_row(out, rows[i].label, text.s);
	}
	strbuf_release(&text);
}

/* How spawns are seen stands in the file's own object, too, of its first runtime that has tasks. */
void seen_json(const struct discovery *d, struct json *j)
{
	const char *spawns = NULL, *roots = NULL;

	for (uint32_t i = d->nr_runtimes; i-- > 0;) {
		const struct found_fact *facts = d->runtimes[i].facts;

		if (!discovery_has_use_of(d, i))
			continue;
		spawns = hows[facts[FACT_SPAWNS].how].key;
		roots = facts[FACT_BLOCK_ON].how == HOW_NOT ? "unseen" : "seen";
	}
	json_str(j, "allocator", *d->allocator ? d->allocator : NULL);
	json_str(j, "mangling", *d->mangling ? d->mangling : NULL);
	json_str(j, "spawns", spawns);
	json_str(j, "roots", roots);
}

void seen_json_runtime(const struct discovery *d, uint32_t runtime, struct json *j)
{
	const char *const *name = known_runtime(&d->runtimes[runtime])->schedulers;
	const struct found_fact *facts = d->runtimes[runtime].facts;

	json_open_array(j, "schedulers");
	for (; *name; name++)
		if (has_scheduler(d, runtime, *name))
			json_str(j, NULL, *name);
	json_close_array(j);
	json_open_object(j, "seen");
	for (size_t i = 0; i < NR_FACTS; i++) {
		if (!is_row(d, runtime, i))
			continue;
		json_open_object(j, rows[i].key);
		json_str(j, "how", hows[facts[i].how].key);
		json_str(j, "text", facts[i].text);
		json_str(j, "remedy", facts[i].remedy);
		json_close_object(j);
	}
	json_close_object(j);
}
