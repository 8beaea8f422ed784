// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/peers.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/strbuf.h"

#define MAX_TABLE (64 << 20)

void peers_init(struct peers *p, uint32_t pid)
{
	*p = (struct peers){ .pid = pid, .lock = PTHREAD_MUTEX_INITIALIZER };
}

void peers_release(struct peers *p)
{
	vec_release(&p->list);
	map_release(&p->by_inode);
}

/* "  0: 0100007F:1F90 0200007F:8AE2 01 00000000:00000000 00:00000000 00000000  1000 0 71234 …" */
static void add_line(struct peers *p, const char *line)
{
	struct peer peer = { 0 };
	char remote[33];
	unsigned port;
	unsigned long long inode;

	if (sscanf(line, " %*u: %*32[0-9A-F]:%*4x %32[0-9A-F]:%4x %*x %*s %*s %*x %*u %*u %llu",
		   remote, &port, &inode) != 3 ||
	    !port)
		return;
	peer.port = port;
	peer.is_v6 = strlen(remote) == 32;
	for (unsigned i = 0; i < (peer.is_v6 ? 4 : 1); i++)
		if (sscanf(remote + 8 * i, "%8x", &peer.addr[i]) != 1)
			return;
	*map_put(&p->by_inode, inode, NULL) = p->list.nr;
	vec_push(&p->list, peer);
}

/* Of the network that the process is in, which may be another than ours. */
static void read_tables(struct peers *p)
{
	static const char *const names[] = { "tcp", "tcp6", "udp", "udp6" };
	char path[64];

	p->are_read = true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct strbuf text = STRBUF_INIT;

		snprintf(path, sizeof(path), "/proc/%u/net/%s", p->pid, names[i]);
		io_read_file(path, &text, MAX_TABLE, NULL);
		for (const char *line = text.s; line; line = strchr(line, '\n')) {
			line += *line == '\n';
			add_line(p, line);
		}
		strbuf_release(&text);
	}
}

const char *peers_get(struct peers *p, uint64_t fd, char text[PEER_SIZE])
{
	char path[64], target[64], address[INET6_ADDRSTRLEN];
	unsigned long long inode;
	const struct peer *peer;
	uint64_t *at;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/fd/%llu", p->pid, (unsigned long long)fd);
	len = p->pid ? readlink(path, target, sizeof(target) - 1) : -1;
	target[MAX(len, 0)] = 0;
	if (sscanf(target, "socket:[%llu]", &inode) != 1)
		return NULL;
	pthread_mutex_lock(&p->lock);
	if (!p->are_read)
		read_tables(p);
	pthread_mutex_unlock(&p->lock);
	at = map_get(&p->by_inode, inode);
	peer = at ? &p->list.v[*at] : NULL;
	if (!peer ||
	    !inet_ntop(peer->is_v6 ? AF_INET6 : AF_INET, peer->addr, address, sizeof(address)))
		return NULL;
	snprintf(text, PEER_SIZE, peer->is_v6 ? "[%s]:%u" : "%s:%u", address, peer->port);
	return text;
}
