// SPDX-License-Identifier: MIT OR Apache-2.0
#include "probe/pattern.h"

#include <fnmatch.h>
#include <string.h>

#include "base/strbuf.h"

#define NR_PARTS 4
#define TARGET	 "$target"

enum { PROVIDER, MODULE, FUNCTION, NAME };

static char *trimmed(const char *s, size_t len)
{
	while (len && strchr(" \t\n", *s))
		s++, len--;
	while (len && strchr(" \t\n", s[len - 1]))
		len--;
	return xstrndup(s, len);
}

/* The end of the set that follows a '['. NULL: it is not a set, or nothing is in it. */
static const char *set_end(const char *s)
{
	const char *first, *end;

	s += *s == '!' || *s == '^';
	first = s;
	end = *s ? strchr(s + 1, ']') : NULL; /* in front it is one of the set */
	for (; end && s < end; s++)
		if (s > first && *s == '-' && s + 1 < end && (uint8_t)s[-1] > (uint8_t)s[1])
			return NULL;
	return end;
}

/* A part that no name can ever match is a mistake. */
static int check_part(const char *part, struct err *e)
{
	for (const char *s = part; *s; s++) {
		if (*s == '[' && !(s = set_end(s + 1)))
			return err_set(e, ERR_USAGE,
				       "'%s' has a [ that begins no set such as [a-z]", part);
		if (*s == '\\' && !*++s)
			return err_set(e, ERR_USAGE, "'%s' has nothing behind its last \\", part);
	}
	return 0;
}

/* One description, of len bytes. */
static int add_one(struct probe_patterns *p, const char *text, size_t len, struct err *e)
{
	const char *ends[NR_PARTS], *end = text + len, *at = text;
	size_t nr = 0;
	char **parts;

	for (const char *s = text; s <= end; s++) {
		if (s != end && *s != ':')
			continue;
		if (nr == NR_PARTS)
			return err_set(e, ERR_USAGE,
				       "'%.*s' has more than the four parts of "
				       "provider:module:function:name",
				       (int)len, text);
		ends[nr++] = s;
	}
	parts = xcalloc(NR_PARTS, sizeof(*parts));
	for (size_t i = 0; i < NR_PARTS - nr; i++)
		parts[i] = xstrdup("");
	for (size_t i = 0; i < nr; i++) {
		parts[NR_PARTS - nr + i] = trimmed(at, ends[i] - at);
		at = ends[i] + 1;
	}
	vec_push(&p->list, parts);
	for (size_t i = 0; i < NR_PARTS; i++)
		if (check_part(parts[i], e))
			return -1;
	return 0;
}

int probe_patterns_add(struct probe_patterns *p, const char *text, struct err *e)
{
	for (;; text++) {
		size_t len = strcspn(text, ",");

		if (add_one(p, text, len, e) < 0)
			return -1;
		text += len;
		if (!*text)
			return 0;
	}
}

void probe_patterns_release(struct probe_patterns *p)
{
	vec_each (parts, &p->list) {
		for (size_t i = 0; i < NR_PARTS; i++)
			free((*parts)[i]);
		free(*parts);
	}
	vec_release(&p->list);
}

static bool fits(const char *pattern, const char *text)
{
	return !*pattern || fnmatch(pattern, text, 0) == 0;
}

/* "tokio4711", or "tokio" */
static bool fits_provider(const char *pattern, const struct probe_home *home, const char *provider)
{
	const char *target = strstr(pattern, TARGET);
	struct strbuf with_pid = STRBUF_INIT, wanted = STRBUF_INIT;
	bool is_fit;

	strbuf_addstr(&with_pid, provider);
	if (home->pid)
		strbuf_adduint(&with_pid, home->pid);
	if (target) {
		strbuf_add(&wanted, pattern, target - pattern);
		if (home->pid)
			strbuf_adduint(&wanted, home->pid);
		strbuf_addstr(&wanted, target + strlen(TARGET));
	} else {
		strbuf_addstr(&wanted, pattern);
	}
	is_fit = fits(wanted.s, with_pid.s) || fits(wanted.s, provider);
	strbuf_release(&with_pid);
	strbuf_release(&wanted);
	return is_fit;
}

bool probe_patterns_fit(const struct probe_patterns *p, const struct probe_home *home,
			const struct probe *probe)
{
	vec_each (at, &p->list) {
		char **parts = *at;

		if (fits_provider(parts[PROVIDER], home, probe->provider) &&
		    fits(parts[MODULE], home->file->module) &&
		    (fits(parts[FUNCTION], probe->function) ||
		     fits(parts[FUNCTION], probe->symbol)) &&
		    (fits(parts[NAME], probe->name) || fits(parts[NAME], probe->note_name)))
			return true;
	}
	return !p->list.nr;
}
