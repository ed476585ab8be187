#!/bin/sh
cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list | sort -u | tr '\n' ' '; echo
grep -c "CONFIG_SCHED_CORE=y" /boot/config-$(uname -r)
state() { cat /sys/kernel/sched_ext/state; }
run() { echo "== $1: groups $2 threads $3 cookies $5"; coretest $2 $3 $4 $5; }
run default 2 2 4 0
run default 2 2 4 1
run default 3 1 4 1
scx_steer -v > /tmp/scx.log 2>&1 &
pid=$!
for i in $(seq 60); do grep -q enabled /sys/kernel/sched_ext/state && break; sleep 1; done
state
run scx_steer 2 2 4 0
run scx_steer 2 2 4 1
run scx_steer 3 1 4 1
run scx_steer 3 4 6 1
state
(steer-bench contend --threads 6 --duration 6 > /tmp/c1 &) ; run "scx_steer beside 6 threads without cookies" 2 2 6 1; sleep 1; cat /tmp/c1
state
cat /sys/kernel/sched_ext/events 2>/dev/null | head -3
kill $pid; wait $pid; echo scx exit $?
cat /tmp/scx.log | tail -12
dmesg | grep -a "WARNING\|BUG\|Oops\|stall\|hung\|sched_ext" | tail
