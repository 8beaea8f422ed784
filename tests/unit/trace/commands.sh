#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# dump, info and report say of a known trace exactly what is in it, and fail as they should: commands.sh FUTRACE MAKETRACE DIR
set -u
futrace=$(realpath "$1") maketrace=$(realpath "$2") dir=$3
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
export TZ=UTC0 LC_ALL=C

same() { # what, expected file, got file
	diff -u "$2" "$3" || { echo "FAILED: $1"; failed=1; }
}
expect() { # what, wanted, got
	[ "$2" = "$3" ] || { echo "FAILED: $1: wanted '$2', got '$3'"; failed=1; }
}

"$maketrace" "$tmp/trace" || exit 1
cd "$tmp" || exit 1

"$futrace" dump trace > dump.txt 2> err.txt
expect 'dump exits with 0' 0 $?
same 'dump prints every event' "$dir/dump.expected" dump.txt
expect 'dump of a good file says nothing more' '' "$(cat err.txt)"
"$futrace" info trace > info.txt
expect 'info exits with 0' 0 $?
grep -v '^size ' info.txt > info.stable
same 'info tells all' "$dir/info.expected" info.stable
expect 'info --json counts the same' "$(wc -l < dump.txt)" \
	"$("$futrace" info --json trace | python3 -c 'import json, sys; print(sum(json.load(sys.stdin)["events_by_kind"].values()))')"

expect 'info --json: lost is the sum of its kinds' True \
	"$("$futrace" info --json trace |
		python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["lost"] == sum(d["lost_by_kind"].values()) > 0)')"

expect '--limit' 3 "$("$futrace" dump --limit=3 trace | wc -l)"
expect '--limit=0 prints nothing' '' "$("$futrace" dump -n 0 trace 2>&1)"
for wanted in --task=987 --thread=987 --task=0; do
	"$futrace" dump $wanted trace > out.txt 2> err.txt
	expect "$wanted, of which there is none, is no failure" 0 $?
	expect "$wanted prints no event" '' "$(cat out.txt)"
	expect "$wanted says so" 1 "$(grep -c "no event of t[a-z]* ${wanted#*=} in trace" err.txt)"
done
expect '--thread' "$(grep -c '^ *[0-9.]* *4712 ' dump.txt)" "$("$futrace" dump --thread=4712 trace | wc -l)"
expect '--task shows the wakes and runs of one task' "$(grep -c ' task=41 ' dump.txt)" \
	"$("$futrace" dump --task=41 trace | wc -l)"

mv trace futrace.data
"$futrace" dump | cmp - dump.txt || { echo 'FAILED: futrace.data is the default'; failed=1; }
head -c 600 futrace.data > cut
"$futrace" dump cut > /dev/null 2> err.txt
expect 'a cut file is no failure' 0 $?
expect 'but it is told' 1 "$(grep -c 'was cut' err.txt)"
expect 'info tells it too' cut "$("$futrace" info --json cut |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["end"]["kind"])')"

# One byte wrong in the last block of events: what it held is not known, so nobody may say that nothing was lost.
python3 - <<END
data = bytearray(open('futrace.data', 'rb').read())
at = data.rindex(b'\xf5FTB\x02')
data[at + int.from_bytes(data[at + 6:at + 8], 'little') + 12] ^= 0x55
open('damaged', 'wb').write(data)
END
expect 'report of a damaged file knows no exact loss' 1 "$("$futrace" report damaged | grep -c '^lost  *at least [1-9]')"
expect 'report tells the damage' 1 "$("$futrace" report damaged | grep -c '^DAMAGE  *1 block and ')"
expect 'report of a damaged file is not complete' 0 "$("$futrace" report damaged | grep -c complete$)"
expect 'info of a damaged file knows no exact loss' 1 "$("$futrace" info damaged | grep -c '^lost  *at least [1-9]')"
expect 'report of a good file does' 1 "$("$futrace" report | grep -c '^lost  *21 events')"
for width in 80 100 140; do
	expect "report in $width columns" '' "$(COLUMNS=$width "$futrace" report | sed '1,/^$/d' | LC_ALL=C.UTF-8 grep -E ".{$((width + 1))}")"
done
expect 'a short line leaves columns out' 1 "$(COLUMNS=80 "$futrace" report | grep -c 'POLLS  *BUSY')"
expect 'a long one has all in which there is something' 1 \
	"$(COLUMNS=140 "$futrace" report | grep -c 'PEAK  *POLLS  *WAKES  *SELF  *BUSY  *UNKNOWN .* P90 .* TYPE')"

for wrong in nothing /dev/null "$dir" /bin/sh; do
	for command in dump info; do
		"$futrace" $command "$wrong" > out.txt 2> err.txt
		expect "$command $wrong exits with 1" 1 $?
		expect "$command $wrong prints nothing" '' "$(cat out.txt)"
		expect "$command $wrong says why in one line" 1 "$(wc -l < err.txt)"
	done
done
# Every flag of every event, as the dump prints them, stands in the manual beside that event.
manual=$dir/../../../docs/man/futrace-dump.1.scd
expect 'the known trace has flags of several events' yes "$([ "$(grep -c ' flags=' dump.txt)" -ge 4 ] && echo yes)"
sed -n 's/.* \([a-z-]*\) flags=\([a-z,]*\).*/\1 \2/p' dump.txt | sort -u > flags.txt
while read -r event flags; do
	for flag in $(echo "$flags" | tr , ' '); do
		grep -qE "^\\*$event\\* \\(flags ([a-z]+, )*$flag[,)]" "$manual" || {
			echo "FAILED: futrace-dump(1) lacks the flag $flag of $event"
			failed=1
		}
	done
done < flags.txt

"$futrace" recrod > out.txt 2> err.txt
expect 'an unknown command is a usage error' 2 $?
expect 'the nearest command is named, in one line' "futrace: no command 'recrod': did you mean 'record'?" "$(cat err.txt)"
expect 'no command is near to everything' 0 "$("$futrace" zzz 2>&1 | grep -c 'did you mean')"
expect 'version is --version' "$("$futrace" --version)" "$("$futrace" version)"
"$futrace" dump a b > /dev/null 2>&1
expect 'two files are a usage error' 2 $?
"$futrace" dump futrace.data > /dev/full 2> /dev/null
expect 'a full disk is a failure' 1 $?
exit $failed
