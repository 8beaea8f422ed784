// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/style.h"

const char *style_on(const struct styles *s, enum style style)
{
	/* the terminal's own sixteen colours: they fit its background, light or dark */
	static const char *const marks[] = {
		[STYLE_CRITICAL] = "\033[1;31m", [STYLE_WARNING] = "\033[1;33m",
		[STYLE_NOTE] = "\033[1;36m",	 [STYLE_GOOD] = "\033[32m",
		[STYLE_HEAD] = "\033[1m",	 [STYLE_NAME] = "\033[1m",
		[STYLE_DETAIL] = "\033[2m",	 [STYLE_ADVICE] = "\033[36m",
	};

	return s->has_colors ? marks[style] : "";
}

const char *style_off(const struct styles *s)
{
	return s->has_colors ? "\033[0m" : "";
}
