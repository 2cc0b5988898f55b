#!/usr/bin/env bash
# Installs into a fresh prefix, builds the README's example against it with find_package, runs it with two ranks.
set -euo pipefail
prefix=$PWD/prefix example=$PWD/example.cpp
rm -rf "$prefix" build "$example"

fail() {
  echo "FAILED: $1"
  exit 1
}

cmake --install "$ATTUNE_BINARY_DIR" --prefix "$prefix" >install.log || fail "install: $(tail -n 5 install.log)"
[ -x "$prefix/bin/attune" ] || fail "no program in the prefix"
"$prefix/bin/attune" --help >/dev/null || fail "the installed program does not run"
if grep -rlE "$ATTUNE_SOURCE_DIR|$ATTUNE_BINARY_DIR" "$prefix" --include='*.cmake' --include='*.h'; then
  fail "the installed files above name the build tree"
fi

# The first C++ block of the README that is a whole program.
awk '/^```cpp/ {inside = 1; text = ""; next}
     /^```/ && inside {inside = 0; if (text ~ /int main/) {printf "%s", text; exit}}
     inside {text = text $0 "\n"}' "$ATTUNE_SOURCE_DIR/README.md" >"$example"
[ -s "$example" ] || fail "README.md has no complete C++ example"

cmake -S "$ATTUNE_SOURCE_DIR/tests/install/consumer" -B build -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$example" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >configure.log 2>&1 || fail "configure: $(cat configure.log)"
cmake --build build >build.log 2>&1 || fail "build: $(cat build.log)"
$MPIRUN -n 2 build/consumer || fail "the example exits with $?"
