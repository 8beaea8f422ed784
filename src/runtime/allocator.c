// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which allocator a file brings with it. A task's memory is seen to be taken where libc gives it,
 * or a function that symbols name and that can be redirected: the one that Rust's crate for the
 * allocator calls for aligned memory. It is C code, and no build inlines it. Symbols may be
 * stripped, but these libraries complain in a text of their own.
 */
#include <string.h>

#include "runtime/runtime.h"
#include "symbol/code.h"

static const struct {
	const char *name, *mark, *function;
	uint8_t kind; /* enum wire_redirect_kind */
} known[] = {
	{ "jemalloc", "<jemalloc>: ", "_rjem_mallocx", WIRE_ALLOC_MALLOCX },
	{ "mimalloc", "mimalloc: warning: ", "mi_malloc_aligned", WIRE_ALLOC_ALIGNED },
};

struct match {
	struct symbol symbol;
	unsigned nr; /* functions of this name, and others there */
};

const char *allocator_in(const struct image *img)
{
	const struct image_section *rodata = image_section(img, ".rodata");
	const void *data = image_section_data(img, rodata);

	for (size_t i = 0; data && i < ARRAY_SIZE(known); i++)
		if (memmem(data, rodata->size_bytes, known[i].mark, strlen(known[i].mark)))
			return known[i].name;
	return "";
}

struct shims {
	bool has_system, has_any;
};

/* By their plain names (Rust 1.63), or with the compiler's crate before them (1.95). */
static void look_for_shims(void *arg, const struct symbol *s)
{
	struct shims *shims = arg;

	shims->has_system |= str_has_suffix(s->name, "__rdl_alloc");
	shims->has_any |= str_has_suffix(s->name, "__rust_dealloc");
}

/*
 * All of Rust's code calls __rust_alloc and __rust_dealloc. Without a #[global_allocator] these
 * lead to __rdl_alloc of std, which is linked for nothing else. Link-time optimisation may make one
 * function of them, but then it does so with __rust_dealloc, too (seen with 1.63 and 1.95, at every
 * opt-level, thin and fat).
 */
enum found_memory allocator_memory(const struct image *syms_img)
{
	struct shims shims = { 0 };

	symtab_each_function(syms_img, look_for_shims, &shims);
	return shims.has_system ? MEMORY_SYSTEM : shims.has_any ? MEMORY_OWN : MEMORY_UNKNOWN;
}

static void look_at(void *arg, const struct symbol *s)
{
	struct match *matches = arg;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(s->name, known[i].function) == 0) {
			matches[i].symbol = *s;
			matches[i].nr++;
		}
}

static void look_for_merged(void *arg, const struct symbol *s)
{
	struct match *matches = arg;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		matches[i].nr += matches[i].nr && s->va == matches[i].symbol.va &&
				 strcmp(s->name, known[i].function) != 0;
}

static bool plan(struct finding *f, const struct symbol *s, struct wire_redirect *r)
{
	const uint8_t *code = image_at(f->img, s->va, s->size_bytes);
	unsigned skip;

	if (!code || !finding_is_function(f, s->va, s->size_bytes))
		return false;
	skip = code_landing(code, s->size_bytes);
	r->va = s->va + skip;
	r->nr_bytes = code_movable(code + skip, s->size_bytes - skip, WIRE_MOVED_BYTES);
	memcpy(r->bytes, code + skip, r->nr_bytes);
	return r->nr_bytes > 0;
}

void allocator_find_functions(struct finding *f)
{
	struct match matches[ARRAY_SIZE(known)] = { 0 };

	_Static_assert(ARRAY_SIZE(known) == ARRAY_SIZE(f->allocs), "room for each");
	symtab_each_function(f->img, look_at, matches);
	if (matches[0].nr || matches[1].nr)
		symtab_each_function(f->img, look_for_merged, matches);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct wire_redirect r = { .kind = known[i].kind };

		if (matches[i].nr == 1 && plan(f, &matches[i].symbol, &r))
			f->allocs[f->nr_allocs++] = (struct found_alloc){ known[i].name, r };
	}
}
