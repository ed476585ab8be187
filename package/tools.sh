#!/bin/sh
# Builds the programs that make packages, each in the version named here, into target/tools.
set -eu
cd "$(dirname "$0")/.."

TOOLS="cargo-deb@3.8.0 cargo-deny@0.20.2 cargo-generate-rpm@0.21.1 cargo-cyclonedx@0.5.9"
ROOT=$PWD/target/tools

wanted=
for tool in $TOOLS; do
	mark=$ROOT/installed/$tool
	[ -e "$mark" ] || wanted="$wanted $tool"
done
[ -n "$wanted" ] || exit 0

mkdir -p "$ROOT/installed"
# They run for seconds: not optimising them saves minutes.
for tool in $wanted; do
	CARGO_TARGET_DIR=$ROOT/build cargo install --quiet --locked --debug --root "$ROOT" "$tool"
	touch "$ROOT/installed/$tool"
done
rm -rf "$ROOT/build"
