# The two commands of the README are `make demo` and `make test`. Each does its own set-up, on a fresh
# Debian 12 machine with Rust. `make help` lists all commands, CONTRIBUTING.md says when to use which.

PACKAGES := chromium clang-22 clang-format-22 llvm-22 pkg-config libelf-dev zlib1g-dev libhwloc-dev \
	libudev-dev busybox-static cpio ethtool iperf3 iproute2 linux-perf qemu-system-x86 tcc \
	util-linux xz-utils
# what building our emulator needs beyond PACKAGES
EMULATOR := libglib2.0-dev ninja-build patch python3-venv
# what `make packages` and its checks need beyond PACKAGES
PACKAGING := binutils debian-archive-keyring lintian lowdown man-db mmdebstrap python3-venv rpm rpmlint
DEMO     := target/demo
BENCH    := target/release/steer-bench
PRICED   := target/priced
QUICK    := target/quick.log

.PHONY: help quick check demo test lab release contracts drivers kernel-6.12 priced peers priced-setup build packages \
	packages-check packages-guest setup fmt clean

help:
	@echo "make quick  tests that need neither root nor the lab, about 1 minute once built: after each change"
	@echo "make check  formatting and lints: before each commit"
	@echo "make lab    the scheduler in guests under traffic, about 10 minutes: after a change in bpf/ or scheduler/"
	@echo "make contracts  CPU shares and limits against the kernel's own scheduler, in a guest, about 8 minutes"
	@echo "make drivers    the modes of host steering on each kind of network device, in guests, about 6 minutes"
	@echo "make priced a model of a machine, with prices for caches and NUMA: $(PRICED)/report.html, about 10 minutes"
	@echo "make peers  other sched_ext schedulers on all machines of the model: target/peers, about 2 hours"
	@echo "make test   all tests, about 45 minutes"
	@echo "make release  what make test has no time for: all guest checks on kernel 7.2, and throughput per core"
	@echo "            beside a saturated queue, about 15 minutes: after make test, before a release"
	@echo "make demo   real traffic in the lab, then in a model with prices for caches and NUMA: A/B tables,"
	@echo "            $(DEMO)/report.html and $(DEMO)/priced/report.html, about 20 minutes"
	@echo "make build  scx_steer and steer-bench in target/release"
	@echo "make packages        scx_steer as .deb and .rpm in target/packages, about 10 minutes the first time"
	@echo "make packages-check  lint them, build them twice, install and run them in a Debian 13 root"
	@echo "make packages-guest  install, kill, upgrade and remove the service in a guest with systemd"
	@echo "make fmt    format Rust and C"
	@echo "CONTRIBUTING.md says more."

# Prints the tests that were skipped, and why, and those that failed; the log has the rest.
quick: setup
	@mkdir -p target
	@CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='$(CURDIR)/.ci/unprivileged' STEER_LAB=0 \
		cargo test --release --workspace --no-fail-fast -- --show-output >$(QUICK) 2>&1; \
	status=$$?; \
	grep -E '^(SKIPPED|skipped: )|^test .* FAILED$$|^error' $(QUICK); \
	awk '/^test result:/ { passed += $$4; failed += $$6 } \
		END { print passed " passed, " failed " failed; log: $(QUICK)" }' $(QUICK); \
	exit $$status

# iperf3 moves the long flows in the first run, so that a program we did not write confirms the second.
# Both show placement with real packets. The third shows what placement is worth, which an emulator cannot.
demo: build priced-setup
	$(BENCH) ab --pairs 5 --steering hash --arms default,scx_steer --long-tool iperf3 --out $(DEMO)/iperf3
	$(BENCH) ab --pairs 5 --steering auto,hash --arms default,scx_steer,pinned --out $(DEMO)
	$(BENCH) priced ab --shape 2x4 --seeds 5 --duration 0.1 --out $(DEMO)/priced

lab: build priced-setup
	$(BENCH) lab test

release: build priced-setup
	$(BENCH) lab test --kernel 7.2
	$(BENCH) priced guard --case 'one saturated queue'

# A kernel of the series that RHEL 10 runs, for --kernel 6.12.
kernel-6.12: build
	experiments/lab/build-kernel.sh

contracts: build
	$(BENCH) lab contracts --json target/contracts.json

drivers: build
	$(BENCH) lab drivers --json target/drivers.json
	modules=$$(experiments/lab/modules/build.sh 7.2) && \
		$(BENCH) lab drivers --kernel 7.2 $$(printf -- '--module %s ' $$modules) --json target/drivers-simulated.json

# The main comparison in the priced tier: the same work under all arms, at fixed rates.
priced: build priced-setup
	$(BENCH) priced ab --machine xeon-gold-6128 --shape 2x4 --steering hash --seeds 10 --no-hogs --duration 0.1 --out $(PRICED)

peers: build priced-setup
	experiments/priced/peers.sh

# What another kernel changes: what loads, limits, CPUs that come and go, CPUs without ticks.
NEWEST := --only sizes --only SIGTERM --only hotplug --only cpu. --only partition --only 'keeps its tick'

# The guest test runs on the lab's default kernel and, in part, on the newest series. The last steps
# test the deterministic tier, and the scheduler's worth in the priced tier.
test: build priced-setup
	$(BENCH) kernel fetch 6.18
	package/prometheus.sh
	STEER_LAB=1 cargo test --release --workspace --no-fail-fast
	$(BENCH) lab test --kernel 6.18
	$(BENCH) lab test --kernel 7.2 $(NEWEST)
	$(BENCH) lab journal --trials 30 --in-guest 5
	$(BENCH) det selftest
	$(BENCH) priced guard --case 'fixed rates'

build: setup
	cargo build --release --workspace

packages: setup
	@experiments/lab/setup.sh $(PACKAGES) $(PACKAGING)
	@package/tools.sh
	package/build.sh

packages-check: packages
	package/check.sh
	deploy/kubernetes/check.sh

packages-guest: packages build
	$(BENCH) kernel fetch 6.18
	package/guest.sh

# If everything is installed, this does nothing and needs no root.
setup:
	@experiments/lab/setup.sh $(PACKAGES)

# what building our emulator needs
priced-setup: setup
	@experiments/lab/setup.sh $(PACKAGES) $(EMULATOR)

check: setup
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	clang-format-22 --dry-run -Werror $$(git ls-files '*.c' '*.h')

fmt: setup
	cargo fmt --all
	clang-format-22 -i $$(git ls-files '*.c' '*.h')

clean:
	cargo clean
