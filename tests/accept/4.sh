#!/bin/bash
# tests/accept/4.sh - are TLS and HTTP/2 done? Prints `4.K PASS|FAIL EVIDENCE` for each of seven checks
#
# usage: CASES=FOLDER PEERS=SCRIPT tests/accept/4.sh [--short] [K...]
#   K        only those checks (1 to 7); all of them otherwise
#   --short  simulations and measurements take a fraction of their time, and say so
#   CASES    the folder of acceptance cases with their run.py, for check 4
#   PEERS    the script that measures proxies side by side over HTTP/2, for check 5
# Needs a built tree: ./dev build release release-sim asan bench. Checks 5, 6 and 7 want a quiet machine.
# shellcheck source=tests/accept/common.sh
. "$(dirname "$(readlink -f "$0")")/common.sh"
# shellcheck source=scripts/setup.sh
. "$root/scripts/setup.sh"
setup build test peers # h2spec on the PATH, WEIR_PEERS

# e2e NAME FILE...: those of tests/e2e
e2e() {
    local name=$1
    shift
    tests "$name" "$root/build/asan/weir" "${@/#/$root/tests/e2e/}"
}

check_1() {
    local status=0 pair count=250000 evidence=
    [ -z "$short" ] || count=10000
    e2e pairs test_pairs.py test_pair_pauses.py || status=1
    for pair in h1-h1 h1-h2 h2-h1 h2-h2; do
        "$root/build/release/sim" --pair "$pair" --exchanges "$count" --faults all >"$outputs/sim-$pair.txt" 2>&1 ||
            status=1
        evidence+="; $pair: $count exchanges, $(tail -n 1 "$outputs/sim-$pair.txt")"
    done
    verdict 4.1 "$(passed "$status")" "$(last pairs | one_line)$evidence"
}

check_2() {
    e2e h2spec test_h2spec.py
    verdict 4.2 "$(passed $?)" "$(last h2spec | one_line)"
}

check_3() {
    e2e peers test_http2.py test_http2_streams.py test_http2_peers.py \
        test_streams.py test_grpc.py test_browser.py test_tls_clients.py test_tls_servers.py
    verdict 4.3 "$(passed $?)" "$(last peers | one_line)"
}

# As in 2.1: both lengths in one request are refused, as RFC 9112 6.1 and 6.3 allow.
ARGUED='^FAIL 001-[^ ]*/[01] .*no complete request at the origin'

check_4() {
    local status=0 port evidence
    if [ ! -f "${CASES:-}/run.py" ]; then
        verdict 4.4 FAIL "set CASES to the folder of acceptance cases (it has a run.py)"
        return
    fi
    clients() {
        "$python" "$CASES/run.py" --proxy "127.0.0.1:$PORT" --proxy-pid "$PID" --h2c \
            --have direct,ipv6,connect-protocol --jobs 1 >"$outputs/h2c.txt" 2>&1
    }
    servers() {
        "$python" "$CASES/run.py" --proxy "127.0.0.1:$PORT" --proxy-pid "$PID" --h2-upstream --chained --have ipv6,connect-protocol \
            --origin-port "$port" --jobs 1 >"$outputs/h2-upstream.txt" 2>&1
    }
    evidence=$(with_weir clients)
    port=$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
    printf 'workers: 1\nlisten: [ { address: 127.0.0.1:0 } ]\nupstream: { app: { servers: [ 127.0.0.1:%s ], protocol: h2 } }\nfixed_upstream: app\n' \
        "$port" >"$outputs/upstream.yaml"
    evidence+=$(WEIR_ARGUMENTS="-c $outputs/upstream.yaml" with_weir servers)
    for name in h2c h2-upstream; do
        [ "$(grep '^FAIL' "$outputs/$name.txt" | grep -cvE "$ARGUED")" -eq 0 ] || status=1
        [[ $(tail -n 1 "$outputs/$name.txt") =~ ^[1-9][0-9]*\ passed, ]] || status=1
    done
    "$root/dev" test h2 >"$outputs/groups.txt" 2>&1 || status=1
    verdict 4.4 "$(passed "$status")" "$({
        echo "${evidence:+$evidence; }clients: $(tail -n 1 "$outputs/h2c.txt")"
        echo "argued: $(grep -cE "$ARGUED" "$outputs/h2c.txt")"
        echo "servers: $(tail -n 1 "$outputs/h2-upstream.txt")"
        echo "conformance over HTTP/2: $(tail -n 1 "$outputs/groups.txt")"
    } | one_line)"
}

check_5() {
    local status=0 rounds=9
    [ -z "$short" ] || rounds=2
    if [ ! -f "${PEERS:-}" ]; then
        verdict 4.5 FAIL "set PEERS to the script that measures proxies side by side"
        return
    fi
    "$python" "$PEERS" h2c --bin "$WEIR_PEERS" --rounds "$rounds" \
        --weir "$weir -l 127.0.0.1:{port} -w 1 -u {origin}" >"$outputs/mux.txt" 2>&1 || status=1
    "$root/bench/run" tls >"$outputs/tls.txt" 2>&1 || status=1
    "$root/bench/run" scale tls >"$outputs/idle.txt" 2>&1 || status=1
    verdict 4.5 "$(passed "$status")" "$({
        tail -n 8 "$outputs/mux.txt"
        tail -n 8 "$outputs/tls.txt"
        grep -E 'PASS|FAIL' "$outputs/idle.txt"
    } | one_line)"
}

check_6() {
    local seconds=60
    [ -z "$short" ] || seconds=10
    "$root/bench/run" attack --seconds "$seconds" >"$outputs/attack.txt" 2>&1
    verdict 4.6 "$(passed $?)" "$(one_line <"$outputs/attack.txt")"
}

check_7() {
    local status=0
    CASES=${CASES:-} "$root/tests/accept/1.sh" 4 >"$outputs/first.txt" 2>&1 || status=1
    CASES=${CASES:-} "$root/tests/accept/2.sh" 1 6 >"$outputs/second.txt" 2>&1 || status=1
    CASES=${CASES:-} "$root/tests/accept/3.sh" 3 6 >"$outputs/third.txt" 2>&1 || status=1
    verdict 4.7 "$(passed "$status")" "$(grep -hE '^[123]\.[0-9]' "$outputs"/{first,second,third}.txt | one_line)"
}

short=
options=short
accept "$@"
