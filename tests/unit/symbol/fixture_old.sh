#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: fixture_old.sh TEST_DISCOVER_OLD SOURCES MODE SLOTS RUSTC_OPTIONS...
# Builds fake/old.rs with tables of so many words, lets it print its truth, and checks what discovery says about it.
# shellcheck source=tests/unit/symbol/rustc.sh
. "$(dirname "$0")/rustc.sh"
test=$1 src=$2 mode=$3 slots=$4
shift 4
compile()
{
	rustc --edition 2021 -C opt-level=3 -A unexpected_cfgs --out-dir "$dir" "$@"
}
make_program()
{
	compile "$@" --crate-name tokio --crate-type rlib "$src/tokio_old.rs"
	compile "$@" --crate-name old --extern tokio="$dir/libtokio.rlib" "$src/old.rs"
	"$dir/old" >"$dir/truth" 2>/dev/null
}
build_once --cfg "slots=\"$slots\"" "$@"
if [ "$mode" = stripped ]; then
	strip "$dir/old"
fi
"$test" "$dir/old" "$dir/truth" "$mode" "$slots"
