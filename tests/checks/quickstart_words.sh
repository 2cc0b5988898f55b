#!/usr/bin/env bash
# quickstart knows its words, says what is wrong with others in one line, and asks for no package where all are there.
set -euo pipefail
quickstart=$ATTUNE_SOURCE_DIR/quickstart

fail() {
  echo "FAILED: $1"
  exit 1
}

"$quickstart" help | grep -q '^usage: ./quickstart' || fail "help tells no usage"
for words in "nonsense" "test twice" "packages nonsense" "''"; do
  code=0
  eval "\"$quickstart\" $words" >out 2>err || code=$?
  [ "$code" = 6 ] || fail "quickstart $words exits with $code, not 6"
  [ "$(wc -l <err)" = 1 ] || fail "quickstart $words says more than one line: $(cat err)"
  grep -q '^quickstart: error: ' err || fail "quickstart $words says: $(cat err)"
done

# Whoever runs this test has built, so everything is there: a package manager that fails must not be asked.
rm -rf bin  # an earlier run leaves a compiler that fails
mkdir -p bin
for name in apt-get sudo; do
  # shellcheck disable=SC2016  # the words are the script's that is written, not this one's
  printf '#!/bin/sh\necho "$0 $*" >>"%s/asked"\nexit 1\n' "$PWD" >bin/$name
  chmod +x bin/$name
done
rm -f asked
PATH=$PWD/bin:$PATH "$quickstart" packages >/dev/null || fail "packages fails where all are there"
[ ! -e asked ] || fail "asked for packages: $(cat asked)"

# Something is missing and cannot be had: one line names the package, after the package manager's own words.
printf '#!/bin/sh\nexit 1\n' >bin/g++
chmod +x bin/g++
code=0
PATH=$PWD/bin:$PATH "$quickstart" packages >out 2>err || code=$?
[ "$code" = 1 ] || fail "packages exits with $code, not 1, where apt-get fails"
grep -q '^quickstart: error: .*nlohmann-json3-dev' err || fail "the missing package is not named: $(cat err)"
