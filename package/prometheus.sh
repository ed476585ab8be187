#!/bin/sh
# Unpacks Debian's Prometheus and promtool to target/tools/prometheus, for the tests of metrics.
# Installing the package would start a server on this machine.
set -eu
cd "$(dirname "$0")/.."

UNPACKED=target/tools/prometheus
[ ! -x "$UNPACKED/usr/bin/promtool" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() { (cd "$work" && apt-get -q -o APT::Sandbox::User=root download prometheus); }
fetch || { apt-get -q update && fetch; }
dpkg -x "$work"/prometheus_*.deb "$work/root"
mkdir -p target/tools
rm -rf "$UNPACKED"
mv "$work/root" "$UNPACKED"
