// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/intern.h"

#include <string.h>

#include "base/vec.h"

struct intern {
	VEC(char *) strings;
	uint32_t *slots; /* number + 1, or 0 */
	size_t nr_slots;
};

struct intern *intern_new(void)
{
	return xcalloc(1, sizeof(struct intern));
}

void intern_free(struct intern *in)
{
	if (!in)
		return;
	vec_each (s, &in->strings)
		free(*s);
	vec_release(&in->strings);
	free(in->slots);
	free(in);
}

static uint64_t hash(const char *s, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

static size_t find(const struct intern *in, const char *s, size_t len)
{
	size_t i = hash(s, len) & (in->nr_slots - 1);

	for (; in->slots[i]; i = (i + 1) & (in->nr_slots - 1)) {
		const char *have = in->strings.v[in->slots[i] - 1];

		if (strncmp(have, s, len) == 0 && !have[len])
			break;
	}
	return i;
}

static void grow(struct intern *in)
{
	free(in->slots);
	in->nr_slots = in->nr_slots ? in->nr_slots * 2 : 64;
	in->slots = xcalloc(in->nr_slots, sizeof(*in->slots));
	for (size_t k = 0; k < in->strings.nr; k++)
		in->slots[find(in, in->strings.v[k], strlen(in->strings.v[k]))] = k + 1;
}

uint32_t intern_put(struct intern *in, const char *s, size_t len)
{
	size_t i;

	len = strnlen(s, len); /* a NUL would end the stored string anyhow */
	if ((in->strings.nr + 1) * 2 > in->nr_slots)
		grow(in);
	i = find(in, s, len);
	if (!in->slots[i]) {
		vec_push(&in->strings, xstrndup(s, len));
		in->slots[i] = in->strings.nr;
	}
	return in->slots[i] - 1;
}

uint32_t intern_puts(struct intern *in, const char *s)
{
	return intern_put(in, s, strlen(s));
}

const char *intern_get(const struct intern *in, uint32_t id)
{
	return id < in->strings.nr ? in->strings.v[id] : NULL;
}

uint32_t intern_count(const struct intern *in)
{
	return in->strings.nr;
}
