#!/bin/sh
# Installs the .deb into a clean Debian 13 root and runs it there. Needs root.
set -eu
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
package/debian.sh "$root" man-db systemd-standalone-sysusers

in_root() {
	echo "\$ $*"
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root "$@"
}

cp target/packages/*.deb "$root/root/scx-steer.deb"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --make-rslave "$root/sys"
trap 'umount "$root/proc"; umount -R "$root/sys"; rm -rf "$work"' EXIT

echo "== a clean Debian 13 root"
in_root sh -c 'apt-get update -q=2 >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -q -y -o Dpkg::Use-Pty=0 --no-install-recommends /root/scx-steer.deb >/dev/null'
in_root dpkg-query -W -f '${Package} ${Version} ${Installed-Size} KiB\n' scx-steer
in_root scx_steer --version
in_root sh -c 'scx_steer topology | head -n 3'
in_root scx_steer policy check
in_root sh -c 'scx_steer policy example >/etc/scx_steer/policy.d/50-example.toml'
in_root scx_steer policy check
for page in "8 scx_steer" "5 scx_steer-policy" "1 scx_steer-status"; do
	# shellcheck disable=SC2086 # a section and a name
	in_root sh -c "man $page | col -b | head -n 5"
done
in_root getent passwd scx_steer
in_root dpkg --purge scx-steer
left=$(chroot "$root" sh -c 'find / -xdev -name "*scx*" -not -path "/proc/*" -not -path "/root/*" -not -path "/var/lib/dpkg/*" -not -path "/var/cache/man/*" -not -path "/etc/scx_steer*"')
[ -z "$left" ] || { echo "a purge leaves: $left" >&2; exit 1; }
[ -e "$root/etc/scx_steer/policy.d/50-example.toml" ] || { echo "a purge removed a policy file" >&2; exit 1; }
echo "a purge leaves nothing but the administrator's policy files"

echo "== size and start"
stat -c '%n: %s bytes' target/release/scx_steer target/packages/*.deb target/packages/*.rpm
start=$(date +%s%N)
for _ in 1 2 3 4 5 6 7 8 9 10; do target/release/scx_steer --version >/dev/null; done
echo "start of scx_steer --version: $((($(date +%s%N) - start) / 10000)) microseconds, mean of 10"
