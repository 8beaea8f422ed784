// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where the bytes of a trace come from: a file, which may be growing, a pipe, or a caller that
 * feeds them. A file keeps its bytes; for the others the source keeps those that were not yet
 * dropped. Only for the files of this folder.
 */
#ifndef TRACE_SOURCE_H
#define TRACE_SOURCE_H

#include "base/err.h"
#include "base/strbuf.h"

#define SOURCE_HEAD_LEN 256

enum source_kind { SOURCE_FILE, SOURCE_PIPE, SOURCE_FED };

struct source {
	enum source_kind kind;
	int fd;	       /* -1: fed */
	int inotify;   /* -1: none */
	uint64_t size; /* bytes that have come so far */
	bool is_final; /* no more will come */
	bool is_live;  /* a file whose writer was alive at the latest source_grow() */
	/* SOURCE_PIPE, SOURCE_FED: the bytes from window_off on. */
	struct strbuf window;
	uint64_t window_off;
	/* SOURCE_FILE: its first bytes. They differ once the recording has begun anew. */
	uint8_t head[SOURCE_HEAD_LEN];
	size_t nr_head;
};

#define SOURCE_INIT                                            \
	{                                                      \
		.fd = -1, .inotify = -1, .window = STRBUF_INIT \
	}

/* follow: bytes that come later count, too; and pipes are accepted. */
int source_open(struct source *s, const char *path, bool follow, struct err *e);
void source_init_fed(struct source *s);
void source_release(struct source *s);

/* Looks for more bytes, without waiting. False: the file is another than it was. */
bool source_grow(struct source *s);
void source_feed(struct source *s, const void *bytes, size_t len);
/* Waits until more may have come, for at most timeout_ms. */
void source_wait(struct source *s, int timeout_ms);
/* All of len bytes, which lie below size and were not dropped. */
bool source_read(const struct source *s, void *to, size_t len, uint64_t off);
/* Bytes before off are not needed again. */
void source_drop(struct source *s, uint64_t off);

#endif
