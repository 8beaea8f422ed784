#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Proves that the report's numbers are those that an independent, slow computation finds in the text of dump.
# Usage: recompute.sh FUTRACE SIMULATE RECOMPUTE [NR_TRACES]
set -eu
futrace=$1 simulate=$2 recompute=$3 nr=${4:-23}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
seed=0
while [ "$seed" -lt "$nr" ]; do
	"$simulate" "$seed" 400 "$dir/$seed.trace"
	seed=$((seed + 1))
done
python3 -B "$recompute" "$futrace" "$dir"/*.trace
