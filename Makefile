# The two commands: `make demo` and `make test`. Each does its own set-up, from a fresh Debian 12
# machine with Rust on. `make help` lists the rest.

PACKAGES := chromium clang-22 clang-format-22 llvm-22 pkg-config libelf-dev zlib1g-dev libhwloc-dev \
	libudev-dev busybox-static cpio ethtool iperf3 iproute2 linux-perf qemu-system-x86 tcc \
	util-linux xz-utils
DEMO     := target/demo
BENCH    := target/release/steer-bench

.PHONY: help demo test build setup check fmt clean

help:
	@echo "make demo   the main job: the lab, real traffic, an A/B table ($(DEMO)/report.html)"
	@echo "make test   every test: unit, property, BPF on this kernel, the scheduler in the lab"
	@echo "make check  formatting, lints"
	@echo "make build  scx_steer and steer-bench in target/release"

# iperf3 moves the long flows in the second, so that a program we did not write confirms the first.
demo: build
	$(BENCH) ab --pairs 5 --worlds hash --arms default,scx_steer --long-tool iperf3 --out $(DEMO)/iperf3
	$(BENCH) ab --pairs 5 --worlds auto,hash,explicit --arms default,scx_steer,pinned --out $(DEMO)

# The guest test runs on the lab's default kernel and on the newest series; the last step is the
# deterministic tier's.
test: build
	$(BENCH) kernel fetch 6.18
	STEER_LAB=1 cargo test --release --workspace --no-fail-fast
	$(BENCH) lab test --kernel 6.18
	$(BENCH) lab test --kernel 7.2
	$(BENCH) det selftest

build: setup
	cargo build --release --workspace

# Nothing to do, and no root needed, where all is there.
setup:
	@experiments/lab/setup.sh $(PACKAGES)

check: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	clang-format-22 --dry-run -Werror $$(git ls-files '*.c' '*.h')

fmt: setup
	cargo fmt --all
	clang-format-22 -i $$(git ls-files '*.c' '*.h')

clean:
	cargo clean
