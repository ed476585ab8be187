# Flows into one CPU, in each of $cases: SOFTIRQ-THREAD-READS-LONG-SHORT-SHORT_KIB-BUFFER_KIB, the
# CPU of the softirq, that of the processes, and the receive buffer's largest size; flow.c has the
# others.
connect $mtu $client_cpu
set_xps off
calibrate mark 3
# The seed moves everything against the timer ticks.
calibrate spin 1 $((seed * 104729 + 1)) >/dev/null
port=5000
for case in $cases; do
	port=$((port + 1))
	IFS=- read -r softirq thread reads long short short_kib buffer_kib <<-END
		$case
	END
	echo 4096 131072 $((buffer_kib * 1024)) >/proc/sys/net/ipv4/tcp_rmem
	queues_to eth0 $softirq
	# An interrupt moves only when it next comes; under load NAPI would stay where it was.
	inside ping -q -c 3 10.42.0.2 >/dev/null || fail "the network is down"
	flow rx $thread $((client_cpu + 1)) $port $warm_ms $span_ms $reads $long $short $short_kib \
		>/tmp/rx 2>/tmp/rx.err &
	rx=$!
	await /tmp/rx ready
	inside flow tx $client_cpu 10.42.0.2 $port $long $short $short_kib 2>/tmp/tx.err &
	tx=$!
	wait $rx || fail "the receiver failed"
	wait $tx || fail "the sender failed"
	echo "@@$case"
	grep flow /tmp/rx
	sleep 0.3
done
