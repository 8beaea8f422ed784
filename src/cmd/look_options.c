// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/look_options.h"

static int take_pid(int nr, char **argv, uint32_t *pid)
{
	if (nr != 1)
		return cmd_usage("give one process id, or --core=FILE");
	if (parse_pid(argv[0], pid))
		return cmd_usage("'%s' is no process id", argv[0]);
	return EXIT_OK;
}

static int check_usage(const struct look_options *o, int nr)
{
	if (o->core && nr)
		return cmd_usage("give a process id or --core, not both");
	if (o->exe && !o->core)
		return cmd_usage("--exe is for --core: a process has its program itself");
	return EXIT_OK;
}

int look_options_open(struct look *l, const struct look_options *o, int nr, char **argv)
{
	struct look_opts opts = { .core = o->core, .exe = o->exe };
	struct err e = ERR_INIT;
	char *cache;
	int rc;

	*l = (struct look){ 0 };
	rc = check_usage(o, nr);
	if (!rc && !o->core)
		rc = take_pid(nr, argv, &opts.pid);
	if (rc)
		return rc;
	opts.cache_dir = cache = o->no_cache ? NULL : cmd_cache_dir();
	if (look_open(l, &opts, &e))
		rc = cmd_fail(&e);
	free(cache);
	return rc;
}
