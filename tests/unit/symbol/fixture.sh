#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: fixture.sh TEST_DISCOVER SOURCES MODE RUSTC_OPTIONS...
# Builds fake/app.rs in one way, lets it print its truth, and checks what discovery says about it.
# shellcheck source=tests/unit/symbol/rustc.sh
. "$(dirname "$0")/rustc.sh"
test=$1 src=$2 mode=$3
shift 3
make_program()
{
	rustc --edition 2021 "$@" --crate-name tokio --crate-type rlib --out-dir "$dir" "$src/tokio.rs"
	rustc --edition 2021 "$@" --crate-name app --extern tokio="$dir/libtokio.rlib" -o "$dir/app" "$src/app.rs"
	"$dir/app" >"$dir/truth"
}
build_once "$@"
case $mode in
stripped) strip "$dir/app" ;;
split)
	mode=full
	separate "$dir/app" ;;
packed) # compressed debug sections
	mode=full
	objcopy --compress-debug-sections=zlib "$dir/app" ;;
esac
"$test" "$dir/app" "$dir/truth" "$mode"
