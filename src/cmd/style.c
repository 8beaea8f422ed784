// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/style.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WIDTH 100
#define MIN_WIDTH     80
#define MAX_WIDTH     1000

const char *const style_choices[] = { "auto", "always", "never", NULL };

static bool can_terminal(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	if (no_color && *no_color)
		return false;
	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

int styles_init(struct styles *s, const char *wish, struct err *e)
{
	if (!wish || strcmp(wish, "auto") == 0)
		s->has_colors = can_terminal();
	else if (strcmp(wish, "always") == 0)
		s->has_colors = true;
	else if (strcmp(wish, "never") == 0)
		s->has_colors = false;
	else
		return err_set(e, ERR_USAGE, "--color takes auto, always or never, not '%s'", wish);
	return 0;
}

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

size_t style_width(void)
{
	const char *columns = getenv("COLUMNS");
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize size;

	if (!width && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (!width)
		return DEFAULT_WIDTH;
	return MAX(MIN_WIDTH, MIN(width, MAX_WIDTH));
}

bool style_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}
