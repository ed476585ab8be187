# Long flows and RPCs under a scheduler, with an observer. The first CPUs are measured; the client's
# drive the traffic, and run this script. Variables: src/ab/task.rs.
taskset -cp $client_cpus $$ >/dev/null
calibrate entropy || fail "no entropy"
connect $mtu $client_cpu
eval "$interrupts"
# addresses and names of functions, while the scheduler's programs are there
symbols() { sed -n 's/^\([0-9a-f]*\) [tT] \([^\t]*\).*/\1 \2/p' /proc/kallsyms | grep -v __pfx_; }
set_xps $xps
set_up() { # set_up COMMAND [PREFIX...]: the prefix says where
	command=$1
	shift
	"$@" sh -c "$command" >/dev/null 2>/tmp/setup.err || fail "$command does not work in the guest"
}
eval "$setup"
if [ -n "$align" ]; then
	for nic in $nics; do
		scx_steer nic apply $nic --mode align >/tmp/align 2>/tmp/align.err || fail "the mode align failed"
	done
fi
if [ -n "$scheduler" ]; then
	taskset -c $measured_cpus $scheduler >/tmp/scheduler.out 2>/tmp/scheduler.err &
	loaded=$!
	await /sys/kernel/sched_ext/state enabled
fi
serve() { # serve NAME COMMAND...: a server on the measured CPUs
	name=$1
	shift
	taskset -c $measured_cpus "$@" >/tmp/$name.out 2>/tmp/$name.err &
	serving="$serving $!"
}
listens() { # listens PORT: until a program does, over IPv4
	await /proc/net/tcp "$(printf ':%04X 00000000:0000 0A' $1)"
}
eval "$servers"
sleep 0.2
calibrate mark 3
scx_steer observe --cpus $measured_cpus --lead $lead_s --duration $span_s --tail 60 --interval $interval_s --json \
	>/tmp/observe 2>/tmp/observe.err &
observer=$!
await /tmp/observe.err observing
# From here on each seed has a copy of its own. It moves everything against the timer ticks.
calibrate branch >/tmp/branch
. /tmp/branch
calibrate spin 1 $((seed * 104729 + 1)) >/dev/null
said="observe server.out server.err"
if [ -n "$hogs" ]; then
	said="$said hogs hogs.err"
	taskset -c $measured_cpus $hogs >/tmp/hogs 2>/tmp/hogs.err &
	hogging=$!
	await /tmp/hogs ready
fi
chrt -f 2 calibrate marks $lead_us $warm_us $span_us 20 >/tmp/marks &
marking=$!
send() { # send NAME COMMAND...: a program of the client's that sends until it is killed
	name=$1
	shift
	inside chrt -f 1 "$@" >/tmp/$name.out 2>/tmp/$name.err &
	sending="$sending $!"
}
eval "$senders"
if [ -n "$client_command" ]; then
	said="$said client"
	inside chrt -f 1 $client_command >/tmp/client 2>/tmp/client.err || fail "the client failed"
fi
wait $marking || fail "the marks failed"
for sender in $sending; do
	kill $sender 2>/dev/null || fail "a program that sends ended before its time"
done
calibrate mark 2
calibrate mark 4
[ -z "$profile" ] || symbols >/tmp/symbols
kill -INT $observer
wait $observer || fail "the observer failed"
if [ -n "$loaded" ]; then
	grep -q enabled /sys/kernel/sched_ext/state || fail "the scheduler was thrown out during the sample"
	kill -INT $loaded
	wait $loaded || fail "the scheduler failed"
fi
kill $serving
if [ -n "$hogs" ]; then
	kill -INT $hogging
	wait $hogging || fail "the hogs failed"
fi
for part in $said; do
	echo "@@$part"
	cat /tmp/$part
done
cat /tmp/marks
if [ -n "$profile" ]; then
	echo "@@symbols"
	cat /tmp/symbols
fi
echo "@@dmesg"
dmesg
