#!/bin/sh
# Other schedulers on every machine of the model, at fixed rates: about an hour for a steering
# mode. The results are in target/peers/MODE/MACHINE.
# Usage: peers.sh [SEEDS [MODE...]]; the default is 5 seeds of hash and auto.
set -eu
cd "$(dirname "$0")/../.."
seeds=${1:-5}
[ $# = 0 ] || shift
[ $# != 0 ] || set -- hash auto
peers=target/peers

# Does nothing if this version is installed already.
install_peer() { # install_peer NAME VERSION
	BPF_CLANG=clang-22 cargo install "$1" --version "$2" --locked --root $peers --target-dir $peers/build
}
install_peer scx_bpfland 1.1.4
install_peer scx_cosmos 1.1.7
install_peer scx_lavd 1.1.4
install_peer scx_layered 1.1.4

arms='default,scx_steer,pinned,bpfland=scx_bpfland,cosmos=scx_cosmos,lavd=scx_lavd'
arms="$arms,layered=scx_layered --run-example --netdev-irq-balance"
measure() { # measure MODE MACHINE
	echo "peers.sh: $1, $2"
	target/release/steer-bench priced ab --machine "$2" --shape 2x4 --no-hogs --duration 0.1 \
		--steering "$1" --seeds "$seeds" --arms "$arms" \
		--with $peers/bin/scx_bpfland --with $peers/bin/scx_cosmos \
		--with $peers/bin/scx_lavd --with $peers/bin/scx_layered --out "$peers/$1/$2"
}
for mode; do
	for machine in xeon-gold-6128 xeon-platinum-8380 epyc-7763 uniform; do
		measure "$mode" $machine
	done
done
