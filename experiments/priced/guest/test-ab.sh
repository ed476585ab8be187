# Long flows and RPCs at fixed rates under a scheduler: default, pinned, or a program of /bin.
# CPUs 0 to 3 are measured, 2 and 3 are the NIC's; 4 and 5 drive the traffic.
mkdir -p /run /sys/fs/bpf /sys/kernel/debug /sys/kernel/tracing
mount -t tmpfs run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
ulimit -l unlimited
for module in failover net_failover virtio_net; do insmod /lib/modules/$module.ko; done
sleep 0.2
for nic in eth0 eth1; do
	if [ "$(cat /sys/class/net/$nic/device/../numa_node)" -ge 0 ]; then inner=$nic; else outer=$nic; fi
done
device() { basename "$(readlink -f /sys/class/net/$1/device)"; }
unshare -n sleep 100000 &
client=$!
sleep 0.2
ip link set $outer netns $client
inside() { nsenter --net=/proc/$client/ns/net "$@"; }
inside ip address add 10.42.0.1/30 dev $outer
inside ip link set $outer mtu ${t_mtu:-1500} up
ip address add 10.42.0.2/30 dev $inner
ip link set $inner mtu ${t_mtu:-1500} up
interrupts_to() { # DEVICE CPU...: its queues in turns
	pattern=$1
	shift
	count=$#
	queue=0
	for irq in $(grep -E "$pattern" /proc/interrupts | cut -d: -f1); do
		eval "echo \${$((queue % count + 1))}" >/proc/irq/$irq/smp_affinity_list
		queue=$((queue + 1))
	done
}
interrupts_to "$(device $outer)-(input|output)" 5
interrupts_to "$(device $inner)-input" $(echo $t_softirqs | tr , ' ')
interrupts_to "$(device $inner)-output" $(echo $t_softirqs | tr , ' ')
number=0
for xps in /sys/class/net/$inner/queues/tx-*/xps_cpus; do
	if [ "$t_xps" = on ]; then printf '%x' $((1 << number)) >$xps; else echo 0 >$xps; fi
	number=$((number + 1))
done
calibrate spin 1 $((${t_seed:-0} * 104729 + 1))
pins=
case $t_scheduler in
default) ;;
pinned) pins="--pin-long 2-3 --pin-rpc 0-1" ;;
*)
	$t_scheduler >/tmp/scheduler.out 2>/tmp/scheduler.err &
	loaded=$!
	tries=0
	until grep -q enabled /sys/kernel/sched_ext/state; do
		sleep 0.1
		tries=$((tries + 1))
		[ $tries -lt 200 ] || { cat /tmp/scheduler.err; exit 1; }
	done
	;;
esac
taskset f steer-bench server --rpc-threads 4 $pins >/tmp/server.out 2>/tmp/server.err &
until grep -q ready /tmp/server.out; do sleep 0.1; done
sleep 0.5
calibrate mark 3
calibrate mark 1
inside taskset 30 chrt -f 1 steer-bench client --server 10.42.0.2 --long-rate $t_long_rate --long-flows $t_long \
	--rpc-connections $t_rpc --rpc-rate $t_rpc_rate --rpc-threads 1 --source-port $((20000 + ${t_seed:-0} * 104)) \
	--warmup $t_warm --duration $t_span --json >/tmp/client 2>/tmp/client.err &
driver=$!
# The client's counted seconds begin when its connections stand; these marks lie inside them.
sleep $t_before
calibrate mark 0x10
sleep $t_inside
calibrate mark 0x11
wait $driver || cat /tmp/client.err
calibrate mark 2
calibrate mark 4
[ -z "$loaded" ] || { grep enabled /sys/kernel/sched_ext/state; cat /tmp/scheduler.err; }
echo "{\"client\":$(tr -d '\n' </tmp/client)}"
echo "{\"softirqs\":\"$(grep NET_RX /proc/softirqs)\"}"
