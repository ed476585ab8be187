#!/bin/sh
# scx_steer with 1,000 rules: a long-burst of its own for each of as many cgroups, in the guest.
i=0
while [ $i -lt 1000 ]; do
	mkdir -p /sys/fs/cgroup/srv/$i
	printf '[[rule]]\ncgroup = "srv/%d"\nlong-burst = "%dKiB"\n' $i $((64 + i))
	i=$((i + 1))
done >/tmp/rules.toml
exec scx_steer --policy /tmp/rules.toml
