#!/bin/bash
# scripts/peers.sh - other clients and proxies to test against, none of them built on weir
#
# usage: peers.sh DIRECTORY ARCHIVE
# In DIRECTORY/bin are then curl with HTTP/3, nginx, haproxy, caddy, nghttp, h2load and
# python3-aioquic, a Python with aioquic.
set -euo pipefail
# curl comes with the libraries of its own suite, which Debian 13 proper has too old
exec "$(dirname "$0")/unpack.sh" "$1" "$2" curl/trixie-backports libcurl4t64/trixie-backports \
    libngtcp2-16/trixie-backports libngtcp2-crypto-ossl0/trixie-backports \
    libnghttp3-9/trixie-backports caddy/trixie-backports nginx haproxy nghttp2-client \
    python3-aioquic
