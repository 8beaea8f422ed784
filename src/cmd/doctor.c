// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace doctor`: what can be seen of a file or process, what cannot, and how to change it.
 * Verdict first.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "show/doctor.h"

struct doctor_opts {
	bool json, verbose, no_cache;
};

static const struct opt options[] = {
	OPT('v', "verbose", OPT_FLAG, struct doctor_opts, verbose, NULL,
	    "list every task table: kind, scheduler, future type, where it is defined"),
	OPT(0, "json", OPT_FLAG, struct doctor_opts, json, NULL, "print JSON"),
	OPT(0, "no-cache", OPT_FLAG, struct doctor_opts, no_cache, NULL,
	    "read symbols and debug info again"),
	{ 0 },
};

static int finish(const struct checkup *c, const struct doctor_opts *o)
{
	struct strbuf out = STRBUF_INIT, text = STRBUF_INIT;
	bool any = false;

	for (size_t i = 0; i < c->subjects.nr; i++)
		any |= subject_verdict(&c->subjects.v[i], &text);
	if (o->json) {
		checkup_json(c, any, &out);
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
	struct checkup c = { 0 };
	struct err e = ERR_INIT;
	char *cache;
	int rc;

	if (nr != 1)
		return cmd_usage("give one file or one process id");
	c.cache_dir = cache = o->no_cache ? NULL : cmd_cache_dir();
	if (strspn(argv[0], "0123456789") == strlen(argv[0]) && *argv[0] &&
	    access(argv[0], F_OK) != 0) {
		rc = checkup_process(&c, argv[0], &e);
	} else {
		struct subject s = { 0 };

		rc = subject_look(&s, argv[0], NULL, cache, &e) ? 0 : -1;
		if (rc == 0) {
			subject_look_futures(&s, argv[0]);
			vec_push(&c.subjects, s);
		}
	}
	rc = rc < 0 ? cmd_fail(&e) : finish(&c, o);
	checkup_release(&c);
	free(cache);
	return rc;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "report what can be recorded of a program or process, and how to record more",
	.synopsis = "[options] FILE | PID",
	.options = options,
	.options_size = sizeof(struct doctor_opts),
	.is_reader = true,
	.operands = OPERANDS_BINARY,
	.run = run,
};
