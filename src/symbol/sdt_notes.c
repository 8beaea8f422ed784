// SPDX-License-Identifier: MIT OR Apache-2.0
/* Reads the notes. What they point to is looked up by sdt_place.c. */
#include <elf.h>
#include <string.h>

#include "symbol/sdt.h"

#define OWNER	    "stapsdt"
#define TYPE	    3
#define MAX_STRING  4096
#define WORDS_BYTES (3 * sizeof(uint64_t))

/* The next string of the note; NULL: it does not end in there, or is too long to be one. */
static const char *take_string(const struct image *img, uint64_t *off, uint64_t end)
{
	const char *s = image_string(img, *off, end);

	if (!s || strlen(s) > MAX_STRING)
		return NULL;
	*off += strlen(s) + 1;
	return s;
}

static bool read_note(const struct image *img, const struct image_note *n, struct sdt_site *s)
{
	uint64_t words[3], off = n->desc_off + WORDS_BYTES, end = n->desc_off + n->desc_bytes;

	if (n->desc_bytes < WORDS_BYTES)
		return false;
	memcpy(words, n->desc, WORDS_BYTES);
	*s = (struct sdt_site){ .va = words[0], .semaphore_va = words[2] };
	s->provider = take_string(img, &off, end);
	s->name = s->provider ? take_string(img, &off, end) : NULL;
	s->args = s->name ? take_string(img, &off, end) : NULL;
	return s->args && *s->provider && *s->name && sdt_place(s, words[1], img);
}

static void read_section(struct sdt *to, const struct image *img, const struct image_section *from)
{
	uint64_t off = from->off, end = from->off + from->size_bytes;
	struct image_note n;
	struct sdt_site site;
	int rc;

	while ((rc = image_next_note(img, &off, end, &n)) > 0) {
		if (n.type != TYPE || n.name_bytes != sizeof(OWNER) ||
		    memcmp(n.name, OWNER, sizeof(OWNER)) != 0)
			continue;
		if (read_note(img, &n, &site))
			vec_push(&to->sites, site);
		else
			to->nr_broken++;
	}
	to->nr_broken += rc < 0;
}

void sdt_init(struct sdt *s, const struct image *img)
{
	*s = (struct sdt){ 0 };
	for (uint32_t i = 0; i < img->nr_sections; i++) {
		const struct image_section *section = &img->sections[i];

		if (section->type != SHT_NOTE)
			continue;
		if (image_section_data(img, section))
			read_section(s, img, section);
		else
			s->nr_broken += strcmp(section->name, ".note.stapsdt") == 0;
	}
}

void sdt_release(struct sdt *s)
{
	vec_release(&s->sites);
}
