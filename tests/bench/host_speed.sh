#!/usr/bin/env bash
# host_speed.sh [BUILD [FOLDER]]: measures allreduce on this machine's memory against the vendor, call by call in turn,
# and prints what was aimed at beside what came out. Needs an idle machine, two cores and 3 GiB of memory; takes about
# eight minutes. FOLDER (default host_speed) gets speed.csv (allreduce_speed), bench-*.json (attune bench -J) and
# targets.txt. BUILD (default build/release) is a build with ATTUNE_ENABLE_BENCH.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build/release}
folder=${2:-host_speed}
speed=$build/tests/bench/allreduce_speed
attune=$build/attune
for program in "$speed" "$attune"; do
  [ -x "$program" ] || { echo "host_speed: $program is not there: build $build, or name another build" >&2; exit 6; }
done
mkdir -p "$folder"
csv=$folder/speed.csv
rm -f "$csv"
run=(mpirun --bind-to core)
crowd=(mpirun --oversubscribe --bind-to none)
if [ "$(id -u)" = 0 ]; then
  run+=(--allow-run-as-root)
  crowd+=(--allow-run-as-root)
fi

# What the same exchange takes when written by hand for this one case (bound.h).
declare -A bounds=([registered]="bound_push,bound_one_shot,bound_two_shot,bound_two_shot_nt" [staged]="bound_push,bound_staged")
for memory in registered staged; do
  for cache in hot rewritten; do
    echo "== 2 ranks, $memory, $cache"
    "${run[@]}" -n 2 "$speed" --memory "$memory" --cache "$cache" --plans "auto,memcpy,floor,${bounds[$memory]}" \
      --seconds 0.5 --csv "$csv"
  done
done
echo "== bf16 beside f32, registered, hot"
"${run[@]}" -n 2 "$speed" --sizes 64K,32M,128M --plans auto,bf16,bf16_half --seconds 2 --csv "$folder/bf16.csv.new"
mv "$folder/bf16.csv.new" "$folder/bf16.csv"
for ranks in 4 8; do
  for memory in registered staged; do
    echo "== $ranks ranks on $(nproc) cores, $memory"
    "${crowd[@]}" -n "$ranks" "$speed" --memory "$memory" --sizes 8,512,8K,128K,2M,16M --plans auto --seconds 1 --csv "$csv"
  done
done
for registered in 1 0; do
  for cache in hot rewritten; do
    "${run[@]}" -n 2 "$attune" bench -b 8 -e 128M -f 16 -n 40 -w 3 -c 1 --against vendor --cache "$cache" -R "$registered" \
      --table none -J "$folder/bench-$([ "$registered" = 1 ] && echo registered || echo staged)-$cache.json" > /dev/null
  done
done
python3 "$here/host_speed_targets.py" "$folder" | tee "$folder/targets.txt"
