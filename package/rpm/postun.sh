if [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || :
	if [ "$1" -ge 1 ]; then
		systemctl --system try-restart scx_steer.service scx_steer-nic.service scx_steer-metrics.service >/dev/null || :
	fi
fi
