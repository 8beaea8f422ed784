// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where the debug info of a file lies: in itself, or in a separate file that strip or a
 * distribution made.
 */
#ifndef SYMBOL_DEBUG_FILE_H
#define SYMBOL_DEBUG_FILE_H

#include "symbol/image.h"

#define DEBUG_FILE_OTHER \
	"its separate debug file belongs to another build; take the one that was made with it"
#define DEBUG_FILE_SPLIT                                                                        \
	"its debug info is split off into .dwo or .dwp files; build it with split-debuginfo = " \
	"\"off\" in the profile of Cargo.toml"

/*
 * The path of the separate debug file that belongs to img (by build-id, else by debug link with its
 * checksum), NULL when there is none. The caller frees it. *is_other (may be NULL): there is one,
 * but it belongs to another build.
 */
char *debug_file_find(const struct image *img, const char *path, bool *is_other);
/* The paths at which that is looked for. The caller frees them and the array. */
char **debug_file_candidates(const struct image *img, const char *path, size_t *nr);
/* Is it such a file itself: has it sections, but not the code? */
bool debug_file_is_one(const char *path);

#endif
