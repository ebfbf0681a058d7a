# Everything starts here: `make demo` to see Xoff, `make test` to test it. Both set the machine up first.

CARGO ?= cargo

.PHONY: demo test incidents seeds newest check check-rust check-rtl check-all cost build-cost synth formal mutants \
	planted pictures coverage truth claims interop mpi archive one-line setup check-tools

demo: setup
	@echo "demo: building Xoff and its verilated models (some minutes the first time)"
	@$(CARGO) build --release --bin xoff
	@echo "demo: three pairs of hosts with the RTL NIC, one packet in 256 lost (testbenches/scenarios/livelock.toml)"
	@echo
	@$(CARGO) run --release --quiet --bin xoff -- run livelock
	@echo
	@echo "The report, with charts:    out/livelock/report.html"
	@echo "Other scenarios:            target/release/xoff list"
	@echo "Real traffic, decoded:      target/release/xoff decode --summary testbenches/captures/loss_mtu256_all_ops.pcap"
	@echo "What else there is:         target/release/xoff --help, README.md"

# A program of the tests' build. With the libraries of the workspace: without, what only they have as a dependency is
# compiled as build scripts have it, and with it nearly everything once more.
TESTED = --profile dev --workspace --lib
PROGRAM = $(if $(filter dev,$(PROFILE)),$(TESTED),--profile $(PROFILE) --workspace)

# With tshark, whose fields the rows of captures are compared with. Tests run side by side, each in one thread where it
# asks for no other number: more threads than processors wait for each other.
test: export RAYON_NUM_THREADS = 1
test: setup
	@tools/setup.sh tshark
	$(CARGO) test --workspace --quiet

# The tests that CI has no time for: incidents with all of their variants, each against the expectations of the others,
# their cures, and checkpoints of ranks. Some minutes.
incidents: export RAYON_NUM_THREADS = 1
incidents: setup
	$(CARGO) test --workspace --quiet --test command -- --ignored incidents:: what_is_said_to_cure_it_does \
		any_number_of_ranks_goes_on_from_a_checkpoint

# make seeds: every variant of every built-in scenario with seeds 1 to 10 and model NICs, against its expectations. Some
# 40 minutes of one core.
seeds: setup
	@$(CARGO) build --release --quiet --bin xoff
	@target/release/xoff regress --only 'scenario/*' --seeds 1-10 --set host.nic=model --out target/seeds

# The tests of the binding with the newest Verilator: models of every kind, their types, saved states and waves, and
# what is refused; without those that take no Verilator or build one of these crates again. In a folder of its own, since
# what depends on Verilator is compiled again with another one.
newest: export VERILATOR = $(CURDIR)/tools/verilator-newest
newest: check-tools
	@tools/setup.sh
	$(CARGO) test --quiet --target-dir $(or $(NEWEST_TARGET),target/newest) --workspace \
		--test build --test models -- --skip recipe --skip store:: --skip table:: --skip toolchain::

# The lints of Rust and those of the RTL side by side. What was compiled twice is found by `features.sh`, which builds tests
# and programs, of which one writes waves.
check: setup check-tools
	@$(MAKE) --no-print-directory --output-sync=target -j2 check-rust check-rtl

check-rust:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	tools/features.sh
	.tools/bin/python tools/waves.py $${CARGO_TARGET_DIR:-target}/debug/xoff

check-rtl:
	tools/rtl-lint.sh
	.tools/bin/python tools/registers.py --check
	.tools/bin/python tools/formal_gates.py --check
	.tools/bin/python tools/quotes.py
	.tools/bin/python tools/synth.py --read

# What takes CI too long, before what it concerns is sent in: it compiles the simulator again for documentation, for the
# crates of examples/, which are outside of this workspace, and for another Verilator. Nothing comes after `newest`, so
# it may take the folder in which what does not depend on Verilator is compiled.
check-all: check
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --quiet
	$(CARGO) package --quiet --allow-dirty --no-verify -p verilated5 -p verilated5-build
	$(CARGO) test --quiet --workspace --bench harness -- --quick
	.tools/bin/python tools/synth.py
	$(CARGO) test --quiet --workspace --test models works_as_it_is_written -- --ignored --test-threads=1
	$(CARGO) test --quiet --workspace --test command the_readmes_table_of_ecmp -- --ignored
	$(CARGO) test --quiet --workspace --test nic a_hundred_mixes -- --ignored
	$(CARGO) test --quiet --workspace --test command ten_million_packets -- --ignored
	@$(MAKE) --no-print-directory incidents
	@$(MAKE) --no-print-directory pictures
	@$(MAKE) --no-print-directory mpi PROFILE=dev
	@$(MAKE) --no-print-directory newest NEWEST_TARGET="$${CARGO_TARGET_DIR:-target}"

formal: check-tools
	.tools/bin/python tools/formal.py
	.tools/bin/python tools/formal_gates.py

synth: check-tools
	.tools/bin/python tools/synth.py --large

# The NIC's mutants are slow. Nearly all that its property kills fail in the first cases; what passes these goes through
# proofs, with little time for each, and directed tests, and only then through the other cases.
mutants: DIRECTED = $(if $(filter nic,$(UNIT)),--test nic)
FIRST = $(if $(DIRECTED),--first 60)
mutants: export XOFF_MUTANTS = $(CURDIR)/target/mutants/$(UNIT)
JUDGE = $(CARGO) run --release --quiet -p xoff-verify --features mutants --bin xoff-mutants --
BUILT_TESTS = $(CARGO) test --release --quiet -p xoff-verify --features mutants --test nic --no-run --message-format=json | \
	sed -n 's|.*"executable":"\([^"]*/deps/nic-[^"]*\)".*|\1|p'

# make mutants UNIT=pfc: breaks the unit in 200 small ways and says which of them its properties do not find, and which
# of these are equivalent to the original.
mutants: setup check-tools
	@.tools/bin/python tools/mutants.py "$(UNIT)" "target/mutants/$(UNIT)"
	@echo "mutants: building the netlists of $(UNIT) (some minutes the first time)"
	@$(CARGO) build --release --quiet -p xoff-verify --features mutants --bin xoff-mutants $(DIRECTED)
	@$(JUDGE) $(ARGS) $(FIRST) "$(UNIT)"
	@.tools/bin/python tools/mutants_prove.py $(if $(DIRECTED),--seconds 20) "$(UNIT)" "target/mutants/$(UNIT)"
	@$(if $(DIRECTED),$(JUDGE) $(ARGS) --tests "$$($(BUILT_TESTS))" "$(UNIT)")
	@$(if $(DIRECTED),$(JUDGE) $(ARGS) $(FIRST) --rest "$(UNIT)")
	@.tools/bin/python tools/mutants_equal.py "$(UNIT)" "target/mutants/$(UNIT)"

# make planted NAMES="pfc_rx parser": bugs planted by hand, each to be found by xoff fuzz and shown by xoff replay.
planted: setup
	@tools/planted.py $(NAMES)

# make pictures: the page of every built-in scenario in headless Chromium, with model NICs, and those of a regression and
# of coverage: no text that is clipped, overlaps or is too pale, no page that scrolls sideways on a phone, also while
# charts are enlarged and the strip is moved. KEEP=FOLDER keeps the pages and their pictures, OF="deadlock pair" takes
# these scenarios only. (Coverage of five cases has bins that were not hit, which is exit code 1.)
pictures: BUILT = $${CARGO_TARGET_DIR:-target}/debug
pictures: check-tools
	@tools/setup.sh chromium
	@$(CARGO) build --quiet $(TESTED) --bin xoff --bin xoff-verify
	@rm -rf target/pages && mkdir -p target/pages
	@$(BUILT)/xoff-verify regress --only 'unit/pfc/*' --cases 5 --seeds 1 --out target/pages/regress >target/pages/log
	@$(BUILT)/xoff-verify fuzz pfc --count 5 --seed 1 --coverage target/pages/pfc.json >>target/pages/log
	@cp target/pages/regress/index.html target/pages/regress.html
	@$(BUILT)/xoff-verify cover target/pages/pfc.json --html target/pages/cover.html >>target/pages/log || [ $$? = 1 ]
	@.tools/bin/python tools/pictures.py $(if $(KEEP),--keep "$(KEEP)") --page target/pages/regress.html \
		--page target/pages/cover.html $(BUILT)/xoff $(OF)

# make coverage UNITS="pfc gbn": lines and toggles of the RTL that the properties of units reach (docs/coverage.md).
coverage: setup
	@echo "coverage: building the units with counters (some minutes the first time)"
	@python3 tools/coverage.py $(UNITS)

# make one-line: a top that one line of rtl/units.toml adds, in a copy, is in lint, coverage, mutants and models.
one-line: setup check-tools
	@.tools/bin/python tools/one_line.py

# make truth: all claims of papers against runs, as a table and as target/truth.html. Some minutes.
truth: setup
	@$(CARGO) run --release --quiet --bin xoff -- truth --output target/truth.html

# make claims OF="deadlock pair[base]": where the claims of scenarios (default: all, an hour of one core) end: each
# parameter halved and doubled, with model NICs (docs/scenarios.md). KEYS="flows.*.window" takes these keys in place of
# those that the file sets, SEEDS=10 seeds 1 to 10 in place of the scenario's, JOBS=1 one run at a time.
claims: setup
	@$(CARGO) build --release --quiet --bin xoff
	@tools/claims.py --xoff target/release/xoff $(foreach key,$(KEYS),--key '$(key)') $(if $(SEEDS),--seeds $(SEEDS)) \
		$(if $(JOBS),--jobs $(JOBS)) $(foreach name,$(OF),'$(name)')

# make interop: Debian's Linux in QEMU, with rdma_rxe and its own tools, talks to the RTL NIC (docs/interop.md).
# ROWS="pingpong-1024 wrong" takes the rows whose names begin so, SHORT=1 one row of each kind, which take half a
# minute; PROFILE=dev takes the build of the tests.
interop: PROFILE = release
interop: ROWS = $(if $(SHORT),pingpong-1024-nic ib_read_bw-linux ib_write_bw-loss-nic rping-linux rping-no-rep-nic)
interop: setup
	@tools/interop/guest.sh target/interop
	@$(CARGO) build --quiet $(PROGRAM) --bin xoff
	@tools/interop.py --xoff $${CARGO_TARGET_DIR:-target}/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/xoff \
		--guest target/interop --out out/interop $(ROWS)

# make mpi: the command with MPI (docs/ranks.md), whose runs of 1, 2 and 4 ranks are held against each other. RTL=no
# builds it without RTL NICs, PROFILE=dev as tests are; ROWS="clos dies" takes the rows whose names begin so.
mpi: PROFILE = release
mpi:
	@tools/setup.sh libopenmpi-dev=mpicc openmpi-bin=mpirun 'libclang-dev=/usr/lib/llvm-*/lib/libclang.so'
	@$(CARGO) build --profile $(PROFILE) --quiet --bin xoff \
		$(if $(filter no,$(RTL)),-p xoff --no-default-features --features mpi,\
		--workspace $(if $(filter dev,$(PROFILE)),--lib) --features xoff/mpi)
	@tools/ranks.py --xoff $${CARGO_TARGET_DIR:-target}/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/xoff $(ROWS)

# make archive: xoff and xoff-verify for machines with neither Rust nor Verilator, tried with an empty path.
archive: setup
	@tools/archive.sh

# make cost: instructions of cycles, events, frames and frame-hops, and bytes of models, against the budgets of
# cost.toml; WRITE=1 writes what was counted there and in README. PROFILE=dev counts what tests are
# compiled to, as CI does.
cost: PROFILE = release
# Without the units of incremental builds, which inline less: as CI counts.
cost: export CARGO_INCREMENTAL = 0
cost:
	@tools/setup.sh valgrind binutils=nm
	@$(CARGO) build --quiet $(PROGRAM) --bin xoff-cost
	@$${CARGO_TARGET_DIR:-target}/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/xoff-cost $(if $(WRITE),--write)

# make build-cost: processor seconds and memory of a build of `make demo` from nothing, by crate and tool; OF=test of
# `make test`.
build-cost: OF = demo
build-cost: setup
	@python3 tools/build_cost.py $(OF)

setup:
	@tools/setup.sh

check-tools:
	@tools/check-tools.sh
