// SPDX-License-Identifier: MIT OR Apache-2.0
#include "symbol/reader.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pack.h"
#include "symbol/cache.h"

#define MB	    (UINT64_C(1) << 20)
#define MS_NS	    UINT64_C(1000000)
#define SECOND_NS   (1000 * MS_NS)
#define LEAST_BYTES (2048 * MB)	    /* of memory; debug info of 100 MB takes 300 MB */
#define BYTES_EACH  16		    /* … and for each byte of the files */
#define LEAST_NS    (4 * SECOND_NS) /* of CPU time; the same takes 0.5 s */
#define MB_NS	    (50 * MS_NS)
#define QUICK_SHARE 4 /* of that for who reads but a part of the file */
#define PATIENCE    4 /* elapsed time for each second of CPU time, on a busy machine */
#define SPEECH_NS   (600 * SECOND_NS) /* of commands, which their user can end */

/* ---- faults on purpose ---- */

static struct {
	char what[16], stages[64];
	uint64_t ms;
} fault;

void reader_set_fault(const char *spec)
{
	unsigned long long ms = 0;

	memset(&fault, 0, sizeof(fault));
	if (!spec || sscanf(spec, "%15[a-z]@%63[a-z,]:%llu", fault.what, fault.stages, &ms) < 2)
		fault.what[0] = '\0';
	fault.ms = ms;
}

static bool has_fault(const struct reader *r)
{
	return fault.what[0] && str_has_item(fault.stages, r->stage, ",");
}

static void commit_fault(void)
{
	if (strcmp(fault.what, "abort") == 0)
		abort();
	while (strcmp(fault.what, "hang") == 0)
		pause();
	while (strcmp(fault.what, "spin") == 0)
		;
	while (strcmp(fault.what, "memory") == 0)
		xmalloc(64 * MB); /* never touched: it is room that counts */
}

/* ---- in the worker ---- */

static void run(void *arg, struct strbuf *answer)
{
	const struct reader *r = arg;
	struct strbuf kept = STRBUF_INIT, body = STRBUF_INIT;

	if (has_fault(r))
		commit_fault();
	cache_divert(&kept);
	r->run(r->arg, &body);
	pack_blob(answer, kept.s, kept.len);
	strbuf_add(answer, body.s, body.len);
	strbuf_release(&kept);
	strbuf_release(&body);
}

/* ---- in the caller ---- */

static uint64_t size_of(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 ? MIN((uint64_t)st.st_size, UINT64_C(1) << 40) : 0;
}

static struct worker_job job_of(const struct reader *r)
{
	uint64_t size = size_of(r->path) + size_of(r->debug_path), ram = sysconf(_SC_PHYS_PAGES);
	struct worker_job job = { .run = run, .arg = (void *)r, .speaks = r->speaks };

	ram *= sysconf(_SC_PAGESIZE);
	job.memory_bytes = r->speaks ? ram : MIN(LEAST_BYTES + BYTES_EACH * size, ram);
	job.cpu_ns = r->speaks ? SPEECH_NS : LEAST_NS + size / MB * MB_NS;
	if (r->is_part)
		job.cpu_ns /= QUICK_SHARE;
	job.elapsed_ns = r->speaks ? 0 : PATIENCE * job.cpu_ns;
	if (has_fault(r) && fault.ms)
		job.cpu_ns = job.elapsed_ns = fault.ms * MS_NS;
	return job;
}

enum worker_end reader_run(const struct reader *r, struct strbuf *answer, char why[WORKER_WHY],
			   int *signal_number)
{
	struct worker_job job = job_of(r);
	struct strbuf all = STRBUF_INIT;
	enum worker_end end = worker_run(&job, r->meanwhile, &all, why, signal_number);
	struct unpack u = UNPACK_INIT(all.s, all.len);
	const void *kept;
	size_t len;

	if (end == WORKER_NO_FORK) {
		r->run(r->arg, answer);
		end = WORKER_DONE;
	} else if (end == WORKER_DONE) {
		kept = unpack_blob(&u, &len);
		if (kept && r->cache_dir)
			cache_put_packed(r->cache_dir, kept, len);
		strbuf_add(answer, u.p, kept ? u.end - u.p : 0);
	}
	strbuf_release(&all);
	return end;
}
