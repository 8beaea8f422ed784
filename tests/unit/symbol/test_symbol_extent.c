// SPDX-License-Identifier: MIT OR Apache-2.0
/* This program's own functions: what their symbols say is believed, and nothing beside it. */
#include "symbol/extent.h"

#include <stdlib.h>

#include "base/util.h"
#include "check.h"
#include "symbol/symtab.h"

#define check_true(x) check_num(!!(x), 1)

/* Without unwind tables: one is called, two are pointed to, and nothing leads to the last. */
void pointed_to(void);
void panics(void);
__asm__(".text\n"
	".p2align 4, 0xcc\n"
	".type called, @function\n"
	"called: push %rbx; sub $16, %rsp; add $16, %rsp; pop %rbx; ret\n"
	".size called, . - called\n"
	".p2align 4, 0xcc\n"
	".type pointed_to, @function\n"
	"pointed_to: xor %eax, %eax; jmp called\n"
	".size pointed_to, . - pointed_to\n"
	".p2align 4\n"
	".type panics, @function\n"
	"panics: push %rax; mov $1, %edi; call called\n"
	".size panics, . - panics\n"
	".p2align 4, 0xcc\n"
	".type caller, @function\n"
	"caller: call called; ud2\n"
	".size caller, . - caller\n"
	".p2align 4, 0xcc\n"
	"int3\n"
	".p2align 4, 0xcc\n");

void (*volatile pointers[])(void) = { pointed_to, panics };

static const struct symbol *find(const struct symtab *syms, const char *name)
{
	for (size_t i = 0; i < syms->nr; i++)
		if (strcmp(syms->v[i].name, name) == 0)
			return &syms->v[i];
	printf("no symbol %s\n", name);
	nr_failed++;
	return NULL;
}

/* The right place alone, and no other near it. */
static void check_function(struct extents *e, const struct symbol *s)
{
	for (int64_t off = -8; off <= 8; off++) {
		check_num(extents_agree(e, s->va + off, s->size_bytes), off == 0);
		check_num(extents_agree(e, s->va, s->size_bytes + off), off == 0);
		check_num(extents_agree(e, s->va + off, s->size_bytes - off), off == 0);
	}
	check_true(!extents_agree(e, s->va, 0));
	check_true(!extents_agree(e, s->va, 4096 * s->size_bytes));
	check_true(!extents_agree(e, s->va, UINT64_MAX));
	check_true(!extents_agree(e, s->va, -s->va));
}

static void test_told(struct extents *e, const struct symtab *syms)
{
	static const char *const names[] = { "main", "image_open", "symtab_new", "extents_agree" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct symbol *s = find(syms, names[i]);

		if (s)
			check_function(e, s);
	}
}

static void test_untold(struct extents *e, const struct symtab *syms)
{
	const struct symbol *c = find(syms, "called"), *p = find(syms, "pointed_to"),
			    *panic = find(syms, "panics"), *no = find(syms, "caller");

	if (!c || !p || !panic || !no)
		return;
	check_function(e, c);
	check_function(e, p);
	check_function(e, panic);
	check_true(!extents_agree(e, no->va, no->size_bytes));
	check_true(!extents_agree(e, c->va, p->va + p->size_bytes - c->va + 1));
	check_true(!extents_agree(e, p->va, c->size_bytes));
}

static void test_elsewhere(struct extents *e, const struct image *img)
{
	const struct image_section *data = image_section(img, ".data");

	check_true(!extents_agree(e, 0, 16));
	check_true(!extents_agree(e, UINT64_MAX, 16));
	check_true(data && !extents_agree(e, data->va, 8));
}

/* Tables that are cut or changed anywhere end the search, or tell something else. */
static void test_damaged(struct image *img)
{
	const struct image_section *s = image_section(img, ".eh_frame");
	uint8_t *data = (uint8_t *)image_section_data(img, s), *was;

	check_true(data);
	was = data ? xmalloc(s->size_bytes) : NULL;
	for (uint64_t at = 0; data && at < s->size_bytes; at++) {
		struct extents *e;

		was[at] = data[at];

		data[at] ^= 1 << at % 8;
		e = extents_new(img);
		extents_agree(e, img->exec_min, 16);
		extents_free(e);
		data[at] = 0xff;
		extents_free(extents_new(img));
		data[at] = was[at];
	}
	free(was);
}

int main(void)
{
	struct image *img = image_open("/proc/self/exe", NULL, NULL);
	struct symtab *syms = symtab_new(img);
	struct extents *e = extents_new(img);

	test_told(e, syms);
	test_untold(e, syms);
	test_elsewhere(e, img);
	test_damaged(img);
	extents_free(e);
	symtab_free(syms);
	image_close(img);
	return check_result();
}
