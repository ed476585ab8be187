if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
	systemctl --system disable --now scx_steer-metrics.service scx_steer-nic.service scx_steer.service >/dev/null 2>&1 || :
fi
