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

await() { # await FILE TEXT: until the file holds the text
	turns=0
	until grep -q "$2" "$1" 2>/dev/null; do
		turns=$((turns + 1))
		[ $turns -lt 2000 ] || fail "$2 did not appear in $1"
		sleep 0.01
	done
}

# Two NICs on a wire: the measured one is on a node's own bus, the other belongs to no node and goes
# to a network namespace, where the client runs.
connect() { # connect MTU CLIENT_CPU
	for nic in eth0 eth1; do
		if [ "$(cat /sys/class/net/$nic/device/../numa_node)" -ge 0 ]; then inner=$nic; else outer=$nic; fi
	done
	inner_device=$(device $inner)
	interrupts_to "$(device $outer)-(input|output)" $2
	unshare -n sleep 100000 &
	client=$!
	until [ "$(readlink /proc/$client/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
	ip link set $outer netns $client
	inside ip address add 10.42.0.1/30 dev $outer
	inside ip link set $outer mtu $1 up
	ip address add 10.42.0.2/30 dev $inner
	ip link set $inner mtu $1 up
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

set_xps() { # set_xps on|off: whether each CPU sends by the queue of its number, or by any
	for queue in /sys/class/net/$inner/queues/tx-*; do
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
