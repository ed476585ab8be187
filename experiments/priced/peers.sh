#!/bin/sh
# Other schedulers. A steering mode (auto, hash, explicit, spread) is run on every machine of the
# model, at fixed rates: about an hour, in target/peers/MODE/MACHINE. `lab` is the demo's traffic
# in the lab, spread by hash: about 12 minutes, in target/peers/lab.
# Usage: peers.sh [ROUNDS [MODE...]]; the default is 5 rounds of hash and auto.
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-5}
[ $# = 0 ] || shift
[ $# != 0 ] || set -- hash auto
peers=target/peers

arms=default,scx_steer,pinned
with=
# Installs another scheduler, unless this version is there, and adds it to the arms.
peer() { # peer NAME VERSION [FLAGS...]
	name=$1 version=$2
	shift 2
	BPF_CLANG=clang-22 cargo install "scx_$name" --version "$version" --locked --root $peers \
		--target-dir $peers/build
	arms="$arms,$name=scx_$name${*:+ $*}"
	with="$with --with $peers/bin/scx_$name"
}
peer bpfland 1.1.4
peer cosmos 1.1.7
peer lavd 1.1.4
peer layered 1.1.4 --run-example --netdev-irq-balance

in_the_model() { # in_the_model MODE MACHINE
	echo "peers.sh: $1, $2"
	target/release/steer-bench priced ab --machine "$2" --shape 2x4 --no-hogs --duration 0.1 \
		--steering "$1" --seeds "$rounds" --arms "$arms" $with --out "$peers/$1/$2"
}
for mode; do
	if [ "$mode" = lab ]; then
		target/release/steer-bench ab --steering hash --pairs "$rounds" --arms "$arms" $with \
			--out $peers/lab
		continue
	fi
	for machine in xeon-gold-6128 xeon-platinum-8380 epyc-7763 uniform; do
		in_the_model "$mode" $machine
	done
done
