// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Everything of a trace but its events: finds the blocks as they come, lists those with events,
 * reads the definitions. These are valid at any time: undefined numbers have empty names. Only for
 * the files of this folder.
 */
#ifndef TRACE_LOAD_H
#define TRACE_LOAD_H

#include <zstd.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/source.h"

/* A block of events. */
struct load_block {
	uint64_t off; /* of the payload in the file */
	/* The payload itself, if the source does not keep it; the owner of the block frees it. */
	uint8_t *stored;
	struct block_header header;
};

struct load {
	struct source source;
	char *name;   /* of the file, for messages */
	uint64_t off; /* everything before it was scanned */
	bool has_header;
	ZSTD_DCtx *zstd;
	struct strbuf stored, raw;     /* room for the block at hand */
	VEC(struct load_block) blocks; /* of events, found by the latest scan */
	uint64_t nr_blocks;	       /* of events, found so far */
	struct trace_damage damage;
	struct trace_meta meta;
	struct trace_end end;
	VEC(char *) strings; /* NULL: not defined */
	size_t nr_string_bytes;
	VEC(const char *) argv;
	VEC(struct trace_object) objects;
	VEC(struct trace_runtime) runtimes;
	VEC(struct trace_type) types;
	VEC(struct trace_thread) threads;
	VEC(struct clock_anchor) anchors;
	uint64_t mark;		   /* tick of the latest complete anchor, from time 0; 0: none */
	VEC(struct trace_cpu) cpu; /* by thread, then time, once all is read */
	VEC(struct trace_stack) stacks;
	VEC(struct trace_instance) instances;
	VEC(struct trace_step) steps;
	VEC(struct trace_path) paths; /* their steps are ours */
	VEC(struct trace_future) futures;
	VEC(struct trace_stand) stands;
	bool has_meta, has_end;
	uint64_t nr_records[DEF_STAND + 1]; /* definitions read so far, by tag */
	uint64_t nr_lost_bytes; /* of the file, so far, that may have held further definitions */
};

/* follow: the file may grow. Its present content is not yet scanned. */
int load_open(struct load *l, const char *path, bool follow, struct err *e);
/* For bytes that come by source_feed(). */
int load_open_fed(struct load *l, struct err *e);
/* Forgets all but where the bytes come from. */
int load_restart(struct load *l, struct err *e);
void load_release(struct load *l); /* also after a failed load_open */
/*
 * Scans the bytes that came since the last call, as far as their meaning is certain: a part of a
 * block waits for the rest, unless the source is final. -1: the bytes are no readable trace.
 */
int load_scan(struct load *l, struct err *e);
/* Decompresses a block's payload into raw, which has header.raw_len bytes. False: damaged. */
bool load_payload(struct load *l, const struct load_block *b, uint8_t *raw);

void load_init_defs(struct load *l);
/*
 * Reads the records of a block of definitions, or the end block. False when some of it was broken.
 */
bool load_defs(struct load *l, const uint8_t *raw, size_t len);
bool load_end(struct load *l, const uint8_t *raw, size_t len);
/*
 * Writers number what they define one after another. A number that is higher than what the file
 * has defined so far, and may have lost, is damage: it would only take memory.
 */
bool load_is_plausible(const struct load *l, enum def_tag tag, uint64_t number);
/* Events may name a thread whose definition is lost, or comes later. */
void load_reach_thread(struct load *l, uint32_t thread);
/* Puts in order what has one only when all is read. */
void load_finish_defs(struct load *l);

#endif
