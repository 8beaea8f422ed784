// SPDX-License-Identifier: MIT OR Apache-2.0
/* With whom a socket of a process is connected, as the kernel tells. */
#ifndef WALK_PEERS_H
#define WALK_PEERS_H

#include <pthread.h>

#include "base/map.h"
#include "base/vec.h"

#define PEER_SIZE 64

struct peer {
	uint32_t addr[4]; /* as the kernel prints it */
	uint16_t port;
	bool is_v6;
};

struct peers {
	uint32_t pid;
	pthread_mutex_t lock; /* of what follows, until it is read */
	bool are_read;
	VEC(struct peer) list;
	struct map by_inode; /* of the socket: in list */
};

/* Nothing is read until the first is asked for. pid: 0: there is no process, and no peer. */
void peers_init(struct peers *p, uint32_t pid);
void peers_release(struct peers *p);
/* "127.0.0.1:80", "[::1]:80"; NULL: it is not connected, or no TCP or UDP socket. May be
 * asked from several threads at once. */
const char *peers_get(struct peers *p, uint64_t fd, char text[PEER_SIZE]);

#endif
