// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that a reader may take as long as all that it reads is worth: the file, and the separate
 * file with its debug info.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/pack.h"
#include "check.h"
#include "symbol/reader.h"

static void tell_limit(void *arg, struct strbuf *answer)
{
	struct rlimit r = { 0 };

	getrlimit(RLIMIT_CPU, &r);
	pack_number(answer, r.rlim_cur);
}

static uint64_t seconds_of(const char *path, const char *debug_path)
{
	struct reader r = {
		.stage = "full", .path = path, .debug_path = debug_path, .run = tell_limit
	};
	struct strbuf answer = STRBUF_INIT;
	char why[WORKER_WHY];
	struct unpack u;
	uint64_t seconds;

	check_num(reader_run(&r, &answer, why, NULL), WORKER_DONE);
	u = (struct unpack)UNPACK_INIT(answer.s, answer.len);
	seconds = unpack_number(&u);
	check_num(u.is_broken, false);
	strbuf_release(&answer);
	return seconds;
}

static char *sparse(const char *name, off_t megabytes)
{
	char *path = xasprintf("/tmp/futrace-reader-test-%d.%s", (int)getpid(), name);
	FILE *f = fopen(path, "w");

	check_num(f && ftruncate(fileno(f), megabytes << 20) == 0, true);
	if (f)
		fclose(f);
	return path;
}

int main(void)
{
	char *program = sparse("program", 20), *debug = sparse("debug", 700);

	check_num(seconds_of(NULL, NULL), 4 + 1);
	check_num(seconds_of(program, NULL), 4 + 1 + 1);
	check_num(seconds_of(program, ""), 4 + 1 + 1);
	check_num(seconds_of(program, debug), 4 + 1 + 1 + 35);
	unlink(program);
	unlink(debug);
	free(program);
	free(debug);
	return check_result();
}
