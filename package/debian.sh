#!/bin/sh
# debian.sh ROOT [PACKAGE...]: makes a clean Debian 13 root with these packages, from the mirror that
# this machine uses. Keeps a copy in target/tools for the next time. Needs root.
set -eu
cd "$(dirname "$0")/.."

root=$1
shift
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | awk -v suite="$release" '
	/^URIs:/ { uri = $2 }
	/^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) { print uri; exit } }
	/^deb / { sub(/\[[^]]*\] */, ""); if ($3 == suite) { print $2; exit } }')
[ -n "$mirror" ] || { echo "no package source in /etc/apt serves $release: add one" >&2; exit 1; }

tar=$PWD/target/tools/debian-13${1:+$(printf -- '-%s' "$@")}.tar
if [ ! -e "$tar" ]; then
	mkdir -p target/tools
	mmdebstrap --quiet --variant=apt --keyring="$KEYRING" ${1:+--include="$(IFS=,; echo "$*")"} \
		trixie "${tar%.tar}.new.tar" "$mirror"
	mv "${tar%.tar}.new.tar" "$tar"
fi
mkdir -p "$root"
tar -C "$root" -xf "$tar"
