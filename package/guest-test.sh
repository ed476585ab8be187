#!/bin/bash
# Runs in the guest of guest.sh as a service: the life of scx_steer.service, step by step.
# shellcheck disable=SC2317
set -u
STATE=/sys/kernel/sched_ext

fail() {
	echo "FAILED: $*"
	journalctl -b --no-pager -u 'scx_steer*' -u prometheus | tail -n 60
	exit 1
}

# in_force: exactly one scheduler is loaded, and it is ours
in_force() {
	[ "$(cat $STATE/state)" = enabled ] && [[ "$(cat $STATE/root/ops)" == scx_steer* ]] &&
		[ "$(pgrep -c -f '^/usr/bin/scx_steer *$')" = 1 ]
}

# until COMMAND...: waits for it; the guest may be slow
until_true() {
	for _ in $(seq 300); do
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.5
	done
	fail "never came true: $*"
}

# what the mode rfs sets on the guest's NIC
rps() { cat /proc/sys/net/core/rps_sock_flow_entries /sys/class/net/eth0/queues/rx-0/rps_{cpus,flow_cnt} | xargs; }
# the CPUs of the threads that poll it, one for each direction
napi_threads() {
	for thread in $(pgrep '^napi/eth0'); do sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$thread/status"; done | xargs
}
napi_placed() { [ "$(napi_threads)" != "$everywhere" ]; }
same() { [ "$(rps)" = "$1" ]; }
off() { [ "$(cat $STATE/state)" = disabled ]; }
pid() { systemctl show -P MainPID scx_steer; }
restarts() { systemctl show -P NRestarts scx_steer; }
restarted() { [ "$(restarts)" -gt "$before" ] && in_force; }
# takes_priority LOG: the scheduler may take a real-time priority while it is put in force, else it warns
takes_priority() { grep "real-time priority" "$1" && fail "it may take no real-time priority"; }
say() { echo "\$ $*"; "$@" 2>&1 || fail "$*"; }
# for a command whose exit code tells what it found
say_any() { echo "\$ $*"; "$@" 2>&1; echo "(exit code $?)"; }
run() { echo "\$ $1"; bash -c "$1" 2>&1 || fail "$1"; }

echo "== starts at boot"
until_true sh -c 'systemctl -q is-active scx_steer || systemctl -q is-failed scx_steer'
say systemctl is-active scx_steer
in_force || fail "active, but not in force"
takes_priority <(journalctl -b --no-pager -u scx_steer)
run "grep -E '^(Cap|NoNewPrivs|Uid)' /proc/$(pid)/status"
systemctl -q disable --now scx_steer
until_true off

# Traffic over the NIC: threads that only receive, and threads that ask and wait.
for module in failover net_failover virtio_net; do insmod "/root/$module.ko" || fail "$module"; done
until_true test -e /sys/class/net/eth0
ip address add 10.0.2.15/24 dev eth0 && ip link set eth0 up || fail "eth0 does not come up"
for number in 1 2; do
	systemd-run -q --unit bulk-$number bash -c 'exec cat </dev/tcp/10.0.2.100/9 >/dev/null'
	systemd-run -q --unit rpc-$number bash -c 'exec 3<>/dev/tcp/10.0.2.100/7; while echo ask >&3; do read -r _ <&3; done'
done

echo "== doctor"
say_any scx_steer doctor --only load,host

echo "== start"
began=$(date +%s%N)
say systemctl enable --now scx_steer
echo "from \`enable --now\` until it is in force: $((($(date +%s%N) - began) / 1000000)) ms"
until_true in_force
until_true sh -c 'scx_steer status | grep -q "NIC eth0"'
say scx_steer status

echo "== top, in a terminal"
# view KEY TITLE: presses the key in the terminal of top, and waits for the view of this title
view() {
	[ -z "$1" ] || tmux send-keys -t top "$1"
	until_true sh -c "tmux capture-pane -pt top | grep -q '$2'"
}
tmux -u new-session -d -s top -x 100 -y 12 scx_steer top
view "" "NIC, QUEUE"
until_true sh -c 'tmux capture-pane -pt top | grep -q "eth0.*b/s"'
echo '$ sudo scx_steer top'
tmux capture-pane -pt top | grep .
view v "TID *NAME"
until_true sh -c 'tmux capture-pane -pt top | grep -q "cat *long"'
until_true sh -c 'tmux capture-pane -pt top | grep -q "bash *short"'
tmux capture-pane -pt top | grep .
tmux capture-pane -pet top | base64 | sed 's/^/PICTURE /'
view v "softirq  . idle"
view v "THROTTLED"
tmux send-keys -t top q
until_true sh -c '! tmux has-session -t top'
systemctl stop 'bulk-*' 'rpc-*'

echo "== metrics, without privileges"
until_true curl -sf http://127.0.0.1:9954/metrics
run 'curl -s http://127.0.0.1:9954/metrics | grep -E "^scx_steer_(in_force|up|cpus) "'
[ "$(curl -s http://127.0.0.1:9954/metrics | grep -c '^scx_steer_up 1$')" = 1 ] || fail "metrics: no answer"

echo "== metrics in Prometheus"
cat >/run/prometheus.yml <<'END'
global: { scrape_interval: 1s }
rule_files: [/usr/share/doc/scx-steer/prometheus/alerts.yml]
scrape_configs:
  - job_name: scx_steer
    static_configs: [{ targets: ['127.0.0.1:9954'] }]
END
systemd-run -q --unit prometheus /root/prometheus --config.file=/run/prometheus.yml \
	--storage.tsdb.path=/run/prometheus --web.listen-address=127.0.0.1:9090
query="curl -s http://127.0.0.1:9090/api/v1/query --data-urlencode"
until_true sh -c "$query query=scx_steer_in_force | grep -q '\"1\"'"
run "$query 'query=scx_steer_flows_total{class=\"long\"}' | grep -o '\"metric.*[^}]'"
systemctl stop prometheus

echo "== the score of the units"
run 'for unit in scx_steer scx_steer-nic scx_steer-metrics; do systemd-analyze security --no-pager $unit.service | tail -n 1; done'

echo "== another user cannot ask"
setpriv --reuid nobody --regid nogroup --clear-groups scx_steer status && fail "nobody got an answer"

echo "== a policy file, and its reload"
printf '[[rule]]\ncgroup = "system.slice"\nclass = "short"\n' >/etc/scx_steer/policy.d/50-a.toml
say cat /etc/scx_steer/policy.d/50-a.toml
until_true sh -c 'scx_steer status | grep -q "policy: 1 rule"'
say systemctl reload scx_steer
say scx_steer status

echo "== NIC settings with the service"
original=$(rps)
printf '[nic.eth0]\nmode = "rfs"\n' >/etc/scx_steer/host.toml
mkdir -p /etc/systemd/system/scx_steer.service.d
say cat /etc/scx_steer/host.toml
say cp /usr/share/doc/scx-steer/nic-modes.conf /etc/systemd/system/scx_steer.service.d/
say systemctl daemon-reload
say systemctl restart scx_steer
until_true in_force
until_true sh -c 'scx_steer nic status | grep -q "RFS table of the host: 3"'
applied=$(rps)
say scx_steer status
say scx_steer nic status
run "grep -E '^(CapEff|Uid)' /proc/$(pid)/status"
[ "$applied" != "$original" ] || fail "nothing was applied"

echo "== killed: started again, NIC settings are put back and set again"
before=$(restarts)
say kill -KILL "$(pid)"
until_true restarted
run 'journalctl --no-pager -o cat -u scx_steer | grep -E "status=9|went back|Scheduled" | tail -n 3'
until_true same "$applied"

echo "== hangs: the watchdog ends it, and it is started again"
before=$(restarts)
kill -STOP "$(pid)"
until_true restarted
run "journalctl --no-pager -o cat -u scx_steer | grep 'Watchdog timeout'"

echo "== ejected by the kernel: the dump is kept, exit code 3, started again"
before=$(restarts)
# A real-time hog keeps CPU 1 from a thread that may run nowhere else: nothing can save that one.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
taskset -c 1 sh -c 'while :; do :; done' &
starved=$!
sleep 1
chrt -f 50 taskset -c 1 sh -c 'while :; do :; done' &
hog=$!
until_true sh -c 'journalctl -u scx_steer | grep -q "runnable task stall"'
kill "$hog" "$starved"
echo 950000 >/proc/sys/kernel/sched_rt_runtime_us
until_true restarted
run 'journalctl --no-pager -o cat -u scx_steer | grep -E "DEBUG DUMP|was in force and|status=3"'

echo "== ended by hand (SysRq-S): stays off"
echo S >/proc/sysrq-trigger
until_true off
sleep 7
off || fail "it came back"
say systemctl show -P Result -P ActiveState scx_steer
say systemctl start scx_steer
until_true in_force

echo "== NIC settings without the scheduler"
say systemctl stop scx_steer
off && same "$original" || fail "the NIC is set to $(rps), and was $original"
# its NAPI in a kernel thread, which is to run beside the interrupt
echo 1 >/sys/class/net/eth0/threaded
everywhere=$(napi_threads)
[ "$everywhere" = "0-1 0-1" ] || fail "threads of NAPI may use CPU $everywhere"
say systemctl start scx_steer-nic
until_true same "$applied"
until_true napi_placed
say systemctl start scx_steer
until_true in_force
systemctl -q is-active scx_steer-nic && fail "two services set the NIC"
until_true same "$applied"
# a mistake in the file is said once, and changes nothing
systemctl stop scx_steer
same "$original" || fail "the NIC is set to $(rps), and was $original"
[ "$(napi_threads)" = "$everywhere" ] || fail "threads of NAPI may use CPU $(napi_threads) only"
echo 0 >/sys/class/net/eth0/threaded
mv /etc/scx_steer/host.toml /run/
echo 'mode = 1' >/etc/scx_steer/host.toml
systemctl start scx_steer-nic
until_true sh -c '[ "$(systemctl show -P ActiveState scx_steer-nic)" = failed ]'
[ "$(systemctl show -P NRestarts scx_steer-nic)" = 0 ] || fail "it tries a wrong file again"
same "$original" || fail "the NIC is set to $(rps), and was $original"
mv /run/host.toml /etc/scx_steer/
systemctl start scx_steer
until_true in_force
until_true same "$applied"

echo "== a second one refuses"
scx_steer && fail "two schedulers"
in_force || fail "the first has gone"

echo "== a filter that forbids bpf(2)"
systemd-run -q --unit filtered -p SystemCallFilter=~bpf -p SystemCallErrorNumber=EPERM scx_steer observe
until_true sh -c 'journalctl -u filtered | grep -q "a seccomp filter forbids bpf(2)"'

echo "== a tenant that pretends to have long flows gains no CPU"
# both with two threads on CPU 0: one only computes, the other sends to itself in bursts of 1 MiB
run "systemd-run -q --unit honest taskset -c 0 sh -c 'while :; do :; done & while :; do :; done'"
say systemd-run -q --unit pretends taskset -c 0 perl /root/tenant.pl
sleep 30
flows=$(curl -s http://127.0.0.1:9954/metrics | sed -n 's/^scx_steer_flows_total{class="long"} //p')
honest=$(systemctl show -P CPUUsageNSec honest)
pretends=$(systemctl show -P CPUUsageNSec pretends)
systemctl stop honest pretends
echo "flows that became long: $flows"
echo "CPU time of the pretender per CPU time of the honest one: $((pretends * 100 / honest)) %"
[ "$flows" -gt 0 ] || fail "no flow became long"
[ $((pretends * 100 / honest)) -le 115 ] || fail "pretending pays"

echo "== upgraded: restarted, settings kept"
old=$(pid)
began=$(date +%s%N)
say dpkg -i /root/new.deb
until_true in_force
echo "from the package until it is in force: $((($(date +%s%N) - began) / 1000000)) ms"
[ "$(pid)" != "$old" ] || fail "the old program still runs"
say dpkg-query -W -f '${Version}\n' scx-steer
[ -e /etc/scx_steer/policy.d/50-a.toml ] || fail "the policy file has gone"
until_true sh -c 'scx_steer status | grep -q "policy: 1 rule"'
say systemctl is-enabled scx_steer
until_true same "$applied"

echo "== removed: the kernel's scheduler is in force, the policy file stays"
cp /usr/bin/scx_steer /root/
say dpkg --remove scx-steer
until_true off
pgrep -f /usr/bin/scx_steer && fail "a process is left"
same "$original" || fail "the NIC is set to $(rps), and was $original"
[ -e /etc/scx_steer/policy.d/50-a.toml ] || fail "the policy file has gone"
systemctl is-enabled scx_steer >/dev/null 2>&1 && fail "it is still enabled"

echo "== in a container with the capabilities of the DaemonSet"
cp /root/scx_steer /usr/bin/
rm /etc/scx_steer/host.toml
mkdir -p /run/bundle/rootfs
mount --bind / /run/bundle/rootfs
# the command of the DaemonSet's init container
sed 's#\["/usr/bin/scx_steer"\]#["sh", "-c", "scx_steer doctor || [ $? != 2 ]"]#' /root/container.json >/run/bundle/config.json
echo '$ crun run doctor'
crun run --no-pivot --bundle /run/bundle doctor 2>&1 || fail "the doctor would keep the pod from starting"
cp /root/container.json /run/bundle/config.json
# without pivot_root, which cannot leave this guest's initramfs
crun run --no-pivot --bundle /run/bundle scx >/run/container.log 2>&1 &
until_true in_force
say crun exec scx scx_steer status
run 'grep -h ^Cap /proc/$(pgrep -f "^/usr/bin/scx_steer *$")/status'
cat /run/container.log
takes_priority /run/container.log
say crun kill scx TERM
until_true off

echo "== the kernel's complaints"
dmesg | grep -E 'WARNING:|BUG:|Oops' && fail "the kernel complains"
echo "ALL PASSED"
