# Everything starts here: `make demo` to see Xoff, `make test` to test it. Both set the machine up first.

CARGO ?= cargo

.PHONY: demo test check synth formal mutants setup check-tools

# Real traffic of the Linux kernel: two hosts on a link that lost 2 % of the frames (testbenches/captures/README.md).
DEMO_CAPTURE = testbenches/captures/loss_mtu256_all_ops.pcap

demo: setup
	@echo "demo: building Xoff and its verilated models (two to three minutes the first time)"
	@$(CARGO) build --release --bin xoff
	@echo "demo: $(DEMO_CAPTURE) through the RTL parser"
	@echo
	@$(CARGO) run --release --quiet --bin xoff -- decode --summary $(DEMO_CAPTURE)
	@echo
	@echo "Each frame in a row:        target/release/xoff decode $(DEMO_CAPTURE)"
	@echo "RTL against the reference:  target/release/xoff decode --both $(DEMO_CAPTURE)"
	@echo "What else there is:         target/release/xoff --help, README.md"

test: setup
	$(CARGO) test --workspace --quiet

check: setup check-tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	tools/rtl-lint.sh
	.tools/bin/python tools/registers.py --check
	.tools/bin/python tools/synth.py

formal: check-tools
	.tools/bin/python tools/formal.py

synth: check-tools
	.tools/bin/python tools/synth.py

# make mutants UNIT=pfc: breaks the unit in 200 small ways and says which of them its properties do not find.
mutants: setup check-tools
	@.tools/bin/python tools/mutants.py "$(UNIT)" "target/mutants/$(UNIT)"
	@echo "mutants: building the netlists of $(UNIT) (some minutes the first time)"
	@XOFF_MUTANTS="$(CURDIR)/target/mutants/$(UNIT)" $(CARGO) run --release --quiet -p xoff --features mutants --bin xoff-mutants -- $(ARGS) "$(UNIT)"

setup:
	@tools/setup.sh

check-tools:
	@tools/check-tools.sh
