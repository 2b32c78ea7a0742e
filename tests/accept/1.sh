#!/bin/bash
# tests/accept/1.sh - is the skeleton done? Prints `1.K PASS|FAIL|SKIP EVIDENCE` for each of six checks
#
# usage: CASES=FOLDER tests/accept/1.sh [--roots] [K...]
#   K        only those checks (1 to 6); all of them otherwise
#   --roots  check 1 makes bare Debian roots, which takes several minutes and needs root
#   CASES    the folder of acceptance cases with their run.py, for check 2
# Needs a built tree: ./dev build release release-sim asan bench. Check 4 wants a quiet machine.
# Outputs of everything that runs are kept where the last line says. Exit status 1: something failed.
# shellcheck source=tests/accept/common.sh
. "$(dirname "$(readlink -f "$0")")/common.sh"

check_1() {
    if [ -z "$roots" ]; then
        verdict 1.1 SKIP "give --roots: bare Debian roots, ./dev test and ./dev run in them"
        return
    fi
    "$root/tests/roots.sh" >"$outputs/roots.txt" 2>&1
    verdict 1.1 "$(passed $?)" "$(grep -E 'PASS|FAIL' "$outputs/roots.txt" | one_line)"
}

run_cases() { # OUTPUT [ARGUMENT...]
    local output=$1
    shift
    "$python" "$CASES/run.py" --proxy "127.0.0.1:$PORT" --proxy-pid "$PID" --have direct,ipv6 \
        --jobs 1 "$@" >"$output" 2>&1
}

# of_case FILE: how many variants of which case failed
of_case() {
    grep '^FAIL' "$1" | sed 's/^FAIL \([0-9]*\).*/\1/' | sort | uniq -c |
        awk '{ printf "%s%s (%d)", separator, $2, $1; separator = ", " }'
}

check_2() {
    local status evidence first=$outputs/cases.txt all=$outputs/cases-all.txt
    if [ ! -f "${CASES:-}/run.py" ]; then
        verdict 1.2 FAIL "set CASES to the folder of acceptance cases (it has a run.py)"
        return
    fi
    evidence=$(with_weir run_cases "$first" --only '022-*,023-*,025-*,028-*')
    status=$?
    [[ $(tail -n 1 "$first") =~ ^[1-9][0-9]*\ passed,\ 0\ failed ]] || status=1
    evidence="${evidence:+$evidence; }the first four: $(tail -n 1 "$first")"
    evidence+="$(grep '^FAIL' "$first" | head -n 3 | sed 's/^/; /' | tr -d '\n')"
    evidence+="; all of them: $(with_weir run_cases "$all")"
    evidence+="$(tail -n 1 "$all") $(of_case "$all")"
    verdict 1.2 "$(passed "$status")" "$evidence"
}

check_3() {
    "$root/tests/accept/transfer.py" --weir "$weir" >"$outputs/transfer.txt" 2>&1
    verdict 1.3 "$(passed $?)" "$(one_line <"$outputs/transfer.txt")"
}

check_4() {
    local status=0 name
    for name in mark syscalls instructions floor; do
        "$root/bench/run" "$name" --json "$outputs/$name.json" >"$outputs/$name.txt" 2>&1
    done
    "$python" "$root/tests/accept/figures.py" "$outputs" >"$outputs/figures.txt" 2>&1 || status=1
    verdict 1.4 "$(passed "$status")" "$(one_line <"$outputs/figures.txt")"
}

check_5() {
    local simulator=$root/build/release/sim status=0 start=$SECONDS took evidence name seen=0 missed=
    timeout 300 "$simulator" --exchanges 100000 >"$outputs/sim.txt" 2>&1 || status=1
    took=$((SECONDS - start))
    [ "$took" -lt 60 ] || status=1
    for name in $("$simulator" --list-invariants | awk '{ print $1 }'); do
        if timeout 60 "$simulator" --exchanges 100000 --break "$name" >"$outputs/sim-$name.txt" 2>&1; then
            missed+=" $name"
        elif grep -q "$name" "$outputs/sim-$name.txt"; then
            seen=$((seen + 1))
        else
            missed+=" $name (failed for another reason)"
        fi
    done
    [ "$seen" -gt 0 ] && [ -z "$missed" ] || status=1
    evidence="100000 exchanges in $took s: $(tail -n 1 "$outputs/sim.txt")"
    evidence+="; $seen invariants seen to fail when broken${missed:+, NOT$missed}"
    verdict 1.5 "$(passed "$status")" "$evidence"
}

check_6() {
    WEIR=$weir "$python" -m pytest -q -p no:cacheprovider "$root/tests/e2e/test_tour.py" \
        >"$outputs/tour.txt" 2>&1
    verdict 1.6 "$(passed $?)" "$(tail -n 1 "$outputs/tour.txt")$(
        grep '^E  ' "$outputs/tour.txt" | head -n 2 | sed 's/^E */; /' | tr -d '\n')"
}

roots=
options=roots
accept "$@"
