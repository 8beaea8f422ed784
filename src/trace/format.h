// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The trace file as bytes: numbers of docs/FORMAT.md, and how its smallest parts are written and
 * read. Only for the files of this folder.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <string.h>

#include "base/util.h"

#define FILE_MAGIC	  "\x89\x46\x55\x54\x0d\x0a\x1a\x0a"
#define FILE_MAGIC_LEN	  8
#define FILE_HEADER_LEN	  16
#define FORMAT_MAJOR	  1
#define FORMAT_MINOR	  0

#define BLOCK_MAGIC	  UINT32_C(0x425446f5) /* f5 46 54 42 */
#define BLOCK_HEADER_LEN  48
#define HEADER_LEN_MAX	  4096
#define STORED_LEN_MAX	  (2u << 20)
#define RAW_LEN_MAX	  (1u << 20)
#define BLOCK_EVENTS_MAX  65536
#define CODEC_ZSTD	  1

#define STRINGS_MAX	  (1u << 20)
#define THREADS_MAX	  (1u << 20)
#define OBJECTS_MAX	  65536
#define RUNTIMES_MAX	  4096
#define TYPES_MAX	  65536
#define ANCHORS_MAX	  (1u << 20)
#define ARGS_MAX	  65536
#define CPU_MAX		  (1u << 20)
#define STACKS_MAX	  65536
#define STEPS_MAX	  (1u << 20)
#define PATHS_MAX	  65536
#define PATH_STEPS_MAX	  4096
#define FUTURES_MAX	  65536
#define STANDS_MAX	  (1u << 20)

#define EVENTS_HEADER_LEN 20
#define SHAPES_MAX	  255
#define SHAPE_LEN	  4
#define WIDE_HIGH	  0xff /* value of `high` that sends to `wide` */
#define LAYOUT_TASK	  0x03 /* EVENT_TASK_… */
#define LAYOUT_A	  0x04
#define LAYOUT_B	  0x08
#define LAYOUT_KNOWN	  0x0f
#define REF_PREDICTED	  0
#define REF_NEW		  1
#define DICT_NONE	  UINT32_MAX
#define VARINT_MAX	  10

enum block_kind { BLOCK_DEFS = 1, BLOCK_EVENTS = 2, BLOCK_END = 3 };

enum def_tag {
	DEF_STRING = 1,
	DEF_META,
	DEF_OBJECT,
	DEF_RUNTIME,
	DEF_TYPE,
	DEF_THREAD,
	DEF_ANCHOR,
	DEF_CPU,
	DEF_STACK,
	DEF_INSTANCE = 16,
	DEF_STEP,
	DEF_PATH,
	DEF_FUTURE = 19,
	DEF_STAND,
};

struct block_header {
	uint8_t kind, codec;
	uint16_t header_len;
	uint32_t stored_len, raw_len;
	uint32_t thread, nr_events;
	uint64_t first_tick, last_tick;
};

void file_header_pack(uint8_t out[FILE_HEADER_LEN]);
void block_header_pack(const struct block_header *h, uint8_t out[BLOCK_HEADER_LEN]);
/* False when these bytes are no header: wrong magic or checksum, or beyond the format's bounds. */
bool block_header_unpack(struct block_header *h, const uint8_t in[BLOCK_HEADER_LEN]);

/* Packs the payload of the end block. Returns its length. */
#define END_LEN_MAX 1024
struct trace_end;
size_t end_pack(const struct trace_end *end, uint64_t base_ticks, uint8_t out[END_LEN_MAX]);

/* The columns of an event (LAYOUT_…) as event.def has it; 0 also for a kind that there is not. */
uint8_t event_layout(unsigned kind);

static inline void put_le16(uint8_t *p, uint16_t v)
{
	p[0] = v;
	p[1] = v >> 8;
}

static inline void put_le32(uint8_t *p, uint32_t v)
{
	put_le16(p, v);
	put_le16(p + 2, v >> 16);
}

static inline void put_le64(uint8_t *p, uint64_t v)
{
	put_le32(p, v);
	put_le32(p + 4, v >> 32);
}

static inline uint16_t get_le16(const uint8_t *p)
{
	return p[0] | p[1] << 8;
}

static inline uint32_t get_le32(const uint8_t *p)
{
	return get_le16(p) | (uint32_t)get_le16(p + 2) << 16;
}

static inline uint64_t get_le64(const uint8_t *p)
{
	return get_le32(p) | (uint64_t)get_le32(p + 4) << 32;
}

static inline uint64_t zigzag(uint64_t diff)
{
	return diff << 1 ^ -(diff >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* Needs room for VARINT_MAX bytes; returns the end. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = v | 0x80;
		v >>= 7;
	}
	*p++ = v;
	return p;
}

/*
 * Bytes being read. Past the end, or after a broken varint, everything reads as 0 and bad is set.
 */
struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

uint64_t cursor_varint_slow(struct cursor *c);

static inline uint64_t cursor_varint(struct cursor *c)
{
	if (likely(c->p < c->end && *c->p < 0x80))
		return *c->p++;
	return cursor_varint_slow(c);
}

#endif
