// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace doctor`: what can be seen of a file or process, what cannot, and how to change it.
 * Verdict first.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/json.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/doctor.h"

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

const char *subject_obstacle(const struct subject *s, const char **todo)
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

bool subject_has_use(const struct subject *s)
{
	for (uint32_t i = 0; i < s->d->nr_runtimes; i++)
		if (discovery_has_use_of(s->d, i))
			return true;
	return false;
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
		any |= subject_verdict(&c->subjects.v[i], &text);
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
			subject_json(&c->subjects.v[i], &j);
		json_close_array(&j);
		json_close_object(&j);
		strbuf_addch(&out, '\n');
	} else {
		for (size_t i = 0; i < c->subjects.nr; i++)
			subject_text(&c->subjects.v[i], o->verbose, &out);
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
	.is_reader = true,
	.operands = OPERANDS_BINARY,
	.run = run,
};
