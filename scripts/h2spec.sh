#!/bin/bash
# scripts/h2spec.sh - builds h2spec, the conformance suite of HTTP/2 servers, from its Go module
#
# usage: h2spec.sh DIRECTORY
# In DIRECTORY is then h2spec. Nothing else stays.
set -euo pipefail
work=$(mktemp -d "$1.XXXXXX")
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin GOPATH=$work/modules GOCACHE=$work/cache GOFLAGS=-modcacherw timeout 900 \
    go install github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible
mv "$work/bin" "$1"
