// SPDX-License-Identifier: MIT OR Apache-2.0
/* Only the ranks move in the heap; elements stay where they are until another one takes the place.
 */
#include "base/top.h"

#include <string.h>

void top_init(struct top *t, size_t size, uint64_t limit)
{
	*t = (struct top){ .size = size, .limit = limit ? limit : UINT64_MAX };
}

void top_release(struct top *t)
{
	vec_release(&t->heap);
	vec_release(&t->elements);
}

static bool stands_before(const struct top_rank *a, const struct top_rank *b)
{
	if (a->key != b->key)
		return a->key > b->key;
	return a->nr < b->nr;
}

static void swap(struct top *t, size_t i, size_t j)
{
	struct top_rank r = t->heap.v[i];

	t->heap.v[i] = t->heap.v[j];
	t->heap.v[j] = r;
}

static void sift_up(struct top *t, size_t i)
{
	for (; i && stands_before(&t->heap.v[(i - 1) / 2], &t->heap.v[i]); i = (i - 1) / 2)
		swap(t, i, (i - 1) / 2);
}

static void sift_down(struct top *t, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < t->heap.nr; i = child) {
		if (child + 1 < t->heap.nr &&
		    stands_before(&t->heap.v[child], &t->heap.v[child + 1]))
			child++;
		if (!stands_before(&t->heap.v[i], &t->heap.v[child]))
			return;
		swap(t, i, child);
	}
}

void *top_add(struct top *t, uint64_t key, uint64_t nr)
{
	struct top_rank r = { key, nr, t->elements.nr };

	if (t->heap.nr < t->limit) {
		vec_grow(&t->elements, t->size);
		t->elements.nr += t->size;
		vec_push(&t->heap, r);
		/* where all are kept nothing has to go */
		if (t->limit != UINT64_MAX)
			sift_up(t, t->heap.nr - 1);
	} else if (stands_before(&r, &t->heap.v[0])) {
		r.at = t->heap.v[0].at;
		t->heap.v[0] = r;
		sift_down(t, 0);
	} else {
		return NULL;
	}
	return t->elements.v + r.at;
}

static int compare(const void *pa, const void *pb)
{
	return stands_before(pa, pb) ? -1 : 1;
}

void *top_take(struct top *t, size_t *nr)
{
	char *all = xcalloc(MAX(t->heap.nr, (size_t)1), t->size);

	if (t->heap.nr)
		qsort(t->heap.v, t->heap.nr, sizeof(*t->heap.v), compare);
	for (size_t i = 0; i < t->heap.nr; i++)
		memcpy(all + i * t->size, t->elements.v + t->heap.v[i].at, t->size);
	*nr = t->heap.nr;
	top_release(t);
	return all;
}
