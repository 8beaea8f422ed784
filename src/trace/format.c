// SPDX-License-Identifier: MIT OR Apache-2.0
/* The smallest parts of the trace file: block headers and varints. */
#include "trace/format.h"

#include <zlib.h>

#include "trace/event.h"
#include "trace/trace.h"

#define CRC_AT 44

void block_header_pack(const struct block_header *h, uint8_t out[BLOCK_HEADER_LEN])
{
	put_le32(out, BLOCK_MAGIC);
	out[4] = h->kind;
	out[5] = h->codec;
	put_le16(out + 6, BLOCK_HEADER_LEN);
	put_le32(out + 8, h->stored_len);
	put_le32(out + 12, h->raw_len);
	put_le32(out + 16, h->thread);
	put_le32(out + 20, h->nr_events);
	put_le64(out + 24, h->first_tick);
	put_le64(out + 32, h->last_tick);
	put_le32(out + 40, 0);
	put_le32(out + CRC_AT, crc32(0, out, CRC_AT));
}

static bool in_bounds(const struct block_header *h)
{
	if (h->header_len < BLOCK_HEADER_LEN || h->header_len > HEADER_LEN_MAX ||
	    h->stored_len > STORED_LEN_MAX || h->raw_len > RAW_LEN_MAX)
		return false;
	return h->kind != BLOCK_EVENTS ||
	       (h->thread < THREADS_MAX && h->nr_events > 0 && h->nr_events <= BLOCK_EVENTS_MAX);
}

bool block_header_unpack(struct block_header *h, const uint8_t in[BLOCK_HEADER_LEN])
{
	if (get_le32(in) != BLOCK_MAGIC || get_le32(in + CRC_AT) != crc32(0, in, CRC_AT))
		return false;
	*h = (struct block_header){ .kind = in[4],
				    .codec = in[5],
				    .header_len = get_le16(in + 6),
				    .stored_len = get_le32(in + 8),
				    .raw_len = get_le32(in + 12),
				    .thread = get_le32(in + 16),
				    .nr_events = get_le32(in + 20),
				    .first_tick = get_le64(in + 24),
				    .last_tick = get_le64(in + 32) };
	return in_bounds(h);
}

uint8_t event_layout(unsigned kind)
{
	const struct event_desc *d = kind < EV_MAX ? &event_descs[kind] : NULL;

	if (!d || !d->name)
		return 0;
	return d->task | (d->a ? LAYOUT_A : 0) | (d->b ? LAYOUT_B : 0);
}

uint64_t cursor_varint_slow(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 7 * VARINT_MAX && c->p < c->end; shift += 7) {
		uint8_t byte = *c->p++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	c->bad = true;
	c->p = c->end;
	return 0;
}

void file_header_pack(uint8_t out[FILE_HEADER_LEN])
{
	memcpy(out, FILE_MAGIC, FILE_MAGIC_LEN);
	put_le16(out + 8, FORMAT_MAJOR);
	put_le16(out + 10, FORMAT_MINOR);
	put_le32(out + 12, FILE_HEADER_LEN);
}

size_t end_pack(const struct trace_end *end, uint64_t base_ticks, uint8_t out[END_LEN_MAX])
{
	const uint64_t head[] = {
		end->kind,
		end->status,
		zigzag(end->ticks - base_ticks),
		end->tool_cpu_ns,
		end->target_cpu_ns,
		end->nr_unslotted,
		ARRAY_SIZE(end->lost),
	};
	const uint64_t tail[] = { end->nr_unfollowed, end->nr_unredirected, end->nr_no_path,
				  end->nr_bad_path, end->nr_apart };
	uint8_t *p = out;

	_Static_assert((ARRAY_SIZE(head) + ARRAY_SIZE(end->lost) + ARRAY_SIZE(tail)) * VARINT_MAX <=
			       END_LEN_MAX,
		       "room for all");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		p = varint_put(p, head[i]);
	for (size_t i = 0; i < ARRAY_SIZE(end->lost); i++)
		p = varint_put(p, end->lost[i]);
	for (size_t i = 0; i < ARRAY_SIZE(tail); i++)
		p = varint_put(p, tail[i]);
	return p - out;
}
