// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/pattern.h"

#include <string.h>

#include "base/utf8.h"

bool pattern_fits(const char *pattern, size_t len, const char *text)
{
	const char *end = pattern + len, *star = NULL, *taken = NULL;

	while (*text) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			taken = text;
		} else if (pattern < end && (*pattern == '?' || *pattern == *text)) {
			text += *pattern++ == '?' ? MAX(utf8_len(text, strnlen(text, 4)), 1u) : 1;
		} else if (star) { /* the last star takes one more */
			pattern = star;
			text = ++taken;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

bool pattern_fits_part(const char *pattern, const char *text)
{
	return strpbrk(pattern, "*?") ? pattern_fits(pattern, strlen(pattern), text)
				      : strstr(text, pattern) != NULL;
}

/* How many brackets are open behind text[i]; the end of an arrow is none. */
static unsigned depth_behind(const char *text, size_t i, unsigned depth)
{
	if (strchr("([{<", text[i]))
		return depth + 1;
	if (depth && strchr(")]}>", text[i]) && !(text[i] == '>' && i && text[i - 1] == '-'))
		return depth - 1;
	return depth;
}

size_t pattern_item_len(const char *list)
{
	unsigned depth = 0;
	size_t i = 0;

	for (; list[i] && (list[i] != ',' || depth); i++)
		depth = depth_behind(list, i, depth);
	return i;
}

int pattern_item_check(const char *item, size_t len, struct err *e)
{
	unsigned depth = 0;

	if (!len)
		return err_set(e, ERR_USAGE, "a name is empty");
	for (size_t i = 0; i < len; i++)
		depth = depth_behind(item, i, depth);
	if (depth && memchr(item, ',', len))
		return err_set(e, ERR_USAGE,
			       "'%.*s': a bracket is not closed, so the comma belongs to the name; "
			       "close it, or put that name last",
			       (int)len, item);
	return 0;
}
