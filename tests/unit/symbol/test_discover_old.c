// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * usage: test_discover_old PROGRAM TRUTH {v0|legacy|stripped} SLOTS Proves that the tables of Tokio
 * before 1.23 are found by symbols, each with its slots, and nothing that only looks like them; and
 * that without symbols none is found, and why is said (see fake/old.rs).
 */
#include <stdlib.h>

#include "base/io.h"
#include "check.h"
#include "runtime/discover.h"

static const struct found_table *find(const struct discovery *d, uint64_t va)
{
	for (uint32_t i = 0; i < d->nr_tables; i++)
		if (d->tables[i].plan.va == va)
			return &d->tables[i];
	return NULL;
}

static void check_task(const struct wire_table *w, unsigned slots)
{
	unsigned nr_code = slots < 8 ? slots : 8;

	check_num(w->kind, WIRE_TABLE_TOKIO);
	check_num(w->nr_words, slots);
	check_num(w->code_mask, (1 << nr_code) - 1);
	check_num(w->slot_poll, 0);
	check_num(w->slot_dealloc, 1);
	check_num(w->slot_shutdown, nr_code - 1);
	check_num(w->slot_abort, slots > 5 ? nr_code - 2 : WIRE_NO_SLOT);
	check_num(w->slot_schedule, WIRE_NO_SLOT);
	check_num(w->id_off, 0);
	check_num(w->trailer_off != 0, slots == 9);
}

static void check_waker(const struct wire_table *w)
{
	check_num(w->kind, WIRE_TABLE_TOKIO_TYPE_WAKER);
	check_num(w->slot_wake, 1);
	check_num(w->slot_wake_by_ref, 2);
}

static void check_line(const struct discovery *d, const char *what, uint64_t va, const char *mode,
		       unsigned slots)
{
	const struct found_table *t = find(d, va);
	bool is_table = strcmp(what, "task") == 0 || strcmp(what, "waker") == 0;

	if (strcmp(what, "mixed") == 0) /* legacy symbols do not tell */
		is_table = strcmp(mode, "legacy") == 0;
	if (strcmp(mode, "stripped") == 0)
		is_table = false;
	check_num(t != NULL, is_table);
	if (t && strcmp(what, "task") == 0)
		check_task(&t->plan, slots);
	else if (t)
		check_waker(&t->plan);
}

int main(int argc, char **argv)
{
	struct discover_opts opts = { .names = true };
	struct strbuf truth = STRBUF_INIT;
	struct err e = ERR_INIT;
	bool is_stripped = argc == 5 && strcmp(argv[3], "stripped") == 0;
	struct discovery *d = argc == 5 ? discover_file(argv[1], NULL, &opts, &e) : NULL;
	unsigned nr = 0;
	int at = 0, len;

	if (!d || io_read_file(argv[2], &truth, 1 << 20, &e) < 0) {
		printf("usage: test_discover_old PROGRAM TRUTH MODE SLOTS %s\n", e.msg);
		return 2;
	}
	for (unsigned long long va; truth.s[at]; at += len) {
		char what[16];

		if (sscanf(truth.s + at, "%15s %llx\n%n", what, &va, &len) != 2)
			break;
		check_line(d, what, va, argv[3], atoi(argv[4]));
		nr++;
	}
	check_num(nr, 9);
	check_num(d->nr_runtimes, 1);
	check_num(d->runtimes[0].nr_tables, is_stripped ? 0 : 3);
	check_num(d->runtimes[0].waker_known, !is_stripped);
	check_str(d->runtimes[0].version, is_stripped ? "1.13.0" : "");
	check_num(strstr(d->runtimes[0].note, "it is stripped") != NULL, is_stripped);
	discovery_free(d);
	strbuf_release(&truth);
	return check_result();
}
