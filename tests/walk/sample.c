// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Usage: walk-sample PID TIMES. Walks all tasks of a process again and again, and prints each
 * different tree that was ever seen, and how often: "COUNT TYPE: STATE LINE > STATE LINE …". For
 * tests that know which trees are possible.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/intern.h"
#include "base/strbuf.h"
#include "walk/walker.h"

struct seen {
	struct census *census;
	pthread_mutex_t lock;
	struct intern *texts;
	VEC(uint64_t) counts;
};

static void describe(const struct walk_result *r, struct strbuf *out)
{
	static const char *const statuses[] = { "ok", "running", "gone", "unknown", "broken" };
	static const char *const states[] = { "waits", "new", "done", "panicked", "disabled" };

	if (r->status != WALK_OK)
		strbuf_addstr(out, statuses[r->status]);
	vec_each (n, &r->tree->nodes) {
		if (n->type->kind == LAYOUT_COROUTINE)
			strbuf_addf(out, " > %s %u", states[n->state], n->variant->line);
		else if (n->leaf)
			strbuf_addf(out, " > %s", leaf_kind_name(n->leaf));
	}
}

static void on_task(void *arg, size_t index, const struct walk_result *r)
{
	struct seen *s = arg;
	const struct census_task *t = &s->census->tasks.v[index];
	struct strbuf text = STRBUF_INIT;
	uint32_t id;

	strbuf_addf(&text, "%s:", s->census->tables.v[t->table].found->name);
	describe(r, &text);
	pthread_mutex_lock(&s->lock);
	id = intern_puts(s->texts, text.s);
	if (id == s->counts.nr)
		vec_push(&s->counts, 0);
	s->counts.v[id]++;
	pthread_mutex_unlock(&s->lock);
	strbuf_release(&text);
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct memory *m = argc == 3 ? memory_open_process(strtoul(argv[1], NULL, 10), &e) : NULL;
	struct seen s = { .lock = PTHREAD_MUTEX_INITIALIZER, .texts = intern_new() };
	struct objects objects;
	struct census census;

	if (!m) {
		fprintf(stderr, "walk-sample PID TIMES: %s\n", e.msg);
		return 2;
	}
	objects_init(&objects, m, NULL);
	objects_open_layouts(&objects);
	census_init(&census, m, &objects);
	s.census = &census;
	for (unsigned long i = strtoul(argv[2], NULL, 10); i > 0; i--)
		walk_tasks(&census, &(struct walk_opts){ 0 }, on_task, &s);
	for (size_t i = 0; i < s.counts.nr; i++)
		printf("%llu %s\n", (unsigned long long)s.counts.v[i], intern_get(s.texts, i));
	census_release(&census);
	objects_release(&objects);
	memory_close(m);
	intern_free(s.texts);
	vec_release(&s.counts);
	return 0;
}
