// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A field of a CSV line as RFC 4180 has it: quoted where it must be. Control characters become
 * \xNN, so a field is one line; and what a spreadsheet would take for a formula gets a quote in
 * front.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/strbuf.h"

void csv_add(struct strbuf *line, const char *text);

#endif
