// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A library to be preloaded whose constructor changes the environment, before that of the agent
 * runs: setenv moves `environ` to the heap, clearenv empties it. Or it moves the last argument, as
 * libraries do that make room for a title of the process.
 */
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void construct(int argc, char **argv)
{
#if defined(CLEAR)
	clearenv();
#elif defined(MOVE_ARGUMENT)
	argv[argc - 1] = strdup(argv[argc - 1]);
#else
	setenv("MINE", "1", 1);
	unsetenv("FUTRACE_CTL");
#endif
}
