#!/bin/sh
# build.sh [NAME]: builds the image from target/packages/*.deb without a registry: its base is a Debian
# 13 root from the Debian mirror. With a registry at hand, the Containerfile does the same. Needs root
# and buildah.
set -eu
cd "$(dirname "$0")/../../.."
name=${1:-scx-steer:0.2.0}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
package/debian.sh "$root"
cp target/packages/scx-steer_*-1_amd64.deb "$root/root/scx-steer.deb"
chroot "$root" apt-get update -q=2 >/dev/null
chroot "$root" apt-get install -q=2 -y -o Dpkg::Use-Pty=0 --no-install-recommends /root/scx-steer.deb >/dev/null
rm -rf "$root"/root/* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/*
container=$(buildah from scratch)
buildah add -q "$container" "$root" /
buildah config --entrypoint '["/usr/bin/scx_steer"]' --cmd '' \
	--label org.opencontainers.image.licenses=GPL-2.0-only "$container"
buildah commit -q --rm --timestamp "$(git log -1 --format=%ct)" "$container" "$name"
