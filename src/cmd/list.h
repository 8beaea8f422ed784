// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by list.c and list_command.c (what is listed), list_text.c and list_json.c (how). */
#ifndef CMD_LIST_H
#define CMD_LIST_H

#include "base/out.h"
#include "probe/probes.h"

struct list_row {
	uint32_t id; /* counted over all probes, so that it does not depend on what was asked for */
	const struct probe_home *home;
	const struct probe *probe;
};

struct list {
	struct probes probes;
	VEC(struct list_row) rows;
};

/* What the command would have: probes of the program, of the agent and of libraries. */
int list_add_command(struct probes *p, const char *cmd, struct err *e);

/* What types the argument has, of all sites: "uint64_t", "uint32_t|int64_t". False: none has it. */
bool list_arg_type(const struct list_row *r, size_t arg, struct strbuf *out);

void list_text(const struct list *l, bool is_verbose, struct out *out);
void list_json(const struct list *l, struct out *out);

#endif
