#!/bin/sh
# The deterministic tier, inside its guest: two NICs on one hub, the client in a network namespace
# of its own. Everything that may take time waits for the guest's clock, which counts
# instructions, or for another program, so that the same seed gives the same run. What was counted
# goes to the console, each part behind a line "@@name".
# From the kernel's command line, through init: $seed, $scheduler (scx_steer or default).
server=10.42.0.2
state=/sys/kernel/sched_ext/state

fail() {
	echo "@@failed"
	echo "$1"
	cat /tmp/*.err
	echo "@@end"
	exit 1
}

await() { # await FILE TEXT: until the file holds the text
	turns=0
	until grep -q "$2" "$1" 2>/dev/null; do
		turns=$((turns + 1))
		[ $turns -lt 600 ] || fail "$2 did not appear in $1"
		sleep 0.1
	done
}

# The seed moves the run against the timer ticks, and the flows among the hash's buckets.
spin=$((seed * 7919 % 50000))
while [ $spin -gt 0 ]; do spin=$((spin - 1)); done
port=$((20000 + seed * 104 % 30000))

# The server's NIC is the one on a node's own bus; the other belongs to no node.
for nic in eth0 eth1; do
	if [ "$(cat /sys/class/net/$nic/device/../numa_node)" -gt 0 ]; then inner=$nic; else outer=$nic; fi
done
unshare -n sleep 100000 &
client=$!
until [ "$(readlink /proc/$client/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.1; done
ip link set $outer netns $client
inside() { nsenter --net=/proc/$client/ns/net "$@"; }
inside ip address add 10.42.0.1/30 dev $outer
inside ip link set $outer up
ip address add $server/30 dev $inner
ip link set $inner up

if [ "$scheduler" != default ]; then
	$scheduler >/tmp/scheduler.out 2>/tmp/scheduler.err &
	loaded=$!
	await $state enabled
fi
scx_steer observe --lead 4 --duration 4 --tail 60 --json >/tmp/observe 2>/tmp/observe.err &
observer=$!
await /tmp/observe.err observing
steer-bench server >/tmp/server.out 2>/tmp/server.err &
await /tmp/server.out ready
steer-bench hog --cpus 0-1 --cpus 2-3 >/tmp/hog.out 2>/tmp/hog.err &
await /tmp/hog.out ready
inside steer-bench client --server $server --long-rate 40Mbit --source-port $port --warmup 2 \
	--duration 5 --json >/tmp/client 2>/tmp/client.err || fail "the client failed"
[ "$scheduler" = default ] || grep -q enabled $state || fail "the scheduler was thrown out"
kill -INT $observer
wait $observer || fail "the observer failed"

echo "@@observe"
cat /tmp/observe
echo "@@client"
cat /tmp/client
for counters in interrupts softirqs stat vmstat schedstat net/dev net/snmp; do
	echo "@@$counters"
	cat /proc/$counters
done
if [ -n "$loaded" ]; then
	kill -INT $loaded
	wait $loaded || fail "the scheduler failed"
fi
echo "@@end"
