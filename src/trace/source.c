// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Files are read by pread, not by mmap: a file that is cut while it is read then gives a short
 * count instead of a SIGBUS.
 */
#include "trace/source.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "trace/alive.h"

#define PIPE_CHUNK 65536
/* Bytes of a pipe that are taken at a time: its reader comes back for more. */
#define PIPE_MAX (4 * PIPE_CHUNK)

static int watch(int fd)
{
	int inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];

	if (inotify < 0)
		return -1;
	/* a link to the file itself, whatever its name is by now */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (inotify_add_watch(inotify, path, IN_MODIFY | IN_CLOSE_WRITE) >= 0)
		return inotify;
	close(inotify);
	return -1;
}

int source_open(struct source *s, const char *path, bool follow, struct err *e)
{
	struct stat st;

	*s = (struct source)SOURCE_INIT;
	s->fd = io_open(path);
	if (s->fd < 0)
		return errno == ENOENT
			       ? err_sys(e, "cannot open %s (make it by 'futrace record')", path)
			       : err_sys(e, "cannot open %s", path);
	if (fstat(s->fd, &st) < 0)
		return err_sys(e, "cannot read %s", path);
	if (follow && S_ISFIFO(st.st_mode)) {
		s->kind = SOURCE_PIPE;
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_NOT_TRACE, "%s is no regular file, so no trace of futrace",
			       path);
	s->is_final = !follow;
	if (follow)
		s->inotify = watch(s->fd);
	return 0;
}

void source_init_fed(struct source *s)
{
	*s = (struct source)SOURCE_INIT;
	s->kind = SOURCE_FED;
}

void source_release(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->inotify >= 0)
		close(s->inotify);
	strbuf_release(&s->window);
}

static bool is_same_file(struct source *s)
{
	uint8_t head[SOURCE_HEAD_LEN];

	return s->size >= s->nr_head && io_pread_all(s->fd, head, s->nr_head, 0) == 0 &&
	       memcmp(head, s->head, s->nr_head) == 0;
}

/*
 * The size comes before the comparison: if the file was begun anew in between, either shows it.
 * Whether the writer lives comes first of all: what it wrote before it ended is then in the size.
 */
static bool grow_file(struct source *s)
{
	bool is_live = alive_is_marked(s->fd);
	struct stat st;
	uint64_t head;

	if (fstat(s->fd, &st) < 0) {
		s->is_final = true;
		return true;
	}
	s->size = st.st_size;
	s->is_live = is_live;
	s->is_final |= !is_live;
	if (!is_same_file(s))
		return false;
	head = MIN(s->size, (uint64_t)SOURCE_HEAD_LEN);
	if (head > s->nr_head && io_pread_all(s->fd, s->head, head, 0) == 0)
		s->nr_head = head;
	return true;
}

static void grow_pipe(struct source *s)
{
	ssize_t n = 1;

	for (size_t taken = 0; n > 0 && taken < PIPE_MAX; taken += n) {
		strbuf_grow(&s->window, PIPE_CHUNK);
		n = read(s->fd, s->window.s + s->window.len, PIPE_CHUNK);
		if (n <= 0)
			break;
		s->window.len += n;
		s->size += n;
	}
	/* before the first byte the writer may not be there yet */
	if ((n == 0 && s->size) || (n < 0 && errno != EAGAIN && errno != EINTR))
		s->is_final = true;
}

bool source_grow(struct source *s)
{
	if (s->kind == SOURCE_FILE)
		return grow_file(s);
	if (s->kind == SOURCE_PIPE && !s->is_final)
		grow_pipe(s);
	return true;
}

void source_feed(struct source *s, const void *bytes, size_t len)
{
	strbuf_add(&s->window, bytes, len);
	s->size += len;
}

/* A pipe without a writer is always ready to be read: then it is waited for one. */
static void wait_for_pipe(struct source *s, int timeout_ms)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	if (poll(&p, 1, timeout_ms) > 0 && !(p.revents & POLLIN) && !s->size)
		poll(NULL, 0, MIN(timeout_ms, 20));
}

void source_wait(struct source *s, int timeout_ms)
{
	struct pollfd p = { .fd = s->inotify, .events = POLLIN };
	char events[4096];

	if (s->is_final || s->kind == SOURCE_FED)
		return;
	if (s->kind == SOURCE_PIPE)
		wait_for_pipe(s, timeout_ms);
	else if (s->inotify < 0)
		poll(NULL, 0, MIN(timeout_ms, 100));
	else if (poll(&p, 1, timeout_ms) > 0)
		while (read(s->inotify, events, sizeof(events)) > 0)
			;
}

bool source_read(const struct source *s, void *to, size_t len, uint64_t off)
{
	if (s->kind == SOURCE_FILE)
		return io_pread_all(s->fd, to, len, off) == 0;
	if (off < s->window_off || off + len > s->size)
		return false;
	memcpy(to, s->window.s + (off - s->window_off), len);
	return true;
}

void source_drop(struct source *s, uint64_t off)
{
	size_t nr;

	if (s->kind == SOURCE_FILE || off <= s->window_off)
		return;
	nr = MIN(off - s->window_off, (uint64_t)s->window.len);
	memmove(s->window.s, s->window.s + nr, s->window.len - nr);
	s->window.len -= nr;
	s->window_off += nr;
}
