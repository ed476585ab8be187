#!/bin/sh
# The deterministic tier, inside its guest. Everything that may take time waits for the guest's
# clock, which counts instructions, or for another program, so that the same seed gives the same
# run. What was counted goes to the console, each part behind a line "@@name".
# From the kernel's command line, through init: $seed, $scheduler (a program of /bin, default or
# pinned), $workload (traffic, rpcs, overload, pipe or bound), $cpus (the CPUs of the workload's
# cpuset), $watchers (stats, metrics and top, with commas between), $bpf_stats (anything: count what
# BPF programs cost).
server=10.42.0.2
long_rate=40Mbit
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

# Runs a command in a cpuset, if there is one. Of the traffic, that is the server: the client is
# another host, and the hogs are other programs.
confined() { # confined COMMAND...
	[ -n "$cpus" ] || {
		"$@"
		return
	}
	set=/sys/fs/cgroup/workload
	echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p $set
	echo $cpus >$set/cpuset.cpus
	sh -c 'echo $$ >$0/cgroup.procs && exec "$@"' $set "$@"
}

spin() { # spin N: moves what follows against the timer ticks
	turns=$(($1 % 50000))
	while [ $turns -gt 0 ]; do turns=$((turns - 1)); done
}

load() {
	[ -x /bin/$scheduler ] || return 0
	$scheduler >/tmp/scheduler.out 2>/tmp/scheduler.err &
	loaded=$!
	await $state enabled
}

# What watches the scheduler. Each looks once and then waits for longer than the workload takes: what
# is counted is what the workload pays for being watched, not what the watchers do themselves.
watch() { # watch NAME TEXT COMMAND...: until the first sample is there
	out=/tmp/$1
	text=$2
	shift 2
	"$@" >$out 2>$out.err &
	await $out "$text"
}
stats() { watch stats . scx_steer --monitor 600; }
metrics() { watch metrics scx_steer_up scx_steer metrics --textfile /tmp/metrics --every 600; }
top() { watch top cpus scx_steer top --json --interval 30; }

unload() {
	[ -n "$loaded" ] || return
	grep -q enabled $state || fail "the kernel ejected the scheduler"
	kill -INT $loaded
	wait $loaded || fail "the scheduler failed"
}

# With $bpf_stats, also prints the kernel's counts of each BPF program, before and after.
counted() { # counted NAME COMMAND...
	span=$1
	shift
	[ -n "$bpf_stats" ] || {
		"$@"
		return
	}
	steer-bench bpf-stats >/tmp/before 2>/tmp/before.err || fail "BPF programs cannot be read"
	"$@"
	echo "@@bpf/$span"
	cat /tmp/before
	steer-bench bpf-stats 2>/tmp/after.err || fail "BPF programs cannot be read"
}

# Two NICs on one hub: the server's is the one on a node's own bus, the other belongs to no node
# and goes to a network namespace, where the client runs.
connect() {
	for nic in eth0 eth1; do
		node=$(cat /sys/class/net/$nic/device/../numa_node)
		if [ "$node" -ge 0 ]; then inner=$nic nic_node=$node; else outer=$nic; fi
	done
	unshare -n sleep 100000 &
	client=$!
	until [ "$(readlink /proc/$client/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.1; done
	ip link set $outer netns $client
	inside ip address add 10.42.0.1/30 dev $outer
	inside ip link set $outer up
	ip address add $server/30 dev $inner
	ip link set $inner up
}

inside() { nsenter --net=/proc/$client/ns/net "$@"; }

nodes() { ls -d /sys/devices/system/node/node*; }

# Pins by hand: the server's long flows near its NIC, its RPCs elsewhere.
pins() {
	[ "$scheduler" = pinned ] || return 0
	near=/sys/devices/system/node/node$nic_node far=
	for node in $(nodes); do [ $node = $near ] || far=$far,$(cat $node/cpulist); done
	echo --pin-long $(cat $near/cpulist) --pin-rpc ${far#,}
}

# The seed also chooses the source ports, and so moves the flows among the hash's buckets.
traffic() { # traffic [CLIENT_OPTION]...
	port=$((20000 + seed * 104 % 30000))
	scx_steer observe --lead 4 --duration 4 --tail 60 --json >/tmp/observe 2>/tmp/observe.err &
	observer=$!
	await /tmp/observe.err observing
	confined steer-bench server $(pins) >/tmp/server.out 2>/tmp/server.err &
	await /tmp/server.out ready
	per_node=$(for node in $(nodes); do echo --cpus $(cat $node/cpulist); done)
	steer-bench hog $per_node >/tmp/hog.out 2>/tmp/hog.err &
	await /tmp/hog.out ready
	inside steer-bench client --server $server --long-rate $long_rate --source-port $port --warmup 2 \
		--duration 5 --json "$@" >/tmp/client 2>/tmp/client.err || fail "the client failed"
	kill -INT $observer
	wait $observer || fail "the observer failed"
	echo "@@observe"
	cat /tmp/observe
	echo "@@client"
	cat /tmp/client
}

rpcs() { traffic --long-flows 0; }

# Traffic, beside more hogs than CPUs. The long flows are slow: what waits behind their threads must
# not wait as long as those take to use a slice.
overload() {
	steer-bench contend --threads 8 --duration 15 >/tmp/hogs 2>/tmp/hogs.err &
	hogs=$!
	sh -c 'renice -n 5 $$; exec steer-bench contend --threads 4 --duration 15' >/tmp/nice-hogs 2>/tmp/nice-hogs.err &
	nice_hogs=$!
	long_rate=4Mbit
	traffic
	wait $hogs $nice_hogs || fail "a hog failed"
	for report in hogs nice-hogs; do
		echo "@@$report"
		cat /tmp/$report
	done
}

# Two processes that wake each other, on one CPU or wherever the scheduler puts them. Each runs with
# two lengths: their difference leaves out the cost of starting and ending.
wakes() { # wakes ROUNDS PLACEMENT...
	rounds=$1
	shift
	for round in $rounds; do
		spin $((seed * 7919 + round * 104729))
		for loops in 1000 5000; do
			for placement in "$@"; do counted $placement/$round/$loops bench; done
		done
	done
}

pipe() { wakes "1 2 3 4 5" one any; }

# The second of these, while many threads wait that may use two CPUs only, and those are busy.
bound() {
	taskset 3 steer-bench contend --threads 200 --duration 3600 >/tmp/bound.out 2>/tmp/bound.err &
	bound=$!
	sleep 2
	wakes "1 2 3" any
	kill $bound
}

bench() {
	pinned= first=${cpus%%[-,]*}
	[ $placement = any ] || pinned="taskset -c ${first:-0}"
	echo "@@pipe/$placement/$round/$loops"
	confined $pinned perf bench sched pipe --loop $loops 2>/tmp/perf.err || fail "perf failed"
}

spin $((seed * 7919))
case $workload in
pipe | bound) ;;
*) connect ;;
esac
load
for watcher in $(echo $watchers | tr , ' '); do $watcher; done
[ -z "$bpf_stats" ] || echo 1 >/proc/sys/kernel/bpf_stats_enabled
case $workload in
pipe | bound) $workload ;;
*) counted $workload $workload ;;
esac
for counters in interrupts softirqs stat vmstat schedstat net/dev net/snmp; do
	echo "@@$counters"
	cat /proc/$counters
done
unload
echo "@@end"
