# tests/accept/common.sh - what the acceptance scripts share; sourced by them
#
# Sets root, python, weir, outputs (a folder of this run) and failures (how many checks failed).
set -uo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
# shellcheck disable=SC2034 # the scripts use what is set here
python=/usr/bin/python3
weir=$root/build/release/weir
outputs=$(mktemp -d "${TMPDIR:-/tmp}/weir-accept.XXXXXX")
failures=0
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

verdict() { # K PASS|FAIL|SKIP EVIDENCE
    [ "$2" != FAIL ] || failures=$((failures + 1))
    echo "$1 $2 $3"
}

# passed NUMBER: PASS for 0, else FAIL
passed() {
    if [ "$1" -eq 0 ]; then echo PASS; else echo FAIL; fi
}

# one_line: joins lines, so that evidence is one
one_line() { tr '\n' ';' | sed 's/;$//; s/;/; /g'; }

# with_weir COMMAND...: runs it with PORT and PID of a release weir, which must end well afterwards
with_weir() (
    log=$(mktemp "$outputs/weir.XXXXXX")
    # shellcheck disable=SC2086 # a list of words
    "$weir" ${WEIR_ARGUMENTS:--l 127.0.0.1:0} 2>"$log" >/dev/null &
    PID=$!
    trap 'kill -KILL "$PID" 2>/dev/null' EXIT
    for _ in $(seq 100); do
        PORT=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$log")
        [ -z "$PORT" ] || break
        kill -0 "$PID" 2>/dev/null || break
        sleep 0.1
    done
    if [ -z "$PORT" ]; then
        echo "weir does not start: $(one_line <"$log")"
        exit 1
    fi
    "$@"
    status=$?
    kill -TERM "$PID" 2>/dev/null
    wait "$PID" || { echo "weir ended with status $?"; status=1; }
    exit "$status"
)

# run_checks K...: each of them, or all that the script has
run_checks() {
    local check
    [ -x "$weir" ] || { echo "no $weir: ./dev build release release-sim asan bench" >&2; exit 2; }
    # shellcheck disable=SC2046 # a list of numbers
    [ $# -gt 0 ] || set -- $(compgen -A function check_ | sed 's/check_//' | sort -n)
    for check; do
        "check_$check"
    done
    echo "outputs: $outputs"
    exit "$((failures > 0))"
}

# accept ARGUMENT...: what a script does: --NAME sets NAME to yes for each of `options`, K picks checks
accept() {
    local argument checks=()
    for argument; do
        if [[ $argument == --* && " ${options:-} " == *" ${argument#--} "* ]]; then
            printf -v "${argument#--}" yes
        elif [[ $argument =~ ^[1-9]$ ]] && [ "$(type -t "check_$argument")" = function ]; then
            checks+=("$argument")
        else
            sed -n '2,/^[^#]/{/^# shellcheck/d;s/^# \{0,1\}//p}' "$0" >&2
            exit 2
        fi
    done
    run_checks "${checks[@]}"
}

# tests NAME PROGRAM ARGUMENT...: runs pytest with that weir, its output in NAME.txt; a test that is
# skipped fails
tests() {
    local name=$1 program=$2
    shift 2
    WEIR=$program WEIR_RELEASE=$weir "$python" -m pytest -q -rs -p no:cacheprovider "$@" \
        >"$outputs/$name.txt" 2>&1
    local status=$?
    grep -q skipped "$outputs/$name.txt" && status=1
    return "$status"
}

# last NAME: what the tests of that name came to, and the first that failed or were skipped
last() {
    grep . "$outputs/$1.txt" | tail -n 1
    grep -m 3 -E '^(FAILED|SKIPPED)' "$outputs/$1.txt" | cut -c 1-200
}
