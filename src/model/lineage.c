// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/lineage.h"

#include "base/map.h"
#include "base/vec.h"

#define MAX_DEPTH 32

struct lineage {
	const struct recording *rec;
	VEC(struct lineage_path) paths;
	struct map by_step; /* parent and group -> path */
	struct map live;    /* key of a task -> its path */
};

struct lineage *lineage_new(const struct recording *rec)
{
	struct lineage *l = xcalloc(1, sizeof(*l));

	l->rec = rec;
	return l;
}

void lineage_free(struct lineage *l)
{
	if (!l)
		return;
	vec_release(&l->paths);
	map_release(&l->by_step);
	map_release(&l->live);
	free(l);
}

static uint32_t step(struct lineage *l, uint32_t parent, uint32_t group)
{
	uint32_t depth = parent == LINEAGE_ROOT ? 0 : l->paths.v[parent].depth + 1;
	uint64_t *path;
	bool was_there;

	/* what spawns itself for ever stays where it is */
	if (depth >= MAX_DEPTH) {
		depth = MAX_DEPTH - 1;
		parent = l->paths.v[parent].parent;
	}
	path = map_put(&l->by_step, (uint64_t)parent << 32 | group, &was_there);
	if (!was_there) {
		*path = l->paths.nr;
		vec_push(&l->paths,
			 (struct lineage_path){ .parent = parent, .group = group, .depth = depth });
	}
	return *path;
}

static uint32_t parent_path(struct lineage *l, const struct model_task *t)
{
	uint64_t *path;

	if (!t->has_parent)
		return LINEAGE_ROOT;
	path = map_get(&l->live, model_key_pack(&t->parent));
	/* it is over already: what it was is known, who spawned it is not */
	return path ? *path : step(l, LINEAGE_ROOT, recording_group_of(l->rec, t->parent.type));
}

static void on_spawn(void *sink, const struct model_task *t)
{
	struct lineage *l = sink;
	uint32_t path = step(l, parent_path(l, t), recording_group_of(l->rec, t->key.type));

	*map_put(&l->live, model_key_pack(&t->key), NULL) = path;
}

static void on_task(void *sink, const struct model_task *t)
{
	struct lineage *l = sink;
	struct lineage_path *path;
	uint64_t index;

	if (!map_del(&l->live, model_key_pack(&t->key), &index))
		index = step(l, LINEAGE_ROOT, recording_group_of(l->rec, t->key.type));
	path = &l->paths.v[index];
	path->nr_tasks++;
	path->polls += t->polls;
	for (int i = 0; i < MODEL_NR_STATES; i++)
		path->ns[i] += t->ns[i];
}

const struct model_ops lineage_ops = { .spawn = on_spawn, .task = on_task };

const struct lineage_path *lineage_get_paths(const struct lineage *l, uint32_t *nr)
{
	*nr = l->paths.nr;
	return l->paths.v;
}
