// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Inner futures: their polls come here first, by a jump in the function's first instructions or by
 * a slot of a `dyn Future`'s table. Nothing that such a call has at hand tells which future it is,
 * so each has a stub of its own, which tells its number to one hook.
 *
 * Who polls an inner future is the compiler, and keeps to no rule of C: any register for arguments
 * may hold one, and up to three words and two vectors may be results. The hook saves them all but
 * the vectors, without which the agent is built. Only rax is lost on the way in, where nothing is
 * passed. Arguments on the stack would be moved: the tool plans no function that has any.
 *
 * A panic passes through the hook's frame, which has unwind tables; its personality routine ends
 * the poll.
 */
#include "agent/hooks_futures.h"

#include <unwind.h>

#include "agent/fast.h"
#include "arch/frame.h"

#define STR(x)	 #x
#define VALUE(x) STR(x)

struct future futures[WIRE_MAX_FUTURES];

/* The hook's frame, below the saved rbp. */
struct call {
	struct core_future poll;
	const struct future *future;
	uint64_t pad;
	uint64_t args[2]; /* rdi, rsi */
	uint64_t rest[4]; /* rdx, rcx, r8, r9; then the results */
};
#define CALL_BYTES 80
_Static_assert(sizeof(struct call) == CALL_BYTES, "as the hook has it");
_Static_assert(offsetof(struct call, args) == CALL_BYTES - 48, "as the hook has it");

uint64_t future_begin(struct call *c, uint32_t index) HIDDEN __attribute__((used));
void future_end(struct call *c, uint64_t rax) HIDDEN __attribute__((used));

/* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
#define PERSONALITY_ENCODING 0x1b

/* clang-format off */
__asm__(
	".text\n"
	".p2align 4\n"
	".globl future_stubs\n"
	".hidden future_stubs\n"
	"future_stubs:\n"
	".set number, 0\n"
	".rept " VALUE(WIRE_MAX_FUTURES) "\n"
	"	.p2align 4\n"
	"	mov	$number, %eax\n"
	"	jmp	futrace_hook_future\n"
	"	.set number, number + 1\n"
	".endr\n"

	".p2align 4\n"
	".globl futrace_hook_future\n"
	".hidden futrace_hook_future\n"
	".type futrace_hook_future, @function\n"
	"futrace_hook_future:\n"
	"	.cfi_startproc\n"
	"	.cfi_personality " VALUE(PERSONALITY_ENCODING) ", future_personality\n"
	"	push	%rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov	%rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	sub	$" VALUE(CALL_BYTES) ", %rsp\n"
	"	mov	%rdi, -48(%rbp)\n"
	"	mov	%rsi, -40(%rbp)\n"
	"	mov	%rdx, -32(%rbp)\n"
	"	mov	%rcx, -24(%rbp)\n"
	"	mov	%r8, -16(%rbp)\n"
	"	mov	%r9, -8(%rbp)\n"
	"	lea	-" VALUE(CALL_BYTES) "(%rbp), %rdi\n"
	"	mov	%eax, %esi\n"
	"	call	future_begin\n"
	"	mov	-48(%rbp), %rdi\n"
	"	mov	-40(%rbp), %rsi\n"
	"	mov	-32(%rbp), %rdx\n"
	"	mov	-24(%rbp), %rcx\n"
	"	mov	-16(%rbp), %r8\n"
	"	mov	-8(%rbp), %r9\n"
	"	call	*%rax\n"
	".globl future_returned\n"
	".hidden future_returned\n"
	"future_returned:\n"
	"	lea	-" VALUE(CALL_BYTES) "(%rbp), %rdi\n"
	"	mov	%rax, -8(%rbp)\n"
	"	mov	%rdx, -16(%rbp)\n"
	"	mov	%rcx, -24(%rbp)\n" /* LLVM returns three words, if it likes */
	"	mov	%rax, %rsi\n"
	"	call	future_end\n"
	"	mov	-8(%rbp), %rax\n"
	"	mov	-16(%rbp), %rdx\n"
	"	mov	-24(%rbp), %rcx\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size futrace_hook_future, . - futrace_hook_future\n");
/* clang-format on */

extern const char future_returned[] HIDDEN;

/* ---- around a poll ---- */

/*
 * The unusual case of the first event on a thread calls the C library, which may use vector
 * registers, where the poll may have arguments or results.
 */
#define VECTORS(op) \
	__asm__ volatile(op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7)::"r"(vectors) : "memory")
#define SAVE(i)	   "movups %%xmm" #i ", 16*" #i "(%0)\n"
#define RESTORE(i) "movups 16*" #i "(%0), %%xmm" #i "\n"
#define SLOWLY	   static __attribute__((noinline, cold))

SLOWLY void begin_slowly(struct call *c)
{
	uint8_t vectors[8 * 16];

	VECTORS(SAVE);
	core_future_enter_slowly(&c->poll, c->future->number);
	VECTORS(RESTORE);
}

SLOWLY void end_slowly(struct call *c, unsigned flags)
{
	uint8_t vectors[8 * 16];

	VECTORS(SAVE);
	core_future_leave_slowly(&c->poll, c->future->number, flags);
	VECTORS(RESTORE);
}

uint64_t future_begin(struct call *c, uint32_t index)
{
	const unsigned words = EVENT_WORDS_FUTURE_START + EVENT_WORDS_FUTURE_END;
	const struct future *future = &futures[index];
	struct wire_thread *t = hook_slot;
	uint64_t limit, head, now, *at;
	struct wire_run *run;

	c->future = future;
	if (unlikely(!t || !core_page.fast_threads)) {
		begin_slowly(c);
		return future->poll;
	}
	limit = mark(t);
	head = t->head;
	run = innermost(t) + 1;
	if (unlikely(head + words > limit || is_beyond(run))) {
		unmark(t, limit);
		begin_slowly(c);
		return future->poll;
	}
	open_run(t, run, future->number, (uint64_t)c);
	run->task = 0;
	now = fast_ticks();
	c->poll.slot = t;
	c->poll.run = run->id = run_number(now, CORE_FUTURE | CORE_RECORDED);
	at = word_at(t, head);
	at[1] = future->number;
	at[0] = EVENT_WORD0(EV_FUTURE_START, 0, now);
	publish(t, head + EVENT_WORDS_FUTURE_START, limit - EVENT_WORDS_FUTURE_END);
	return future->poll;
}

ALWAYS_INLINE uint64_t load_bytes(uint64_t addr, unsigned nr)
{
	switch (nr) {
	case 1:
		return *(const volatile uint8_t *)addr;
	case 2:
		return *(const volatile uint16_t *)addr;
	case 4:
		return *(const volatile uint32_t *)addr;
	default:
		return *(const volatile uint64_t *)addr;
	}
}

ALWAYS_INLINE unsigned result_flags(const struct call *c, uint64_t rax)
{
	const struct wire_result *r = &c->future->result;
	unsigned unused = 64 - 8 * r->nr_bytes;
	uint64_t value = rax;

	/* a large one elsewhere: the function has another form than was thought */
	if (r->place == WIRE_RESULT_NONE || (r->place == WIRE_RESULT_LARGE && rax != c->args[0]))
		return 0;
	if (r->place != WIRE_RESULT_RETURNED)
		value = load_bytes(c->args[r->place == WIRE_RESULT_ARG1] + r->off, r->nr_bytes);
	return (value << unused == r->value << unused) == r->is_ready ? EF_FUTURE_READY
								      : EF_FUTURE_PENDING;
}

void future_end(struct call *c, uint64_t rax)
{
	struct wire_thread *t = c->poll.slot;
	unsigned flags = result_flags(c, rax);

	if (unlikely(!t || t != hook_slot_now() || !core_page.fast_threads ||
		     innermost(t)->id != c->poll.run))
		end_slowly(c, flags);
	else
		write_end(t, innermost(t), EV_FUTURE_END, flags, fast_ticks());
}

_Unwind_Reason_Code
future_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class exception_class,
		   struct _Unwind_Exception *exception, struct _Unwind_Context *context) HIDDEN
	__attribute__((used));

/* It catches nothing. */
_Unwind_Reason_Code future_personality(int version, _Unwind_Action actions,
				       _Unwind_Exception_Class exception_class,
				       struct _Unwind_Exception *exception,
				       struct _Unwind_Context *context)
{
	if (actions & _UA_CLEANUP_PHASE) {
		struct call *c = (void *)(_Unwind_GetGR(context, ARCH_DWARF_FRAME_POINTER) -
					  sizeof(struct call));

		core_future_leave_slowly(&c->poll, c->future->number, EF_FUTURE_UNWOUND);
	}
	return _URC_CONTINUE_UNWIND;
}

/* ---- which they are ---- */

const void *future_stub(uint32_t index)
{
	return future_stubs + index * FUTURE_STUB_BYTES;
}

bool future_is_stub(uint64_t word)
{
	return word - (uint64_t)future_stubs < sizeof(future_stubs);
}

void future_set(uint32_t index, const struct wire_future *plan, uint64_t addr, uint64_t poll)
{
	stack_through = (uint64_t)future_returned;
	futures[index] = (struct future){ .poll = poll,
					  .addr = addr,
					  .result = plan->result,
					  .number = plan->redirect.flag_off };
}

uint32_t future_set_again(uint64_t base, const struct wire_future *plan, uint32_t nr)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t k = 0; k < WIRE_MAX_FUTURES; k++)
			if (futures[k].addr == base + plan[i].redirect.va) {
				futures[k].number = plan[i].redirect.flag_off;
				done++;
			}
	return done;
}
