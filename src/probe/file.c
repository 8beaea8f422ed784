// SPDX-License-Identifier: MIT OR Apache-2.0
/* The probes of one file: sites, gathered by provider, name and function. */
#include <string.h>
#include <sys/stat.h>

#include "probe/probes.h"
#include "symbol/demangle.h"
#include "symbol/sdt.h"
#include "symbol/symtab.h"

#define DELETED " (deleted)"

/* A site with what it is sorted by. */
struct entry {
	struct probe key;
	struct probe_site site;
};

static int by_probe(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->key.provider, y->key.provider);

	if (!order)
		order = strcmp(x->key.name, y->key.name);
	if (!order)
		order = strcmp(x->key.note_name, y->key.note_name);
	if (!order)
		order = strcmp(x->key.symbol, y->key.symbol);
	if (order)
		return order;
	return x->site.va < y->site.va ? -1 : x->site.va > y->site.va;
}

static const char *keep(struct intern *texts, const char *s)
{
	return intern_get(texts, intern_puts(texts, s));
}

/* C has no '-' in its names, and writes "__". */
static const char *keep_name(struct intern *texts, const char *note_name)
{
	char *name = xstrdup(note_name), *to = name;
	const char *kept;

	for (const char *from = note_name; *from; from++) {
		bool is_dash = from[0] == '_' && from[1] == '_';

		*to++ = is_dash ? '-' : *from;
		from += is_dash;
	}
	*to = '\0';
	kept = keep(texts, name);
	free(name);
	return kept;
}

static struct entry make_entry(const struct sdt_site *s, const struct symtab *symbols,
			       struct intern *texts)
{
	const struct symbol *symbol = symtab_function(symbols, s->va);
	char *function = symbol ? demangle(symbol->name) : NULL;
	struct entry e = {
		.key = { .provider = keep(texts, s->provider),
			 .name = keep_name(texts, s->name),
			 .note_name = keep(texts, s->name),
			 .symbol = keep(texts, symbol ? symbol->name : "") },
		.site = { .va = s->va,
			  .off = s->off,
			  .semaphore_va = s->semaphore_va,
			  .semaphore_off = s->semaphore_off,
			  .args = keep(texts, s->args) },
	};

	e.key.function = function ? keep(texts, function) : e.key.symbol;
	free(function);
	return e;
}

static void gather(struct probe_file *f, const struct entry *entries, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct probe *key = &entries[i].key;
		struct probe *last = f->probes.nr ? &f->probes.v[f->probes.nr - 1] : NULL;

		/* interned: equal texts are the same */
		if (!last || last->provider != key->provider || last->symbol != key->symbol ||
		    last->note_name != key->note_name) {
			vec_push(&f->probes, *key);
			last = &f->probes.v[f->probes.nr - 1];
			last->first_site = i;
		}
		last->nr_sites++;
		vec_push(&f->sites, entries[i].site);
	}
}

/* The kernel says of a mapped file when it was deleted. */
static const char *keep_module(struct intern *texts, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name);

	if (str_has_suffix(name, DELETED))
		len -= strlen(DELETED);
	return intern_get(texts, intern_put(texts, name, len));
}

static void read_probes(struct probe_file *f, const struct image *img, struct intern *texts)
{
	struct symtab *symbols;
	struct entry *entries;
	struct sdt notes;

	sdt_init(&notes, img);
	f->nr_broken = notes.nr_broken;
	if (notes.sites.nr) {
		symbols = symtab_new(img);
		entries = xcalloc(notes.sites.nr, sizeof(*entries));
		for (size_t i = 0; i < notes.sites.nr; i++)
			entries[i] = make_entry(&notes.sites.v[i], symbols, texts);
		qsort(entries, notes.sites.nr, sizeof(*entries), by_probe);
		gather(f, entries, notes.sites.nr);
		free(entries);
		symtab_free(symbols);
	}
	sdt_release(&notes);
}

struct probe_file *probe_file_new(const char *path, const char *shown, struct intern *texts,
				  struct err *e)
{
	struct image *img = image_open(path, shown, e);
	struct probe_file *f;
	struct stat st;

	if (!img)
		return NULL;
	if (img->lost_sections) {
		err_set(e, ERR_BAD_ELF,
			"%s is cut: its sections are lost, and notes of probes with them", shown);
		image_close(img);
		return NULL;
	}
	f = xcalloc(1, sizeof(*f));
	f->path = xstrdup(shown);
	f->module = keep_module(texts, f->path);
	if (stat(path, &st) == 0) {
		f->dev = st.st_dev;
		f->inode = st.st_ino;
	}
	for (uint32_t i = img->nr_segments; i-- > 0;)
		f->first_va = img->segments[i].va - img->segments[i].off;
	read_probes(f, img, texts);
	image_close(img);
	return f;
}

void probe_file_free(struct probe_file *f)
{
	free(f->path);
	vec_release(&f->probes);
	vec_release(&f->sites);
	free(f);
}
