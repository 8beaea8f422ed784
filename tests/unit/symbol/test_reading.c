// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * usage: test_reading PROGRAM TRUTH MODE. Proves that what a reader answers of a program comes back
 * as it was, that it holds less on each lower rung but always the same tables, and that no answer,
 * however it is cut or changed, does harm to whoever unpacks it.
 */
#include <unistd.h>

#include "check.h"
#include "future/reading_priv.h"

#define NR_CHANGES 3000

static struct reading *read_to(const char *path, enum discover_depth depth, struct strbuf *answer)
{
	struct reading_opts o = { .discover = { .names = true, .depth = depth }, .awaits = true };
	struct strbuf copy = STRBUF_INIT;
	struct reading *r;

	reading_make(path, "shown", &o, answer);
	strbuf_add(&copy, answer->s, answer->len);
	r = reading_unpack(&copy, NULL);
	strbuf_release(&copy);
	return r;
}

static void check_same(const struct discovery *d, const struct discovery *want)
{
	check_str(d->path, "shown");
	check_num(d->nr_tables, want->nr_tables);
	for (uint32_t i = 0; i < MIN(d->nr_tables, want->nr_tables); i++) {
		const struct found_table *t = &d->tables[i], *w = &want->tables[i];

		check_num(t->plan.va, w->plan.va);
		check_str(t->name, w->name);
		check_str(t->file, w->file);
		check_str(t->scheduler, w->scheduler);
		check_num(t->line, w->line);
		check_num(t->kind, w->kind);
		check_num(t->size_bytes, w->size_bytes);
	}
	check_num(d->nr_runtimes, want->nr_runtimes);
	for (uint32_t i = 0; i < MIN(d->nr_runtimes, want->nr_runtimes); i++) {
		check_str(d->runtimes[i].version, want->runtimes[i].version);
		for (int k = 0; k < NR_FACTS; k++)
			check_num(d->runtimes[i].facts[k].how, want->runtimes[i].facts[k].how);
	}
}

static uint32_t nr_named(const struct discovery *d)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < d->nr_tables; i++)
		nr += *d->tables[i].name != '\0';
	return nr;
}

static void check_rungs(const char *path)
{
	struct strbuf answer = STRBUF_INIT;
	struct reading *all = read_to(path, DISCOVER_ALL, &answer), *symbols, *tables;

	strbuf_reset(&answer);
	symbols = read_to(path, DISCOVER_SYMBOLS, &answer);
	strbuf_reset(&answer);
	tables = read_to(path, DISCOVER_TABLES, &answer);
	if (all && symbols && tables) {
		check_num(symbols->d->nr_tables, all->d->nr_tables);
		check_num(tables->d->nr_tables > 0, true);
		check_num(nr_named(symbols->d) > 0, true);
		check_num(nr_named(tables->d), 0);
		check_num(symbols->d->is_debug_info_unusable, true);
	}
	check_num(all && symbols && tables, true);
	reading_free(all);
	reading_free(symbols);
	reading_free(tables);
	strbuf_release(&answer);
}

/* Each copy has just its size, so that a sanitizer sees what is read behind it. */
static bool is_taken(const char *bytes, size_t len)
{
	struct strbuf copy = STRBUF_INIT;
	struct reading *r;

	strbuf_add(&copy, bytes, len);
	r = reading_unpack(&copy, NULL);
	strbuf_release(&copy);
	reading_free(r);
	return r;
}

static void check_damage(const struct strbuf *answer)
{
	char *bytes = xmalloc(answer->len);
	uint64_t seed = 88172645463325252;

	for (size_t len = 0; len < answer->len; len += 1 + answer->len / 300)
		check_num(is_taken(answer->s, len), false);
	for (int i = 0; i < NR_CHANGES; i++) {
		memcpy(bytes, answer->s, answer->len);
		for (int k = 0; k < 1 + i % 4; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			bytes[seed % answer->len] ^= 1 << (seed >> 40) % 8;
		}
		is_taken(bytes, answer->len);
	}
	free(bytes);
}

/* An async fn with one await point: what the program of this test has none of. */
static void add_recipes(struct reading *r)
{
	struct recipes *all = &r->recipes;

	recipes_release(all);
	recipes_init(all);
	vec_push(&all->nodes, (struct wire_node){ WIRE_NODE_STATE, 1, 2, 8, 1, 0 });
	for (unsigned i = 1; i < 4; i++) {
		vec_push(&all->edges, (struct wire_edge){ .node = i == 3 });
		vec_push(&all->meanings,
			 (struct recipe_meaning){ i - 1, i < 3 ? RECIPE_NO_TYPE : 0 });
	}
	vec_push(&all->dyns, (struct wire_dyn){ .addr = 0x1000, .edge = 3 });
	vec_push(&all->parts, 1);
	vec_push(&all->variants, (struct recipe_variant){ .file = "", .state = TRACE_STEP_DONE });
	vec_push(&all->variants,
		 (struct recipe_variant){ "a.rs", 7, 0, TRACE_STEP_WAITS, { 0, 1 } });
	vec_push(&all->types, (struct recipe_type){ .name = "app::work::{async_fn_env#0}",
						    .function = "app::work",
						    .nr_variants = 2,
						    .role = PARTS_COROUTINE,
						    .is_coroutine = true,
						    .has_node = true });
	vec_push(&all->types, (struct recipe_type){ .name = "tokio::time::sleep::Sleep",
						    .function = "",
						    .first_variant = 2,
						    .is_step = true });
}

static void check_recipes(struct reading *r)
{
	struct strbuf answer = STRBUF_INIT, copy = STRBUF_INIT;
	struct recipe_steps steps = { 0 };
	struct reading *back;
	uint32_t choice = 2;

	add_recipes(r);
	reading_pack(&answer, r);
	strbuf_add(&copy, answer.s, answer.len);
	back = reading_unpack(&copy, NULL);
	check_num(back != NULL, true);
	if (back) {
		struct trace_step text;

		check_num(recipe_explain(&back->recipes, 3, &choice, 1, &steps), true);
		check_num(steps.steps.nr, 2);
		text = recipe_step_text(&back->recipes, &steps, &steps.steps.v[0]);
		check_str(text.function, "app::work");
		check_str(text.file, "a.rs");
		check_num(text.line, 7);
		check_str(recipe_step_text(&back->recipes, &steps, &steps.steps.v[1]).leaf,
			  "sleep");
	}
	check_damage(&answer);
	vec_release(&steps.steps);
	reading_free(back);
	strbuf_release(&answer);
	strbuf_release(&copy);
}

/*
 * A debug file that is much larger than its program is asked for before it is read, and is read
 * when the caller knows of it. What is behind its end is a hole.
 */
static void check_large(const char *path, const char *debug, const struct discovery *want)
{
	struct reading_opts o = { .discover = { .names = true }, .awaits = true };
	struct strbuf answer = STRBUF_INIT, copy = STRBUF_INIT;
	struct reading *r;
	char *wanted;

	check_num(truncate(debug, 700 << 20), 0);
	reading_make(path, "shown", &o, &answer);
	wanted = reading_wanted(&answer);
	check_str(wanted ? wanted : "nothing", debug);
	strbuf_add(&copy, answer.s, answer.len);
	check_num(reading_unpack(&copy, NULL) != NULL, false);
	strbuf_reset(&answer);
	o.debug_path = debug;
	reading_make(path, "shown", &o, &answer);
	check_num(reading_wanted(&answer) != NULL, false);
	r = reading_unpack(&answer, NULL);
	check_num(r != NULL, true);
	if (r)
		check_same(r->d, want);
	reading_free(r);
	strbuf_release(&answer);
	strbuf_release(&copy);
	free(wanted);
}

int main(int argc, char **argv)
{
	struct discover_opts o = { .names = true };
	struct strbuf answer = STRBUF_INIT;
	struct discovery *want = discover_file(argv[1], "shown", &o, NULL);
	struct reading *r = read_to(argv[1], DISCOVER_ALL, &answer);
	char *debug = xasprintf("%s.debug", argv[1]);

	check_num(r && want, true);
	if (r && want) {
		check_same(r->d, want);
		check_num(reading_is_fresh(r), true);
		check_damage(&answer);
		check_rungs(argv[1]);
		check_recipes(r);
		if (access(debug, F_OK) == 0)
			check_large(argv[1], debug, want);
	}
	reading_free(r);
	discovery_free(want);
	strbuf_release(&answer);
	free(debug);
	return check_result();
}
