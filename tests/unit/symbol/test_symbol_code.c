// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which functions may be redirected, and which must be left alone: real prologues and hostile ones.
 */
#include "symbol/code.h"

#include <stdlib.h>

#include "base/util.h"
#include "check.h"
#include "symbol/symtab.h"

#define MAX_MOVED     16
#define check_true(x) check_num(!!(x), 1)

struct prologue {
	const char *what;
	unsigned moved; /* 0: refused */
	uint8_t nr_bytes;
	uint8_t bytes[40];
};

static const struct prologue prologues[] = {
	/* push rbp; push r15; push r14; … ret */
	{ "pushes", 5, 10, { 0x55, 0x41, 0x57, 0x41, 0x56, 0x5e, 0x5e, 0x5d, 0xc3, 0xcc } },
	/* sub $0x188,%rsp; … */
	{ "one long instruction", 7, 8, { 0x48, 0x81, 0xec, 0x88, 0x01, 0x00, 0x00, 0xc3 } },
	/* push rbx; sub $0x10,%rsp; ret */
	{ "just enough", 5, 6, { 0x53, 0x48, 0x83, 0xec, 0x10, 0xc3 } },
	/* push rbx; sub $0x10,%rsp and nothing behind */
	{ "no more than it", 5, 5, { 0x53, 0x48, 0x83, 0xec, 0x10 } },
	{ "too short", 0, 3, { 0x31, 0xc0, 0xc3 } },
	{ "empty", 0, 0, { 0 } },
	/* mov 0x100(%rip),%rax */
	{ "relative to rip", 0, 8, { 0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, 0xc3 } },
	/* push rbx; lea 0x100(%rip),%rsi */
	{ "an address relative to rip",
	  0,
	  9,
	  { 0x53, 0x48, 0x8d, 0x35, 0x00, 0x01, 0x00, 0x00, 0xc3 } },
	/* add $-0x80,%rdi; jmp */
	{ "a jump", 0, 9, { 0x48, 0x83, 0xc7, 0x80, 0xe9, 0x00, 0x01, 0x00, 0x00 } },
	/* push rbx; call */
	{ "a call", 0, 7, { 0x53, 0xe8, 0x00, 0x01, 0x00, 0x00, 0xc3 } },
	/* test edi,edi; je; … */
	{ "a branch", 0, 6, { 0x85, 0xff, 0x74, 0x01, 0x90, 0xc3 } },
	/* endbr64; push rbx; ret */
	{ "endbr64", 0, 6, { 0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0xc3 } },
	/* syscall */
	{ "a system call", 0, 6, { 0x31, 0xc0, 0x0f, 0x05, 0x90, 0xc3 } },
	{ "no instruction", 0, 6, { 0x06, 0x06, 0x06, 0x06, 0x06, 0x06 } },
	{ "cut in an instruction", 0, 4, { 0x48, 0x81, 0xec, 0x88 } },
	/* nop; dec edi; nop …; jne back to the dec */
	{ "a jump into the middle",
	  0,
	  9,
	  { 0x90, 0xff, 0xcf, 0x90, 0x90, 0x90, 0x75, 0xf9, 0xc3 } },
	/* … back to the beginning: the loop would pass through the hook */
	{ "a jump to the beginning",
	  0,
	  9,
	  { 0x90, 0xff, 0xcf, 0x90, 0x90, 0x90, 0x75, 0xf8, 0xc3 } },
	/* … to the first that stays */
	{ "a jump behind", 5, 9, { 0x90, 0xff, 0xcf, 0x90, 0x90, 0x90, 0x75, 0xfd, 0xc3 } },
	/* push rbx; sub; call itself; ret */
	{ "recursion",
	  5,
	  11,
	  { 0x53, 0x48, 0x83, 0xec, 0x10, 0xe8, 0xf6, 0xff, 0xff, 0xff, 0xc3 } },
	/* something that cannot be decoded further down: may hide a jump */
	{ "nonsense behind", 0, 8, { 0x53, 0x48, 0x83, 0xec, 0x10, 0x06, 0x90, 0xc3 } },
};

static void test_prologues(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(prologues); i++) {
		const struct prologue *p = &prologues[i];
		/* of its exact size: valgrind sees reads behind it */
		uint8_t *code = xmalloc(p->nr_bytes + 1);
		unsigned moved;

		memcpy(code, p->bytes, p->nr_bytes);
		moved = code_movable(code, p->nr_bytes, MAX_MOVED);
		if (moved != p->moved)
			printf("%s: %u bytes, should be %u\n", p->what, moved, p->moved);
		check_num(moved, p->moved);
		free(code);
	}
}

/* A limit on what can be moved. */
static void test_limit(void)
{
	const struct prologue *p = &prologues[1];

	check_true(code_movable(p->bytes, p->nr_bytes, 7) == 7);
	check_true(code_movable(p->bytes, p->nr_bytes, 6) == 0);
}

/* What uses data at a distance from itself: as the last one that is moved, and where that stands.
 */
static void test_far(void)
{
	/* push %rbx; lea 0x10(%rip),%rax; ret */
	static const uint8_t lea[] = { 0x53, 0x48, 0x8d, 0x05, 0x10, 0x00, 0x00, 0x00, 0xc3 };
	/* cmpb $1,0x10(%rip); ret */
	static const uint8_t cmp[] = { 0x80, 0x3d, 0x10, 0x00, 0x00, 0x00, 0x01, 0xc3 };
	/* call *0x10(%rip); jmp *0x10(%rip); call +0x10; all end in ret */
	static const uint8_t jumps[][7] = { { 0xff, 0x15, 0x10, 0x00, 0x00, 0x00, 0xc3 },
					    { 0xff, 0x25, 0x10, 0x00, 0x00, 0x00, 0xc3 },
					    { 0xe8, 0x10, 0x00, 0x00, 0x00, 0x90, 0xc3 } };
	/* lea 0x10(%eip),%rax; ret */
	static const uint8_t narrow[] = { 0x67, 0x48, 0x8d, 0x05, 0x10, 0x00, 0x00, 0x00, 0xc3 };
	uint8_t at = 99;

	check_num(code_movable(lea, sizeof(lea), MAX_MOVED), 0);
	check_num(code_movable_far(lea, sizeof(lea), MAX_MOVED, &at), 8);
	check_num(at, 4);
	check_num(code_movable_far(cmp, sizeof(cmp), MAX_MOVED, &at), 7);
	check_num(at, 2);
	check_num(code_movable_far(lea, sizeof(lea), 7, &at), 0);
	check_num(at, 0);
	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++)
		check_num(code_movable_far(jumps[i], sizeof(jumps[i]), MAX_MOVED, &at), 0);
	check_num(code_movable_far(narrow, sizeof(narrow), MAX_MOVED, &at), 0);
	check_num(code_movable_far(prologues[1].bytes, prologues[1].nr_bytes, MAX_MOVED, &at),
		  prologues[1].moved);
	check_num(at, 0);
}

/* mi_malloc_aligned where the C compiler is told to mark what pointers lead to: the mark stays. */
static void test_landing(void)
{
	static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0xc7, 0xc0, 0x60,
					0xff, 0xff, 0xff, 0x48, 0x89, 0xf2, 0xc3 };
	unsigned landing = code_landing(code, sizeof(code));

	check_num(landing, 4);
	check_num(code_movable(code + landing, sizeof(code) - landing, MAX_MOVED), 7);
	check_num(code_landing(code + landing, sizeof(code) - landing), 0);
	check_num(code_landing(code, 3), 0);
	check_num(code_landing(code, 0), 0);
}

/* Whatever bytes there are: no read behind them, and never more than was asked for. */
static void test_random(void)
{
	uint64_t state = 88172645463325252;

	for (int round = 0; round < 20000; round++) {
		size_t nr;
		uint8_t *code;
		unsigned moved;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		nr = state % 40;
		code = xmalloc(nr + 1);
		for (size_t i = 0; i < nr; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			code[i] = state >> 20;
		}
		moved = code_movable(code, nr, MAX_MOVED);
		check_true(moved == 0 ||
			   (moved >= CODE_JUMP_BYTES && moved <= MAX_MOVED && moved <= nr));
		free(code);
	}
}

/* An image of a few bytes of code at 0x1000. */
static bool find_flag(const uint8_t *bytes, size_t nr, bool calls, uint32_t *off)
{
	uint8_t data[128] = { 0 };
	struct image img = { .data = data, .size_bytes = sizeof(data), .nr_segments = 1 };

	memcpy(data, bytes, nr);
	img.segments[0] =
		(struct image_segment){ .va = 0x1000, .file_bytes = sizeof(data), .exec = true };
	return code_find_flag(&img, 0x1000, calls, off);
}

static void test_flags(void)
{
	/* push rax; lea -0x80(%rdi),%rax; mov $1,%al; xchg %al,0x158(%rdi) */
	static const uint8_t swap[] = { 0x50, 0x48, 0x8d, 0x47, 0x80, 0xb0, 0x01,
					0x86, 0x87, 0x58, 0x01, 0x00, 0x00 };
	/* add $-0x80,%rdi; jmp +3; (int3 x3) mov $1,%al; xchg %al,0x1d8(%rdi) */
	static const uint8_t jumps[] = { 0x48, 0x83, 0xc7, 0x80, 0xeb, 0x03, 0xcc, 0xcc, 0xcc,
					 0xb0, 0x01, 0x86, 0x87, 0xd8, 0x01, 0x00, 0x00 };
	/* push rbx; movb $1,0xa8(%rdi) */
	static const uint8_t store[] = { 0x53, 0xc6, 0x87, 0xa8, 0x00, 0x00, 0x00, 0x01 };
	/* push rax; mov %rdi,(%rsp); add $0x158,%rdi; xor %esi,%esi; call */
	static const uint8_t call[] = { 0x50, 0x48, 0x89, 0x3c, 0x24, 0x48, 0x81, 0xc7, 0x58, 0x01,
					0x00, 0x00, 0x31, 0xf6, 0xe8, 0x00, 0x00, 0x00, 0x00 };
	/* mov %rsi,%rdi; xchg %al,8(%rdi): of the second argument */
	static const uint8_t other[] = { 0x48, 0x89, 0xf7, 0x86, 0x47, 0x08 };
	/* jmp to itself */
	static const uint8_t loop[] = { 0xeb, 0xfe };
	uint32_t off;

	check_true(find_flag(swap, sizeof(swap), false, &off) && off == 0x158);
	check_true(find_flag(jumps, sizeof(jumps), false, &off) && off == 0x158);
	check_true(find_flag(store, sizeof(store), false, &off) && off == 0xa8);
	check_true(find_flag(call, sizeof(call), true, &off) && off == 0x158);
	check_true(!find_flag(call, sizeof(call), false, &off));
	check_true(!find_flag(other, sizeof(other), false, &off));
	check_true(!find_flag(loop, sizeof(loop), true, &off));
}

/* ---- functions of this very program ---- */

__attribute__((noinline, used)) uint64_t takes_six(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
						   uint64_t e, uint64_t f)
{
	volatile uint64_t some[40] = { a, b, c, d, e, f };

	return some[a % 40] + some[f % 40];
}

__attribute__((noinline, used)) uint64_t takes_seven(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
						     uint64_t e, uint64_t f, uint64_t g)
{
	volatile uint64_t some[40] = { a, b, c, d, e, f, g };

	return some[a % 40] + some[g % 40];
}

__attribute__((noinline, used, optimize("omit-frame-pointer"))) uint64_t
takes_it_at_once(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g)
{
	return g;
}

/* How coroutines begin, their state behind the first or the second argument; and what looks alike.
 */
__asm__(".macro dispatch name, load, in_beginning\n"
	".globl \\name\n"
	".type \\name, @function\n"
	"\\name:\n"
	"	push	%rbx\n"
	"	sub	$0x20, %rsp\n"
	"	mov	%rdi, %rbx\n"
	"	\\load, %eax\n"
	"	lea	table_of_\\name(%rip), %rcx\n"
	"	movslq	(%rcx,%rax,4), %rax\n"
	"	add	%rcx, %rax\n"
	"	jmp	*%rax\n"
	"0:	add	$0x20, %rsp\n"
	"	pop	%rbx\n"
	"	ret\n"
	"1:	lea	table_of_\\name(%rip), %rdi\n"
	"	call	resumed\n"
	"2:	call	*pointer_to_resumed(%rip)\n"
	"	ud2\n"
	".size \\name, . - \\name\n"
	".pushsection .rodata\n"
	".p2align 2\n"
	"table_of_\\name:\n"
	"	.long	0b - table_of_\\name, 1b - table_of_\\name, 2b - table_of_\\name\n"
	"	.if	\\in_beginning\n"
	"	.long	\\name + 1 - table_of_\\name\n"
	"	.endif\n"
	"	.long	0\n"
	".popsection\n"
	".endm\n"
	".text\n"
	".type resumed, @function\n"
	"resumed:\n"
	"	ret\n"
	".size resumed, . - resumed\n"
	"dispatch by_first, \"movzbl 0x50(%rbx)\", 0\n"
	"dispatch by_second, \"movzwl 0x1a8(%rsi)\", 0\n"
	"dispatch by_copy, \"movzbl 0x50(%rbx), %edx; movzbl %dl\", 0\n"
	"dispatch by_part, \"movzwl 0x50(%rbx), %edx; movzbl %dl\", 0\n"
	"dispatch by_third, \"movzbl 0x50(%rdx)\", 0\n"
	"dispatch by_loaded, \"mov (%rbx), %rbx; movzbl 0x50(%rbx)\", 0\n"
	"dispatch into_itself, \"movzbl 0x50(%rbx)\", 1\n"
	".data\n"
	".p2align 3\n"
	"pointer_to_resumed: .quad resumed\n"
	".text\n");

/* Calls with a frame of 64 bytes; the first pushes and pops in between, the second for a call. */
asm(".macro deep name, between\n"
    ".type \\name, @function\n"
    "\\name:\n"
    "	.cfi_startproc\n"
    "	sub	$56, %rsp\n"
    "	.cfi_adjust_cfa_offset 56\n"
    "	call	resumed\n"
    "	push	$1\n"
    "	.cfi_adjust_cfa_offset 8\n"
    "	\\between\n"
    "	pop	%rax\n"
    "	.cfi_adjust_cfa_offset -8\n"
    "	call	resumed\n"
    "	add	$56, %rsp\n"
    "	.cfi_adjust_cfa_offset -56\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size \\name, . - \\name\n"
    ".endm\n"
    ".text\n"
    "deep deep_always, nop\n"
    "deep deeper_once, \"call resumed\"\n");

struct self {
	struct image *img;
	struct symtab *syms;
};

static const struct symbol *self_find(const struct self *self, const char *name)
{
	for (size_t i = 0; i < self->syms->nr; i++)
		if (strcmp(self->syms->v[i].name, name) == 0)
			return &self->syms->v[i];
	printf("no symbol %s\n", name);
	exit(1);
}

static bool takes_stack(const struct self *self, const struct code_frames *frames, const char *name)
{
	const struct symbol *s = self_find(self, name);

	return code_takes_stack(frames, self->img, s->va, s->size_bytes);
}

static void test_stack(const struct self *self)
{
	struct code_frames *frames = code_frames_new(self->img);

	check_true(frames);
	check_true(!takes_stack(self, frames, "takes_six"));
	check_true(takes_stack(self, frames, "takes_seven"));
	check_true(takes_stack(self, frames, "takes_it_at_once"));
	check_true(takes_stack(self, frames, "resumed")); /* has no unwind table: not known */
	check_true(takes_stack(self, NULL, "takes_six"));
	code_frames_free(frames);
}

static bool keeps_depth(const struct self *self, const struct code_frames *frames, const char *name,
			uint32_t bytes)
{
	const struct symbol *s = self_find(self, name);
	struct code_function f = { s->va, s->size_bytes, false };

	return code_keeps_depth(frames, self->img, &f, bytes);
}

static void test_depth(const struct self *self)
{
	struct code_frames *frames = code_frames_new(self->img);

	check_true(keeps_depth(self, frames, "deep_always", 64));
	check_true(!keeps_depth(self, frames, "deep_always", 56));
	check_true(!keeps_depth(self, frames, "deeper_once", 64));
	check_true(!keeps_depth(self, frames, "by_first", 64)); /* has no unwind table */
	check_true(!keeps_depth(self, NULL, "deep_always", 64));
	code_frames_free(frames);
}

static bool find_state(const struct self *self, const char *name, struct code_state *state)
{
	const struct symbol *s = self_find(self, name);

	return code_find_state(self->img, s->va, s->size_bytes, state);
}

static void test_states(const struct self *self)
{
	const struct symbol *s = self_find(self, "by_first");
	uint64_t resumed = self_find(self, "resumed")->va;
	struct code_state state;

	check_true(find_state(self, "by_first", &state));
	check_num(state.arg, 0);
	check_num(state.off, 0x50);
	check_num(state.nr_bytes, 1);
	check_num(code_called_in_state(self->img, s->va, s->size_bytes, &state, 0), 0);
	check_num(code_called_in_state(self->img, s->va, s->size_bytes, &state, 1), resumed);
	check_num(code_called_in_state(self->img, s->va, s->size_bytes, &state, 2), resumed);
	check_true(find_state(self, "by_second", &state));
	check_num(state.arg, 1);
	check_num(state.off, 0x1a8);
	check_num(state.nr_bytes, 2);
	check_true(find_state(self, "by_copy", &state));
	check_num(state.off, 0x50);
	check_true(!find_state(self, "by_part", &state));
	check_true(!find_state(self, "by_third", &state));
	check_true(!find_state(self, "by_loaded", &state));
	check_true(!find_state(self, "takes_six", &state));
}

static void test_tables(const struct self *self)
{
	const struct symbol *s = self_find(self, "by_first");

	check_true(!code_is_jumped_into(self->img, s->va, s->size_bytes, 5));
	s = self_find(self, "into_itself");
	check_true(code_is_jumped_into(self->img, s->va, s->size_bytes, 5));
}

static void test_self(void)
{
	struct self self = { .img = image_open("/proc/self/exe", NULL, NULL) };

	check_true(self.img);
	self.syms = symtab_new(self.img);
	test_stack(&self);
	test_depth(&self);
	test_states(&self);
	test_tables(&self);
	symtab_free(self.syms);
	image_close(self.img);
}

int main(void)
{
	test_prologues();
	test_limit();
	test_far();
	test_landing();
	test_random();
	test_flags();
	test_self();
	return check_result();
}
