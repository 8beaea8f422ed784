// SPDX-License-Identifier: MIT OR Apache-2.0
/* What of the tasks in a file will be seen, and what not: the same for every recording of it. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cmd/doctor.h"

/* Tasks have a cache line of their own since this release: that tells their memory from other. */
#define FIRST_ALIGNED_MINOR	  29
#define FIRST_LOCAL_RUNTIME_MINOR 41

static bool is_tokio(const struct found_runtime *r)
{
	return strcmp(r->name, "tokio") == 0 && r->nr_tables;
}

static bool has_tokio(const struct discovery *d)
{
	for (uint32_t i = 0; i < d->nr_runtimes; i++)
		if (is_tokio(&d->runtimes[i]))
			return true;
	return false;
}

/* Minor versions of the oldest and the newest copy; one that is not known is taken for recent. */
static void minors(const struct discovery *d, unsigned *oldest, unsigned *newest)
{
	unsigned minor;

	*oldest = UINT_MAX;
	*newest = 0;
	for (uint32_t i = 0; i < d->nr_runtimes; i++) {
		const char *at = d->runtimes[i].version;

		while (is_tokio(&d->runtimes[i]) && at && sscanf(at, "1.%u.", &minor) == 1) {
			*oldest = MIN(*oldest, minor);
			*newest = MAX(*newest, minor);
			at = strstr(at, " + ");
			at = at ? at + strlen(" + ") : NULL;
		}
	}
	if (*oldest == UINT_MAX)
		*newest = UINT_MAX;
}

enum spawns { SPAWNS_EXACT, SPAWNS_FIRST_SEEN, SPAWNS_SOME };

/* Are all tables of Tokio older than 1.23? They have no schedule slot. */
static bool are_old(const struct discovery *d)
{
	bool has_new = false, has_old = false;

	for (uint32_t i = 0; i < d->nr_tables; i++) {
		const struct wire_table *w = &d->tables[i].plan;

		if (w->kind == WIRE_TABLE_TOKIO && w->slot_schedule == WIRE_NO_SLOT)
			has_old = true;
		else if (w->kind == WIRE_TABLE_TOKIO)
			has_new = true;
	}
	return has_old && !has_new;
}

/* Up to some patch releases of 1.8 an abort is a call of shutdown. */
static bool aborts_by_shutdown(const struct discovery *d)
{
	for (uint32_t i = 0; i < d->nr_tables; i++) {
		const struct wire_table *w = &d->tables[i].plan;

		if (w->kind == WIRE_TABLE_TOKIO && w->slot_schedule == WIRE_NO_SLOT &&
		    w->slot_abort == WIRE_NO_SLOT)
			return true;
	}
	return false;
}

static enum spawns spawns_in(const struct discovery *d)
{
	unsigned oldest, newest;

	if (*d->allocator || are_old(d))
		return SPAWNS_FIRST_SEEN;
	minors(d, &oldest, &newest);
	return oldest >= FIRST_ALIGNED_MINOR ? SPAWNS_EXACT : SPAWNS_SOME;
}

static void spawns_text(const struct discovery *d, struct strbuf *out)
{
	switch (spawns_in(d)) {
	case SPAWNS_EXACT:
		strbuf_addstr(out, "exact, with parent, where the system's allocator is used");
		break;
	case SPAWNS_FIRST_SEEN:
		strbuf_addstr(out, "when first seen, without parent: ");
		if (*d->allocator)
			strbuf_addf(out, "%s is inside, and what it gives is not seen",
				    d->allocator);
		else
			strbuf_addf(out, "before Tokio 1.%d a task's memory looks like any other",
				    FIRST_ALIGNED_MINOR);
		break;
	case SPAWNS_SOME:
		strbuf_addf(out,
			    "some exact, most when first seen: before Tokio 1.%d a task's "
			    "memory looks like any other",
			    FIRST_ALIGNED_MINOR);
		break;
	}
}

/* Has the file a table for this scheduler? */
static bool has_scheduler(const struct discovery *d, uint32_t runtime, const char *name)
{
	for (uint32_t i = 0; i < d->nr_tables; i++)
		if (d->tables[i].runtime == runtime && strcmp(d->tables[i].scheduler, name) == 0)
			return true;
	return false;
}

static const char *const schedulers[] = { "multi_thread", "current_thread", "local" };

static void schedulers_text(const struct discovery *d, struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(schedulers); i++) {
		bool is_there = false;

		for (uint32_t r = 0; r < d->nr_runtimes; r++)
			is_there |= has_scheduler(d, r, schedulers[i]);
		if (is_there)
			strbuf_addf(out, "%s%s", out->len ? ", " : "", schedulers[i]);
	}
	if (!out->len)
		strbuf_addstr(out, "not known without symbols");
}

static void roots_text(const struct discovery *d, struct strbuf *out)
{
	if (d->roots.nr_redirects)
		strbuf_addf(out,
			    "futures of block_on are seen, by %u functions of Tokio that are "
			    "redirected when it starts",
			    d->roots.nr_redirects);
	else
		strbuf_addf(out, "futures of block_on are not seen: %s", d->roots.note);
}

static void not_seen_text(const struct discovery *d, struct strbuf *out)
{
	unsigned oldest, newest;

	minors(d, &oldest, &newest);
	if (d->rung == RUNG_NOTHING)
		strbuf_addstr(out, "which tasks are a LocalSet's");
	if (aborts_by_shutdown(d))
		strbuf_addf(out, "%swhich tasks were aborted: they show as dropped",
			    out->len ? "; " : "");
	if (newest >= FIRST_LOCAL_RUNTIME_MINOR && !are_old(d))
		strbuf_addf(out, "%sa LocalRuntime is taken for a current_thread one",
			    out->len ? "; " : "");
	if (!out->len)
		strbuf_addstr(out, "nothing that is known of");
}

void seen_rows(const struct discovery *d, struct strbuf *out)
{
	static const struct {
		const char *label;
		void (*say)(const struct discovery *d, struct strbuf *out);
	} rows[] = {
		{ "schedulers", schedulers_text },
		{ "spawns", spawns_text },
		{ "roots", roots_text },
		{ "not seen", not_seen_text },
	};
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; has_tokio(d) && i < ARRAY_SIZE(rows); i++) {
		strbuf_reset(&text);
		rows[i].say(d, &text);
		doctor_field(out, rows[i].label, text.s);
	}
	strbuf_release(&text);
}

void seen_json(const struct discovery *d, struct json *j)
{
	static const char *const names[] = {
		[SPAWNS_EXACT] = "exact",
		[SPAWNS_FIRST_SEEN] = "first_seen",
		[SPAWNS_SOME] = "some",
	};

	json_str(j, "allocator", *d->allocator ? d->allocator : NULL);
	json_str(j, "spawns", has_tokio(d) ? names[spawns_in(d)] : NULL);
	json_str(j, "roots", !has_tokio(d) ? NULL : d->roots.nr_redirects ? "seen" : "unseen");
}

void seen_json_schedulers(const struct discovery *d, uint32_t runtime, struct json *j)
{
	json_open_array(j, "schedulers");
	for (size_t i = 0; i < ARRAY_SIZE(schedulers); i++)
		if (has_scheduler(d, runtime, schedulers[i]))
			json_str(j, NULL, schedulers[i]);
	json_close_array(j);
}
