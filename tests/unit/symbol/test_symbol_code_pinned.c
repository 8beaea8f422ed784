// SPDX-License-Identifier: MIT OR Apache-2.0
/* What functions do with coroutines in their frames: as compilers write it, and what looks alike.
 */
#include <stdlib.h>

#include "base/util.h"
#include "check.h"
#include "symbol/code.h"
#include "symbol/symtab.h"

#define NR_RANDOM     20000
#define check_true(x) check_num(!!(x), 1)

/* Their state has one byte, 0x20 behind the first or the second argument. */
__asm__(".macro function name\n"
	".type \\name, @function\n"
	"\\name:\n"
	".endm\n"
	".macro end name\n"
	"	ret\n"
	".size \\name, . - \\name\n"
	".endm\n"
	".text\n"
	"function body\n"
	"	push	%rbx\n"
	"	mov	%rdi, %rbx\n"
	"	movzbl	0x20(%rbx), %eax\n"
	"end body\n"
	"function body_with_result\n"
	"	cmpb	$3, 0x20(%rsi)\n"
	"end body_with_result\n"
	"function body_elsewhere\n"
	"	movzwl	0x20(%rdi), %eax\n"
	"	movzbl	0x28(%rdi), %eax\n"
	"	call	body\n"
	"end body_elsewhere\n"
	".data\n"
	".p2align 3\n"
	"pointer_to_body: .quad body\n"
	".text\n");

/* Where the coroutine lies, 16 behind the stack pointer, the function looks at its state. */
__asm__("function looks\n"
	"	movzbl	0x30(%rsp), %eax\n"
	"end looks\n"
	"function compares\n"
	"	cmpb	$1, 0x30(%rsp)\n"
	"end compares\n"
	"function only_stores\n"
	"	movb	$0, 0x30(%rsp)\n"
	"	mov	0x30(%rsp), %rax\n"
	"	movzbl	0x30(%rsp,%rcx), %eax\n"
	"	movzbl	0x30(%rbp), %eax\n"
	"end only_stores\n");

/* It is called for. */
__asm__("function gives\n"
	"	lea	0x10(%rsp), %rdi\n"
	"	mov	%rax, %rsi\n"
	"	test	%eax, %eax\n"
	"	jne	1f\n"
	"	call	body\n"
	"1:\n"
	"end gives\n"
	"function gives_with_result\n"
	"	lea	0x40(%rsp), %rdi\n"
	"	lea	0x10(%rsp), %rsi\n"
	"	call	body_with_result\n"
	"end gives_with_result\n"
	"function gives_by_pointer\n"
	"	mov	%rsp, %rdi\n"
	"	call	*pointer_to_body(%rip)\n"
	"end gives_by_pointer\n"
	"function gives_kept\n"
	"	lea	0x10(%rsp), %r14\n"
	"	call	looks\n"
	"	mov	%r14, %rdi\n"
	"	call	body\n"
	"	mov	%r14, %rdi\n"
	"	call	body\n"
	"	pop	%r14\n"
	"end gives_kept\n"
	"function gives_by_rbp\n"
	"	lea	-0x50(%rbp), %rdi\n"
	"	call	body\n"
	"end gives_by_rbp\n");

/* It is not known what it is called for. */
__asm__("function gives_two\n"
	"	lea	0x10(%rsp), %rdi\n"
	"	call	body\n"
	"	lea	0x18(%rsp), %rdi\n"
	"	call	body\n"
	"end gives_two\n"
	"function gives_changed\n"
	"	lea	0x10(%rsp), %r14\n"
	"	mov	%rax, %r14\n"
	"	mov	%r14, %rdi\n"
	"	call	body\n"
	"end gives_changed\n"
	"function gives_old\n"
	"	lea	0x10(%rsp), %rdi\n"
	"	call	looks\n"
	"	call	body\n"
	"end gives_old\n"
	"function gives_from_elsewhere\n"
	"	lea	0x10(%rsp), %rdi\n"
	"1:	call	body\n"
	"	mov	%rax, %rdi\n"
	"	jmp	1b\n"
	"end gives_from_elsewhere\n"
	"function gives_half\n"
	"	lea	0x10(%rsp), %edi\n"
	"	call	body\n"
	"end gives_half\n"
	"function gives_indexed\n"
	"	lea	0x10(%rsp,%rcx), %rdi\n"
	"	call	body\n"
	"end gives_indexed\n"
	"function gives_the_other\n"
	"	lea	0x10(%rsp), %rdi\n"
	"	call	body_with_result\n"
	"end gives_the_other\n"
	"function gives_to_another\n"
	"	lea	0x10(%rsp), %rdi\n"
	"	call	looks\n"
	"end gives_to_another\n"
	"function gives_to_nobody\n"
	"	lea	0x10(%rsp), %rdi\n"
	"	call	body_elsewhere\n"
	"end gives_to_nobody\n");

/* It keeps an argument, 16 behind the stack pointer. */
__asm__("function keeps_it\n"
	"	sub	$0x48, %rsp\n"
	"	mov	%rdi, 0x10(%rsp)\n"
	"	mov	%rax, 0x18(%rsp)\n"
	"	call	looks\n"
	"	mov	0x10(%rsp), %rdi\n"
	"	call	body\n"
	"end keeps_it\n"
	"function keeps_copy\n"
	"	mov	%rsi, %rbx\n"
	"	mov	%rbx, 0x10(%rsp)\n"
	"end keeps_copy\n"
	"function keeps_two\n"
	"	mov	%rdi, 0x10(%rsp)\n"
	"	mov	%rsi, 0x10(%rsp)\n"
	"end keeps_two\n"
	"function keeps_late\n"
	"	mov	%rdi, %rbx\n"
	"	call	looks\n"
	"	mov	%rbx, 0x10(%rsp)\n"
	"end keeps_late\n"
	"function keeps_sometimes\n"
	"	test	%eax, %eax\n"
	"	je	1f\n"
	"	mov	%rdi, 0x10(%rsp)\n"
	"1:\n"
	"end keeps_sometimes\n"
	"function keeps_result\n"
	"	mov	%rax, %rdi\n"
	"	mov	%rdi, 0x10(%rsp)\n"
	"end keeps_result\n"
	"function keeps_and_changes\n"
	"	mov	%rdi, 0x10(%rsp)\n"
	"	call	looks\n"
	"	incq	0x10(%rsp)\n"
	"end keeps_and_changes\n"
	"function keeps_half\n"
	"	mov	%edi, 0x10(%rsp)\n"
	"end keeps_half\n");

static struct image *img;
static struct symtab *syms;
static uint64_t bodies[3];
static const struct code_pinned plan = {
	.off = 0x10, .state_off = 0x20, .state_bytes = 1, .bodies = bodies, .nr_bodies = 3
};

static const struct symbol *find(const char *name)
{
	for (size_t i = 0; i < syms->nr; i++)
		if (strcmp(syms->v[i].name, name) == 0)
			return &syms->v[i];
	printf("no symbol %s\n", name);
	exit(1);
}

static bool uses(const char *name, struct code_pinned p)
{
	const struct symbol *s = find(name);

	return code_uses_pinned(img, s->va, s->size_bytes, &p);
}

static void test_uses(void)
{
	struct code_pinned other = plan;

	check_true(uses("looks", plan));
	check_true(uses("compares", plan));
	check_true(!uses("only_stores", plan));
	check_true(!uses("gives", plan));
	other.off = 0x18;
	check_true(!uses("looks", other));
	other.state_off = 0x18;
	check_true(uses("looks", other));
	other.state_bytes = 2;
	check_true(!uses("looks", other));
	other = plan;
	other.by_rbp = true;
	check_true(!uses("looks", other));
	check_true(uses("only_stores", other));
}

/* Where it is found; INT32_MAX: it is not. */
static int32_t gives_at(const char *name, bool by_rbp)
{
	const struct symbol *s = find(name);
	struct code_function f = { s->va, s->size_bytes, by_rbp };
	struct code_pinned p = plan;

	if (!code_find_pinned(img, &f, s->va, s->va + s->size_bytes, &p))
		return INT32_MAX;
	check_num(p.by_rbp, by_rbp);
	return p.off;
}

static void test_gives(void)
{
	static const char *const not_known[] = {
		"gives_two",	   "gives_changed", "gives_old",       "gives_from_elsewhere",
		"gives_half",	   "gives_indexed", "gives_the_other", "gives_to_another",
		"gives_to_nobody", "looks",	    "gives_by_rbp",
	};
	const struct symbol *s = find("gives_two");
	struct code_function f = { s->va, s->size_bytes, false };
	struct code_pinned p = plan;

	check_num(gives_at("gives", false), 0x10);
	check_num(gives_at("gives_with_result", false), 0x10);
	check_num(gives_at("gives_by_pointer", false), 0);
	check_num(gives_at("gives_kept", false), 0x10);
	check_num(gives_at("gives_by_rbp", true), -0x50);
	for (size_t i = 0; i < ARRAY_SIZE(not_known); i++) {
		if (gives_at(not_known[i], false) != INT32_MAX)
			check_str("known", not_known[i]);
	}
	/* of the two calls only one */
	check_true(code_find_pinned(img, &f, s->va, s->va + s->size_bytes / 2, &p));
	check_num(p.off, 0x10);
	check_true(!code_find_pinned(img, &f, s->va - 1, s->va + 4, &p));
	check_true(!code_find_pinned(img, &f, s->va, s->va + s->size_bytes + 1, &p));
}

static bool keeps(const char *name)
{
	const struct symbol *s = find(name);

	return code_keeps_argument(img, s->va, s->size_bytes, &plan);
}

static void test_keeps(void)
{
	static const char *const no[] = { "keeps_two",	  "keeps_late",	       "keeps_sometimes",
					  "keeps_result", "keeps_and_changes", "keeps_half",
					  "looks" };

	check_true(keeps("keeps_it"));
	check_true(keeps("keeps_copy"));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		if (keeps(no[i]))
			check_str("keeps", no[i]);
}

static void test_owner(void)
{
	check_num(code_find_owner(img, bodies[0], 0x20, 1), 0);
	check_num(code_find_owner(img, bodies[1], 0x20, 1), 1);
	check_num(code_find_owner(img, bodies[2], 0x20, 1), -1);
	check_num(code_find_owner(img, bodies[2], 0x20, 2), 0);
	check_num(code_find_owner(img, UINT64_MAX - 4, 0x20, 1), -1);
}

/* Whatever the bytes are, it ends, and never reads outside of them. */
static void test_random(void)
{
	for (unsigned n = 0; n < NR_RANDOM; n++) {
		size_t nr = rand() % 64;
		uint8_t *data = xmalloc(nr + 1); /* of its size: valgrind sees reads behind it */
		struct image made = { .data = data, .size_bytes = nr, .nr_segments = 1 };
		struct code_function f = { 0x1000, nr, n % 2 };
		uint64_t target = 0x1000 + rand() % 64;
		struct code_pinned p = { .off = 8, .state_off = 8, .state_bytes = 1 };

		made.segments[0] = (struct image_segment){ .va = 0x1000, .file_bytes = nr };
		for (size_t i = 0; i < nr; i++)
			data[i] = rand();
		p.bodies = &target;
		p.nr_bodies = 1;
		code_uses_pinned(&made, 0x1000, nr, &p);
		code_keeps_argument(&made, 0x1000, nr, &p);
		code_find_owner(&made, target, 8, 1);
		code_find_pinned(&made, &f, 0x1000, 0x1000 + nr, &p);
		free(data);
	}
}

int main(void)
{
	img = image_open("/proc/self/exe", NULL, NULL);
	check_true(img);
	syms = symtab_new(img);
	bodies[0] = find("body")->va;
	bodies[1] = find("body_with_result")->va;
	bodies[2] = find("body_elsewhere")->va;
	test_uses();
	test_gives();
	test_keeps();
	test_owner();
	test_random();
	symtab_free(syms);
	image_close(img);
	return check_result();
}
