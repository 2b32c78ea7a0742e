#!/bin/bash
# tests/roots.sh - proves that ./dev is enough on a machine that has nothing yet
#
# usage: tests/roots.sh [bookworm] [trixie]      (both; needs root, mmdebstrap and iproute2)
# For each Debian release a bare root is made with git and ca-certificates, this checkout's last
# commit is cloned in it, and ./dev test and ./dev run must do, then once more without a network.
# Prints lines RELEASE: WHAT PASS|FAIL SECONDS s EVIDENCE; the outputs are kept where it says.
set -uo pipefail
checkout=$(dirname "$(dirname "$(readlink -f "$0")")")
script=$(readlink -f "$0")
packages=git,ca-certificates # that a bare root has
failures=0

# verdict WHAT STATUS SECONDS EVIDENCE
verdict() {
    local word=PASS
    if [ "$2" -ne 0 ]; then
        word=FAIL
        failures=$((failures + 1))
    fi
    echo "$release: $1 $word $3 s $4"
}

address_of() { # LABEL: the archive that apt uses
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        "Label: $1" | sort -u | head -n 1
}

make_root() { # DIRECTORY
    local archive security
    archive=$(address_of Debian)
    security=$(address_of Debian-Security)
    [ -n "$archive" ] || return 1
    mmdebstrap --quiet --variant=minbase --include="$packages" "$release" "$1" \
        "deb $archive $release main" "deb $archive $release-updates main" \
        ${security:+"deb $security $release-security main"} &&
        mkdir -p "$1/srv/source" && cp /etc/resolv.conf "$1/etc/"
}

# in_root DIRECTORY STEP [UNSHARE-OPTION]: runs a step below in the root. Its processes and mounts
# end with it.
in_root() {
    unshare --mount --pid --fork --kill-child ${3:-} bash -c '
        set -e
        [ -z "$4" ] || ip link set lo up
        mount --bind "$2" "$1/srv/source"
        mount -t proc proc "$1/proc"
        mount --rbind /sys "$1/sys"
        mount --rbind /dev "$1/dev"
        exec chroot "$1" env -i HOME=/root PATH="$PATH" bash "/srv/source/tests/$5" --step "$3" </dev/null
    ' in_root "$1" "$checkout" "$2" "${3:-}" "$(basename "$script")"
}

# The steps, which run in the root.

step_clone() { git clone --quiet /srv/source /srv/weir; }

step_test() { cd /srv/weir && ./dev test; }

# Serves one file on a port that the system picks.
step_run() {
    local origin=/srv/origin port proxy weir_process=0 status=1 i
    mkdir -p "$origin"
    echo "hello through weir" >"$origin/hello"
    python3 -u -m http.server --bind 127.0.0.1 --directory "$origin" 0 >"$origin.log" 2>&1 &
    (cd /srv/weir && exec ./dev run -l 127.0.0.1:0) >/srv/run.log 2>&1 &
    weir_process=$!
    for i in $(seq 3000); do
        port=$(sed -n 's/^Serving HTTP on .* port \([0-9]*\) .*/\1/p' "$origin.log")
        proxy=$(sed -n 's/.*listening on \(127[0-9.:]*\).*/\1/p' /srv/run.log)
        [ -z "$port" ] || [ -z "$proxy" ] || break
        kill -0 "$weir_process" 2>/dev/null || break
        sleep 0.1
    done
    echo "listening after $((i / 10)).$((i % 10)) s"
    cat /srv/run.log
    [ "$(curl --silent --max-time 10 -x "http://$proxy" "http://127.0.0.1:$port/hello")" = \
        "hello through weir" ] && status=0
    kill -TERM "$weir_process" 2>/dev/null
    wait "$weir_process" || status=1
    return "$status"
}

check_step() { # ROOT STEP [UNSHARE-OPTION]
    local log=$outputs/$release-$2${3:-}.txt start=$SECONDS status evidence
    in_root "$@" >"$log" 2>&1
    status=$?
    case $2 in
    plugin*) evidence="$(grep -c '^ok:' "$log") checks ok" ;;
    test)
        evidence=$(tail -n 1 "$log")
        [[ $evidence =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]] || status=1
        ;;
    *) evidence=$(grep -m 1 '^listening after' "$log") ;;
    esac
    verdict "$2${3:+ without network}" "$status" "$((SECONDS - start))" "$evidence"
}

check_release() {
    local root=$work/$release start=$SECONDS
    make_root "$root" >"$outputs/$release-root.txt" 2>&1
    verdict "bare root" $? "$((SECONDS - start))" ""
    check_step "$root" clone
    check_step "$root" test
    check_step "$root" run
    check_step "$root" run --net
    check_step "$root" test --net
    rm -rf --one-file-system "$root"
}

# main RELEASE...: in the root a step, outside all of them
main() {
    if [ "${1:-}" = --step ]; then
        "step_$2"
        exit
    fi
    for tool in mmdebstrap ip unshare; do
        command -v "$tool" >/dev/null || { echo "$0 needs $tool" >&2; exit 2; }
    done
    work=$(mktemp -d /var/tmp/weir-roots.XXXXXX)
    outputs=$work/outputs
    mkdir "$outputs"
    echo "outputs: $outputs"
    for release; do
        check_release
    done
    exit "$((failures != 0))"
}

# plugin_root.sh has other steps.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    case ${1:-} in
    '') main bookworm trixie ;;
    *) main "$@" ;;
    esac
fi
