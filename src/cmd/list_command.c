// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace list -- CMD` */
#include <stdlib.h>

#include "capture/loads.h"
#include "capture/target.h"
#include "cmd/agent_file.h"
#include "cmd/command.h"
#include "cmd/list.h"

static int add_agent(struct probes *p, struct err *e)
{
	char *agent = agent_find(e), *probes = agent ? agent_find_probes(agent) : NULL;
	int rc = agent ? probes_add_file(p, agent, e) : -1;

	if (rc == 0 && probes)
		rc = probes_add_file(p, probes, e);
	free(agent);
	free(probes);
	return rc;
}

/* A static program has none, and one that is broken gets none: then there is a note, no error. */
static void add_libraries(struct probes *p, const char *image)
{
	struct err e = ERR_INIT;
	struct loads loads;

	if (loads_init(&loads, image, &e) < 0)
		cmd_note("%s: its libraries are not listed", e.msg);
	if (loads.nr_missing)
		cmd_note("%u of its libraries would not be found", loads.nr_missing);
	vec_each (path, &loads.paths)
		if (probes_add_file(p, *path, &e) < 0)
			cmd_note("%s", e.msg);
	loads_release(&loads);
}

int list_add_command(struct probes *p, const char *cmd, struct err *e)
{
	struct reading_opts none = { 0 };
	struct target_look look;
	struct catalog catalog;
	int status, rc;

	catalog_init(&catalog, &none);
	rc = target_look(&look, cmd, getenv("PATH"), &catalog, &status, e);
	if (rc == 0) {
		if (look.note.tag != ERR_NONE)
			cmd_note("%s", look.note.msg);
		rc = probes_add_file(p, look.image, e);
		if (rc == 0 && look.agent_works)
			rc = add_agent(p, e);
		if (rc == 0 && look.agent_works)
			add_libraries(p, look.image);
	}
	target_look_release(&look);
	catalog_release(&catalog);
	return rc;
}
