// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Serves one file over HTTP to a page of another origin, on the loopback alone, under a name that
 * cannot be guessed: how the Perfetto UI in a browser reads a local trace.
 */
#ifndef VIEW_SERVE_FILE_H
#define VIEW_SERVE_FILE_H

#include "base/err.h"

struct serve_file;

/*
 * fd is borrowed; name is what the page shows. origin: the only page that may read it
 * ("https://…"). The port is bound at once; it is an error if another process has it.
 */
struct serve_file *serve_file_open(int fd, const char *name, uint16_t port, const char *origin,
				   struct err *e);
/* Its address, good until it is closed. */
const char *serve_file_get_url(const struct serve_file *s);
/*
 * Waits until the whole file was read once. False: no reader did, or was about to, in time; 0: for
 * ever.
 */
bool serve_file_wait(struct serve_file *s, uint64_t timeout_ns);
void serve_file_close(struct serve_file *s);

#endif
