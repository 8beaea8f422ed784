// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Probes of sys/sdt.h with every kind of argument that a compiler makes of them. Says which probes
 * it has, how many arguments each takes and of what types, and how often it fired each; waits for a
 * line before that, and for the end of its input after it. argv[1]: how often.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define SEMAPHORE __attribute__((section(".probes")))

/* One for each probe: sys/sdt.h refers to it by this name. */
SEMAPHORE unsigned short kinds_plain_semaphore, kinds_registers_semaphore, kinds_memory_semaphore;
SEMAPHORE unsigned short kinds_constants_semaphore, kinds_floats__of__sse_semaphore,
	kinds_many_semaphore;
SEMAPHORE unsigned short kinds_twice_semaphore;

static uint64_t counter;
static int32_t table[16];

__attribute__((noinline)) static void registers(uint64_t a, int32_t b, uint8_t c, int16_t d)
{
	DTRACE_PROBE4(kinds, registers, a, b, c, d);
}

__attribute__((noinline)) static void memory(long i)
{
	volatile int32_t local = i;

	/* on the stack, static, and in a static table */
	STAP_PROBE3(kinds, memory, local, counter, table[i & 15]);
}

__attribute__((noinline)) static void others(double x, float y)
{
	DTRACE_PROBE(kinds, plain);
	DTRACE_PROBE3(kinds, constants, 5, -7L, (uint8_t)200);
	DTRACE_PROBE2(kinds, floats__of__sse, x, y);
	STAP_PROBE12(kinds, many, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, counter);
}

/* Two sites in one function, and one in another. */
__attribute__((noinline)) static void twice(int i)
{
	DTRACE_PROBE1(kinds, twice, i);
	DTRACE_PROBE1(kinds, twice, counter);
}

__attribute__((noinline)) static void once_more(int i)
{
	DTRACE_PROBE1(kinds, twice, i);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 101;

	puts("ready");
	fflush(stdout);
	getchar();
	for (int i = 0; i < nr; i++) {
		counter++;
		table[i & 15] = -i;
		registers(i, -i, i, i);
		memory(i);
		others(i, i);
		twice(i);
		once_more(i);
	}
	printf("{\"truth\": \"fired\", \"plain\": %d, \"registers\": %d, \"memory\": %d, \"constants\": %d, "
	       "\"floats-of-sse\": %d, \"many\": %d, \"twice\": %d}\n",
	       nr, nr, nr, nr, nr, nr, 3 * nr);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
