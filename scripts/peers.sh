#!/bin/bash
# scripts/peers.sh - other clients and proxies to test against, none of them built on weir
#
# usage: peers.sh DIRECTORY ARCHIVE
# Prints the directory of the programs: curl with HTTP/3, nginx, haproxy, caddy, nghttp, h2load and
# a Python with aioquic. Silent otherwise when they are there.
set -euo pipefail
directory=$1
if [ ! -e "$directory" ]; then
    echo "peers: unpacking curl, nginx, haproxy, caddy, nghttp2 and aioquic ..." >&2
    # curl comes with the libraries of its own suite, which Debian 13 proper has too old
    "$(dirname "$0")/unpack.sh" "$directory" "$2" curl/trixie-backports \
        libcurl4t64/trixie-backports libngtcp2-16/trixie-backports \
        libngtcp2-crypto-ossl0/trixie-backports libnghttp3-9/trixie-backports \
        caddy/trixie-backports nginx haproxy nghttp2-client python3-aioquic
fi
echo "$directory/bin"
