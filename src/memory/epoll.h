// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef MEMORY_EPOLL_H
#define MEMORY_EPOLL_H

#include "base/map.h"

enum fd_kind { FD_SOCKET, FD_PIPE, FD_FILE }; /* a file is all the rest: terminals, eventfds */

/*
 * Adds what the epoll sets of a process know: their number for a descriptor -> the descriptor; and
 * what all its descriptors are: descriptor -> enum fd_kind.
 */
void epoll_find(uint32_t pid, struct map *fds, struct map *kinds);

#endif
