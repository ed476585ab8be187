#!/bin/sh
# Builds the emulator of guests whose runs repeat: QEMU from its Debian source package. For the priced
# tier it gets turns.c (a plugin owns the clock), branch.c (copies of a running emulator), wire.c (NICs
# with several queues in virtual time) and a small patch that calls them. For both and the
# deterministic tier, the patch keeps the host's time out of the size of TLBs. In the deterministic tier,
# it also keeps the main loop, which runs when the host lets it, from moving the clock.
# The program and the header for plugins go to the folder that is named. `steer-bench priced` and
# `steer-bench det` call this when something here has changed.
#
# Nothing is installed but what the caller names for `make priced-setup`: meson is too old in Debian 12, so
# the backport is unpacked for the build.
set -eu

SOURCE=qemu_10.0.2+ds.orig.tar.xz
SHA256=0901da33844a331bf8b3602b9c1fbd178e60b737c8e3ade678255bd090c9b9f1
TREE=qemu-10.0.2
HERE=$(cd "$(dirname "$0")" && pwd)
OUT=$1
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# The mirror that serves release $1, from one-line or deb822 sources.
mirror() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | awk -v suite="$1" '
		/^URIs:/ { uri = $2 }
		/^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) { print uri; exit } }
		/^deb / { sub(/\[[^]]*\] */, ""); if ($3 == suite) { print $2; exit } }'
}

for need in ninja pkg-config cc python3 patch; do
	command -v "$need" >/dev/null || { echo "the emulator's build needs $need: run make priced-setup" >&2; exit 1; }
done
pkg-config --exists glib-2.0 || { echo "the emulator's build needs libglib2.0-dev: run make priced-setup" >&2; exit 1; }

release=$(. /etc/os-release && echo "$VERSION_CODENAME")
uri=$(mirror "$release")
[ -n "$uri" ] || { echo "no package source in /etc/apt serves $release: add one" >&2; exit 1; }

mkdir -p "$OUT"
work=$(cd "$OUT" && pwd)/work
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/meson" "$work/build"
cd "$work"
for type in deb deb-src; do
	echo "$type [signed-by=$KEYRING] $uri $release-backports main"
done >sources.list
set -- -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
	-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root
apt-get "$@" update --error-on=any
apt-get "$@" source --download-only --tar-only "qemu/$release-backports"
apt-get "$@" download "meson/$release-backports"
echo "$SHA256  $SOURCE" | sha256sum --check --quiet || {
	echo "$release-backports no longer has $SOURCE as it was: the patch is for that one" >&2
	exit 1
}

tar xf "$SOURCE"
dpkg -x meson_*.deb meson
patch -d "$TREE" -p1 --quiet --fuzz=0 <"$HERE/qemu-10.0.2.patch"
cp "$HERE"/turns.[ch] "$HERE"/branch.[ch] "$TREE/accel/tcg/"
cp "$HERE"/wire*.[ch] "$TREE/net/"
cp "$HERE/steer.mak" "$TREE/configs/devices/x86_64-softmmu/"

cd build
export PYTHONPATH="$work/meson/usr/lib/python3/dist-packages"
# The system's Python: meson and ninja run whatever comes first in PATH otherwise.
"../$TREE/configure" --python=/usr/bin/python3 --target-list=x86_64-softmmu --without-default-features \
	--without-default-devices --with-devices-x86_64=steer --enable-system --enable-tcg --enable-plugins \
	--disable-install-blobs --disable-download --disable-debug-info >configure.log 2>&1 ||
	{ tail -20 configure.log >&2; exit 1; }
ninja qemu-system-x86_64 >ninja.log 2>&1 || { tail -40 ninja.log >&2; exit 1; }
strip --strip-unneeded qemu-system-x86_64

cd "$work/.."
mv work/build/qemu-system-x86_64 .
cp --no-preserve=all "work/$TREE/include/qemu/qemu-plugin.h" .
