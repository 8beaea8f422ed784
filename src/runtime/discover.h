// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What futrace knows of one ELF file: which async runtimes are inside, and every task table that
 * may be hooked. Tables are recognised by structure; symbols and debug info only name them. A table
 * whose identity is not certain is not in `tables`: it is counted in the runtime's nr_refused with
 * the reason in `note`.
 */
#ifndef RUNTIME_DISCOVER_H
#define RUNTIME_DISCOVER_H

#include "base/err.h"
#include "runtime/facts.h"
#include "symbol/image.h" /* enum elf_link */
#include "trace/trace.h"
#include "wire/region.h"

/* design: the ladder of what a binary lets us see. */
enum rung { RUNG_NOTHING, RUNG_SYMBOLS, RUNG_LINES, RUNG_FULL };

struct found_runtime {
	const char *name;    /* "tokio" */
	const char *version; /* "1.54.1", "" when the file does not tell */
	uint32_t nr_tables;  /* task tables to hook */
	uint32_t nr_refused;
	bool unstable;	      /* built with tokio_unstable (spawn locations in the tasks) */
	bool waker_known;     /* the waker table is in `tables` as well */
	const char *note;     /* what cannot be recorded and why, or "" */
	const char *found_by; /* its tables were: "shape", "symbols" */
	uint32_t descriptor;  /* which of the known runtimes it is */
	struct found_fact facts[NR_FACTS];
};

struct found_table {
	struct wire_table plan; /* .type is not filled in */
	uint32_t runtime;	/* index into runtimes */
	enum trace_task_kind kind;
	const char *name;      /* future type, readable, with module path; "" when unknown */
	const char *scheduler; /* "multi_thread", "current_thread", "local", "blocking", "" */
	const char *file;      /* where the future is defined, "" when unknown */
	uint32_t line;
	/* Types that the name may stand for. 1: exact; more: they were merged, and the name lists
	 * them, "a | b | ?"; 0 with a name: fat LTO may have merged others with it. */
	uint32_t nr_candidates;
	/* Of the future, or of what it boxes, by debug info; else the room that a task has for it
	 * or its output; 0 when unknown. */
	uint64_t size_bytes;
};

/*
 * How root futures of Tokio are seen, all of them or none: by functions that they pass through.
 */
struct found_roots {
	struct wire_redirect redirects[WIRE_MAX_REDIRECTS]; /* .type is not filled in */
	uint32_t nr_redirects;
	uint32_t nr_waits;	  /* of these: not for roots, but for waits of async-io's driver */
	uint32_t nr_parks;	  /* of these: for roots that wait by the crate parking */
	uint32_t runtime;	  /* index into runtimes */
	uint32_t parking_runtime; /* the same, of roots that wait by the crate parking */
	const char *note;	  /* why roots are not seen, or "" */
};

/* Where Rust's code gets its memory from, as symbols tell. */
enum found_memory {
	MEMORY_UNKNOWN, /* no symbols, or link-time optimisation left nothing to tell by */
	MEMORY_SYSTEM,	/* libc */
	MEMORY_OWN,	/* a #[global_allocator], which may pass on to libc what it is asked for */
};

/* A function of an allocator in the file that gives tasks their memory, and can be redirected. */
struct found_alloc {
	const char *allocator; /* as in struct discovery */
	struct wire_redirect redirect;
};

/* An inner future whose polls can be seen: its poll is a function, or reached by tables alone. */
struct found_future {
	struct wire_future plan; /* .redirect.flag_off is not filled in */
	const char *name;	 /* its type, readable; several that were merged: "a | b" */
	const char *file;	 /* where it is written, "" when unknown */
	uint32_t line;
	enum trace_future_seen seen;
	bool is_generated; /* of an async fn or block, not written by hand */
};

/* Why the polls of a future that has a function are not seen. */
enum futures_refusal {
	FUTURES_MERGED, /* the function is another one, too */
	FUTURES_STACK,	/* it takes arguments on the stack, or may */
	FUTURES_FIXED,	/* its first instructions cannot give way, and not only tables lead to it */
	NR_FUTURES_REFUSALS,
};

struct found_futures {
	struct found_future *v;
	uint32_t nr;
	uint32_t nr_by_tables; /* of these: by tables alone */
	uint32_t nr_partly;    /* … or of which not all polls are sure to be seen */
	uint32_t refused[NR_FUTURES_REFUSALS]; /* nr_refused, by reason */
	/* The async fns and blocks wanted that have no function, being parts of others
	 * everywhere; only with has_inlined, which takes debug info. */
	uint32_t nr_inlined;
	bool has_inlined;
	uint32_t nr_refused; /* those that were wanted, but are not safe to redirect */
	uint32_t nr_beyond;  /* … or are too many */
	const char *note;    /* what would show more of them, or "" */
};

/* Slots of the crate `futrace` in the file, one for each copy of it. */
struct found_marks {
	struct wire_table slots[4];
	uint32_t nr;
};

struct discovery {
	const char *path;
	const char *build_id;	  /* hex, "" when there is none */
	const char *allocator;	  /* "jemalloc", "mimalloc"; "": none that is known, or not asked */
	enum found_memory memory; /* MEMORY_UNKNOWN also when not asked for an allocator */
	const char *mangling;	  /* "legacy", "v0", "": no symbols, or not asked */
	const char *debug_path;	  /* separate file with its symbols and debug info, or "" */
	enum elf_link link;
	bool is_pie;
	enum rung rung;		     /* without opts.names at least this one */
	bool is_debug_info_unusable; /* there is some; why not, the note tells */
	const char *rung_note;	     /* what to change to climb, "" at the top */
	bool from_cache;
	uint64_t took_ns;
	uint64_t nr_broken; /* parts of the file that point outside of it and were skipped */
	struct found_runtime *runtimes;
	struct found_table *tables;
	uint32_t nr_runtimes, nr_tables;
	struct found_roots roots;
	struct found_alloc allocs[2]; /* of jemalloc, of mimalloc */
	uint32_t nr_allocs;
	struct found_futures futures; /* their tables are among `tables` */
	struct found_marks marks;
};

/* Can something of a runtime be recorded: its tasks, or, where it has none, its roots? */
static inline bool discovery_has_use_of(const struct discovery *d, uint32_t runtime)
{
	return d->runtimes[runtime].nr_tables ||
	       (d->roots.nr_parks && d->roots.parking_runtime == runtime);
}

/* Which inner futures are wanted. */
struct futures_wanted {
	/* Globs on their names, separated by commas, `!` before those that are not; NULL: those of
	 * the program's own crates that are async fns or blocks, or are called through tables. */
	const char *patterns;
	bool only_generated;
};

/* ERR_USAGE: one of the patterns cannot be meant so. */
int futures_check(const char *patterns, struct err *e);

/*
 * How much of a file is looked at. Symbols and debug info are the larger part of it, and not needed
 * to record: whoever could not read them can still have the rest.
 */
enum discover_depth { DISCOVER_ALL, DISCOVER_SYMBOLS, DISCOVER_TABLES, NR_DISCOVER_DEPTHS };

struct discover_opts {
	enum discover_depth depth;
	const char *cache_dir;		      /* NULL: no cache */
	bool allocator;			      /* look for one */
	bool names;			      /* false: tables only, do not look for names (fast) */
	const struct futures_wanted *futures; /* NULL: none */
};

/*
 * Looks at the file. A file without any async runtime is no error: nr_runtimes is 0. Errors:
 * ERR_NOT_ELF, ERR_FOREIGN, ERR_BAD_ELF, ERR_SYS, ERR_PERMISSION. `path` may be a /proc/PID/...
 * path; shown_path (NULL: path) is what `discovery.path` shall say.
 */
struct discovery *discover_file(const char *path, const char *shown_path,
				const struct discover_opts *opts, struct err *e);
void discovery_free(struct discovery *d);

#endif
