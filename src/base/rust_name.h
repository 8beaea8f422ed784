// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The parsed form of a Rust name: of a function, a type, or a list of types, in the spelling of
 * debug info, of demangled symbols (v0 and legacy) or of our own reports. Code that has to know
 * where a part of a name begins and ends asks the tree instead of searching for characters.
 *
 *	<app::Pool<T> as app::Get>::get::{closure#0}
 *
 *	LIST
 *	  ITEM
 *	    PATH
 *	      SELF				<app::Pool<T> as app::Get>
 *	        ITEM
 *	          PATH IDENT app, IDENT Pool, ARGS ITEM PATH IDENT T
 *	          WORD " ", WORD "as", WORD " "
 *	          PATH IDENT app, IDENT Get
 *	      IDENT				get
 *	      BRACES				{closure#0}
 *
 * Any text has such a tree. A bracket without a partner becomes a WORD; groups that are nested too
 * deeply have no children, and a text that is too long is a single WORD. Children lie within their
 * parent, in the order of the text; nodes are numbered in that order too, parents first, and the
 * root is 0. Text that belongs to no child (brackets, commas, "::") belongs to the parent.
 */
#ifndef BASE_RUST_NAME_H
#define BASE_RUST_NAME_H

#include "base/strbuf.h"

enum rust_kind {
	RUST_LIST,   /* the root; its children are ITEMs */
	RUST_ITEM,   /* an element of a list: one or more PATH, TUPLE, ARRAY, CONST, WORD */
	RUST_PATH,   /* segments: IDENT, BRACES, SELF */
	RUST_IDENT,  /* an identifier and its ARGS, `Vec<u8>`, `get::<u8>`, `Fn(u8)` */
	RUST_BRACES, /* {closure#0}, {{closure}}, {impl#0}, and its ARGS */
	RUST_SELF,   /* <T>, <T as Trait>, <impl Trait for T>: ITEMs */
	RUST_ARGS,   /* <A, B>, or (A, B) of a Fn trait: ITEMs */
	RUST_TUPLE,  /* (A, B), also the parameters of `fn(A, B)`: ITEMs */
	RUST_ARRAY,  /* [T], [T; 5]: ITEMs */
	RUST_CONST,  /* 5, -3_i8, 'c', "text" */
	RUST_WORD,   /* keywords and everything else between types: `&`, `dyn`, ` + `, ` -> ` */
};

struct rust_node {
	uint32_t start, end; /* its text */
	uint32_t first;	     /* child, 0: none */
	uint32_t next;	     /* sibling, 0: none */
	enum rust_kind kind;
};

struct rust_name {
	const char *text; /* the caller's, not copied; need not end with NUL */
	struct rust_node *nodes;
	uint32_t nr, cap;
};

/* A part of a string. */
struct span {
	const char *s;
	size_t len;
};

#define RUST_NAME_ROOT 0u

void rust_name_init(struct rust_name *n, const char *text, size_t len);
void rust_name_release(struct rust_name *n);

#define rust_name_each(child, n, parent) \
	for (uint32_t child = (n)->nodes[parent].first; child; child = (n)->nodes[child].next)

struct span rust_name_span(const struct rust_name *n, uint32_t node);
bool rust_name_is(const struct rust_name *n, uint32_t node, const char *text);
bool rust_name_starts(const struct rust_name *n, uint32_t node, const char *prefix);
/* The only child of a node, 0 when it has none or several. */
uint32_t rust_name_only_child(const struct rust_name *n, uint32_t node);
/* The path that the whole name is, 0 when it is something else. */
uint32_t rust_name_path(const struct rust_name *n);
/* Does the PATH spell these segments? Only the last one may have arguments. */
bool rust_name_path_is(const struct rust_name *n, uint32_t path, const char *spelled);
/* Does the PATH end with these segments, as `futures::Join<T>` with `Join` and `futures::Join`? */
bool rust_name_path_ends(const struct rust_name *n, uint32_t path, const char *spelled);
/* The first argument of an ITEM that is a path of this spelling, 0 when it is none or has none. */
uint32_t rust_name_argument(const struct rust_name *n, uint32_t item, const char *spelled);
/* The crate that a node begins with: of `&<app::Conn as tower::Service>::call` that is app. */
struct span rust_name_crate(const struct rust_name *n, uint32_t node);
/* The first PATH that spells these segments, with or without arguments of its last one; or 0. */
uint32_t rust_name_find_path(const struct rust_name *n, const char *spelled);
/* Where an IDENT or BRACES ends without its arguments. */
uint32_t rust_name_head_end(const struct rust_name *n, uint32_t segment);
/* The first ARGS of a path's last segment, 0 when it has none. */
uint32_t rust_name_args(const struct rust_name *n, uint32_t path);
/* The first segment of a PATH that is a closure's or an async body's, 0 when there is none. */
uint32_t rust_name_first_closure(const struct rust_name *n, uint32_t path);

/* How a name is printed; all zero: as it was. */
struct rust_print {
	/*
	 * One spelling for what debug info, v0 and legacy symbols spell differently; see
	 * symbol/demangle.h. Default allocators are left out.
	 */
	bool readable;
	bool is_closure; /* readable: a closure at the very end is not one of an async fn */
	unsigned keep;	 /* not 0: of each path only so many segments, not counting closures */
};

/* Appends a node and what is below it. */
void rust_name_print(struct strbuf *out, const struct rust_name *n, uint32_t node,
		     const struct rust_print *how);

#endif
