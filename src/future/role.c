// SPDX-License-Identifier: MIT OR Apache-2.0
#include "future/role.h"

#include <string.h>

#include "future/leaf.h"

static bool has_prefix_of(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (str_has_prefix(name, *prefixes))
			return true;
	return false;
}

bool type_owns(const struct layout *t)
{
	static const char *const owners[] = { "alloc::boxed::Box<", "&mut ", NULL };

	return has_prefix_of(t->name, owners);
}

bool type_is_box(const struct layout *t)
{
	return t->kind == LAYOUT_POINTER && str_has_prefix(t->name, "alloc::boxed::Box<");
}

bool type_borrows(const struct layout *t)
{
	return str_has_prefix(t->name, "&mut ") &&
	       (!str_has_prefix(t->name, "&mut (") || str_has_prefix(t->name, "&mut (dyn "));
}

/* What a fat pointer to a future or stream is called, however it owns it. */
static bool is_dyn_future(const struct layout *t)
{
	static const char *const borrowed[] = { "&dyn ", "&(dyn ", "*const ", "*mut ", NULL };

	return layout_member(t, "pointer") && layout_member(t, "vtable") &&
	       (strstr(t->name, "Future") || strstr(t->name, "Stream")) &&
	       !has_prefix_of(t->name, borrowed);
}

/* What is called, or only told to people, is polled by nobody. */
static bool is_boxed_trait(const struct layout *t)
{
	static const char *const boxes[] = { "alloc::boxed::Box<dyn ", "alloc::boxed::Box<(dyn ",
					     NULL };
	static const char *const passive[] = {
		"dyn core::ops::function::", "dyn core::error::Error", "dyn core::any::Any", NULL
	};

	if (!has_prefix_of(t->name, boxes) || !layout_member(t, "pointer") ||
	    !layout_member(t, "vtable"))
		return false;
	return !has_prefix_of(strstr(t->name, "dyn "), passive);
}

/* A box by hand, such as ReusableBoxFuture, is made of this. */
static bool is_non_null_future(const struct layout *t)
{
	return str_has_prefix(t->name,
			      "core::ptr::non_null::NonNull<(dyn core::future::future::Future<");
}

static bool is_slice(const struct layout *t)
{
	static const char *const owned[] = { "alloc::boxed::Box<[", "&mut [", NULL };

	return layout_member(t, "data_ptr") && layout_member(t, "length") &&
	       has_prefix_of(t->name, owned);
}

enum type_role type_role(const struct layout *t)
{
	if (leaf_is_ready(t->name))
		return TYPE_NOTHING;
	if (leaf_find(t->name))
		return TYPE_LEAF;
	if (leaf_find_list(t->name))
		return TYPE_LIST;
	switch (t->kind) {
	case LAYOUT_COROUTINE:
		return TYPE_COROUTINE;
	case LAYOUT_ENUM:
		return TYPE_ENUM;
	case LAYOUT_ARRAY:
		return TYPE_ARRAY;
	case LAYOUT_POINTER:
		return type_owns(t) ? TYPE_POINTER : TYPE_NOTHING;
	case LAYOUT_STRUCT:
		return is_dyn_future(t)		   ? TYPE_DYN
		       : is_non_null_future(t)	   ? TYPE_DYN
		       : is_boxed_trait(t)	   ? TYPE_TRAIT
		       : is_slice(t)		   ? TYPE_SLICE
		       : leaf_find_shared(t->name) ? TYPE_ARC
						   : TYPE_STRUCT;
	default:
		return TYPE_NOTHING;
	}
}

/* Not one that only has a closure among its type arguments. */
bool type_is_closure(const struct layout *t)
{
	const char *args = strchr(t->name, '<'), *at = strstr(t->name, "{closure_env#");

	return at && (!args || at < args);
}

bool type_is_poll_fn(const struct layout *t)
{
	static const char *const names[] = { "core::future::poll_fn::PollFn<",
					     "tokio::future::poll_fn::PollFn<", /* older releases */
					     "futures_util::future::poll_fn::PollFn<",
					     "futures_lite::future::PollFn<", NULL };

	return has_prefix_of(t->name, names);
}

bool type_is_future(const struct layout *t)
{
	static const char *const passing[] = { "core::pin::Pin<", "alloc::boxed::Box<", "&mut ",
					       NULL };

	return t->is_future && !has_prefix_of(t->name, passing);
}

bool type_is_counted(const struct layout *t)
{
	static const char *const boxes[] = { "alloc::sync::ArcInner<", "alloc::rc::RcInner<",
					     "alloc::rc::RcBox<", NULL };

	return has_prefix_of(t->name, boxes);
}
