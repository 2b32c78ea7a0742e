#!/bin/bash
# scripts/prefix.sh - Debian 13's own static libraries in a private prefix, to build on Debian 12
#
# usage: prefix.sh PREFIX ARCHIVE   (ARCHIVE: where archive.sh may keep its lists)
# The archives are position-independent executables' code (PIE), fit for programs, not for plugins.
set -euo pipefail
. "$(dirname "$0")/archive.sh"
prefix=$1
archive=$2
architecture=$(gcc -print-multiarch)
work=$prefix.partial

archive_open "$archive"
rm -rf "$work"
mkdir -p "$work/packages"
cd "$work/packages"
APT_CONFIG=$archive/apt.conf apt-get -qq download libssl-dev libuv1-dev libnghttp2-dev \
    libllhttp-dev libngtcp2-dev/trixie-backports libngtcp2-crypto-ossl-dev/trixie-backports \
    libnghttp3-dev/trixie-backports
for package in *.deb; do
    dpkg-deb --extract "$package" "$work"
done
ls >"$work/packages.txt"
cd "$work"
rm -rf packages usr/share usr/lib/ssl

# Two of OpenSSL's headers are in the directory of the architecture, where the compiler would find
# those of the system's OpenSSL first.
cp -a "usr/include/$architecture/." usr/include/
rm -rf "usr/include/$architecture"

# The shared libraries themselves are not here, only links to them.
find usr/lib -name '*.so' -delete

# glibc 2.38 renamed what strtol() and its family call; Debian 12 has the older names.
for library in usr/lib/"$architecture"/*.a; do
    renames=$(nm --undefined-only "$library" 2>/dev/null |
        sed -n 's/^ *U \(__isoc23_\(.*\)\)$/--redefine-sym \1=\2/p' | sort -u)
    # shellcheck disable=SC2086 # a list of options
    [ -z "$renames" ] || objcopy $renames "$library"
done
sed -i "s#^prefix=/usr\$#prefix=@#; s#=/usr/#=@/#; s#@#$prefix/usr#" \
    usr/lib/"$architecture"/pkgconfig/*.pc
rm -rf "$prefix"
mv "$work" "$prefix"
