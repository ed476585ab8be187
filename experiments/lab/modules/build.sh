#!/bin/sh
# Builds modules of simulated NICs for a guest's kernel: nicsim (here), and netdevsim of the kernel's
# own source, which Debian's kernels leave out. Usage: build.sh SERIES, such as 7.2. Prints the
# modules' paths.
#
# The compiler is called directly: the tools of Debian's header packages need a newer C library than
# Debian 12 has. So there is neither objtool's work nor a signature; the guest's kernel does without.
set -eu

SERIES=$1
HERE=experiments/lab/modules

cd "$(dirname "$0")/../../.."
experiments/lab/setup.sh gcc binutils xz-utils tar >&2
release=$(target/release/steer-bench kernel fetch --drivers "$SERIES")
OUT=target/lab/modules/$release
if [ ! -e "$OUT/netdevsim.ko" ] || [ -n "$(find $HERE -newer "$OUT/netdevsim.ko")" ]; then
	rm -rf "$OUT"
	target/release/steer-bench kernel headers "$release" --into "$OUT/work" >&2
	own=$PWD/$(echo "$OUT"/work/usr/src/linux-headers-*-amd64)
	common=$PWD/$(echo "$OUT"/work/usr/src/linux-headers-*-common)

	compile() { # compile MODULE SOURCE...
		module=$1
		shift
		objects=
		for source in "$@" "$HERE/module.c"; do
			object=$OUT/work/$module-$(basename "$source" .c).o
			# the flags of arch/x86/Makefile that the kernel's interfaces depend on
			gcc -c "$source" -o "$object" -nostdinc -D__KERNEL__ -DMODULE -DCC_USING_FENTRY \
				-isystem "$common/arch/x86/include" -isystem "$own/arch/x86/include/generated" \
				-isystem "$common/include" -isystem "$own/include" \
				-isystem "$common/arch/x86/include/uapi" \
				-isystem "$own/arch/x86/include/generated/uapi" \
				-isystem "$common/include/uapi" -isystem "$own/include/generated/uapi" \
				-include linux/compiler-version.h -include linux/kconfig.h \
				-include linux/compiler_types.h \
				-DKBUILD_MODNAME="\"$module\"" -DKBUILD_BASENAME="\"$module\"" \
				-DKBUILD_MODFILE="\"$module\"" -D__KBUILD_MODNAME="$module" \
				-std=gnu11 -fms-extensions -O2 -Wall -Wno-pointer-sign -Wno-attributes -Wno-maybe-uninitialized \
				-fshort-wchar -funsigned-char -fno-strict-aliasing -fno-common -fno-pic -fno-pie \
				-fno-stack-protector -fno-delete-null-pointer-checks -fno-jump-tables \
				-fcf-protection=branch -mno-sse -mno-mmx -mno-avx -mno-80387 -mno-red-zone \
				-mcmodel=kernel -mskip-rax-setup
			objects="$objects $object"
		done
		ld -r -o "$OUT/$module.ko" $objects
	}

	compile nicsim "$HERE"/nicsim/*.c >&2
	tar -xf "$OUT"/work/usr/src/linux-source-*.tar.xz -C "$OUT/work" --wildcards '*/drivers/net/netdevsim/*'
	netdevsim=$(echo "$OUT"/work/linux-source-*/drivers/net/netdevsim)
	# without what needs PSP, which Debian's kernels lack, or psample, which the lab's guests lack
	rm "$netdevsim/psp.c" "$netdevsim/psample.c"
	sed -i 's/IS_ENABLED(CONFIG_PSAMPLE)/0/' "$netdevsim/netdevsim.h"
	compile netdevsim "$netdevsim"/*.c >&2
	rm -rf "$OUT/work"
fi
ls "$OUT"/*.ko
