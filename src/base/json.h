// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Writes JSON text into a strbuf. Commas and nesting are kept by the writer; the caller gives keys
 * inside objects (key == NULL inside arrays). Strings are escaped, and bytes that are not UTF-8
 * become U+FFFD, so the output is always valid JSON. Control characters, C1 and those that change
 * the direction of text included, are escaped too, so it does no harm on a terminal.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/strbuf.h"

#define JSON_MAX_DEPTH 2560 /* await trees are deep, and each level is two */

struct json {
	struct strbuf *out;
	unsigned depth;
	bool first[JSON_MAX_DEPTH]; /* nothing written yet at this depth */
	bool pretty;		    /* one member of the outer two levels a line */
};

void json_init(struct json *j, struct strbuf *out);
void json_open_object(struct json *j, const char *key);
void json_close_object(struct json *j);
void json_open_array(struct json *j, const char *key);
void json_close_array(struct json *j);
void json_str(struct json *j, const char *key, const char *value); /* NULL writes null */
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_double(struct json *j, const char *key, double value);
void json_exact(struct json *j, const char *key, double value); /* reads back as the same */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

#endif
