// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by the files that make discoveries; nobody else includes it. */
#ifndef RUNTIME_DISCOVER_PRIV_H
#define RUNTIME_DISCOVER_PRIV_H

#include "base/intern.h"
#include "runtime/discover.h"

/* What discovery_free has to release besides the part that callers see. */
struct owned {
	struct discovery d;
	struct intern *strings;
};

#endif
