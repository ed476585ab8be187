#!/bin/sh
# guest.sh [--record]: boots a Debian 13 root with systemd on the lab's kernel, and goes through the life of the service:
# enabled, asked, killed, ejected by the kernel, upgraded, removed. Needs root, and one guest at a
# time. The transcript is in target/packages/guest.log. It fails if docs/operating.md shows anything
# else; --record puts it there, and the screen of top into docs/top.svg.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/target/tools/bin:$PATH
OUT=target/packages
LOG=$OUT/guest.log
QEMU=${STEER_LAB_QEMU:-target/lab/qemu}
# seconds; the guest itself has no deadline
PATIENCE=${PATIENCE:-1200}

kernel=$(ls -d target/lab/kernels/6.18.* | head -n 1)
release=$(basename "$kernel")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

package/prometheus.sh
package/debian.sh "$root" systemd-sysv util-linux procps curl kmod crun iproute2 tmux
cp "$OUT"/scx-steer_*-1_amd64.deb "$root/root/old.deb"
# the next version, for the upgrade
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) \
	cargo deb --quiet --no-build -p scx_steer --deb-revision 2 --output "$root/root/new.deb" >/dev/null
cp "$kernel/config" "$root/boot/config-$release"
cp package/guest-test.sh "$root/root/test.sh"
cp "$kernel"/*.ko package/tenant.pl target/tools/prometheus/usr/bin/prometheus "$root/root/"
mount -t proc proc "$root/proc"
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf "$work"' EXIT
{
	echo "== install"
	echo "\$ sudo apt-get install ./scx-steer.deb"
	chroot "$root" sh -c 'cd /root && cp old.deb scx-steer.deb && apt-get update -q=2 >/dev/null && apt-get install -q=2 -y -o Dpkg::Use-Pty=0 --no-install-recommends ./scx-steer.deb' 2>&1 |
		grep -vE '^(debconf|\(Reading)'
	echo "\$ scx_steer --version"
	chroot "$root" scx_steer --version
} >"$LOG" || { cat "$LOG" >&2; exit 1; }
chroot "$root" systemctl -q enable scx_steer scx_steer-metrics
# the filter that Podman and CRI-O give a container which names none
chroot "$root" sh -c 'cd /root && apt-get download -q=2 -o APT::Sandbox::User=root golang-github-containers-common && dpkg-deb -x golang-*.deb engine'
package/seccomp.py "$root/root/engine/usr/share/containers/seccomp.json" deploy/kubernetes/container.json >"$root/root/container.json"
ln -sf /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
cat >"$root/etc/systemd/system/scx-test.service" <<'END'
[Unit]
After=scx_steer.service
[Service]
Type=oneshot
ExecStart=/bin/bash /root/test.sh
ExecStopPost=/bin/systemctl poweroff --force --force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
END
chroot "$root" systemctl -q enable scx-test
chroot "$root" systemctl -q mask systemd-timesyncd serial-getty@ttyS0 getty@tty1 apt-daily.timer \
	apt-daily-upgrade.timer dpkg-db-backup.timer systemd-journal-flush || true
umount "$root/proc"
ln -sf sbin/init "$root/init"
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/locale
(cd "$root" && find . -xdev | cpio --quiet -o -H newc | gzip -1) >"$work/root.cpio.gz"

timeout --foreground "$PATIENCE" "$QEMU/usr/bin/qemu-system-x86_64" -L "$QEMU/usr/share/qemu" -L /usr/share/seabios \
	-nodefaults -no-user-config -no-reboot -display none -monitor none -serial stdio \
	-machine q35 -m 3G -smp 2 -accel tcg,thread=multi -cpu max \
	-netdev user,id=net0,guestfwd=tcp:10.0.2.100:9-cmd:"cat /dev/zero",guestfwd=tcp:10.0.2.100:7-cmd:cat -device virtio-net-pci,netdev=net0,romfile= \
	-kernel "$kernel/vmlinuz" -initrd "$work/root.cpio.gz" \
	-append "console=ttyS0 quiet tsc=reliable systemd.show_status=no systemd.journald.forward_to_console=no rdinit=/init" \
	</dev/null | stdbuf -oL tr -d '\r' >"$work/console" || true
# without the escapes and the progress that a terminal gets
sed -e '/^(Reading database/d' -e "s/$(printf "\033")[][][!?0-9;]*[a-zA-Z$(printf "\007")]//g" "$work/console" |
	sed -n "/^== /,\$p" | tee "$work/log" | grep -v '^PICTURE ' >>"$LOG"
cat "$LOG"
grep -q '^ALL PASSED$' "$LOG" || { tail -n 20 "$work/console" >&2; echo "the guest did not pass" >&2; exit 1; }
awk -f package/transcripts.awk "$LOG" docs/operating.md >"$work/operating.md"
if [ "${1:-}" = --record ]; then
	cp "$work/operating.md" docs/operating.md
	sed -n 's/^PICTURE //p' "$work/log" | base64 -d |
		package/picture.py "scx_steer top: threads that move data, and why each is where it is" >docs/top.svg
else
	# Numbers may differ, and what depends on the moment: of some sections, only the commands count.
	steady() {
		awk '/^<!-- transcript: / { varies = /: (doctor|top|in a container)/ }
			/^```/ { inside = !inside }
			varies && inside && !/^(\$ |```)/ || /^(NIC eth|reserved)/ { next }
			{ print }' "$1" | sed -E 's/[0-9]+/N/g'
	}
	steady docs/operating.md >"$work/before"
	steady "$work/operating.md" | diff -U 2 "$work/before" - || {
		echo "docs/operating.md is not what the guest shows; if the change is right: package/guest.sh --record" >&2
		exit 1
	}
fi
