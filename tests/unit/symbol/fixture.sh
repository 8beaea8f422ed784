#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: fixture.sh TEST_DISCOVER SOURCES MODE RUSTC_OPTIONS...
# Builds fake/app.rs in one way, lets it print its truth, and checks what discovery says about it.
set -eu
test=$1 src=$2 mode=$3
shift 3
if ! command -v rustc >/dev/null; then
	echo "skipped: there is no rustc to build the program with"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
rustc --edition 2021 "$@" --crate-name tokio --crate-type rlib --out-dir "$dir" "$src/tokio.rs"
rustc --edition 2021 "$@" --crate-name app --extern tokio="$dir/libtokio.rlib" -o "$dir/app" "$src/app.rs"
"$dir/app" >"$dir/truth"
case $mode in
stripped) strip "$dir/app" ;;
split) # debug info in a separate file, found by its link
	mode=full
	objcopy --only-keep-debug "$dir/app" "$dir/app.debug"
	strip "$dir/app"
	objcopy --add-gnu-debuglink="$dir/app.debug" "$dir/app" ;;
packed) # compressed debug sections
	mode=full
	objcopy --compress-debug-sections=zlib "$dir/app" ;;
esac
"$test" "$dir/app" "$dir/truth" "$mode"
