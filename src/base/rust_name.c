// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The parser. A first pass finds the partner of each bracket and the end of each literal; the
 * second one descends. Neither goes back, so the time is linear in the length of the text.
 */
#include "base/rust_name.h"

#include <string.h>

#define MAX_BYTES (4u << 20)
#define MAX_DEPTH 200 /* of brackets; real names have 60 */

/* The partners of brackets and quotes, by position; 0: none. */
struct partners {
	uint32_t *of;
	uint32_t *open; /* positions of brackets that are still open */
	uint32_t nr_open;
	uint32_t nr_open_of[4]; /* of these, by kind */
};

struct parser {
	struct rust_name *n;
	const char *s;
	const uint32_t *partner;
	unsigned depth;
};

static const char openers[] = "<([{", closers[] = ">)]}";

/* Not the NUL, as strchr() has it. */
static int index_in(const char *set, char c)
{
	const char *at = c ? strchr(set, c) : NULL;

	return at ? (int)(at - set) : -1;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool starts_ident(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* Besides what Rust allows, what compilers and people put into names. */
static bool continues_ident(const char *s, uint32_t at, uint32_t end)
{
	if (s[at] == '-')
		return at + 1 < end && s[at + 1] != '>' && s[at + 1] != ' ';
	return starts_ident(s[at]) || is_digit(s[at]) || index_in("$.#@/", s[at]) >= 0;
}

static uint32_t ident_end(const char *s, uint32_t at, uint32_t end)
{
	while (at < end && continues_ident(s, at, end))
		at++;
	return at;
}

/* ---- brackets ---- */

/* The last character of the literal that begins here, 0: a lifetime, or it has no end. */
static uint32_t literal_end(const char *s, uint32_t at, uint32_t len)
{
	uint32_t max = s[at] == '"' ? len : MIN(len, at + 13); /* '\u{10ffff}' */

	for (uint32_t i = at + 1; i < max; i++) {
		if (s[i] == s[at])
			return i > at + 1 || s[at] == '"' ? i : 0;
		if (s[at] == '\'' && i > at + 1 && s[at + 1] != '\\' && !(s[i] & 0x80))
			return 0;
		if (s[i] == '\\')
			i++;
	}
	return 0;
}

/* A bracket closes the nearest one of its kind; those in between have no partner. */
static void close_bracket(struct partners *p, const char *s, uint32_t at, int kind)
{
	while (p->nr_open_of[kind]) {
		uint32_t open = p->open[--p->nr_open];
		int its = index_in(openers, s[open]);

		p->nr_open_of[its]--;
		if (its == kind) {
			p->of[open] = at;
			return;
		}
	}
}

static void find_partners(struct partners *p, const char *s, uint32_t len)
{
	bool has_end = true; /* an open quotation is looked for only once */

	for (uint32_t i = 0; i < len; i++) {
		int open = index_in(openers, s[i]), close = index_in(closers, s[i]);

		if (open >= 0) {
			p->open[p->nr_open++] = i;
			p->nr_open_of[open]++;
		} else if (close > 0 || (close == 0 && (!i || s[i - 1] != '-'))) { /* no arrow */
			close_bracket(p, s, i, close);
		} else if (s[i] == '\'' || (s[i] == '"' && has_end)) {
			p->of[i] = literal_end(s, i, len);
			has_end &= p->of[i] || s[i] == '\'';
			i = p->of[i] ? p->of[i] : i;
		}
	}
}

/* ---- the tree ---- */

static uint32_t add(struct parser *p, enum rust_kind kind, uint32_t start, uint32_t end)
{
	struct rust_name *n = p->n;

	if (n->nr == n->cap) {
		n->cap = MAX(n->cap * 2, 32u);
		n->nodes = xreallocarray(n->nodes, n->cap, sizeof(*n->nodes));
	}
	n->nodes[n->nr] = (struct rust_node){ .kind = kind, .start = start, .end = end };
	return n->nr++;
}

/* *last: the child that was appended before, 0: none. */
static void append(struct parser *p, uint32_t parent, uint32_t *last, uint32_t child)
{
	if (*last)
		p->n->nodes[*last].next = child;
	else
		p->n->nodes[parent].first = child;
	*last = child;
}

static uint32_t partner(const struct parser *p, uint32_t at, uint32_t end)
{
	return p->partner && p->partner[at] < end ? p->partner[at] : 0;
}

static bool is_separator(char c)
{
	return c == ',' || c == ';';
}

static bool is_keyword(const char *s, uint32_t start, uint32_t end)
{
	static const char *const keywords[] = { "as",  "const", "dyn", "extern", "fn",
						"for", "impl",	"mut", "unsafe" };

	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (strlen(keywords[i]) == end - start &&
		    memcmp(s + start, keywords[i], end - start) == 0)
			return true;
	return false;
}

static bool has_colons(const struct parser *p, uint32_t at, uint32_t end)
{
	return end - at >= 2 && p->s[at] == ':' && p->s[at + 1] == ':';
}

static void parse_list(struct parser *p, uint32_t parent, uint32_t at, uint32_t end);

/* The group whose opening bracket is at `at`; it has a partner. */
static uint32_t parse_group(struct parser *p, enum rust_kind kind, uint32_t at)
{
	uint32_t close = p->partner[at], group = add(p, kind, at, close + 1);

	if (p->depth < MAX_DEPTH) {
		p->depth++;
		parse_list(p, group, at + 1, close);
		p->depth--;
	}
	return group;
}

/* Arguments behind an identifier or braces, also `::<A>`. Not the impl of `a::<impl B for C>`. */
static void parse_args(struct parser *p, uint32_t segment, uint32_t end)
{
	uint32_t last = 0, at = p->n->nodes[segment].end;

	while (at < end) {
		uint32_t open = has_colons(p, at, end) && end - at > 2 ? at + 2 : at, group;
		bool is_angle = p->s[open] == '<';

		if (!(is_angle || (p->s[at] == '(' && p->n->nodes[segment].kind == RUST_IDENT)) ||
		    !partner(p, open, end))
			break;
		if (open != at && end - open > 6 && memcmp(p->s + open, "<impl ", 6) == 0)
			break;
		group = parse_group(p, RUST_ARGS, open);
		append(p, segment, &last, group);
		at = p->n->nodes[segment].end = p->n->nodes[group].end;
	}
}

static bool starts_segment(const struct parser *p, uint32_t at, uint32_t end)
{
	return at < end && (continues_ident(p->s, at, end) ||
			    ((p->s[at] == '<' || p->s[at] == '{') && partner(p, at, end)));
}

static uint32_t parse_segment(struct parser *p, uint32_t at, uint32_t end)
{
	uint32_t segment;

	if (p->s[at] == '<')
		return parse_group(p, RUST_SELF, at);
	if (p->s[at] == '{')
		segment = add(p, RUST_BRACES, at, partner(p, at, end) + 1);
	else
		segment = add(p, RUST_IDENT, at, ident_end(p->s, at, end));
	parse_args(p, segment, end);
	return segment;
}

static uint32_t parse_path(struct parser *p, uint32_t at, uint32_t end)
{
	uint32_t path = add(p, RUST_PATH, at, at), last = 0;

	for (;;) {
		append(p, path, &last, parse_segment(p, at, end));
		at = p->n->nodes[path].end = p->n->nodes[last].end;
		if (!has_colons(p, at, end) || !starts_segment(p, at + 2, end))
			return path;
		at += 2;
	}
}

static bool starts_part(const struct parser *p, uint32_t at, uint32_t end)
{
	char c = p->s[at];

	return starts_ident(c) || is_digit(c) || c == '\'' || is_separator(c) ||
	       (index_in("<([{\"", c) >= 0 && partner(p, at, end)) ||
	       (c == '-' && at + 1 < end && is_digit(p->s[at + 1]));
}

/* Operators and spaces, or a lifetime. */
static uint32_t parse_word(struct parser *p, uint32_t at, uint32_t end)
{
	uint32_t to = at + 1;

	if (p->s[at] == '\'')
		to = ident_end(p->s, to, end);
	else
		while (to < end && !starts_part(p, to, end))
			to++;
	return add(p, RUST_WORD, at, to);
}

static uint32_t parse_part(struct parser *p, uint32_t at, uint32_t end)
{
	char c = p->s[at];

	if (starts_ident(c)) {
		uint32_t to = ident_end(p->s, at, end);

		return is_keyword(p->s, at, to) && !has_colons(p, to, end)
			       ? add(p, RUST_WORD, at, to)
			       : parse_path(p, at, end);
	}
	if (is_digit(c) || (c == '-' && at + 1 < end && is_digit(p->s[at + 1])))
		return add(p, RUST_CONST, at, ident_end(p->s, at + 1, end));
	if (!partner(p, at, end))
		return parse_word(p, at, end);
	if (c == '\'' || c == '"')
		return add(p, RUST_CONST, at, partner(p, at, end) + 1);
	if (c == '(' || c == '[')
		return parse_group(p, c == '(' ? RUST_TUPLE : RUST_ARRAY, at);
	return parse_path(p, at, end);
}

static uint32_t parse_item(struct parser *p, uint32_t at, uint32_t end)
{
	uint32_t item = add(p, RUST_ITEM, at, at), last = 0;

	while (at < end && !is_separator(p->s[at])) {
		append(p, item, &last, parse_part(p, at, end));
		at = p->n->nodes[last].end;
	}
	p->n->nodes[item].end = at;
	return item;
}

static void parse_list(struct parser *p, uint32_t parent, uint32_t at, uint32_t end)
{
	uint32_t last = 0;

	while (at < end) {
		if (is_separator(p->s[at]) || p->s[at] == ' ') {
			at++;
			continue;
		}
		append(p, parent, &last, parse_item(p, at, end));
		at = p->n->nodes[last].end;
	}
}

static bool has_brackets(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (index_in("<([{'\"", s[i]) >= 0)
			return true;
	return false;
}

void rust_name_init(struct rust_name *n, const char *text, size_t len)
{
	struct parser p = { .n = n, .s = text };
	struct partners partners = { 0 };

	*n = (struct rust_name){ .text = text };
	if (len > MAX_BYTES) {
		add(&p, RUST_WORD, 0, MIN(len, (size_t)UINT32_MAX));
		return;
	}
	if (has_brackets(text, len)) {
		partners.of = xcalloc(len, sizeof(*partners.of));
		partners.open = xmalloc(len * sizeof(*partners.open));
		find_partners(&partners, text, len);
		free(partners.open);
	}
	p.partner = partners.of;
	add(&p, RUST_LIST, 0, len);
	parse_list(&p, RUST_NAME_ROOT, 0, len);
	free(partners.of);
}

void rust_name_release(struct rust_name *n)
{
	free(n->nodes);
	*n = (struct rust_name){ 0 };
}

/* ---- questions ---- */

struct span rust_name_span(const struct rust_name *n, uint32_t node)
{
	const struct rust_node *v = &n->nodes[node];

	return (struct span){ n->text + v->start, v->end - v->start };
}

bool rust_name_starts(const struct rust_name *n, uint32_t node, const char *prefix)
{
	struct span s = rust_name_span(n, node);
	size_t len = strlen(prefix);

	return s.len >= len && memcmp(s.s, prefix, len) == 0;
}

bool rust_name_is(const struct rust_name *n, uint32_t node, const char *text)
{
	return n->nodes[node].end - n->nodes[node].start == strlen(text) &&
	       rust_name_starts(n, node, text);
}

uint32_t rust_name_only_child(const struct rust_name *n, uint32_t node)
{
	uint32_t child = n->nodes[node].first;

	return child && !n->nodes[child].next ? child : 0;
}

uint32_t rust_name_path(const struct rust_name *n)
{
	uint32_t item = rust_name_only_child(n, RUST_NAME_ROOT);
	uint32_t part = item ? rust_name_only_child(n, item) : 0;

	return part && n->nodes[part].kind == RUST_PATH ? part : 0;
}

uint32_t rust_name_head_end(const struct rust_name *n, uint32_t segment)
{
	const struct rust_node *v = &n->nodes[segment];
	uint32_t end;

	if (v->kind == RUST_SELF || !v->first)
		return v->end;
	end = n->nodes[v->first].start;
	return n->text[end - 1] == ':' ? end - 2 : end; /* get::<u8> */
}

static uint32_t last_segment(const struct rust_name *n, uint32_t path)
{
	uint32_t last = n->nodes[path].first;

	while (n->nodes[last].next)
		last = n->nodes[last].next;
	return last;
}

uint32_t rust_name_args(const struct rust_name *n, uint32_t path)
{
	uint32_t last = last_segment(n, path);

	return n->nodes[last].kind == RUST_SELF ? 0 : n->nodes[last].first;
}

bool rust_name_path_is(const struct rust_name *n, uint32_t path, const char *spelled)
{
	uint32_t start = n->nodes[path].start, end, last = last_segment(n, path);

	rust_name_each(segment, n,
		       path) if (n->nodes[segment].kind == RUST_SELF ||
				 (n->nodes[segment].first && segment != last)) return false;
	end = rust_name_head_end(n, last);
	return end - start == strlen(spelled) && memcmp(n->text + start, spelled, end - start) == 0;
}

bool rust_name_path_ends(const struct rust_name *n, uint32_t path, const char *spelled)
{
	uint32_t end = rust_name_head_end(n, last_segment(n, path));
	size_t len = strlen(spelled);

	rust_name_each(segment, n, path)
	{
		uint32_t start = n->nodes[segment].start;

		if (end - start == len)
			return memcmp(n->text + start, spelled, len) == 0;
	}
	return false;
}

uint32_t rust_name_argument(const struct rust_name *n, uint32_t item, const char *spelled)
{
	uint32_t part = rust_name_only_child(n, item), args;

	if (!part || n->nodes[part].kind != RUST_PATH || !rust_name_path_is(n, part, spelled))
		return 0;
	args = rust_name_args(n, part);
	return args ? n->nodes[args].first : 0;
}

struct span rust_name_crate(const struct rust_name *n, uint32_t node)
{
	for (uint32_t i = node; i < n->nr && n->nodes[i].start < n->nodes[node].end; i++)
		if (n->nodes[i].kind == RUST_IDENT)
			return (struct span){ n->text + n->nodes[i].start,
					      rust_name_head_end(n, i) - n->nodes[i].start };
	return (struct span){ n->text, 0 };
}

uint32_t rust_name_find_path(const struct rust_name *n, const char *spelled)
{
	for (uint32_t i = 0; i < n->nr; i++)
		if (n->nodes[i].kind == RUST_PATH &&
		    (rust_name_is(n, i, spelled) || rust_name_path_is(n, i, spelled)))
			return i;
	return 0;
}

uint32_t rust_name_first_closure(const struct rust_name *n, uint32_t path)
{
	static const char *const heads[] = { "{async_", "{async ", "{closure", "{{closure",
					     "{gen" };

	rust_name_each(segment, n,
		       path) for (size_t i = 0; i < ARRAY_SIZE(heads);
				  i++) if (rust_name_starts(n, segment, heads[i])) return segment;
	return 0;
}
