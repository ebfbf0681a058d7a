# Everything starts here: `make demo` to see Xoff, `make test` to test it. Both set the machine up first.

CARGO ?= cargo

.PHONY: demo test check synth setup check-tools

demo: setup
	$(CARGO) run --release --quiet --bin xoff -- decode --summary testbenches/captures/loss_mtu256_all_ops.pcap

test: setup
	$(CARGO) test --workspace --quiet

check: setup check-tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	tools/rtl-lint.sh
	.tools/bin/python tools/synth.py

synth: check-tools
	.tools/bin/python tools/synth.py

setup:
	@tools/setup.sh

check-tools:
	@tools/check-tools.sh
