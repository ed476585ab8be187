#!/bin/sh
# Installs the Debian packages named as arguments, and unpacks a second QEMU under target/lab/qemu.
#
# The lab needs version 10: with Debian 12's own 7.2, threaded TCG runs kernel code that was just
# patched (tracepoints, static keys) from stale translations, and the guest dies of `Oops: int3`
# within minutes. QEMU 10 is only unpacked, and fetched through separate package lists: the
# machine's packages and sources stay as they are. The installed 7.2 provides the libraries and
# firmware.
set -eu

UNPACKED=target/lab/qemu
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# The mirror that serves release $1, from one-line or deb822 sources.
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

[ ! -x "$UNPACKED/usr/bin/qemu-system-x86_64" ] || exit 0
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
uri=$(mirror "$release")
[ -n "$uri" ] || { echo "no package source in /etc/apt serves $release: add one" >&2; exit 1; }
echo "unpacking QEMU of $release-backports for the lab"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/debs" "$work/root"
echo "deb [signed-by=$KEYRING] $uri $release-backports main" > "$work/sources.list"
set -- -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
	-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root
apt-get "$@" update --error-on=any
(cd "$work/debs" && for part in x86 common data; do
	apt-get "$@" download "qemu-system-$part/$release-backports"
done)
for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$work/root"; done
mkdir -p "$UNPACKED"
rm -rf "$UNPACKED"
mv "$work/root" "$UNPACKED"
