// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * async-std and smol in one program. Both spawn by async-executor, into tables of the same shape,
 * but async-std puts its task-locals around each future, and that is in the names of its tables.
 * So it does around a root. Calls of the crate blocking, and tasks that have no names, are of
 * nobody in particular.
 */
#include <string.h>

#include "runtime/async_task.h"
#include "runtime/names.h"
#include "runtime/scan.h"

static const char std_name[] = "async-std", smol_name[] = "smol", any_name[] = "async-task";

static const char *version_of(struct finding *f, const char *crate)
{
	struct strbuf version = STRBUF_INIT;
	const char *s;

	scan_versions(f, crate, &version);
	s = version.len ? finding_string(f, version.s) : "";
	strbuf_release(&version);
	return s;
}

static void add(struct finding *f, uint32_t base, const char *name, const char *version)
{
	struct found_runtime r = f->runtimes.v[base];

	r.name = name;
	r.version = version;
	r.note = "";
	r.nr_tables = r.nr_refused = 0;
	vec_push(&f->runtimes, r);
}

void async_task_makers_begin(struct finding *f, struct async_task_makers *m)
{
	const char *std_version, *smol_version;
	struct found_runtime *r;

	*m = (struct async_task_makers){ .base = 0, .first = f->runtimes.nr };
	while (m->base < f->runtimes.nr &&
	       runtime_descriptor(&f->runtimes.v[m->base]) != &runtime_async_task)
		m->base++;
	if (m->base == f->runtimes.nr)
		return;
	std_version = version_of(f, "async-std-1");
	smol_version = std_version[0] ? version_of(f, "smol-2") : "";
	if (std_version[0] && !smol_version[0])
		smol_version = version_of(f, "smol-1");
	if (!smol_version[0])
		return;
	add(f, m->base, std_name, std_version);
	add(f, m->base, smol_name, smol_version);
	r = &f->runtimes.v[m->base];
	m->name = r->name;
	m->version = r->version;
	r->name = any_name;
	r->version = version_of(f, "async-task-4");
}

static uint32_t named(const struct found_runtime *all, uint32_t nr, uint32_t runtime,
		      const char *name)
{
	for (uint32_t i = 0; i < nr; i++)
		if (all[i].descriptor == all[runtime].descriptor && !strcmp(all[i].name, name))
			return i;
	return runtime;
}

uint32_t async_task_maker(const struct finding *f, uint32_t runtime, enum async_task_maker maker)
{
	static const char *const names[] = { any_name, std_name, smol_name };

	return named(f->runtimes.v, f->runtimes.nr, runtime, names[maker]);
}

/* smol's block_on is that of async-io, and gets the future as it is. */
uint32_t async_task_root_maker(const struct discovery *d, uint32_t runtime, const char *future)
{
	return named(d->runtimes, d->nr_runtimes, runtime,
		     strstr(future, "async_std::task::builder::SupportTaskLocals<") ? std_name
										    : smol_name);
}

void async_task_makers_end(struct finding *f, const struct async_task_makers *m)
{
	struct found_runtime *r = f->runtimes.v;

	if (m->first == f->runtimes.nr)
		return;
	r[m->base].nr_tables = 0;
	names_each(t, f, WIRE_TABLE_ASYNC_TASK)
	{
		if (t->nr_candidates > 1) /* they may be of both */
			t->runtime = m->base;
		r[t->runtime].nr_tables++;
	}
	if (r[m->first].nr_tables && r[m->first + 1].nr_tables)
		return;
	/* the other one's code is inside, but spawns nothing that is known to be its */
	names_each(t, f, WIRE_TABLE_ASYNC_TASK) t->runtime = m->base;
	r[m->base].nr_tables += r[m->first].nr_tables + r[m->first + 1].nr_tables;
	r[m->base].name = m->name;
	r[m->base].version = m->version;
	f->runtimes.nr = m->first;
}
