// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Names are dear, tables are cheap: tables are recognised on every start, and only what symbols and
 * debug info said about them is kept. A memory that does not fit the tables found is not used.
 */
#ifndef RUNTIME_REMEMBER_H
#define RUNTIME_REMEMBER_H

#include "runtime/runtime.h"

/*
 * Everything that the names depend on. NULL: this file has no build-id, so nothing identifies it.
 */
char *remember_key(const struct image *img, const struct image *debug);
bool remember_get(const char *dir, const char *key, struct finding *f);
void remember_put(const char *dir, const char *key, const struct finding *f);

#endif
