// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * One traced image of a process and the file it is recorded to. A process that calls exec is a new
 * one of these, behind another door. The file is begun when there is something to write: a program
 * that turns out to have no async runtime, or only execs another, leaves nothing behind.
 */
#ifndef CAPTURE_PROCESS_H
#define CAPTURE_PROCESS_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "capture/catalog.h"
#include "capture/drain.h"
#include "capture/labels.h"
#include "capture/last_look.h"
#include "capture/output.h"
#include "capture/paths.h"

/* An ELF file that the process announced. */
struct process_object {
	char *path, *build_id;
	uint64_t base;
	const struct reading *reading; /* NULL: could not be read, or is another file by now */
	const struct discovery *d;     /* of the reading, or NULL */
	uint32_t index;		       /* in region->objects */
	uint32_t nr_planned;	       /* tables answered */
	uint32_t first_runtime;	       /* of the file's runtimes, if there are tables */
	uint32_t number;	       /* of its definition, if there are tables */
	uint32_t nr_futures;	       /* answered */
	uint32_t nr_marks;	       /* answered, behind the tables */
	uint32_t local_off;	       /* of its root futures: as in wire_redirect */
	struct stands_table *tables;   /* what was answered of each of the discovery's; or NULL */
	int fd; /* of the file, if it has tables: its path may lead nowhere by the end; else -1 */
};

struct process {
	struct lobby *lobby;
	uint32_t door, pid, parent_pid;
	uint32_t nr_execs;  /* images that this process was before */
	uint32_t nr_tables; /* of the plan; the shared count is the target's to overwrite */
	uint32_t nr_redirects, nr_futures; /* of the plan */
	int pidfd;			   /* -1: unknown to the kernel under that number */
	struct wire_region *region;
	char *exe, *cwd;
	struct strbuf cmdline; /* as /proc has it: strings one behind the other */

	struct output out; /* open or not */
	char *out_path;	   /* where out is to be opened */
	struct trace_writer *writer;
	uint64_t max_bytes; /* the file may grow to this, 0: unlimited; what is too much stays in
			       the rings */
	struct err error;   /* why nothing more is written, ERR_NONE */
	bool error_told;

	VEC(struct process_object) objects;
	struct instances instances;
	const struct catalog *catalog; /* that the objects are read by; NULL: none was yet */
	struct paths paths;
	struct last_look *last_look; /* NULL: none was begun */
	struct labels labels;
	struct texts texts;
	struct drain **rings; /* by slot, NULL: not in use */
	VEC(uint32_t) active; /* slots with a ring */
	uint32_t nr_types;
	uint32_t next_counted;	  /* of active, whom to ask the kernel about next */
	uint64_t begin_ns;	  /* when the file was begun */
	struct clock_anchor mark; /* all events before it are in the file by the next flush */
	bool has_mark;

	/* sums of rings that are gone */
	uint64_t nr_events[EV_MAX], lost[EV_MAX], nr_broken;
	uint64_t bytes;	 /* of the file, when it is ended */
	bool is_stopped; /* records no more: limits, interrupt or error */
	bool is_ending;	 /* its rings are dropped; while its file is completed others are drained */
	bool is_ended;	 /* the file is closed */
	uint64_t nr_apart; /* libraries with a runtime in a link namespace of their own */
};

/* What a process has come to so far, for people. */
struct process_sum {
	uint64_t nr_events, nr_task_events, nr_lost, bytes;
	uint64_t nr_tables, nr_hooked, nr_refused;
	uint64_t nr_objects, nr_unreadable;
	/* inner futures: hooked; wanted, but not safe to hook; more than there is room for;
	 * without a function */
	uint64_t nr_futures, nr_futures_refused, nr_futures_beyond, nr_futures_inlined;
	const char *futures_note; /* what would show more of them, or "" */
	/* A runtime whose futures of block_on are not seen, and why; or NULL. */
	const char *roots_runtime, *roots_note;
	uint64_t nr_unslotted, nr_broken;
	uint64_t nr_apart;	/* libraries with a runtime in a link namespace of their own */
	uint64_t nr_unfollowed; /* children by fork that are not recorded */
	bool has_given_up; /* a ring was full and we were silent for long: the agent switched off */
};

/* Maps the door's region. The process must have taken the door. */
struct process *process_new(struct lobby *l, uint32_t door, struct err *e);
/* A process that never came in, so that the file can say that there was nothing. argv ends with
 * NULL. */
struct process *process_new_absent(struct lobby *l, uint32_t pid, const char *exe,
				   char *const *argv);
void process_free(struct process *p); /* neither ends the file nor recycles the door */

/* Begins the file unless it is begun. -1: p->error says why not, and the process is stopped. */
int process_begin_file(struct process *p);
/* Writes a type to the file, which is begun. Returns its number, EVENT_TYPE_NONE: there are too
 * many.
 */
uint16_t process_define_type(struct process *p, const struct trace_type *type);
/* Reads all rings. Returns how many words lay in the fullest. scan: look for new threads too. */
uint64_t process_drain(struct process *p, bool scan);
/*
 * Flushes, to be called a few times a second, and after the rings were read. anchor: how the clocks
 * stand now is written by the next call. Notices write errors.
 */
void process_flush(struct process *p, bool anchor);
/* The agent lets everything pass from now on; what is in the rings is still read. */
void process_stop(struct process *p);
void process_sum(const struct process *p, struct process_sum *sum);
/* Ends the file; end->lost and nr_unslotted are filled in here. Nothing more is recorded of p. */
void process_end(struct process *p, struct trace_end *end);
/* Takes back all that was written. -1: it is not possible. The output stays open for another
 * process. */
int process_discard(struct process *p);

#endif
