// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * usage: test_discover PROGRAM TRUTH {full|lines|v0|legacy|stripped} Proves that every task table
 * of a program is found and that it is called what the program itself says (see fake/app.rs), as
 * far as this kind of build can tell: exactly, or with the right name among the candidates, never
 * with a wrong one.
 */
#include <dirent.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"
#include "runtime/discover.h"

enum mode { FULL, LINES, V0, LEGACY, STRIPPED };

static const char *const mode_names[] = { "full", "lines", "v0", "legacy", "stripped" };
static const enum rung rungs[] = { RUNG_FULL, RUNG_LINES, RUNG_SYMBOLS, RUNG_SYMBOLS,
				   RUNG_NOTHING };
static const char *const kinds[] = { "task", "local", "blocking", "helper" };

struct truth {
	unsigned long long va, bytes; /* bytes 0: nobody can know how large it is */
	char kind[16], scheduler[32], line[16], names[3][512];
};

static const struct found_table *find(const struct discovery *d, uint64_t va)
{
	for (uint32_t i = 0; i < d->nr_tables; i++)
		if (d->tables[i].plan.va == va)
			return &d->tables[i];
	return NULL;
}

static bool is_candidate(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; p; p = strstr(p, " | ")) {
		p += p == list ? 0 : 3;
		if ((strncmp(p, name, len) == 0 && (!p[len] || strncmp(p + len, " | ", 3) == 0)) ||
		    strcmp(p, "?") == 0)
			return true;
	}
	return false;
}

static void check_name(const struct found_table *t, const struct truth *x, enum mode mode)
{
	const char *want = x->names[mode <= LINES ? 0 : mode - 1];

	if (mode == STRIPPED || (mode == LEGACY && !t->name[0])) {
		check_str(t->name, "");
		check_num(t->nr_candidates, 0);
	} else if (mode == LEGACY && t->nr_candidates > 1) {
		check_num(is_candidate(t->name, want), true);
	} else {
		check_str(t->name, want);
		check_num(t->nr_candidates, 1);
	}
}

/* Exact by debug info. Otherwise the room in the task, if there is more than a boxed future needs:
 * the size, and what tells whether there is a future, an output or nothing. */
static void check_size(const struct found_table *t, const struct truth *x, enum mode mode)
{
	bool is_box = x->bytes > 64 && t->plan.trailer_off - t->plan.stage_off < x->bytes;

	if (mode == FULL || !x->bytes || is_box)
		check_num(t->size_bytes, mode == FULL ? x->bytes : 0);
	else if (t->size_bytes || x->bytes > 64)
		check_num(t->size_bytes >= x->bytes && t->size_bytes <= x->bytes + 24, true);
}

static void check_table(const struct discovery *d, const struct truth *x, enum mode mode)
{
	const struct found_table *t = find(d, x->va);
	bool is_helper = strcmp(x->kind, "helper") == 0;

	check_num(t != NULL, 1);
	if (!t)
		return;
	check_name(t, x, mode);
	if (is_helper && !t->name[0])
		check_str(kinds[t->kind], "blocking"); /* only the name makes it a helper */
	else
		check_str(kinds[t->kind], x->kind);
	if (mode < LEGACY || strcmp(x->scheduler, "blocking") == 0)
		check_str(t->scheduler, x->scheduler);
	if (mode == FULL && x->line[0] != '-') {
		check_num(t->line, strtoul(x->line, NULL, 10));
		check_num(str_has_suffix(t->file, "/app.rs") && t->file[0] == '/', true);
	}
	check_size(t, x, mode);
}

/* What is seen of tasks depends on what the build left of names and lines. */
static void check_facts(const struct discovery *d, enum mode mode)
{
	const struct found_fact *facts = d->runtimes[0].facts;
	bool has_symbols = mode != STRIPPED;

	check_num(facts[FACT_POLLS].how, HOW_EXACT);
	check_num(facts[FACT_SPAWNS].how, HOW_EXACT);
	check_num(facts[FACT_PLACES].how, mode <= LINES ? HOW_EXACT : HOW_NOT);
	check_num(facts[FACT_PLACES].remedy == NULL, mode <= LINES);
	check_num(facts[FACT_AWAITS].how == HOW_NOT, mode != FULL);
	check_num(facts[FACT_AWAITS].remedy == NULL, mode == FULL);
	check_num(facts[FACT_KINDS].how, has_symbols ? HOW_EXACT : HOW_SOME);
	check_num(facts[FACT_BLOCKING].how, has_symbols ? HOW_EXACT : HOW_SOME);
	check_str(d->runtimes[0].found_by, "shape");
	check_num(d->mangling[0] != '\0', has_symbols);
	if (mode == V0 || mode == LEGACY)
		check_str(d->mangling, mode_names[mode]);
}

static uint32_t check_all(const struct discovery *d, const char *truth, enum mode mode)
{
	uint32_t nr = 0;

	for (const char *line = truth; *line; line = strchr(line, '\n') + 1) {
		struct truth x;

		if (sscanf(line,
			   "%llx\t%15[^\t]\t%31[^\t]\t%15[^\t]\t%llu\t%511[^\t]\t%511[^\t]\t%511[^\n]",
			   &x.va, x.kind, x.scheduler, x.line, &x.bytes, x.names[0], x.names[1],
			   x.names[2]) != 8) {
			printf("no truth: %.80s\n", line);
			nr_failed++;
			break;
		}
		check_table(d, &x, mode);
		nr++;
	}
	check_num(d->runtimes[0].nr_tables, nr);
	check_num(d->nr_tables, nr + d->runtimes[0].waker_known);
	check_num(d->runtimes[0].waker_known, mode != STRIPPED);
	check_num(d->rung, rungs[mode]);
	check_facts(d, mode);
	return nr;
}

/* The second look comes from the cache and says the same; a damaged cache is not believed. */
static void check_cache(const char *program, const char *truth, enum mode mode)
{
	char dir[64], *path = NULL;
	struct discover_opts opts = { .names = true, .cache_dir = dir };
	struct strbuf data = STRBUF_INIT;

	snprintf(dir, sizeof(dir), "/tmp/futrace-discover-test-%d", (int)getpid());
	for (int i = 0; i < 12; i++) {
		struct discovery *d = discover_file(program, NULL, &opts, NULL);
		DIR *folder;
		struct dirent *entry;

		check_num(d->from_cache, i == 1);
		check_all(d, truth, mode);
		discovery_free(d);
		folder = opendir(dir);
		while (i == 0 && folder && (entry = readdir(folder)))
			if (entry->d_name[0] != '.')
				path = xasprintf("%s/%s", dir, entry->d_name);
		if (folder)
			closedir(folder);
		if (i == 0 || !path)
			continue;
		strbuf_reset(&data);
		io_read_file(path, &data, 1 << 24, NULL);
		data.s[data.len * (i - 1) / 11] ^= 1;
		io_replace_file(path, data.s, data.len, 0600, NULL);
	}
	check_num(path != NULL, 1);
	unlink(path ? path : "");
	rmdir(dir);
	free(path);
	strbuf_release(&data);
}

int main(int argc, char **argv)
{
	struct discover_opts opts = { .names = true };
	struct strbuf truth = STRBUF_INIT;
	struct err e = ERR_INIT;
	struct discovery *d;
	int mode = -1;

	for (size_t i = 0; argc == 4 && i < ARRAY_SIZE(mode_names); i++)
		if (strcmp(argv[3], mode_names[i]) == 0)
			mode = i;
	if (mode < 0 || io_read_file(argv[2], &truth, 1 << 20, &e) < 0) {
		printf("usage: test_discover PROGRAM TRUTH MODE %s\n", e.msg);
		return 2;
	}
	d = discover_file(argv[1], NULL, &opts, &e);
	if (!d) {
		printf("%s\n", e.msg);
		return 1;
	}
	if (check_all(d, truth.s, mode) < 14) {
		printf("too few tables in the truth\n");
		nr_failed++;
	}
	discovery_free(d);
	check_cache(argv[1], truth.s, mode);
	strbuf_release(&truth);
	return check_result();
}
