// SPDX-License-Identifier: MIT OR Apache-2.0
/* Verdict first: can it be recorded, and if not, why. */
#include <string.h>

#include "base/format.h"
#include "base/json.h"
#include "show/doctor.h"

const char *subject_obstacle(const struct subject *s, const char **todo)
{
	*todo = "";
	switch (s->d->link) {
	case ELF_STATIC:
	case ELF_STATIC_PIE:
		*todo = "build it for x86_64-unknown-linux-gnu, without crt-static";
		return "it is static, and so ignores LD_PRELOAD, which loads the agent";
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

bool subject_verdict(const struct subject *s, struct strbuf *out)
{
	const struct discovery *d = s->d;
	const char *todo, *why = subject_obstacle(s, &todo);
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

void checkup_summary(const struct checkup *c, struct strbuf *out)
{
	if (!c->pid)
		return;
	if (!c->subjects.nr)
		strbuf_addf(out,
			    "process %u: no async runtime that futrace knows: nothing to record\n",
			    c->pid);
	strbuf_addf(out, "%s%u other mapped file%s without an async runtime\n",
		    c->subjects.nr ? "" : "  ", c->nr_without, plural(c->nr_without));
	if (c->nr_unreadable) {
		strbuf_addf(out, "%u mapped file%s could not be read: ", c->nr_unreadable,
			    plural(c->nr_unreadable));
		strbuf_add_clean(out, c->unreadable, strlen(c->unreadable));
		strbuf_addch(out, '\n');
	}
	if (c->subjects.nr)
		strbuf_addstr(
			out,
			"A running process cannot be recorded yet: use `futrace record -- CMD`.\n");
}

void checkup_json(const struct checkup *c, bool is_recordable, struct strbuf *out)
{
	struct json j;

	json_init(&j, out);
	json_open_object(&j, NULL);
	json_uint(&j, "schema", 1);
	if (c->pid)
		json_uint(&j, "pid", c->pid);
	json_bool(&j, "recordable", is_recordable);
	json_uint(&j, "files_without_runtime", c->nr_without);
	json_uint(&j, "files_unreadable", c->nr_unreadable);
	json_open_array(&j, "files");
	for (size_t i = 0; i < c->subjects.nr; i++)
		subject_json(&c->subjects.v[i], &j);
	json_close_array(&j);
	json_close_object(&j);
	strbuf_addch(out, '\n');
}
