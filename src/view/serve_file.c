// SPDX-License-Identifier: MIT OR Apache-2.0
#include "view/serve_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"

/* A page that loads the file asks with GET, and may ask for permission before. */
#define METHODS "GET, HEAD, OPTIONS"

struct serve_file {
	struct MHD_Daemon *daemon;
	int fd;
	uint64_t size;
	char *origin;
	char *host; /* "127.0.0.1:9001": what a browser that was sent here says */
	char *name; /* the part of the address behind the host */
	char *url;
	pthread_mutex_t lock;
	pthread_cond_t done;
	unsigned nr_readers; /* that have asked and not yet got all */
	bool is_done;
};

static enum MHD_Result answer_empty(struct MHD_Connection *c, unsigned status)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result rc = MHD_queue_response(c, status, r);

	MHD_destroy_response(r);
	return rc;
}

/* A page of another name that resolves to the loopback has another Host. */
static bool is_for_us(const struct serve_file *s, struct MHD_Connection *c, const char *url)
{
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");

	return host && strcmp(host, s->host) == 0 && strcmp(url, s->name) == 0;
}

/* With the headers by which the browser lets the page of our origin read it, and no other. */
static struct MHD_Response *make_response(const struct serve_file *s, bool has_body)
{
	int fd = has_body ? dup(s->fd) : -1;
	struct MHD_Response *r;

	if (has_body && fd < 0)
		return NULL;
	r = has_body ? MHD_create_response_from_fd64(s->size, fd)
		     : MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	if (!r) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	MHD_add_response_header(r, "Access-Control-Allow-Origin", s->origin);
	MHD_add_response_header(r, "Access-Control-Allow-Methods", METHODS);
	/* Chromium asks this of pages that reach into the local network */
	MHD_add_response_header(r, "Access-Control-Allow-Private-Network", "true");
	MHD_add_response_header(r, "Cache-Control", "no-cache");
	MHD_add_response_header(r, "Content-Type", "application/octet-stream");
	return r;
}

static void begin_reading(struct serve_file *s, void **context)
{
	*context = s;
	pthread_mutex_lock(&s->lock);
	s->nr_readers++;
	pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *data_size, void **context)
{
	struct serve_file *s = cls;
	bool is_get = strcmp(method, "GET") == 0;
	struct MHD_Response *r;
	enum MHD_Result rc;

	if (*data_size) { /* no client has anything to send */
		*data_size = 0;
		return MHD_YES;
	}
	if (!is_for_us(s, c, url))
		return answer_empty(c, MHD_HTTP_NOT_FOUND);
	if (!is_get && strcmp(method, "HEAD") != 0 && strcmp(method, "OPTIONS") != 0)
		return answer_empty(c, MHD_HTTP_METHOD_NOT_ALLOWED);
	r = make_response(s, strcmp(method, "OPTIONS") != 0);
	if (!r)
		return MHD_NO;
	if (is_get)
		begin_reading(s, context);
	rc = MHD_queue_response(c, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return rc;
}

static void completed(void *cls, struct MHD_Connection *c, void **context,
		      enum MHD_RequestTerminationCode how)
{
	struct serve_file *s = *context;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->nr_readers--;
	if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		s->is_done = true;
	pthread_cond_signal(&s->done);
	pthread_mutex_unlock(&s->lock);
}

static int take_file(struct serve_file *s, int fd, const char *name, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(e, "cannot read %s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_SYS, "cannot serve %s: it is not a regular file", name);
	if (!st.st_size)
		return err_set(e, ERR_SYS, "cannot serve %s: it is empty", name);
	s->fd = fd;
	s->size = st.st_size;
	return 0;
}

/* Letters that need no escaping in an address; the browser shows the name. */
static void add_name(struct strbuf *out, const char *name)
{
	for (const char *p = name; *p; p++)
		strbuf_addch(out, (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
						  (*p >= 'A' && *p <= 'Z') || *p == '.'
					  ? *p
					  : '-');
}

static int make_address(struct serve_file *s, const char *file, uint16_t port, struct err *e)
{
	struct strbuf name = STRBUF_INIT;
	uint64_t token[2];

	if (getrandom(token, sizeof(token), 0) != sizeof(token))
		return err_sys(e, "cannot make a random name");
	strbuf_addf(&name, "/%016llx%016llx/", (unsigned long long)token[0],
		    (unsigned long long)token[1]);
	add_name(&name, file);
	s->name = strbuf_take(&name);
	s->host = xasprintf("127.0.0.1:%u", port);
	s->url = xasprintf("http://%s%s", s->host, s->name);
	return 0;
}

static int listen_on(struct serve_file *s, uint16_t port, struct err *e)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	s->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, answer, s,
				     MHD_OPTION_SOCK_ADDR, &addr, MHD_OPTION_NOTIFY_COMPLETED,
				     completed, NULL, MHD_OPTION_CONNECTION_TIMEOUT, 60u,
				     MHD_OPTION_END);
	if (s->daemon)
		return 0;
	if (errno == EADDRINUSE)
		return err_set(e, ERR_SYS,
			       "port %u is taken by another program; end that one first (the "
			       "page reads from no other port)",
			       port);
	return err_sys(e, "cannot listen on 127.0.0.1:%u", port);
}

struct serve_file *serve_file_open(int fd, const char *name, uint16_t port, const char *origin,
				   struct err *e)
{
	struct serve_file *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t attr;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->done, &attr);
	pthread_condattr_destroy(&attr);
	s->origin = xstrdup(origin);
	if (take_file(s, fd, name, e) || make_address(s, name, port, e) || listen_on(s, port, e)) {
		serve_file_close(s);
		return NULL;
	}
	return s;
}

const char *serve_file_get_url(const struct serve_file *s)
{
	return s->url;
}

static struct timespec after(uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns += t.tv_nsec;
	t.tv_sec += ns / 1000000000;
	t.tv_nsec = ns % 1000000000;
	return t;
}

bool serve_file_wait(struct serve_file *s, uint64_t timeout_ns)
{
	struct timespec until = after(timeout_ns);
	bool is_late = false;

	pthread_mutex_lock(&s->lock);
	/* who reads slowly is not cut off; libmicrohttpd sees to those that stopped */
	while (!s->is_done && !(is_late && !s->nr_readers)) {
		if (timeout_ns && !is_late)
			is_late = pthread_cond_timedwait(&s->done, &s->lock, &until) == ETIMEDOUT;
		else
			pthread_cond_wait(&s->done, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return s->is_done;
}

void serve_file_close(struct serve_file *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	pthread_cond_destroy(&s->done);
	pthread_mutex_destroy(&s->lock);
	free(s->origin);
	free(s->host);
	free(s->name);
	free(s->url);
	free(s);
}
