#!/bin/bash
# tests/plugin_root.sh - proves that an installed weir is all that an author of plugins needs
#
# usage: tests/plugin_root.sh      (needs root, mmdebstrap and iproute2)
# In a bare root of Debian 13 weir is installed below a prefix and its source removed. Then what
# weir plugin new writes is built, tested and loaded, with gcc and with clang.
# shellcheck source=tests/roots.sh
. "$(dirname "$(readlink -f "$0")")/roots.sh"
packages=git,ca-certificates,make,clang,curl

step_install() {
    git clone --quiet /srv/source /srv/weir && cd /srv/weir && ./dev install /opt/weir &&
        cd / && rm -rf /srv/weir
}

try_plugins() { # COMPILER
    local kind
    export PATH=/opt/weir/bin:$PATH PKG_CONFIG_PATH=/opt/weir/lib/pkgconfig
    rm -rf /srv/try && mkdir /srv/try && cd /srv/try || return 1
    for kind in filter protocol; do
        weir plugin new "new-$kind" "--$kind" && make -C "new-$kind" test CC="$1" &&
            make -C "new-$kind" install && weir plugin check "new-$kind" || return 1
    done
}

step_plugins_gcc() { try_plugins gcc; }

step_plugins_clang() { try_plugins clang; }

check_release() {
    local root=$work/$release start=$SECONDS
    make_root "$root" >"$outputs/$release-root.txt" 2>&1
    verdict "bare root" $? "$((SECONDS - start))" ""
    check_step "$root" install
    check_step "$root" plugins_gcc --net
    check_step "$root" plugins_clang --net
    rm -rf --one-file-system "$root"
}

if [ "${1:-}" = --step ]; then
    main "$@"
fi
main trixie
