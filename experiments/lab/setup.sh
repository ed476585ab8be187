#!/bin/sh
# Installs the Debian packages named as arguments, and QEMU 10 from the backports suite where the
# release's own is older: QEMU 7.2's threaded TCG runs kernel code that was just patched (tracepoints,
# static keys) from stale translations, and the guest dies of `Oops: int3` within minutes; 10.0 does
# not. Backports are read through lists of our own: the machine's package sources stay as they are.
set -eu

MIN_QEMU=10
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'; }
qemu_major() { qemu-system-x86_64 --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p'; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# The mirror that serves this release, from one-line or deb822 sources.
mirror() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | awk -v suite="$1" '
		/^URIs:/ { uri = $2 }
		/^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) { print uri; exit } }
		/^deb / { sub(/\[[^]]*\] */, ""); if ($3 == suite) { print $2; exit } }'
}

missing=
for package in "$@"; do installed "$package" || missing="$missing $package"; done
if [ -n "$missing" ]; then
	echo "installing Debian packages:$missing"
	as_root apt-get update -q
	# shellcheck disable=SC2086 # a list of words
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi

major=$(qemu_major)
if [ "${major:-0}" -lt "$MIN_QEMU" ]; then
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	uri=$(mirror "$release")
	[ -n "$uri" ] || { echo "no package source serves $release: install QEMU $MIN_QEMU yourself" >&2; exit 1; }
	echo "installing QEMU from $release-backports (found: ${major:-none}, wanted: $MIN_QEMU)"
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	mkdir -p "$dir/lists/partial"
	for suite in "$release" "$release-backports"; do
		echo "deb [signed-by=$KEYRING] $uri $suite main"
	done > "$dir/sources.list"
	set -- -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o "Dir::State::lists=$dir/lists" -o APT::Sandbox::User=root
	as_root apt-get "$@" update
	as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@" install -y --no-install-recommends \
		-t "$release-backports" qemu-system-x86
fi
