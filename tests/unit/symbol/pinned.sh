#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: pinned.sh TEST_PINNED SOURCES UNSEEN RUSTC_OPTIONS...
# Builds fake/pinned.rs in one way, lets it print its truth, and checks where its root futures are said to lie. UNSEEN: the
# names of those that are not seen, with commas between them.
# shellcheck source=tests/unit/symbol/rustc.sh
. "$(dirname "$0")/rustc.sh"
test=$1 src=$2 unseen=$3
shift 3
compile()
{
	rustc --edition 2021 -A unexpected_cfgs -C debuginfo=2 --out-dir "$dir" "$@"
}
make_program()
{
	compile "$@" -C lto=off --crate-name async_io --crate-type rlib "$src/async_io.rs"
	compile "$@" --crate-name pinned --extern async_io="$dir/libasync_io.rlib" "$src/pinned.rs"
	"$dir/pinned" >"$dir/truth"
}
build_once "$@"
# shellcheck disable=SC2086
IFS=,
"$test" "$dir/pinned" "$dir/truth" $unseen
