if command -v systemd-sysusers >/dev/null; then systemd-sysusers scx_steer.conf; fi
if [ -d /run/systemd/system ]; then systemctl --system daemon-reload >/dev/null || :; fi
