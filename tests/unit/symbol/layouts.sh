#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: layouts.sh TEST_LAYOUT SOURCES MODE RUSTC_OPTIONS...
# Builds fake/layouts.rs in one way, lets it print its truth, and checks what its debug info is read as. With mode damage
# the test is damage_layout, with mode names it is names_of_files.
# shellcheck source=tests/unit/symbol/rustc.sh
. "$(dirname "$0")/rustc.sh"
test=$1 src=$2 mode=$3
shift 3
compile()
{
	(cd "$dir" && rustc --edition 2021 "$@")
}
build()
{
	compile "$@" --crate-name layouts --extern older="$dir/libolder.rlib" --extern newer="$dir/libnewer.rlib" \
		-o "$dir/app" "$dir/layouts.rs"
}
make_program()
{
	cp -r "$src/layouts.rs" "$src/dep.rs" "$src/base.rs" "$src/foreign-1.0.0" "$dir"
	for release in older newer; do
		compile "$@" -C lto=off --crate-name dep --crate-type rlib -C metadata=$release --cfg $release \
			-o "$dir/lib$release.rlib" "$dir/dep.rs"
	done
	build "$@"
	"$dir/app" >"$dir/truth"
}
build_once "$@"
case $mode in
full | damage | names | why-*) ;;
zlib | zstd) objcopy --compress-debug-sections=$mode "$dir/app" ;;
old-packed) objcopy --compress-debug-sections=zlib-gnu "$dir/app" ;;
link) separate "$dir/app" ;;
other-build) # the debug file was made of another build since
	separate "$dir/app"
	cp "$dir/app" "$dir/old"
	echo '#[used] static OTHER: u8 = 7;' >>"$dir/layouts.rs"
	build "$@"
	objcopy --only-keep-debug "$dir/app" "$dir/app.debug"
	mv "$dir/old" "$dir/app" ;;
stripped) strip "$dir/app" ;;
no-elf) echo "no program" >"$dir/app" ;;
missing) rm "$dir/app" ;;
esac
case $mode in
damage) "$test" 5 "$dir/app" ;;
names) "$test" "$dir/app" ;;
full | zlib | zstd | link) "$test" "$dir/app" "$dir/truth" "$dir/cache" ;;
*) "$test" --why "$dir/app" "$mode" ;;
esac
