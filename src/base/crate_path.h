// SPDX-License-Identifier: MIT OR Apache-2.0
/* Cargo keeps the sources of a crate of a registry in a folder NAME-VERSION. */
#ifndef BASE_CRATE_PATH_H
#define BASE_CRATE_PATH_H

/* "-1.2.3/", "-0.7.0-rc.1/", "-1.0.0+abc/": the slash behind it; NULL: it is no whole version, as
 * in "tokio-101/" and "tokio-1.40-upgrade/". */
const char *crate_skip_version(const char *s);

/* Does the path begin with such a folder, "hyper-1.2.3/src/ext.rs"? Where its version begins, or
 * NULL. Paths that rustc trims (--remap-path-prefix) begin so: they are relative, but to
 * no folder that is known. */
const char *crate_find_version(const char *file);

#endif
