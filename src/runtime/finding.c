// SPDX-License-Identifier: MIT OR Apache-2.0
#include <string.h>

#include "base/strbuf.h"
#include "runtime/runtime.h"
#include "symbol/extent.h"

const char *finding_string(struct finding *f, const char *s)
{
	struct strbuf clean = STRBUF_INIT;
	const char *kept;

	strbuf_add_clean(&clean, s, strlen(s));
	kept = intern_get(f->strings, intern_puts(f->strings, clean.s));
	strbuf_release(&clean);
	return kept;
}

const struct symtab *finding_symbols(struct finding *f)
{
	if (!f->syms)
		f->syms = symtab_new(f->syms_img);
	return f->syms;
}

bool finding_is_function(struct finding *f, uint64_t va, uint64_t nr_bytes)
{
	if (!f->extents)
		f->extents = extents_new(f->img);
	return extents_agree(f->extents, va, nr_bytes);
}
