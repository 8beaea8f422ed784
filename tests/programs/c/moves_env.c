// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A library to be preloaded whose constructor changes the environment, before that of the agent
 * runs: setenv moves `environ` to the heap, clearenv empties it.
 */
#include <stdlib.h>

__attribute__((constructor)) static void construct(void)
{
#ifdef CLEAR
	clearenv();
#else
	setenv("MINE", "1", 1);
	unsetenv("FUTRACE_CTL");
#endif
}
