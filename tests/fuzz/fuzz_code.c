// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Machine code that is anything: whatever it is asked for, the answer comes, and nothing outside of
 * it is read. The first bytes of the input say where things lie, the rest is the code.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol/code.h"

#define VA 0x1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct places {
	uint8_t body, begin, end, off, state_off, state_bytes, by_rbp, moved;
};

static void ask_for_pinned(const struct image *img, const struct places *at)
{
	uint64_t body = VA + at->body, size = img->size_bytes;
	struct code_function f = { VA, size, at->by_rbp & 1 };
	struct code_pinned p = { .by_rbp = at->by_rbp & 1,
				 .off = (int8_t)at->off,
				 .state_off = at->state_off,
				 .state_bytes = at->state_bytes & 15,
				 .bodies = &body,
				 .nr_bodies = 1 };

	code_uses_pinned(img, VA, size, &p);
	code_keeps_argument(img, VA, size, &p);
	code_find_owner(img, body, at->state_off, at->state_bytes & 15);
	code_find_pinned(img, &f, VA + at->begin, VA + at->end, &p);
}

static void ask_for_others(const struct image *img, const struct places *at)
{
	uint64_t size = img->size_bytes;
	struct code_state state;
	uint32_t flag_off;

	if (code_find_state(img, VA, size, &state))
		for (unsigned i = 0; i < 4; i++)
			code_called_in_state(img, VA, size, &state, i);
	code_find_flag(img, VA, at->moved & 1, &flag_off);
	if (code_movable(img->data, size, at->moved & 15) > size)
		abort();
	code_is_jumped_into(img, VA, size, at->moved & 15);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image img = { .nr_segments = 1 };
	struct places at;

	if (size < sizeof(at))
		return 0;
	memcpy(&at, data, sizeof(at));
	img.data = data + sizeof(at);
	img.size_bytes = size - sizeof(at);
	img.segments[0] =
		(struct image_segment){ .va = VA, .file_bytes = img.size_bytes, .exec = true };
	ask_for_pinned(&img, &at);
	ask_for_others(&img, &at);
	return 0;
}
