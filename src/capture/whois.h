// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Who came through a door. An agent says the number that its process has for itself; in a pid
 * namespace of its own, as sandboxes and containers make them, that is another process's number
 * here.
 */
#ifndef CAPTURE_WHOIS_H
#define CAPTURE_WHOIS_H

#include <stdint.h>

/* Our number of the process that calls itself pid and has mapped the file of this inode; pid itself
 * when none is found, or when that process may not be looked at. */
uint32_t whois_find(uint32_t pid, uint64_t inode);

#endif
