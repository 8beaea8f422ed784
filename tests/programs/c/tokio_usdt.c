// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Probes of the shape that Tokio's proposed feature `usdt` has (pull request 7717 of
 * tokio-rs/tokio): in the middle of functions, arguments in whatever registers, notes that are
 * bound to their code (SHF_LINK_ORDER), and no semaphore but for the one probe whose arguments cost
 * something. Says how often it fired each; waits for a line before that, and for the end of its
 * input after it. argv[1]: how many tasks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define POLLS 3

__asm__(".pushsection .stapsdt.base, \"aG\", %progbits, .stapsdt.base, comdat\n"
	".weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".popsection\n");

static volatile uint16_t task_details __asm__("sema_tokio_task__details")
	__attribute__((section(".probes"), used));

#define FIRE(name, semaphore, operands, ...)                                      \
	__asm__ volatile(".Lprobe%=: nop\n"                                       \
			 ".pushsection .note.stapsdt, \"o\", %%note, .Lprobe%=\n" \
			 ".balign 4\n"                                            \
			 ".4byte 8, 2f - 1f, 3\n"                                 \
			 ".asciz \"stapsdt\"\n"                                   \
			 "1: .8byte .Lprobe%=, _.stapsdt.base, " semaphore "\n"   \
			 ".asciz \"tokio\", \"" name "\", \"" operands "\"\n"     \
			 "2: .balign 4\n"                                         \
			 ".popsection\n"                                          \
			 :                                                        \
			 : __VA_ARGS__)

__attribute__((noinline)) static uint64_t start_task(uint64_t id, unsigned kind)
{
	FIRE("task-start", "0", "8@%q0 1@%b1 8@%2 8@%3", "r"(id), "r"(kind), "r"(sizeof(id)),
	     "r"(id * 2));
	if (!task_details)
		return 0;
	FIRE("task-details", "sema_tokio_task__details", "8@%q0 8@%1 8@%2 4@%k3 4@%k4", "r"(id),
	     "r"("name"), "r"("src/main.rs"), "r"(7), "r"(9));
	return 1;
}

__attribute__((noinline)) static void poll(uint64_t id)
{
	FIRE("task-poll-start", "0", "8@%q0", "r"(id));
	FIRE("waker-clone", "0", "8@%q0", "r"(id));
	FIRE("waker-wake", "0", "8@%q0", "r"(id));
	FIRE("waker-drop", "0", "8@%q0", "r"(id));
	FIRE("task-poll-end", "0", "8@%q0", "r"(id));
}

/* The same probes once more, as each type of task has them. */
__attribute__((noinline)) static void poll_and_end(uint64_t id, unsigned reason)
{
	FIRE("task-poll-start", "0", "8@%q0", "r"(id));
	FIRE("task-terminate", "0", "8@%q0 1@%b1", "r"(id), "r"(reason));
	FIRE("task-poll-end", "0", "8@%q0", "r"(id));
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 1 ? atoi(argv[1]) : 101, nr_details = 0;

	puts("ready");
	fflush(stdout);
	getchar();
	for (uint64_t id = 1; id <= nr; id++) {
		nr_details += start_task(id, 1);
		for (int i = 1; i < POLLS; i++)
			poll(id);
		poll_and_end(id, 0);
	}
	FIRE("trace-root", "0", "");
	FIRE("trace-root", "0", "");
	printf("{\"truth\": \"fired\", \"task-details\": %lu, \"task-start\": %lu, \"task-poll-start\": %lu}\n",
	       nr_details, nr, POLLS * nr);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
