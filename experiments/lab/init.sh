#!/bin/busybox sh
# First process of the lab's guest: mounts, modules, network; then hands over to what lab.mode= on
# the kernel's command line says. When that ends, so does the guest.
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin HOME=/

mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing

ulimit -l unlimited
ip link set lo up
for module in failover net_failover virtio_net; do
	insmod /lib/modules/$module.ko || echo "lab: cannot load $module"
done

for word in $(cat /proc/cmdline); do
	case $word in
	lab.nic=*) nics="$nics ${word#lab.nic=}" ;;
	lab.mode=*) mode=${word#lab.mode=} ;;
	lab.seed=*) export seed=${word#lab.seed=} ;;
	lab.scheduler=*) export scheduler=${word#lab.scheduler=} ;;
	lab.workload=*) export workload=${word#lab.workload=} ;;
	lab.cpus=*) export cpus=${word#lab.cpus=} ;;
	lab.bpf-stats=*) export bpf_stats=${word#lab.bpf-stats=} ;;
	lab.watchers=*) export watchers=${word#lab.watchers=} ;;
	esac
done

# The kernel numbers NICs as it finds them; here they are numbered as their lab.nic=MAC,ADDRESS are.
if [ -n "$nics" ]; then
	for found in /sys/class/net/eth*; do
		ip link set "${found##*/}" name "found-${found##*/}"
	done
fi
number=0
for nic in $nics; do
	for found in /sys/class/net/found-*; do
		if [ "$(cat "$found/address")" = "${nic%,*}" ]; then
			ip link set "${found##*/}" name "eth$number"
			ip address add "${nic#*,}" dev "eth$number"
			ip link set "eth$number" up
		fi
	done
	number=$((number + 1))
done

case $mode in
agent) steer-bench guest ;;
shell) setsid cttyhack sh ;;
det) sh /det.sh ;;
priced) sh /priced.sh ;;
esac
poweroff -f
