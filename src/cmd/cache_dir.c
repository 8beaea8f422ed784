// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/command.h"

char *cmd_cache_dir(void)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (xdg && *xdg == '/')
		return xasprintf("%s/futrace", xdg);
	return home && *home == '/' ? xasprintf("%s/.cache/futrace", home) : NULL;
}
