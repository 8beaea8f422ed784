// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/candidates.h"
#include "show/json_candidates.h"

static void put_one(void *j, const char *name, size_t len)
{
	char *text = xstrndup(name, len);

	json_str(j, NULL, text);
	free(text);
}

void json_candidates(struct json *j, const char *names)
{
	json_open_array(j, "candidate_types");
	candidates_each(names, put_one, j);
	json_close_array(j);
}
