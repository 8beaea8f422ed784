// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The preload layer: what needs a libc or a file. preload.c comes in and talks to the tool, patch.c
 * hooks tables, hooks.c are the frames around the program's own functions, interpose.c and exec.c
 * the libc functions that we stand in front of. It never prints, never exits, and takes no lock
 * that the program could hold.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <link.h>
#include <stddef.h>

#include "agent/probes.h"
#include "arch/thread.h"
#include "wire/preload.h"

/* preload.c */
void agent_objects_changed(
	void) HIDDEN; /* dlopen was called: look before the next thing of interest */
void agent_slot_claimed(struct wire_thread *t) HIDDEN;
struct env_entry {
	const char *ctl;  /* "FUTRACE_CTL=…" as it was; NULL: not to be given on */
	const char *ours; /* what LD_PRELOAD had of ours: the agent, and the probes for perf if they
			     are there; "": unknown */
};
extern struct env_entry agent_env HIDDEN;
extern int agent_pid HIDDEN;	  /* of the process that is traced, 0: none */
extern bool agent_follows HIDDEN; /* children are traced too */
/*
 * An exec of this process is to come: one that is traced leaves, and a forked child that was
 * counted as not recorded no longer is. True: if it fails, that must be taken back.
 */
bool agent_exec_begins(void) HIDDEN;
void agent_exec_failed(void) HIDDEN;
bool agent_is_vforked(void) HIDDEN;   /* is this memory another process's too? */
bool agent_is_tool_gone(void) HIDDEN; /* has the process ended that was to record this one? */

/* objects.c: the dialogue about loaded objects */
void objects_announce(struct wire_lobby *l) HIDDEN;
void objects_announce_again(struct wire_lobby *l) HIDDEN; /* in a forked child */
void objects_dlopen_begins(void) HIDDEN;
void objects_dlclose_begins(void) HIDDEN;
void objects_dlclose_ends(void) HIDDEN;
void objects_look(void) HIDDEN; /* before a symbol is resolved; cheap when nothing was loaded */
long agent_syscall(long nr, long a, long b, long c, long d) HIDDEN;
uint64_t agent_monotonic_ns(void) HIDDEN;

/* patch.c: hooks the tables of a plan in a loaded object and tells how many it did. */
struct patch_object {
	uint64_t base;
	const ElfW(Phdr) * phdrs;
	unsigned nr_phdrs;
};

struct patch_result {
	uint32_t nr_hooked;
	uint32_t nr_refused;	/* did not agree with memory */
	uint32_t note;		/* enum wire_note */
	const uint64_t *hooked; /* the slot of a task table that runs the task */
};

/* Is this word of a table a hook that runs tasks? */
bool patch_is_run_hook(uint64_t word) HIDDEN;

void patch_tables(const struct patch_object *o, const struct wire_table *tables, uint64_t nr,
		  struct patch_result *result) HIDDEN;
/* The same in a forked child, whose tables are hooked already: touches none of them. */
void patch_tables_again(uint64_t base, const struct wire_table *tables, uint64_t nr,
			struct patch_result *result) HIDDEN;

/* hooks.c */
void futrace_hook_poll(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_poll_placed(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_poll_worker(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_schedule(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_shutdown(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_detach(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
/* hooks_tokio_old.c */
void futrace_hook_abort(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
/* The hooks of core_type_wakers[i] begin at 2 * i * HOOK_THUNK_BYTES: wake, then wake_by_ref. */
#define HOOK_THUNK_BYTES 16
extern const char hook_type_wakers[2 * CORE_MAX_TYPE_WAKERS * HOOK_THUNK_BYTES] HIDDEN;
/* hooks_async_task.c */
uint64_t futrace_hook_run(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_drop_future(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
uint64_t futrace_hook_run_named(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_drop_named(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_schedule_task(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_wake(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_wake_by_ref(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
void futrace_hook_drop_waker(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) HIDDEN;
/* The slot of this thread, known once it had its first event. Initial-exec: one instruction. */
extern __thread struct wire_thread *hook_slot HIDDEN __attribute__((tls_model("initial-exec")));
/* The same where a program's function was called meanwhile, which may have returned on another
 * thread: a compiler takes it for granted that the variable stays where it is. */
static inline __attribute__((always_inline)) struct wire_thread *hook_slot_now(void)
{
	struct wire_thread *t;

	ARCH_LOAD_THREAD_WORD(t, hook_slot);
	return t;
}
/* The calling thread's slot, as its hooks shall find it. */
void hook_set_slot(struct wire_thread *t) HIDDEN;
typedef void (*hook_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
extern const hook_fn hook_wake[CORE_MAX_WAKERS] HIDDEN, hook_wake_by_ref[CORE_MAX_WAKERS] HIDDEN;

/* hooks_roots.c: in a forked child, root futures of the parent */
void roots_forget(void) HIDDEN;
/* Does the thread drive a current_thread runtime just now? Only known if it is seen at all. */
bool roots_is_driving(void) HIDDEN;
bool roots_are_seen(void) HIDDEN;

/* unwind.c: will nothing in the run catch the exception but the runtime? */
struct _Unwind_Exception;
bool unwind_escapes(struct _Unwind_Exception *exception, const struct core_current *run) HIDDEN;

/* stack.c: on which stack is a task spawned? Its number, or WIRE_NO_STACK. frame is the frame
 * address of a function of ours that the program called. */
uint32_t stack_take(const uint64_t *frame) HIDDEN;
#define TASK_ALIGN 128 /* of a task of Tokio 1.29 and later, or more if its future wants more */
/* Memory with this alignment was taken; frame: as above. */
static inline void agent_spawned(void *task, size_t size, const uint64_t *frame)
{
	if (!core_is_task_size(size))
		return;
	if (probes_wanted(PROBES_TOKIO))
		probes_spawned((uint64_t)task, size);
	if (core_page.threads)
		core_spawn((uint64_t)task, size, stack_take(frame));
}
/* The same of a place that the program knows itself: the address of a core::panic::Location. */
uint32_t stack_take_place(uint64_t location) HIDDEN;
/* Does the address lie on the stack of this thread, above sp? */
bool stack_holds(uint64_t sp, uint64_t addr) HIDDEN;

/* A frame further up: what its function's registers were when it called on. */
struct stack_frame {
	uint64_t pc, sp, rbp;
	uint64_t end; /* of the frame: where its caller's begins */
};

/* From the caller of `frame` on, until is_it says so; false: none was. */
bool stack_find(const uint64_t *frame, bool (*is_it)(const struct stack_frame *f, void *arg),
		void *arg) HIDDEN;
/* A return address of ours, in a function that keeps its frame by rbp, that is walked through. */
extern uint64_t stack_through HIDDEN;
void stack_init(
	const void *above_main) HIDDEN; /* an address above all frames of the first thread */
/* An object whose frames can be walked; that it may go at any moment; that it is gone for good, so
 * that stacks with the same addresses are others from now on. index: of wire_region.objects. */
void stack_add_object(uint32_t index, const struct patch_object *o) HIDDEN;
void stack_drop_object(uint32_t index) HIDDEN;
void stack_forget_object(uint32_t index) HIDDEN;
bool stack_has_object(uint32_t index) HIDDEN;
bool stack_is_object(uint64_t addr) HIDDEN; /* does one of them lie there? */

/* cfi.c: what the program's own unwind tables say of a call. */
struct cfi_object {
	uint64_t from, to; /* its memory; to is 0 when it is gone */
	uint64_t base, text_from, text_to;
	const uint8_t *header; /* .eh_frame_hdr */
};

struct cfi_rule {
	bool is_known; /* false: the walk ends here */
	bool by_rbp;   /* the canonical frame address is rbp + cfa_off, else rsp + cfa_off */
	uint32_t cfa_off;
	uint32_t
		rbp_below; /* the caller's rbp lies so far below that address, 0: it is unchanged */
};

struct cfi_rule cfi_find(const struct cfi_object *o, uint64_t pc) HIDDEN;

/* image.c: can the program at path, or the interpreter that it names, be given the agent? needed:
 * the sanitizer's runtime that it links and that must come before the agent, "" if none. */
bool image_takes_agent(const char *path, const char *agent, char needed[WIRE_SANITIZER_MAX]) HIDDEN;
extern char agent_path[4096] HIDDEN; /* of this library, "" when unknown */

/* interpose.c, exec.c */
void interpose_init(void) HIDDEN;
void exec_init(void) HIDDEN;
extern void *agent_real_dlopen HIDDEN;
extern int (*agent_real_dlclose)(void *) HIDDEN;
void *agent_next(const char *name) HIDDEN; /* dlsym(RTLD_NEXT, name) that does not meet ourselves */

#endif
