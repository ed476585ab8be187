# Long flows and RPCs under a scheduler, with an observer. The first CPUs are measured; the client's
# drive the traffic, and run this script. Variables: src/ab/task.rs.
taskset -cp $client_cpus $$ >/dev/null
connect $mtu $client_cpu
interrupts_to "$inner_device-input" $softirqs
interrupts_to "$inner_device-output" $softirqs
# addresses and names of functions, while the scheduler's programs are there
symbols() { sed -n 's/^\([0-9a-f]*\) [tT] \([^\t]*\).*/\1 \2/p' /proc/kallsyms | grep -v __pfx_; }
set_xps $xps
if [ -n "$align" ]; then
	scx_steer nic apply $inner --mode align >/tmp/align 2>/tmp/align.err || fail "the mode align failed"
fi
if [ -n "$scheduler" ]; then
	taskset -c $measured_cpus $scheduler >/tmp/scheduler.out 2>/tmp/scheduler.err &
	loaded=$!
	await /sys/kernel/sched_ext/state enabled
fi
taskset -c $measured_cpus $server >/tmp/server.out 2>/tmp/server.err &
serving=$!
await /tmp/server.out ready
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
said="observe client server.out server.err"
if [ -n "$hogs" ]; then
	said="$said hogs hogs.err"
	taskset -c $measured_cpus $hogs >/tmp/hogs 2>/tmp/hogs.err &
	hogging=$!
	await /tmp/hogs ready
fi
chrt -f 2 calibrate marks $lead_us $warm_us $span_us 20 >/tmp/marks &
marking=$!
inside chrt -f 1 $client_command >/tmp/client 2>/tmp/client.err || fail "the client failed"
wait $marking || fail "the marks failed"
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
