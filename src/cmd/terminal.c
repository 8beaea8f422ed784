// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/terminal.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WIDTH 100
#define MIN_WIDTH     80
#define MAX_WIDTH     1000

const char *const terminal_colors[] = { "auto", "always", "never", NULL };

static bool wants_colors(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	if (no_color && *no_color)
		return false;
	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static size_t get_width(void)
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

/* Whether the locale has more than ASCII. */
static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

int terminal_get_styles(struct styles *s, const char *color, struct err *e)
{
	*s = (struct styles){ .is_ascii = !is_utf8(),
			      .is_terminal = isatty(STDOUT_FILENO),
			      .width = get_width() };
	if (!color || strcmp(color, "auto") == 0)
		s->has_colors = wants_colors();
	else if (strcmp(color, "always") == 0)
		s->has_colors = true;
	else if (strcmp(color, "never") != 0)
		return err_set(e, ERR_USAGE, "--color takes auto, always or never, not '%s'",
			       color);
	return 0;
}
