// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef WALK_EPOLL_H
#define WALK_EPOLL_H

#include "base/map.h"

/* Adds what the epoll sets of a process know: their number for a descriptor -> the descriptor. */
void epoll_find(uint32_t pid, struct map *fds);

#endif
