#!/bin/bash
# scripts/unpack.sh - programs of Debian 13 with all they need, unpacked beside the system
#
# usage: unpack.sh DIRECTORY ARCHIVE PACKAGE[/SUITE]...
# Nothing is installed, so no service starts, and it works on Debian 12 as well, since the C library
# comes along. Every program of a named package gets a starter in DIRECTORY/bin.
set -euo pipefail
. "$(dirname "$0")/archive.sh"
directory=$1
archive=$2
shift 2
work=$directory.partial
root=$directory/root

rm -rf "$work"
mkdir -p "$work/bin" "$work/root" "$work/cache/archives/partial"
: >"$work/status" # nothing is installed, so apt fetches everything that the packages need
archive_open "$archive"
apt_get() {
    APT_CONFIG=$archive/apt.conf apt-get -qq -o Dir::State::status="$work/status" \
        -o Dir::Cache::archives="$work/cache/archives" -o Debug::NoLocking=true "$@"
}
apt_get --assume-yes --no-install-recommends --download-only install "$@"
for package in "$work"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/root" --keep-directory-symlink \
        --exclude ./usr/share/doc --exclude ./usr/share/man --exclude ./usr/share/locale
done

architecture=$(cd "$work/root/usr/lib" && echo *-linux-gnu*)
loader=$(cd "$work/root/usr/lib/$architecture" && echo ld-linux-*.so.*)
starter() { # NAME FILE [ASSIGNMENT]: starts FILE with the C library that came along
    cat >"$work/bin/$1" <<EOF
#!/bin/sh
root='$root'
${3:-}
exec "\$root/usr/lib/$architecture/$loader" --argv0 $1 \\
    --library-path "\$root/usr/lib/$architecture:\$root/usr/lib" "\$root/$2" "\$@"
EOF
    chmod +x "$work/bin/$1"
}
for package in "$@"; do
    for program in $(dpkg-deb --fsys-tarfile "$work/cache/archives/${package%%/*}"_*.deb | tar -t |
        sed -n 's#^\./\(usr/s\?bin/[^/]\+\)$#\1#p'); do
        if [ "$(head -c 4 "$work/root/$program" | tail -c 3)" = ELF ]; then
            starter "${program##*/}" "$program"
        fi
    done
done
if [ -e "$work/root/usr/lib/python3/dist-packages/aioquic" ]; then
    starter python3-aioquic usr/bin/python3 'export PYTHONHOME="$root/usr"
export PYTHONPATH="$root/usr/lib/python3/dist-packages${PYTHONPATH:+:$PYTHONPATH}"'
fi
rm -rf "$work/cache" "$directory"
mv "$work" "$directory"
