// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Names for people. A future's type reaches us in three spellings:
 *
 *	debug info	app::fetch::{async_fn_env#0}	app::main::{async_fn#0}::{async_block_env#1}
 *	v0 symbols	app::fetch::{closure#0}		app::main::{closure#0}::{closure#1}
 *	legacy symbols	app::fetch::{{closure}}		app::main::{{closure}}::{{closure}}
 *
 * All become `app::fetch` and `app::main::{async block#1}`; symbols do not tell an async block from
 * a closure, so there it is `{closure#1}` or `{closure}`.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include "base/rust_name.h"

/* The demangled name without its hash, NULL when it is no Rust symbol. The caller frees it. */
char *demangle(const char *mangled);
bool demangle_is_v0(const char *mangled);

/*
 * A readable form of a type. is_closure: the type is known to be a closure (a blocking task's
 * function), so its last `{{closure}}` is not taken for an async fn. Sees through Pin<Box<F>> and
 * GenFuture<F>; what a runtime wraps around is its own to take off.
 */
char *readable_type(const char *type, size_t len, bool is_closure);

/*
 * Puts the real name of an impl block where debug info only counts them: path
 * "a::{impl#0}::f::{async_fn_env#0}" and linkage name "_ZN…a::Type::f::{{closure}}" give
 * "a::Type::f::{async_fn_env#0}". Type arguments, which debug info has behind the closure, go where
 * they belong as far as the linkage name tells. The caller frees it.
 */
char *name_impl(const char *path, const char *linkage_name);

/*
 * Splits "prefix<A, B>" or "prefix::<A, B>" into its arguments. Returns how many there are (at most
 * max are stored), 0 when there are none or the brackets do not match.
 */
size_t type_args(const char *name, size_t len, struct span *args, size_t max);

#endif
