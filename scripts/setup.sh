# scripts/setup.sh - finds what a task needs and installs what is missing; sourced by dev
#
# setup GROUP...: build, test, bench, fuzz, format, peers. Silent and offline when nothing is missing. Then
# PKG_CONFIG_PATH and PATH name what was set up. The caller sets root, the checkout's directory.

# shellcheck source=scripts/archive.sh
. "$root/scripts/archive.sh"

cache=${WEIR_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/weir}
archive=$cache/archive

# recipe FILE...: a short name for what these scripts make. A changed script makes another directory,
# so that checkouts of different age can share the cache.
recipe() { cat "${@/#/$root/scripts/}" | cksum | cut -d ' ' -f 1; }

prefix=$cache/libraries-$(recipe prefix.sh)
servers=$cache/servers-$(recipe unpack.sh)
peers=$cache/peers-$(recipe unpack.sh peers.sh)
h2spec=$cache/h2spec-$(recipe h2spec.sh)

# What each group takes from Debian. Libraries of build that Debian 12 has too old are not here.
packages_build="gcc libc6-dev scons pkgconf libc-ares-dev libfyaml-dev liblua5.4-dev libpcre2-dev
    libcrypt-dev zlib1g-dev libzstd-dev"
packages_build_13="libuv1-dev libllhttp-dev libssl-dev libnghttp2-dev"
packages_backports_13="libngtcp2-dev libngtcp2-crypto-ossl-dev libnghttp3-dev"
packages_test="libcmocka-dev python3-pytest python3-h2 python3-hpack python3-grpcio curl chromium
    nghttp2-client nghttp2-server"
packages_bench="wrk valgrind strace"
packages_fuzz="clang libclang-rt-dev"
packages_format="clang-format"
# What each group runs: this is what counts on systems without those packages.
programs_build="gcc scons pkg-config"
programs_test="python3 curl"
programs_bench="python3 wrk valgrind strace"
programs_fuzz="clang"
programs_format="clang-format"
# Test and bench also need these. They are unpacked, since installed they would start as services.
servers_unpacked="nginx haproxy"

say() { echo "setup: $*" >&2; }

fail() {
    say "$@"
    exit 1
}

# run_logged TEXT COMMAND...: says TEXT and how long it took; shows the output only of a failure
run_logged() {
    local text=$1 log start=$SECONDS
    shift
    say "$text ..."
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1 </dev/null 9>&-; then
        cat "$log" >&2
        rm -f "$log"
        fail "failed: $text"
    fi
    rm -f "$log"
    say "$text: done in $((SECONDS - start)) s"
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# debian_version: 12, 13, or nothing on other systems
debian_version() {
    # shellcheck disable=SC1091 # the system's own description
    (
        . /etc/os-release
        case ${ID:-}${VERSION_ID:-} in
        debian12 | debian13) echo "$VERSION_ID" ;;
        esac
    )
}

missing_programs() { # PROGRAM...
    local program
    for program; do
        command -v "$program" >/dev/null || echo "$program"
    done
}

missing_packages() { # PACKAGE...
    local package installed
    installed=" $(dpkg-query --show --showformat '${db:Status-Status}=${Package} ' "$@" \
        2>/dev/null || true)"
    for package; do
        case $installed in
        *" installed=$package "*) ;;
        *) echo "$package" ;;
        esac
    done
}

# wanted_libraries: scripts/libraries.txt as pkg-config takes it
wanted_libraries() { sed -n 's/^\([^# ]\+\) \(.*\)$/\1 >= \2/p' "$root/scripts/libraries.txt"; }

# shellcheck disable=SC2046 # a list of words
have_libraries() { pkg-config --exists $(wanted_libraries) 2>/dev/null; }

missing_libraries() {
    local library
    wanted_libraries | while read -r library; do
        # shellcheck disable=SC2086 # a list of words
        pkg-config --exists $library 2>/dev/null || echo "$library"
    done
}

apt_install() { # [OPTION...] PACKAGE...
    as_root env DEBIAN_FRONTEND=noninteractive ${APT_CONFIG:+"APT_CONFIG=$APT_CONFIG"} apt-get \
        -qq --assume-yes --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        install "$@"
}

apt_update_and_install() { # PACKAGE...
    as_root apt-get -qq -o Acquire::Retries=3 update && apt_install "$@"
}

install_packages() { # PACKAGE...
    local missing
    missing=$(missing_packages "$@" | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        fail "neither root nor sudo here: install $missing"
    # shellcheck disable=SC2086 # a list of words
    run_logged "installing $missing" apt_update_and_install $missing
}

# The lists of trixie-backports are private, the packages are installed as any others are.
install_backports() { # PACKAGE...
    archive_open "$archive" && APT_CONFIG=$archive/apt.conf apt_install \
        -o Dir::Cache=/var/cache/apt -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Keep-Downloaded-Packages=false --target-release trixie-backports "$@"
}

use_prefix() {
    local pkgconfig
    pkgconfig=$prefix/usr/lib/$(gcc -print-multiarch)/pkgconfig
    export PKG_CONFIG_PATH="$pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
}

# All libraries come from one place: never OpenSSL from here and ngtcp2 from there.
setup_libraries() { # DEBIAN_VERSION
    have_libraries && return
    case $1 in
    12)
        [ -e "$prefix" ] || run_logged "unpacking Debian 13's libraries in $prefix" \
            "$root/scripts/prefix.sh" "$prefix" "$archive"
        use_prefix
        ;;
    13)
        # shellcheck disable=SC2086 # a list of words
        run_logged "installing $packages_backports_13 (trixie-backports)" \
            install_backports $packages_backports_13
        ;;
    esac
    have_libraries || fail "pkg-config must find $(missing_libraries | paste -s -d ',' | sed 's/,/, /g')"
}

setup_servers() { # DEBIAN_VERSION
    # shellcheck disable=SC2086 # a list of words
    [ -n "$(missing_programs $servers_unpacked)" ] || return 0
    [ -n "$1" ] || fail "these programs must be on the PATH: $servers_unpacked"
    # shellcheck disable=SC2086 # a list of words
    run_logged "unpacking $servers_unpacked in $servers" \
        "$root/scripts/unpack.sh" "$servers" "$archive" $servers_unpacked
}

setup_peers() { # DEBIAN_VERSION
    [ ! -e "$peers" ] || return 0
    [ -n "$1" ] || fail "peers are packages of Debian: this is no Debian 12 or 13"
    run_logged "unpacking curl, nginx, haproxy, caddy, nghttp2 and aioquic in $peers" \
        "$root/scripts/peers.sh" "$peers" "$archive"
}

# Its tests are skipped where there is no Go, or no module is to be had.
setup_h2spec() {
    [ ! -e "$h2spec" ] && command -v go >/dev/null || return 0
    say "building h2spec in $h2spec ..."
    "$root/scripts/h2spec.sh" "$h2spec" >"$cache/h2spec.log" 2>&1 </dev/null 9>&- ||
        say "it cannot be built here, $cache/h2spec.log says why"
}

# words_of KIND GROUP...: what the variables KIND_GROUP hold
words_of() {
    local kind=$1 group name
    shift
    for group; do
        name=${kind}_$group
        # shellcheck disable=SC2086 # a list of words
        [ -z "${!name:-}" ] || echo ${!name}
    done
}

# shellcheck disable=SC2046 # lists of words
setup_groups() { # DEBIAN_VERSION GROUP...
    local version=$1 group missing
    shift
    if [ -n "$version" ]; then
        install_packages $(words_of packages "$@" "${@/%/_$version}")
    else
        missing=$(missing_programs $(words_of programs "$@") | sort -u | paste -s -d ' ')
        [ -z "$missing" ] || fail "these programs must be on the PATH: $missing"
    fi
    for group; do
        case $group in
        build) setup_libraries "$version" ;;
        test) setup_servers "$version" && setup_h2spec ;;
        bench) setup_servers "$version" ;;
        peers) setup_peers "$version" ;;
        esac
    done
}

setup() { # GROUP...
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock 9 # somebody else may be setting up
    PATH=$PATH:/usr/sbin:$servers/bin:$h2spec
    export WEIR_PEERS=$peers/bin # for tests that can do without them
    setup_groups "$(debian_version)" "$@"
    exec 9>&-
}
