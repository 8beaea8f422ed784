// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef MODEL_SHORTEN_H
#define MODEL_SHORTEN_H

#include "base/strbuf.h"

/*
 * Appends the type name in at most `width` columns, and safe for a terminal: leading modules go
 * first (a::b::c::f<x::y::T> -> c::f<y::T> -> f<T>), then the middle, with each bracket its
 * partner.
 */
void shorten_type(struct strbuf *out, const char *name, size_t width);
/*
 * The same of what its place is told of as well: before the middle, `{async block#0}` at its end
 * goes. A type argument tells more.
 */
void shorten_body(struct strbuf *out, const char *name, size_t width);

/*
 * Appends "file:line" in at most `width` columns if it can, safe for a terminal. Sources of crates
 * that cargo fetched are known by crate and version: the folders before these go, then the version,
 * then the folders between the crate and the file; if not even these fit, all but the last folder.
 * Of other sources all but the last folder go at once, or, of src/lib.rs, which every library has,
 * all but the last two.
 */
void shorten_place(struct strbuf *out, const char *file, uint32_t line, size_t width);

/* Appends a text that is safe already, such as a place: its end tells most, its front goes. */
void shorten_front(struct strbuf *out, const char *text, size_t width);

#endif
