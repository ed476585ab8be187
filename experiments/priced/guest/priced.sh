#!/bin/sh
# The priced tier, inside its guest: runs /test.sh with the variables of /words. What it prints goes
# to the console, each part behind a line "@@name".

fail() {
	echo "@@failed"
	echo "$1"
	cat /tmp/*.err 2>/dev/null
	echo "@@end"
	exit 1
}

await() { # await FILE TEXT: until the file holds the text, for two minutes: some schedulers load slowly
	turns=0
	until grep -q "$2" "$1" 2>/dev/null; do
		turns=$((turns + 1))
		[ $turns -lt 12000 ] || fail "$2 did not appear in $1"
		sleep 0.01
	done
}

# Pairs of NICs on a wire. The measured one, on a node's own bus, becomes ethN. The other becomes
# peerN; it belongs to no node and goes to a network namespace, where the client runs. The fifth byte
# of an address is N; the last one tells which of the two it is.
connect() { # connect MTU CLIENT_CPU
	unshare -n sleep 100000 &
	client=$!
	until [ "$(readlink /proc/$client/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
	for found in /sys/class/net/eth*; do
		ip link set ${found##*/} name found-${found##*/}
	done
	nics=
	for found in /sys/class/net/found-*; do
		address=$(cat $found/address)
		link=$((0x$(echo $address | cut -d: -f5)))
		case $address in
		*:02)
			nic=eth$link
			nics="$nics $nic"
			ip link set ${found##*/} name $nic
			ip address add 10.42.$link.2/30 dev $nic
			ip link set $nic mtu $1 up
			;;
		*)
			nic=peer$link
			interrupts_to "$(device ${found##*/})-(input|output)" $2
			ip link set ${found##*/} netns $client name $nic
			inside ip address add 10.42.$link.1/30 dev $nic
			inside ip link set $nic mtu $1 up
			;;
		esac
	done
}

inside() { nsenter --net=/proc/$client/ns/net "$@"; }

device() { basename "$(readlink -f /sys/class/net/$1/device)"; }

interrupts_to() { # interrupts_to PATTERN CPU...: the queues' interrupts, on these CPUs in turns
	pattern=$1
	shift
	count=$#
	queue=0
	for irq in $(grep -E "$pattern" /proc/interrupts | cut -d: -f1); do
		eval "echo \${$((queue % count + 1))}" >/proc/irq/$irq/smp_affinity_list
		queue=$((queue + 1))
	done
}

queues_to() { # queues_to NIC CPU...: the interrupts of its queues, on these CPUs in turns
	device=$(device $1)
	shift
	interrupts_to "$device-input" "$@"
	interrupts_to "$device-output" "$@"
}

set_xps() { # set_xps on|off: whether each CPU sends by the queue of its number, or by any
	for queue in $(for nic in $nics; do echo /sys/class/net/$nic/queues/tx-*; done); do
		mask=0
		if [ $1 = on ]; then mask=$(printf '%x' $((1 << ${queue##*-}))); fi
		echo $mask >$queue/xps_cpus
	done
}

# Let the boot's own work end.
sleep 3
. /words
. /test.sh
echo "@@end"
