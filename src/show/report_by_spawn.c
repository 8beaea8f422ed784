// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=spawn`: one line for each line of source that spawns tasks. */
#include "base/format.h"
#include "model/shorten.h"
#include "show/report_by.h"

struct row {
	const struct recording_place *place; /* NULL: those of unknown places */
	uint64_t nr, nr_types;
	uint32_t group;		      /* of the first task's type; of all, if nr_types is 1 */
	uint64_t ends[MODEL_NR_ENDS]; /* by enum model_end */
	uint64_t polls, max_poll_ns, blocked_ns, wakes, self_wakes;
	uint64_t ns[MODEL_NR_STATES];
	struct histogram life;
	uint64_t *has_group; /* a bit for each group of types that was seen */
};

struct rows {
	const struct recording *rec;
	struct row *v; /* one for each place, and one for none */
};

static const struct row *row_of(const void *r)
{
	return r;
}

static void count_type(struct rows *rows, struct row *row, uint32_t group)
{
	uint64_t *word, bit = UINT64_C(1) << group % 64;

	if (!row->has_group) {
		row->has_group = xcalloc(rows->rec->nr_groups / 64 + 1, sizeof(*row->has_group));
		row->group = group;
	}
	word = &row->has_group[group / 64];
	row->nr_types += !(*word & bit);
	*word |= bit;
}

static void on_task(void *sink, const struct model_task *t)
{
	struct rows *rows = sink;
	struct row *row = &rows->v[MIN(recording_place_of(rows->rec, t), rows->rec->nr_places)];

	count_type(rows, row, recording_group_of(rows->rec, t->key.type));
	row->nr++;
	row->ends[t->end]++;
	row->polls += t->polls;
	row->max_poll_ns = MAX(row->max_poll_ns, t->max_poll_ns);
	row->blocked_ns += t->blocked_ns;
	row->self_wakes += t->wakes[MODEL_BY_SELF];
	for (int i = 0; i < MODEL_NR_CAUSES; i++)
		row->wakes += t->wakes[i];
	for (int i = 0; i < MODEL_NR_STATES; i++)
		row->ns[i] += t->ns[i];
	histogram_add(&row->life, t->end_ns - t->spawn_ns);
}

static const struct model_ops ops = { .task = on_task };

static const char *spawned_at(const struct table *t, const void *r, struct strbuf *scratch)
{
	const struct recording_place *place = row_of(r)->place;

	if (!place)
		return NULL;
	strbuf_addf(scratch, "%s:%u", place->file, place->line);
	return scratch->s;
}

static const char *type(const struct table *t, const void *r, struct strbuf *scratch)
{
	if (row_of(r)->nr_types != 1)
		return NULL;
	return say_type(t, table_rec(t)->groups[row_of(r)->group].type, scratch);
}

static const struct histogram *life(const void *r)
{
	return &row_of(r)->life;
}

static void draw_place(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	const struct recording_place *place = row_of(r)->place;

	if (place)
		shorten_place(out, place->file, place->line, width);
	else
		strbuf_addstr(out, "not known");
}

static void draw(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	char a[FORMAT_SIZE];

	if (row_of(r)->nr_types == 1)
		draw_type(t, table_rec(t)->groups[row_of(r)->group].type, false, width, out);
	else
		strbuf_addf(out, "%s types", format_grouped(row_of(r)->nr_types, a));
}

#define AT(member) .at = offsetof(struct row, member)

static const struct column columns[] = {
	{ .key = "spawned_at", .text = spawned_at },
	COLUMN_DATA("types", nr_types),
	{ .key = "type", .text = type },
	{ .key = "tasks", .head = "TASKS", AT(nr) },
	{ .key = "alive", .head = "ALIVE", .hides_zero = true, AT(ends[MODEL_ALIVE]) },
	COLUMNS_OF_ENDS,
	{ .key = "polls", .head = "POLLS", AT(polls) },
	{ .key = "wakes", .head = "WAKES", .rank = 9, AT(wakes) },
	{ .key = "self_wakes", .head = "SELF", .rank = 10, .hides_zero = true, AT(self_wakes) },
	COLUMNS_OF_STATES(7, 8, 11),
	COLUMN_TIME("blocked_ns", "BLOCKED", blocked_ns, 4),
	COLUMN_TIME("max_poll_ns", "MAXPOLL", max_poll_ns, 3),
	COLUMNS_OF_VALUES("life", "LIFE", life, 1, 6, 5, 1, 2, false, 0, 0),
	{ .head = "SPAWNED AT", .draw = draw_place },
	{ .head = "TYPE", .draw = draw },
};

static void init(struct report_table *t)
{
	struct rows *rows = xcalloc(1, sizeof(*rows));

	rows->rec = t->rec;
	rows->v = xcalloc(t->rec->nr_places + 1, sizeof(*rows->v));
	for (uint32_t i = 0; i < t->rec->nr_places; i++)
		rows->v[i].place = &t->rec->places[i];
	t->state = rows;
	vec_push(&t->sinks, (struct recording_sink){ &ops, rows });
}

static void finish(struct report_table *t, struct analyzer *a)
{
	const struct rows *rows = t->state;

	for (uint32_t i = 0; i <= t->rec->nr_places; i++)
		if (rows->v[i].nr)
			vec_push(&t->table.rows, &rows->v[i]);
}

static void release(void *state)
{
	struct rows *rows = state;

	for (uint32_t i = 0; i <= rows->rec->nr_places; i++) {
		histogram_release(&rows->v[i].life);
		free(rows->v[i].has_group);
	}
	free(rows->v);
	free(rows);
}

const struct table_kind table_by_spawn = {
	.name = "spawn",
	.summary = "each line that spawns tasks",
	.what = "place",
	.sort = "tasks",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.init = init,
	.finish = finish,
	.release = release,
};
