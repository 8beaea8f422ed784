# shellcheck shell=sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# What tests begin with that build a program by rustc and look at it. $dir: a folder for it, which goes when they end.
set -eu
if ! command -v rustc >/dev/null; then
	echo "skipped: there is no rustc to build the program with"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# usage: build_once RUSTC_OPTIONS...
# make_program(), which the test has, builds it of what is in $src, in $dir. Where FUTRACE_FIXTURES names a folder, what it made is
# kept there: many tests look at the same program, and with sanitizers all of them once more.
build_once()
{
	if [ -z "${FUTRACE_FIXTURES:-}" ]; then
		make_program "$@"
		return
	fi
	kept=$FUTRACE_FIXTURES/$({
		rustc -vV
		echo "$0 $*"
		cat "$(dirname "$0")"/*.sh
		find "$src" -type f | sort | xargs cat
	} | sha256sum | cut -d' ' -f1)
	mkdir -p "$FUTRACE_FIXTURES"
	(
		flock 9
		[ ! -e "$kept.done" ] || exit 0
		rm -rf "$kept"
		mkdir "$kept"
		dir=$kept
		make_program "$@"
		touch "$kept.done"
	) 9>"$kept.lock"
	cp -r "$kept/." "$dir"
}

# Debug info of a program goes into a separate file beside it, found by its link.
separate()
{
	objcopy --only-keep-debug "$1" "$1.debug"
	strip "$1"
	objcopy --add-gnu-debuglink="$1.debug" "$1"
}
