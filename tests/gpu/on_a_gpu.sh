#!/usr/bin/env bash
# Builds for the GPU of this machine, tests, and measures, in one call of some minutes; what it finds is left in a folder.
#   tests/gpu/on_a_gpu.sh [FOLDER]      default: build/gpu-report
# A step that fails does not stop the others; the exit code is the number of steps that failed.
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
out=$(mkdir -p "${1:-build/gpu-report}" && cd "${1:-build/gpu-report}" && pwd)
build=build/gpu
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failed=0

# step NAME SECONDS COMMAND...: runs it, keeps what it says, tells how it ended.
step() {
  local name=$1 limit=$2 start=$SECONDS code=0
  shift 2
  timeout -k 10 "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
  printf '%-12s %-8s %4d s\n' "$name" "$([ $code -eq 0 ] && echo passed || echo "rc $code")" $((SECONDS - start)) | tee -a "$out/summary.txt"
  [ $code -eq 0 ] || {
    failed=$((failed + 1))
    tail -n 15 "$out/$name.log"
  }
}
sanitizer() { compute-sanitizer --tool "$1" --error-exitcode 9 "${@:2}"; }

: >"$out/summary.txt"
git log -1 --format='commit %H' 2>/dev/null | tee -a "$out/summary.txt"
step machine 20 nvidia-smi -q
grep -m 1 'Product Name' "$out/machine.log" | tee -a "$out/summary.txt"
step configure 120 cmake --preset cuda -B "$build" -DCMAKE_CUDA_ARCHITECTURES=native -DATTUNE_ENABLE_BENCH=OFF
step build 540 cmake --build "$build" --target attune gpu_local_team gpu_local_speed
step info 30 "$build/attune" info
step tests 240 ctest --test-dir "$build" -L gpu --output-on-failure
if command -v compute-sanitizer >/dev/null; then
  # Small teams: every access is watched, which takes a hundred times as long.
  export -f sanitizer
  for tool in memcheck racecheck; do
    step "$tool" 240 bash -c "sanitizer $tool $build/tests/gpu/gpu_local_team --gtest_filter='*Registered*/2'"
  done
else
  echo "compute-sanitizer is not here: memcheck and racecheck have not been run" | tee -a "$out/summary.txt"
fi
step speed 240 bash -c "$build/tests/gpu/gpu_local_speed >'$out/local_team.jsonl'"
step sweep 240 "$build/attune" sweep --device cuda --local 4 --budget 150s --out "$out/local_team"
step bench 60 "$build/attune" bench --device cuda --local 4 -b 8 -e 64M -f 16 --variant two_shot_write
step vendor 60 mpirun -n 1 "$build/attune" bench --device cuda -b 8 -e 64M -f 16 --variant vendor
echo "report: $out"
exit "$failed"
