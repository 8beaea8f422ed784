#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: pinned.sh TEST_PINNED SOURCES UNSEEN RUSTC_OPTIONS...
# Builds fake/pinned.rs in one way, lets it print its truth, and checks where its root futures are said to lie. UNSEEN: the
# names of those that are not seen, with commas between them.
set -eu
test=$1 src=$2 unseen=$3
shift 3
if ! command -v rustc >/dev/null; then
	echo "skipped: there is no rustc to build the program with"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build() {
	rustc --edition 2021 -A unexpected_cfgs -C debuginfo=2 --out-dir "$dir" "$@"
}
build "$@" -C lto=off --crate-name async_io --crate-type rlib "$src/async_io.rs"
build "$@" --crate-name pinned --extern async_io="$dir/libasync_io.rlib" "$src/pinned.rs"
"$dir/pinned" >"$dir/truth"
# shellcheck disable=SC2086
IFS=,
"$test" "$dir/pinned" "$dir/truth" $unseen
