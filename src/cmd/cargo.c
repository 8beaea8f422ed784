// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * futrace cargo: builds with cargo and records what was built. `cargo futrace` is the same: cargo
 * looks for cargo-futrace on PATH, which is a link to futrace (main.c knows that name).
 *
 * The recording itself is `futrace record`, executed in place of this process: streams, signals and
 * the exit status are then handled there and nowhere else.
 */
#include "cmd/cargo.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "walk/checkup.h"

struct cargo_opts {
	const char *bin, *example, *test, *bench, *unit_test;
	const char *profile, *package, *features, *manifest, *output;
	bool dev, release, all_features, no_default_features, follow, no_report, quiet;
};

static const struct opt options[] = {
	OPT(0, "bin", OPT_STR, struct cargo_opts, bin, "NAME", "record this binary"),
	OPT(0, "example", OPT_STR, struct cargo_opts, example, "NAME", "record this example"),
	OPT(0, "test", OPT_STR, struct cargo_opts, test, "NAME", "record this integration test"),
	OPT(0, "bench", OPT_STR, struct cargo_opts, bench, "NAME", "record this benchmark"),
	OPT(0, "unit-test", OPT_MAYBE, struct cargo_opts, unit_test, "NAME",
	    "record the unit tests of the library, or of target NAME"),
	OPT(0, "release", OPT_FLAG, struct cargo_opts, release, NULL,
	    "build with the release profile, as is usual"),
	OPT(0, "dev", OPT_FLAG, struct cargo_opts, dev, NULL, "build with the dev profile"),
	OPT(0, "profile", OPT_STR, struct cargo_opts, profile, "NAME", "build with this profile"),
	OPT('p', "package", OPT_STR, struct cargo_opts, package, "NAME",
	    "of this package of the workspace"),
	OPT('F', "features", OPT_STR, struct cargo_opts, features, "LIST",
	    "with these features, separated by commas"),
	OPT(0, "all-features", OPT_FLAG, struct cargo_opts, all_features, NULL,
	    "with all features"),
	OPT(0, "no-default-features", OPT_FLAG, struct cargo_opts, no_default_features, NULL,
	    "without the default features"),
	OPT(0, "manifest-path", OPT_STR, struct cargo_opts, manifest, "FILE",
	    "the Cargo.toml to build"),
	OPT('o', "output", OPT_STR, struct cargo_opts, output, "FILE",
	    "write the recording to FILE (futrace.data)"),
	OPT(0, "follow", OPT_FLAG, struct cargo_opts, follow, NULL,
	    "record child processes too, each to FILE.PID"),
	OPT(0, "no-report", OPT_FLAG, struct cargo_opts, no_report, NULL,
	    "do not show the report at the end"),
	OPT('q', "quiet", OPT_FLAG, struct cargo_opts, quiet, NULL,
	    "print nothing but errors of cargo and futrace"),
	{ 0 },
};

/* ---- a command line ---- */

struct words {
	VEC(char *) list;
};

static void push(struct words *w, const char *word)
{
	vec_push(&w->list, (char *)word);
}

static void push_option(struct words *w, const char *option, const char *value)
{
	if (!value)
		return;
	push(w, option);
	push(w, value);
}

/* ---- what to build ---- */

/* Benchmarks have a profile of their own, as with `cargo bench`. */
static const char *profile_of(const struct cargo_opts *o)
{
	if (o->profile)
		return o->profile;
	return o->dev ? "dev" : o->bench ? "bench" : "release";
}

static const char *cargo_program(void)
{
	const char *given = getenv("CARGO"); /* set by the cargo that started us */

	return given && *given ? given : "cargo";
}

static void build_words(const struct cargo_opts *o, struct words *w)
{
	push(w, cargo_program());
	push(w, o->unit_test ? "test" : "build");
	if (o->unit_test)
		push(w, "--no-run");
	push(w, "--message-format=json-render-diagnostics");
	push_option(w, "--profile", profile_of(o));
	push_option(w, "--bin", o->bin);
	push_option(w, "--example", o->example);
	push_option(w, "--test", o->test);
	push_option(w, "--bench", o->bench);
	if (o->unit_test && !o->bin)
		push(w, "--tests");
	push_option(w, "--package", o->package);
	push_option(w, "--features", o->features);
	push_option(w, "--manifest-path", o->manifest);
	if (o->all_features)
		push(w, "--all-features");
	if (o->no_default_features)
		push(w, "--no-default-features");
	if (o->quiet)
		push(w, "--quiet");
	push(w, NULL);
}

/* -1: it was said what is wrong. */
static int check_opts(const struct cargo_opts *o)
{
	int nr_targets = !!o->example + !!o->test + !!o->bench + (o->bin || o->unit_test);

	if (nr_targets > 1)
		return cmd_usage("--bin, --example, --test, --bench and --unit-test exclude each "
				 "other; only --unit-test goes with --bin");
	if (o->bin && o->unit_test && *o->unit_test)
		return cmd_usage("--bin names the target of --unit-test already");
	if (!!o->profile + o->dev + o->release > 1)
		return cmd_usage("--profile, --dev and --release exclude each other");
	return 0;
}

/* ---- which of the built ones ---- */

/* A library's target has '_' where its package has '-'. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
			return false;
	return *a == *b;
}

static bool has_unit_tests(const struct artefact *a)
{
	return a->is_test && strcmp(a->kind, "test") != 0 && strcmp(a->kind, "bench") != 0 &&
	       strcmp(a->kind, "example") != 0;
}

static bool is_wanted(const struct cargo_opts *o, const struct artefact *a)
{
	const struct {
		const char *kind, *name;
	} targets[] = {
		{ "example", o->example },
		{ "test", o->test },
		{ "bench", o->bench },
		{ "bin", o->bin }, /* any, when nothing is named */
	};
	size_t i = 0;

	if (o->unit_test && !o->bin)
		return has_unit_tests(a) && (!*o->unit_test || same_name(a->name, o->unit_test));
	while (i < ARRAY_SIZE(targets) - 1 && !targets[i].name)
		i++;
	if (strcmp(a->kind, targets[i].kind) != 0 ||
	    (targets[i].name && strcmp(a->name, targets[i].name) != 0))
		return false;
	/* a binary is also built as its own test; others are one or the other */
	return strcmp(a->kind, "bin") != 0 || a->is_test == !!o->unit_test;
}

struct choice {
	VEC(const struct artefact *) list;
};

/* The one of this name (NULL: any) that is not of this kind (NULL: of any), if there is just one.
 */
static const struct artefact *pick(const struct choice *c, const char *name, const char *not_kind)
{
	const struct artefact *found = NULL;

	vec_each (a, &c->list) {
		if ((name && strcmp((*a)->name, name) != 0) ||
		    (not_kind && strcmp((*a)->kind, not_kind) == 0))
			continue;
		if (found)
			return NULL;
		found = *a;
	}
	return found;
}

static bool is_one_package(const struct choice *c)
{
	vec_each (a, &c->list)
		if (strcmp((*a)->package, c->list.v[0]->package) != 0)
			return false;
	return true;
}

/* The binary that `cargo run` would take. */
static const struct artefact *pick_default(const struct cargo_opts *o, const struct choice *c)
{
	const struct artefact *found = NULL;
	struct words w = { 0 };
	char *name;

	if (!is_one_package(c))
		return NULL;
	push(&w, cargo_program());
	push(&w, "metadata");
	push(&w, "--no-deps");
	push(&w, "--format-version=1");
	push_option(&w, "--manifest-path", o->manifest);
	push(&w, NULL);
	name = cargo_default_run(w.list.v, c->list.v[0]->package);
	if (name)
		found = pick(c, name, NULL);
	free(name);
	vec_release(&w.list);
	return found;
}

static int several(const struct cargo_opts *o, const struct choice *c, struct err *e)
{
	struct strbuf names = STRBUF_INIT;

	vec_each (a, &c->list)
		strbuf_addf(&names, "%s%s", names.len ? ", " : "", (*a)->name);
	err_set(e, ERR_USAGE, "%s: %s; choose one with %s%s",
		o->unit_test ? "several targets have unit tests" : "there are several binaries",
		names.s, o->unit_test ? "--unit-test=NAME" : "--bin NAME",
		is_one_package(c) ? "" : ", or its package with -p NAME");
	strbuf_release(&names);
	return -1;
}

static int choose(const struct cargo_opts *o, const struct artefacts *built,
		  const struct artefact **chosen, struct err *e)
{
	struct choice c = { 0 };
	int rc = 0;

	vec_each (a, &built->list)
		if (is_wanted(o, a))
			vec_push(&c.list, a);
	if (!c.list.nr) {
		rc = err_set(
			e, ERR_USAGE, "%s",
			o->unit_test
				? "no such target has unit tests"
				: "nothing to run was built, a library perhaps; name one of its "
				  "programs with --example, --test, --bench or --unit-test");
	} else {
		*chosen = pick(&c, NULL, NULL);
		if (!*chosen)
			*chosen = o->unit_test ? pick(&c, NULL, "bin") : pick_default(o, &c);
		if (!*chosen)
			rc = several(o, &c, e);
	}
	vec_release(&c.list);
	return rc;
}

/* ---- recording it ---- */

/* "release" -> "RELEASE", as cargo names the variable of a profile. */
static char *variable_name(const char *profile)
{
	char *name = xstrdup(profile);

	for (char *p = name; *p; p++)
		*p = *p == '-' ? '_' : toupper((unsigned char)*p);
	return name;
}

/* What futrace can tell depends on debug info, and a release build has none unless asked to. What
 * is found out here is in the cache when the recording asks for it. */
static void warn_of_debug_info(const struct cargo_opts *o, const struct artefact *a)
{
	const char *profile = profile_of(o);
	char *variable = variable_name(profile);
	char *cache = cmd_cache_dir();
	struct subject s = { 0 };
	bool is_stripped;

	if (subject_look(&s, a->path, NULL, cache, NULL) && s.d->rung < RUNG_LINES) {
		is_stripped = s.d->rung == RUNG_NOTHING;
		cmd_note("%s %s, so futures may lack their names and places: set "
			 "CARGO_PROFILE_%s_DEBUG=true%s%s%s, or put 'debug = true'%s under "
			 "[profile.%s] in Cargo.toml",
			 a->name, is_stripped ? "is stripped" : "has no debug info", variable,
			 is_stripped ? " CARGO_PROFILE_" : "", is_stripped ? variable : "",
			 is_stripped ? "_STRIP=false" : "",
			 is_stripped ? " and 'strip = false'" : "", profile);
	}
	discovery_free(s.d);
	free(cache);
	free(variable);
}

static bool record_has(const char *option)
{
	for (const struct opt *o = cmd_record.options; o->name; o++)
		if (strcmp(o->name, option) == 0)
			return true;
	return false;
}

/* Becomes `futrace record`. */
static int record(const struct cargo_opts *o, const struct artefact *a, char **args, struct err *e)
{
	struct words w = { 0 };

	push(&w, "futrace");
	push(&w, "record");
	push_option(&w, "--output", o->output);
	if (o->quiet)
		push(&w, "--quiet");
	if (o->follow)
		push(&w, "--follow");
	if (!o->no_report && record_has("report"))
		push(&w, "--report");
	push(&w, "--");
	push(&w, a->path);
	if (o->bench)
		push(&w, "--bench"); /* as `cargo bench` does; without it a harness only tests */
	while (*args)
		push(&w, *args++);
	push(&w, NULL);
	execv("/proc/self/exe", w.list.v);
	vec_release(&w.list);
	return err_sys(e, "cannot run futrace record");
}

static int run(const void *opts, int nr, char **argv)
{
	const struct cargo_opts *o = opts;
	const struct artefact *chosen = NULL;
	struct artefacts built = { 0 };
	struct err e = ERR_INIT;
	struct words w = { 0 };
	int status = 0, rc = 0;

	if (check_opts(o))
		return EXIT_USAGE;
	build_words(o, &w);
	if (cargo_build(w.list.v, &built, &status, &e)) {
		rc = cmd_fail(&e);
	} else if (status) {
		rc = status; /* cargo has said why */
	} else if (choose(o, &built, &chosen, &e)) {
		rc = cmd_fail(&e);
	} else {
		if (!o->quiet)
			warn_of_debug_info(o, chosen);
		record(o, chosen, argv, &e);
		rc = cmd_fail(&e);
	}
	vec_release(&w.list);
	artefacts_release(&built);
	return rc;
}

const struct command cmd_cargo = {
	.name = "cargo",
	.summary = "build with cargo, then record what was built",
	.synopsis = "[options] [--] [ARGS...]",
	.options = options,
	.options_size = sizeof(struct cargo_opts),
	.stop_at_operand = true,
	.operands = OPERANDS_ANY,
	.run = run,
};
