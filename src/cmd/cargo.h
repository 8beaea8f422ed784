// SPDX-License-Identifier: MIT OR Apache-2.0
/* Asking cargo: cargo_build.c runs it and reads the JSON that it prints, cargo.c decides. */
#ifndef CMD_CARGO_H
#define CMD_CARGO_H

#include "base/err.h"
#include "base/vec.h"

/* An executable that cargo built. */
struct artefact {
	char *kind;    /* "bin", "example", "test", "bench", "lib" … */
	char *name;    /* of the target */
	char *package; /* its id */
	char *path;
	bool is_test; /* with a test harness around it */
};

struct artefacts {
	VEC(struct artefact) list;
};

/*
 * Runs `argv`, a cargo that builds with --message-format=json…; *status is its exit status as a
 * shell would say. -1 when it could not be started or listened to.
 */
int cargo_build(char **argv, struct artefacts *built, int *status, struct err *e);
void artefacts_release(struct artefacts *built);

/*
 * The binary that the manifest of a package names by default-run; NULL: none, or cargo did not
 * tell. `argv` is a `cargo metadata`. The caller frees it.
 */
char *cargo_default_run(char **argv, const char *package);

#endif
