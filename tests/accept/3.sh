#!/bin/bash
# tests/accept/3.sh - are plugins done? Prints `3.K PASS|FAIL EVIDENCE` for each of seven checks
#
# usage: CASES=FOLDER tests/accept/3.sh [--short] [K...]
#   K        only those checks (1 to 7); all of them otherwise
#   --short  reloads, threads and clang's build take a fraction of their time, and say so
#   CASES    the folder of acceptance cases with their run.py, for checks 6 and 7
# Needs a built tree: ./dev build release release-sim asan asan-unit asan-bare tsan bench. Checks 3, 4 and 7
# want a quiet machine; 4 needs h2load and nginx, 2 needs root.
# shellcheck source=tests/accept/common.sh
. "$(dirname "$(readlink -f "$0")")/common.sh"

# Groups A to F, H and I; in clang's build, a copy of the tree, only its own programs differ.
check_1() {
    local status=0 groups=("$root"/tests/e2e/test_filter*.py "$root"/tests/e2e/test_plugin_*.py)
    local tree=$outputs/clang
    tests gcc "$root/build/asan/weir" "${groups[@]}" || status=1
    git clone -q "$root" "$tree" && (cd "$tree" && nice ./dev build CC=clang asan asan-unit asan-bare) \
        >"$outputs/clang-build.txt" 2>&1 || status=1
    tests clang "$tree/build/asan/weir" "${groups[@]/#"$root"/"$tree"}" || status=1
    "$root/dev" test h1so >"$outputs/h1so.txt" 2>&1 || status=1
    verdict 3.1 "$(passed "$status")" "$(
        { echo "gcc: $(last gcc)"; echo "clang: $(last clang)"; echo "h1.so: $(last h1so)"; } | one_line)"
}

check_2() {
    local status=0 guides=("$root"/tests/e2e/test_writing_plugins.py)
    "$root/tests/plugin_root.sh" >"$outputs/plugin_root.txt" 2>&1 || status=1
    tests guide "$root/build/asan/weir" "${guides[@]}" || status=1
    verdict 3.2 "$(passed "$status")" "$({ tail -n 3 "$outputs/plugin_root.txt"; last guide; } | one_line)"
}

check_3() {
    "$root/tests/accept/hooks.py" >"$outputs/hooks.txt" 2>&1
    local status=$? size
    size=$(gdb -batch -ex 'print sizeof(struct filter_state)' "$weir" 2>/dev/null | sed 's/.* = //')
    [ "${size:-99}" -le 56 ] || status=1
    verdict 3.3 "$(passed "$status")" "$(one_line <"$outputs/hooks.txt"); a filter's state: $size bytes and at most 8 of alignment"
}

check_4() {
    local status=0 seconds=60 many=1000
    [ -z "$short" ] || { seconds=12; many=50; }
    "$root/tests/accept/reloads.py" --seconds "$seconds" >"$outputs/reloads.txt" 2>&1 || status=1
    "$root/tests/accept/reloads.py" --seconds "$seconds" --rate 20 --weir "$root/build/asan/weir" \
        >"$outputs/reloads-asan.txt" 2>&1 || status=1
    RELOADS=$many tests reload "$root/build/asan/weir" -s -k many "$root/tests/e2e/test_plugin_reload.py" ||
        status=1
    verdict 3.4 "$(passed "$status")" "$({
        cat "$outputs/reloads.txt"
        echo "with ASan: $(one_line <"$outputs/reloads-asan.txt")"
        grep -o '[0-9]* reloads, .*' "$outputs/reload.txt"
    } | one_line)"
}

check_5() {
    local status=0 seconds=120
    [ -z "$short" ] || seconds=20
    SECONDS_OF_LOAD=$seconds tests threads "$root/build/tsan/weir" -s \
        "$root/tests/e2e/test_plugin_threads.py" || status=1
    "$root/dev" test tsan >"$outputs/tsan.txt" 2>&1 || status=1
    verdict 3.5 "$(passed "$status")" "$({
        grep -o '[0-9]* answers; .*' "$outputs/threads.txt"
        last threads
        echo "suite: $(tail -n 1 "$outputs/tsan.txt")"
    } | one_line)"
}

# filters.yaml has what the cases ask for: /deny, hello, and on the second listener a user
write_filters() {
    cc -std=c11 -D_GNU_SOURCE -O2 -shared -fPIC -fvisibility=hidden -I "$root" -o "$outputs/rewrite.so" \
        "$root/tests/plugins/rewrite.c" || return 1
    cat >"$outputs/filters.yaml" <<EOF
workers: 1
listen: [ { address: 127.0.0.1:0 } ]
plugin_directory: $root/build/release/plugins
plugins: [ $outputs/rewrite.so ]
filters:
  - use: acl
    with: { rules: [ { deny: { path: "/deny*" } } ], otherwise: allow }
  - use: rewrite-bodies
EOF
    cat >"$outputs/auth.yaml" <<EOF
workers: 1
listen: [ { address: 127.0.0.1:0 } ]
plugin_directory: $root/build/release/plugins
filters: [ { use: auth-basic, with: { users: { u: "$(openssl passwd -5 p)" } } } ]
EOF
}

# What cannot be got round, by name: by CONNECT, SOCKS5, subrequests, a name that resolves to a denied
# address, a connection that another user left in the pool.
ROUND='denied or kept_connection or accident or spelt or allow_clients or subrequest or fetch'

check_6() {
    local status=0 output=$outputs/cases.txt evidence
    if [ ! -f "${CASES:-}/run.py" ]; then
        verdict 3.6 FAIL "set CASES to the folder of acceptance cases (it has a run.py)"
        return
    fi
    play() { # PORT, PID of the first; PORT is that of the second
        "$python" "$CASES/run.py" --proxy "127.0.0.1:$1" --proxy-pid "$2" --alt "auth=127.0.0.1:$PORT" \
            --have direct,ipv6,deny-filter,rewrite-filter --only '008-*,018-*,029-*,056-*' --jobs 1 >"$output" 2>&1
    }
    authenticated() { WEIR_ARGUMENTS="-c $outputs/auth.yaml" with_weir play "$PORT" "$PID"; }
    write_filters || status=1
    evidence=$(WEIR_ARGUMENTS="-c $outputs/filters.yaml" with_weir authenticated)
    [[ $(tail -n 1 "$output") =~ ^[1-9][0-9]*\ passed,\ 0\ failed ]] || status=1
    tests round "$root/build/asan/weir" -k "$ROUND" "$root"/tests/e2e/test_{access,acl,socks5}.py \
        "$root/tests/e2e/test_fetch.py" || status=1
    verdict 3.6 "$(passed "$status")" "$({
        echo "${evidence:+$evidence; }$(tail -n 1 "$output")"
        grep '^FAIL' "$output" | head -n 3
        grep '^SKIP.*\(auth\|filter\)' "$output" | head -n 3
        echo "not got round: $(last round)"
    } | one_line)"
}

check_7() {
    local status=0
    tests redirect "$root/build/asan/weir" "$root/tests/e2e/test_redirect.py" || status=1
    CASES=${CASES:-} "$root/tests/accept/1.sh" 4 >"$outputs/first.txt" 2>&1 || status=1
    CASES=${CASES:-} "$root/tests/accept/2.sh" 3 6 >"$outputs/second.txt" 2>&1 || status=1
    verdict 3.7 "$(passed "$status")" "$({
        last redirect
        grep -hE '^[12]\.[0-9]' "$outputs/first.txt" "$outputs/second.txt"
    } | one_line)"
}

short=
options=short
accept "$@"
