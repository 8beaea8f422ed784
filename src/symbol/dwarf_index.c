// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Walks units once, in file order, remembering namespaces, coroutine and closure types, and their
 * code; then finds for a type the coroutine that is inside of it. A task's type may wrap it:
 * Pin<Box<F>>, Instrumented<F>, what its runtime adds, and so on, hence the search through type
 * parameters.
 */
#include <dwarf.h>
#include <string.h>

#include "base/crate_path.h"
#include "base/strbuf.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_index.h"

#define MAX_DEPTH     256
#define MAX_TYPE_DIES 20000 /* of one type; a coroutine with a thousand awaits has fewer */
#define MAX_WRAPPERS  6

static const struct raw_abbrevs *abbrevs_of(struct dwarf *d, const struct raw_unit *u)
{
	struct raw_abbrevs **a = &d->abbrevs[u - d->raw.units];

	if (!*a)
		*a = raw_abbrevs_new(&d->raw, u->abbrev_off);
	return *a;
}

static void read_unit_name(struct dwarf *d, struct raw_unit *u, struct raw_die *die)
{
	struct raw_cursor c;

	*die = (struct raw_die){ 0 };
	raw_cursor_init(&c, &d->raw, u, abbrevs_of(d, u), u->die_off);
	if (raw_next(&c, TAG(DW_TAG_compile_unit), die) != 1 || !die->name)
		die->name = "";
}

bool dwarf_cursor(struct dwarf *d, uint64_t off, struct raw_cursor *c)
{
	struct raw_unit *u = raw_unit_of(&d->raw, off);

	if (!u)
		return false;
	if (u->version >= 5 && !d->abbrevs[u - d->raw.units]) {
		struct raw_die unit; /* the bases of indexed strings and addresses stand there */

		read_unit_name(d, u, &unit);
	}
	raw_cursor_init(c, &d->raw, u, abbrevs_of(d, u), off);
	return true;
}

/*
 * Cargo builds a dependency in its own folder: "src/lib.rs" alone would not tell which one's it is.
 * What was trimmed lies in no such folder, whichever unit speaks of it.
 */
const char *dwarf_file_name(struct dwarf *d, struct raw_unit *u, uint64_t index)
{
	struct raw_die unit;
	char *name;

	read_unit_name(d, u, &unit);
	name = raw_line_file(&d->raw, unit.line_off, index);
	if (name && name[0] != '/' && unit.comp_dir && !crate_find_version(name)) {
		char *whole = xasprintf("%s/%s", unit.comp_dir, name);

		free(name);
		name = whole;
	}
	if (name)
		vec_push(&d->strings, name);
	return name;
}

static uint64_t space_key(uint32_t parent, const char *name, size_t len)
{
	uint64_t key = map_hash(parent);

	for (size_t i = 0; i < len; i++)
		key = (key ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
	return key;
}

static uint32_t find_space(const struct dwarf *d, uint32_t parent, const char *name, size_t len)
{
	for (uint64_t key = space_key(parent, name, len);; key++) {
		const uint64_t *number = map_get(&d->space_by_name, key);
		const struct space *s = number ? &d->spaces.v[*number] : NULL;

		if (!s)
			return NO_SPACE;
		if (s->parent == parent && strncmp(s->name, name, len) == 0 && !s->name[len])
			return *number;
	}
}

static uint32_t space_number(struct dwarf *d, uint32_t parent, const char *name)
{
	for (uint64_t key = space_key(parent, name, strlen(name));; key++) {
		bool was_there;
		uint64_t *number = map_put(&d->space_by_name, key, &was_there);
		const struct space *s = was_there ? &d->spaces.v[*number] : NULL;

		if (!was_there) {
			*number = d->spaces.nr;
			vec_push(&d->spaces, (struct space){ parent, name });
		} else if (s->parent != parent || strcmp(s->name, name) != 0) {
			continue;
		}
		return *number;
	}
}

static size_t find_fn(const struct dwarf_function *fns, size_t nr, uint64_t va)
{
	size_t first = partition_point(i, nr, fns[i].va < va);

	return first < nr && fns[first].va == va ? first : nr;
}

struct walk {
	struct dwarf *d;
	struct raw_unit *unit;
	struct dwarf_function *fns;
	struct match *matches;
	size_t nr, open; /* open: the function whose children are being read, or nr */
	unsigned open_depth, depth;
	uint32_t space_at[MAX_DEPTH]; /* the namespace that children at this depth are in */
};

static bool may_be_poll(const struct raw_die *die)
{
	if (!die->name)
		return die->has_origin && die->has_low_pc;
	return str_has_prefix(die->name, "{async_") || strcmp(die->name, "poll") == 0 ||
	       str_has_prefix(die->name, "poll<");
}

static void note_poll(struct walk *w, const struct raw_die *die, uint32_t space)
{
	uint64_t end = die->is_high_pc_len ? die->low_pc + die->high_pc : die->high_pc;

	vec_push(&w->d->polls, (struct poll){ .off = die->off,
					      .origin_off = die->origin_off,
					      .has_origin = die->has_origin,
					      .type_off = die->type_off,
					      .has_type = die->has_type,
					      .va = die->has_low_pc ? die->low_pc : 0,
					      .has_code = die->has_low_pc,
					      .end_va = end,
					      .decl_file = die->decl_file,
					      .decl_line = die->decl_line,
					      .space = space,
					      .name = die->name,
					      .linkage_name = die->linkage_name,
					      .unit = w->unit });
}

static void on_subprogram(struct walk *w, const struct raw_die *die, uint32_t space)
{
	size_t i = die->has_low_pc ? find_fn(w->fns, w->nr, die->low_pc) : w->nr;

	if (i < w->nr && !w->fns[i].name && !w->matches[i].has_origin) {
		w->fns[i].name = die->name;
		w->matches[i].origin_off = die->origin_off;
		w->matches[i].has_origin = die->has_origin;
		w->matches[i].unit = w->unit;
		if (die->name)
			w->fns[i].decl_file = dwarf_file_name(w->d, w->unit, die->decl_file);
		w->open = i;
		w->open_depth = w->depth;
	}
	if (die->name && die->name[0] == '{' && space != NO_SPACE)
		vec_push(&w->d->bodies, (struct body){ .space = space,
						       .name = die->name,
						       .linkage_name = die->linkage_name,
						       .decl_file = die->decl_file,
						       .decl_line = die->decl_line,
						       .va = die->has_low_pc ? die->low_pc : 0,
						       .unit = w->unit });
	if (w->d->wants_polls && may_be_poll(die))
		note_poll(w, die, space);
}

static void on_die(struct walk *w, const struct raw_die *die)
{
	uint32_t space = w->depth < MAX_DEPTH ? w->space_at[w->depth] : NO_SPACE, below = NO_SPACE;

	if (w->open < w->nr && w->depth <= w->open_depth)
		w->open = w->nr;
	switch (die->tag) {
	case DW_TAG_namespace:
		below = space_number(w->d, space, die->name ? die->name : "");
		break;
	case DW_TAG_subprogram:
		on_subprogram(w, die, space);
		break;
	case DW_TAG_structure_type:
		if (die->name && die->name[0] == '{' && space != NO_SPACE)
			vec_push(&w->d->envs, (struct env){ die->off, space, die->name });
		below = space; /* methods are declared inside of their type */
		break;
	case DW_TAG_template_type_parameter:
		if (w->open < w->nr && w->depth == w->open_depth + 1 &&
		    !w->matches[w->open].has_type && die->has_type) {
			w->matches[w->open].has_type = true;
			w->matches[w->open].type_off = die->type_off;
		}
		break;
	}
	if (die->has_children && ++w->depth < MAX_DEPTH)
		w->space_at[w->depth] = below;
}

void dwarf_walk(struct dwarf *d, struct raw_unit *u, struct dwarf_function *fns,
		struct match *matches, size_t nr)
{
	const uint64_t tags = TAG(DW_TAG_namespace) | TAG(DW_TAG_subprogram) |
			      TAG(DW_TAG_structure_type) | TAG(DW_TAG_template_type_parameter) |
			      TAG(DW_TAG_compile_unit);
	struct walk w = { .d = d, .unit = u, .fns = fns, .matches = matches, .nr = nr, .open = nr };
	struct raw_cursor c;
	struct raw_die die;
	int what;

	u->walked = true;
	w.space_at[0] = NO_SPACE;
	raw_cursor_init(&c, &d->raw, u, abbrevs_of(d, u), u->die_off);
	while ((what = raw_next(&c, tags, &die)) != 0) {
		if (what == 1)
			on_die(&w, &die);
		else if (w.depth-- <= 1)
			break;
	}
	d->raw.nr_broken += c.broken;
}

void dwarf_add_space(struct dwarf *d, uint32_t space, struct strbuf *to)
{
	if (space >= d->spaces.nr)
		return;
	dwarf_add_space(d, d->spaces.v[space].parent, to); /* at most MAX_DEPTH deep */
	strbuf_addf(to, "%s::", d->spaces.v[space].name);
}

static const struct env *find_env(struct dwarf *d, uint64_t off)
{
	struct raw_unit *u = raw_unit_of(&d->raw, off);

	if (u && !u->walked)
		dwarf_walk(d, u, NULL, NULL, 0);
	vec_each (env, &d->envs)
		if (env->off == off)
			return env;
	return NULL;
}

/* "{async_fn_env#0}<u32>" is the type of "{async_fn#0}<u32>". */
static bool is_body_of(const char *body, const char *env)
{
	const char *mark = strstr(env, "_env#");
	size_t head = mark ? (size_t)(mark - env) : 0;

	return mark && strncmp(body, env, head) == 0 && strcmp(body + head, mark + 4) == 0;
}

/* What the names of all units of a path's crate have in common. */
static char *crate_mark(const char *path)
{
	struct rust_name n;
	struct span crate;
	char *mark;

	rust_name_init(&n, path, strlen(path));
	crate = rust_name_crate(&n, RUST_NAME_ROOT);
	mark = xasprintf("/@/%.*s.", (int)crate.len, crate.s);
	rust_name_release(&n);
	return mark;
}

/*
 * Two copies of a crate have the same names. A unit of the crate itself means its own copy, which
 * was built in another folder than the other one.
 */
static bool is_other_copy(struct dwarf *d, const char *path, struct raw_unit *a, struct raw_unit *b)
{
	char *mark = crate_mark(path);
	struct raw_die x, y;
	bool other;

	read_unit_name(d, a, &x);
	read_unit_name(d, b, &y);
	other = strstr(x.name, mark) && strstr(y.name, mark) && x.comp_dir && y.comp_dir &&
		strcmp(x.comp_dir, y.comp_dir) != 0;
	free(mark);
	return other;
}

/* The code of fn->env_path, which was met in the unit seen_in. */
static void find_body(struct dwarf *d, uint32_t space, const char *env_name,
		      struct raw_unit *seen_in, struct dwarf_function *fn)
{
	vec_each (body, &d->bodies) {
		if (body->space != space || !is_body_of(body->name, env_name) ||
		    is_other_copy(d, fn->env_path, seen_in, body->unit))
			continue;
		if (!fn->body_linkage)
			fn->body_linkage = body->linkage_name;
		if (!fn->body_va)
			fn->body_va = body->va;
		if (!fn->file && body->decl_line) {
			fn->file = dwarf_file_name(d, body->unit, body->decl_file);
			fn->line = body->decl_line;
		}
		if (fn->body_linkage && fn->file)
			return;
	}
}

/*
 * A type is described wherever it is used, its code only where it was generated or inlined: in some
 * unit of its own crate. Those are called "src/main.rs/@/CRATE.HASH-cgu.N", in incremental builds
 * "src/main.rs/@/HASH".
 */
static void walk_crate(struct dwarf *d, const char *path, struct raw_unit *seen_in)
{
	char *mark = crate_mark(path);
	const char *like, *at;
	bool is_incremental;
	struct raw_die unit;

	read_unit_name(d, seen_in, &unit);
	like = unit.name;
	at = strstr(like, "/@/");
	is_incremental = at && !strchr(at, '.');
	for (size_t i = 0; i < d->raw.nr_units; i++) {
		struct raw_unit *u = &d->raw.units[i];

		if (u->walked)
			continue;
		read_unit_name(d, u, &unit);
		if (strstr(unit.name, mark) ||
		    (is_incremental && strncmp(unit.name, like, at + 3 - like) == 0))
			dwarf_walk(d, u, NULL, NULL, 0);
	}
	free(mark);
}

static void found_env(struct dwarf *d, uint64_t off, struct dwarf_function *fn)
{
	const struct env *env = find_env(d, off);
	struct raw_unit *seen_in = raw_unit_of(&d->raw, off);
	struct strbuf path = STRBUF_INIT;
	uint32_t space;
	const char *name;

	if (!env)
		return;
	space = env->space;
	name = env->name;
	dwarf_add_space(d, space, &path);
	strbuf_addstr(&path, name);
	fn->env_path = strbuf_take(&path);
	vec_push(&d->strings, (char *)fn->env_path);
	find_body(d, space, name, seen_in, fn);
	if (!fn->file || (!fn->body_linkage && strstr(fn->env_path, "{impl#"))) {
		walk_crate(d, fn->env_path, seen_in);
		find_body(d, space, name, seen_in, fn);
	}
}

/* The namespace of the segments before `last`. */
static uint32_t space_of(const struct dwarf *d, const struct rust_name *n, uint32_t path,
			 uint32_t last)
{
	uint32_t space = NO_SPACE;

	rust_name_each(segment, n, path)
	{
		struct span s = rust_name_span(n, segment);

		if (segment == last)
			break;
		space = find_space(d, space, s.s, s.len);
		if (space == NO_SPACE)
			return NO_SPACE;
	}
	return space;
}

/* The first segment that is an environment, and the path that it belongs to. */
static bool find_env_path(const struct rust_name *n, uint32_t *path, uint32_t *env)
{
	static const char mark[] = "_env#";

	for (*env = 0; *env < n->nr; ++*env) {
		const struct rust_node *v = &n->nodes[*env];

		if (v->kind != RUST_BRACES ||
		    !memmem(n->text + v->start, rust_name_head_end(n, *env) - v->start, mark,
			    sizeof(mark) - 1))
			continue;
		*path = *env;
		while (n->nodes[*path].kind != RUST_PATH || n->nodes[*path].end < v->end)
			--*path;
		return true;
	}
	return false;
}

static void describe_env(struct dwarf *d, const struct rust_name *n, struct raw_unit *seen_in,
			 struct dwarf_function *fn)
{
	uint32_t path, env, space, start;
	char *name;

	if (!find_env_path(n, &path, &env))
		return;
	start = n->nodes[path].start;
	fn->env_path = xstrndup(n->text + start, rust_name_head_end(n, env) - start);
	vec_push(&d->strings, (char *)fn->env_path);
	/* The type arguments belong to the name of the last component. */
	name = xstrndup(rust_name_span(n, env).s, rust_name_span(n, env).len);
	for (int again = 0; again < 2; again++) {
		space = space_of(d, n, path, env);
		if (space != NO_SPACE)
			find_body(d, space, name, seen_in, fn);
		if (fn->body_linkage && fn->file)
			break;
		if (!again)
			walk_crate(d, fn->env_path, seen_in);
	}
	free(name);
}

void dwarf_describe_name(struct dwarf *d, const char *type, size_t len, struct raw_unit *seen_in,
			 struct dwarf_function *fn)
{
	struct rust_name n;

	if (!seen_in)
		return;
	rust_name_init(&n, type, len);
	describe_env(d, &n, seen_in, fn);
	rust_name_release(&n);
}

/*
 * The first variant of a coroutine has the line where its body begins; variants of other enums have
 * none.
 */
static bool read_variants(struct dwarf *d, struct raw_cursor *c, struct dwarf_function *fn)
{
	unsigned depth = 1;

	for (unsigned i = 0; i < MAX_TYPE_DIES && depth; i++) {
		struct raw_die die;
		int what = raw_next(c, TAG(DW_TAG_member), &die);

		if (what == 0)
			return false;
		if (what == 2) {
			depth--;
			continue;
		}
		if (die.tag == DW_TAG_member && depth == 2 && die.decl_line) {
			fn->file = dwarf_file_name(d, c->unit, die.decl_file);
			fn->line = die.decl_line;
			return true;
		}
		depth += die.has_children;
	}
	return false;
}

static bool find_inner(struct dwarf *d, uint64_t off, unsigned level, struct dwarf_function *fn)
{
	const uint64_t tags = TAG(DW_TAG_structure_type) | TAG(DW_TAG_pointer_type) |
			      TAG(DW_TAG_template_type_parameter);
	uint64_t params[8];
	unsigned nr_params = 0, depth = 1;
	struct raw_cursor c;
	struct raw_die die;

	if (level > MAX_WRAPPERS || !dwarf_cursor(d, off, &c) || raw_next(&c, tags, &die) != 1)
		return false;
	if (die.tag == DW_TAG_pointer_type && die.has_type)
		return find_inner(d, die.type_off, level + 1, fn);
	if (die.tag != DW_TAG_structure_type)
		return false;
	if (die.name && str_has_prefix(die.name, "{closure_env#")) {
		found_env(d, off, fn);
		return true;
	}
	for (unsigned i = 0; i < MAX_TYPE_DIES && die.has_children && depth; i++) {
		struct raw_die child;
		int what = raw_next(&c, tags, &child);

		if (what == 0)
			break;
		if (what == 2) {
			depth--;
			continue;
		}
		if (depth == 1 && child.tag == DW_TAG_variant_part && child.has_children) {
			struct raw_cursor variants = c;

			if (read_variants(d, &variants, fn)) {
				found_env(d, off, fn);
				return true;
			}
		}
		if (depth == 1 && child.tag == DW_TAG_template_type_parameter && child.has_type &&
		    nr_params < ARRAY_SIZE(params))
			params[nr_params++] = child.type_off;
		depth += child.has_children;
	}
	for (unsigned i = 0; i < nr_params; i++)
		if (find_inner(d, params[i], level + 1, fn))
			return true;
	return false;
}

/* The type of the first type parameter of the structure that the cursor just entered. */
static bool first_param(struct raw_cursor *c, uint64_t *off)
{
	unsigned depth = 1;

	for (unsigned i = 0; i < MAX_TYPE_DIES && depth; i++) {
		struct raw_die die;
		int what = raw_next(c, TAG(DW_TAG_template_type_parameter), &die);

		if (what == 0)
			return false;
		if (what == 2) {
			depth--;
			continue;
		}
		if (depth == 1 && die.tag == DW_TAG_template_type_parameter && die.has_type) {
			*off = die.type_off;
			return true;
		}
		depth += die.has_children;
	}
	return false;
}

/*
 * How large a future is: behind Pin<Box<F>>, which is what Tokio makes of a large one, that is F
 * and not the pointer. rustc describes a Box as a pointer, or as a structure where it is a wide
 * one; how large a trait object is behind that nobody knows before the program runs: 0.
 */
static uint64_t future_bytes(struct dwarf *d, uint64_t off, unsigned level)
{
	const uint64_t tags = TAG(DW_TAG_structure_type) | TAG(DW_TAG_pointer_type);
	struct raw_cursor c;
	struct raw_die die;

	if (level > MAX_WRAPPERS || !dwarf_cursor(d, off, &c) || raw_next(&c, tags, &die) != 1)
		return 0;
	if (die.tag == DW_TAG_pointer_type)
		return die.has_type ? future_bytes(d, die.type_off, level + 1) : 0;
	if (die.tag != DW_TAG_structure_type || !die.name)
		return 0;
	if (str_has_prefix(die.name, "Pin<"))
		return die.has_children && first_param(&c, &off) ? future_bytes(d, off, level + 1)
								 : 0;
	return str_has_prefix(die.name, "alloc::boxed::Box<") ? 0 : die.byte_size;
}

void dwarf_describe(struct dwarf *d, uint64_t type_off, struct dwarf_function *fn)
{
	fn->has_type = true;
	fn->type_off = type_off;
	fn->type_bytes = future_bytes(d, type_off, 0);
	find_inner(d, type_off, 0, fn);
}
