// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/known.h"

#include <string.h>

#include "runtime/runtime.h"

const struct runtime *const runtimes[] = {
	&runtime_tokio,
	&runtime_async_task,
	NULL,
};

const struct runtime *runtime_descriptor(const struct found_runtime *r)
{
	return r->descriptor < ARRAY_SIZE(runtimes) ? runtimes[r->descriptor] : NULL;
}

const struct known_runtime *known_runtime(const struct found_runtime *r)
{
	return &runtime_descriptor(r)->known;
}

const struct known_runtime *known_runtime_named(const char *name)
{
	for (size_t i = 0; runtimes[i]; i++)
		for (const char *const *n = runtimes[i]->known.names; *n; n++)
			if (strcmp(*n, name) == 0)
				return &runtimes[i]->known;
	return NULL;
}

void known_runtimes_text(struct strbuf *out)
{
	for (size_t i = 0; runtimes[i]; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", runtimes[i]->known.text);
}
