// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Everything of a trace file but its events: finds the blocks, remembers where the events are,
 * reads the definitions. Only for the files of this folder.
 */
#ifndef TRACE_LOAD_H
#define TRACE_LOAD_H

#include <zstd.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/format.h"
#include "trace/reader.h"

/* A block of events in the file. */
struct load_block {
	uint64_t off; /* of the payload */
	struct block_header header;
};

struct load {
	int fd;
	uint64_t size;
	ZSTD_DCtx *zstd;
	struct strbuf stored, raw; /* room for the block at hand */
	VEC(struct load_block) blocks;
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

int load_open(struct load *l, const char *path, struct err *e);
void load_release(struct load *l); /* also after a failed load_open */
/* Decompresses a block's payload into raw, which has header.raw_len bytes. False: damaged. */
bool load_payload(struct load *l, const struct block_header *h, uint64_t off, uint8_t *raw);

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
/* Fills in what nobody defined. */
void load_finish_defs(struct load *l);

#endif
