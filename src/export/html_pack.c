// SPDX-License-Identifier: MIT OR Apache-2.0
#include <string.h>
#include <zlib.h>

#include "export/html.h"

#define ROOM_BYTES 32768u /* for what comes out */
#define LEVEL	   5	  /* beyond it, twice the time for two percent */

struct html_pack {
	z_stream z;
	int status; /* of zlib, the first that was bad */
	struct strbuf bytes;
	VEC(struct html_column) columns;
	uint64_t values[HTML_BLOCK];
	uint8_t bytes_of[HTML_BLOCK]; /* the same byte of each */
};

struct html_pack *html_pack_new(void)
{
	struct html_pack *p = xcalloc(1, sizeof(*p));

	strbuf_init(&p->bytes);
	/* 16 more than the window: a gzip header, as browsers want it */
	p->status = deflateInit2(&p->z, LEVEL, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
	return p;
}

void html_pack_free(struct html_pack *p)
{
	if (!p)
		return;
	deflateEnd(&p->z);
	strbuf_release(&p->bytes);
	vec_release(&p->columns);
	free(p);
}

static void squeeze(struct html_pack *p, size_t len, int flush)
{
	if (p->status != Z_OK)
		return;
	p->z.next_in = p->bytes_of;
	p->z.avail_in = len;
	do {
		strbuf_grow(&p->bytes, ROOM_BYTES);
		p->z.next_out = (uint8_t *)p->bytes.s + p->bytes.len;
		p->z.avail_out = ROOM_BYTES;
		p->status = deflate(&p->z, flush);
		p->bytes.len += ROOM_BYTES - p->z.avail_out;
	} while (p->status == Z_OK && (p->z.avail_in || !p->z.avail_out));
	if (p->status == Z_BUF_ERROR)
		p->status = Z_OK; /* there was nothing to do */
}

void html_pack_put(struct html_pack *p, struct html_column column,
		   uint64_t (*get)(const void *arg, size_t i), const void *arg)
{
	for (size_t from = 0; from < column.nr; from += HTML_BLOCK) {
		size_t nr = MIN(column.nr - from, (size_t)HTML_BLOCK);

		for (size_t i = 0; i < nr; i++)
			p->values[i] = get(arg, from + i);
		for (unsigned byte = 0; byte < column.width; byte++) {
			for (size_t i = 0; i < nr; i++)
				p->bytes_of[i] = p->values[i] >> 8 * byte;
			squeeze(p, nr, Z_NO_FLUSH);
		}
	}
	vec_push(&p->columns, column);
}

int html_pack_finish(struct html_pack *p, struct err *e)
{
	squeeze(p, 0, Z_FINISH);
	if (p->status != Z_STREAM_END)
		return err_set(e, ERR_SYS, "zlib cannot compress the data (%d)", p->status);
	return 0;
}

size_t html_pack_text_bytes(const struct html_pack *p)
{
	return (p->bytes.len + 2) / 3 * 4;
}

void html_pack_write(const struct html_pack *p, struct out *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *s = (const uint8_t *)p->bytes.s;

	for (size_t i = 0; i < p->bytes.len; i += 3) {
		size_t left = p->bytes.len - i;
		uint32_t bits =
			s[i] << 16 | (left > 1 ? s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0);
		char text[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
				 left > 1 ? digits[bits >> 6 & 63] : '=',
				 left > 2 ? digits[bits & 63] : '=' };

		strbuf_add(&out->buf, text, 4);
		out_spill(out);
	}
}

void html_pack_json(const struct html_pack *p, struct json *j, const char *key)
{
	json_open_array(j, key);
	vec_each (c, &p->columns) {
		json_open_array(j, NULL);
		json_str(j, NULL, c->name);
		json_uint(j, NULL, c->width);
		json_uint(j, NULL, c->nr);
		json_close_array(j);
	}
	json_close_array(j);
}

uint64_t html_bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}
