# One flow, with softirq and thread on CPUs as t_cases says: SOFTIRQ-THREAD,...
# The measured NIC is on a node's bus; the other belongs to none and goes to a namespace.
for module in failover net_failover virtio_net; do insmod /lib/modules/$module.ko; done
sleep 0.2
for nic in eth0 eth1; do
	if [ "$(cat /sys/class/net/$nic/device/../numa_node)" -ge 0 ]; then inner=$nic; else outer=$nic; fi
done
device() { basename "$(readlink -f /sys/class/net/$1/device)"; }
inner_device=$(device $inner) outer_device=$(device $outer)
unshare -n sleep 100000 &
client=$!
sleep 0.2
ip link set $outer netns $client
inside() { nsenter --net=/proc/$client/ns/net "$@"; }
inside ip address add 10.42.0.1/30 dev $outer
inside ip link set $outer mtu ${t_mtu:-1500} up
ip address add 10.42.0.2/30 dev $inner
ip link set $inner mtu ${t_mtu:-1500} up
interrupts_to() { # DEVICE CPU
	for irq in $(grep -E "$1-(input|output)" /proc/interrupts | cut -d: -f1); do
		echo $2 >/proc/irq/$irq/smp_affinity_list
	done
}
interrupts_to $outer_device $t_client
for xps in /sys/class/net/$inner/queues/tx-*/xps_cpus; do echo 0 >$xps; done
calibrate mark 3
# The seed moves everything against the timer ticks.
calibrate spin 1 $((${t_seed:-0} * 104729 + 1))
port=5000
for placement in $(echo $t_cases | tr , ' '); do
	port=$((port + 1)) softirq=${placement%-*} thread=${placement#*-}
	interrupts_to $inner_device $softirq
	flow rx $thread $port ${t_warm:-10} ${t_span:-20} >/tmp/rx &
	rx=$!
	until grep -q ready /tmp/rx; do sleep 0.01; done
	inside flow tx $t_client 10.42.0.2 $port 2>/dev/null &
	tx=$!
	wait $rx
	kill -9 $tx 2>/dev/null
	wait $tx 2>/dev/null
	echo "{\"softirq\":$softirq,\"thread\":$thread,\"flow\":$(grep flow /tmp/rx)}"
	sleep 0.3
done
