# One flow, with softirq and thread on CPUs as $placements says: SOFTIRQ-THREAD ...
connect $mtu $client_cpu
set_xps off
calibrate mark 3
# The seed moves everything against the timer ticks.
calibrate spin 1 $((seed * 104729 + 1)) >/dev/null
port=5000
for placement in $placements; do
	port=$((port + 1)) softirq=${placement%-*} thread=${placement#*-}
	interrupts_to "$inner_device-(input|output)" $softirq
	# An interrupt moves only when it next comes; under load NAPI would stay where it was.
	inside ping -q -c 3 10.42.0.2 >/dev/null || fail "the network is down"
	flow rx $thread $port $warm_ms $span_ms >/tmp/rx 2>/tmp/rx.err &
	rx=$!
	await /tmp/rx ready
	inside flow tx $client_cpu 10.42.0.2 $port 2>/dev/null &
	tx=$!
	wait $rx || fail "the receiver failed"
	kill -9 $tx 2>/dev/null
	wait $tx 2>/dev/null
	echo "@@$placement"
	grep flow /tmp/rx
	sleep 0.3
done
