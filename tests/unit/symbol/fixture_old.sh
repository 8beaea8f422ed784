#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: fixture_old.sh TEST_DISCOVER_OLD SOURCES MODE SLOTS RUSTC_OPTIONS...
# Builds fake/old.rs with tables of so many words, lets it print its truth, and checks what discovery says about it.
set -eu
test=$1 src=$2 mode=$3 slots=$4
shift 4
if ! command -v rustc >/dev/null; then
	echo "skipped: there is no rustc to build the program with"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build() {
	rustc --edition 2021 -C opt-level=3 -A unexpected_cfgs --cfg "slots=\"$slots\"" --out-dir "$dir" "$@"
}
build "$@" --crate-name tokio --crate-type rlib "$src/tokio_old.rs"
build "$@" --crate-name old --extern tokio="$dir/libtokio.rlib" "$src/old.rs"
"$dir/old" >"$dir/truth" 2>/dev/null
if [ "$mode" = stripped ]; then
	strip "$dir/old"
fi
"$test" "$dir/old" "$dir/truth" "$mode" "$slots"
