#!/bin/sh
# Builds a Linux 6.12 with sched_ext from Debian 13's source, for `--kernel 6.12`: Debian's own 6.12
# leaves sched_ext out. RHEL 10 and its kin run that series with it. About 20 minutes on two cores.
#
# The configuration is that of Debian's cloud kernel with sched_ext, without the modules that the lab
# does not load. BTF needs pahole 1.26 or later, which Debian 12 lacks: that of Debian 13 runs with
# its own C library from a folder. Nothing but the tools named below is installed.
set -eu

KERNELS=target/lab/kernels
WORK=target/lab/build-6.12
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
SOURCE=linux-source-6.12
MODULES='failover net_failover virtio_net'

cd "$(dirname "$0")/../.."
experiments/lab/setup.sh bc bison flex gcc libc6-dev libelf-dev libssl-dev make xz-utils
ls -d "$KERNELS"/6.12.* 2>/dev/null && exit 0

uri=$(awk '/^URIs:/ { print $2; exit } /^deb / { sub(/\[[^]]*\] */, ""); print $2; exit }' \
	$(ls /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null))
mkdir -p "$WORK/lists/partial" "$WORK/debs" "$WORK/root"
work=$(cd "$WORK" && pwd)
echo "deb [signed-by=$KEYRING] $uri trixie main" >"$work/sources.list"
set -- -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
	-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root
apt-get "$@" update --error-on=any
(cd "$work/debs" && apt-get "$@" download $SOURCE linux-config-6.12 \
	pahole libbpf1 libdw1t64 libelf1t64 libc6 zlib1g libzstd1 liblzma5 libbz2-1.0)
for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$work/root"; done

cat >"$work/pahole" <<EOF
#!/bin/sh
lib=$work/root/usr
exec \$lib/lib64/ld-linux-x86-64.so.2 --library-path \$lib/lib/x86_64-linux-gnu \$lib/bin/pahole "\$@"
EOF
chmod +x "$work/pahole"

echo "unpacking $SOURCE"
tar -xf "$work/root/usr/src/$SOURCE.tar.xz" -C "$work"
cd "$work/$SOURCE"
xz -dc "$work/root/usr/src/linux-config-6.12/config.amd64_none_cloud-amd64.xz" >.config
# without core scheduling, as Debian's kernels with sched_ext; signing needs Debian's keys
scripts/config -e SCHED_CLASS_EXT -e EXT_GROUP_SCHED -d SCHED_CORE -e DEBUG_INFO_BTF \
	-e DEBUG_INFO_DWARF4 -d DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT \
	-d MODULE_SIG -d SECURITY_LOCKDOWN_LSM -d SYSTEM_TRUSTED_KEYRING -d INTEGRITY \
	--set-str LOCALVERSION +deb13-cloud-amd64 --set-str BUILD_SALT ''
{
	echo 'Module Size Used by'
	for module in $MODULES; do echo "$module 1 0"; done
} >"$work/modules"
build="make PAHOLE=$work/pahole KBUILD_BUILD_USER=scx_steer KBUILD_BUILD_HOST=lab"
yes '' | $build LSMOD="$work/modules" localmodconfig >"$work/config.log" 2>&1
for option in SCHED_CLASS_EXT EXT_GROUP_SCHED DEBUG_INFO_BTF; do
	grep -q "^CONFIG_$option=y" .config || { echo "CONFIG_$option is not set: see $work/config.log" >&2; exit 1; }
done

echo "building, see $work/build.log"
$build -j"$(nproc)" bzImage modules >"$work/build.log" 2>&1 || { tail -20 "$work/build.log" >&2; exit 1; }
release=$(make -s kernelrelease)
mkdir -p "$work/boot"
cp arch/x86/boot/bzImage "$work/boot/vmlinuz-$release"
cp .config "$work/boot/config-$release"
find . -name '*.ko' -exec sh -c 'strip -g "$1" && xz -c "$1" >"$2/$(basename "$1").xz"' _ {} "$work/boot" \;
cd "$OLDPWD"
target/release/steer-bench kernel add "$release" --from "$work/boot" --package "$work"/debs/$SOURCE*.deb
rm -rf "$work"
