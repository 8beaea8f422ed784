// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The USDT probes of files, and of the files that processes have mapped. As with DTrace, a *probe*
 * is one provider, module, function and name, in a process: where the compiler made several sites
 * of it in one function they are one probe, and in two functions they are two.
 *
 * A file is read once however many processes have it mapped.
 */
#ifndef PROBE_PROBES_H
#define PROBE_PROBES_H

#include "base/err.h"
#include "base/intern.h"
#include "base/vec.h"

struct probe_site {
	uint64_t va, off;		      /* of the nop, and where it is in the file */
	uint64_t semaphore_va, semaphore_off; /* 0: none; not in the file */
	const char *args;		      /* as the note has them: see sdt_args.h */
};

struct probe {
	const char *provider;  /* without the process id that belongs to it */
	const char *name;      /* "task-spawn" */
	const char *note_name; /* as the note spells it: bpftrace and perf know it by that */
	const char *symbol;    /* the function, mangled; "": no symbol tells */
	const char *function;  /* for people */
	uint32_t first_site, nr_sites; /* of the file */
};

struct probe_file {
	char *path;
	const char *module; /* its last part; also of a file that was deleted since */
	uint64_t dev, inode;
	uint64_t first_va;	  /* of the first byte of the file */
	VEC(struct probe) probes; /* by provider, name and function */
	VEC(struct probe_site) sites;
	uint32_t nr_broken; /* notes that could not be read */
};

#define PROBE_NO_VALUE (-1)

/* A file in a process, or by itself. */
struct probe_home {
	const struct probe_file *file;
	uint32_t pid;  /* 0: by itself */
	uint64_t base; /* run-time address = base + va */
	/* The semaphore of each site, or PROBE_NO_VALUE. NULL: unknown. */
	int32_t *values;
};

struct probes {
	VEC(struct probe_home) homes;	/* of files that have probes */
	VEC(struct probe_file *) files; /* all that were read */
	struct intern *texts;
	uint32_t nr_unreadable;	       /* mapped files */
	uint32_t nr_denied;	       /* processes */
	uint32_t nr_broken;	       /* notes */
	struct err unreadable, denied; /* why, of the first */
};

void probes_init(struct probes *p);
void probes_release(struct probes *p);

/* ERR_NOT_ELF, ERR_FOREIGN, ERR_BAD_ELF, ERR_SYS or ERR_PERMISSION. No probes are no error. */
int probes_add_file(struct probes *p, const char *path, struct err *e);
/*
 * Adds all files that the process has mapped executable; values: read the semaphores, too.
 * ERR_NO_PROCESS, also when it ends meanwhile, ERR_PERMISSION or ERR_SYS. A file that cannot be
 * read is no error but counted.
 */
int probes_add_process(struct probes *p, uint32_t pid, bool values, struct err *e);
/* Adds all processes that the user may inspect. Others are counted. */
int probes_add_all(struct probes *p, bool values, struct err *e);

/* file.c: shown: what to call it. NULL: it cannot be read. */
struct probe_file *probe_file_new(const char *path, const char *shown, struct intern *texts,
				  struct err *e);
void probe_file_free(struct probe_file *f);

#endif
