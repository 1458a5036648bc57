# Two commands: `make train` and `make test`; `make coverage` also shows what the tests run, and `make wheels` builds the
# package for other machines. Each sets up everything it needs into .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP = $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
FAILED = { echo "pip could not install the packages; see above. Check the network and the disk, then try again." >&2; exit 1; }

# Platforms that `make wheels` builds the native engine for, with the compiler of the pip package ziglang.
TARGETS = linux-x86_64 linux-aarch64 macos-x86_64 macos-arm64 windows-x86_64

.PHONY: train test coverage wheels setup clean

train: .venv/installed
	$(BIN)/nemesis train gen1randombattle $(if $(RUN),--run $(RUN))

test: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal

# Actors are killed when a run ends, so what only they run counts as not covered.
coverage: .venv/installed-dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/coverage html --quiet

wheels: .venv/bin/pip
	for target in $(TARGETS); do \
	    NEMESIS_NATIVE_TARGET=$$target $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . || exit 1; \
	done

setup: .venv/installed-dev

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Nemesis needs Python 3.11 or newer, and $(PYTHON) is none. Name one with make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "$(PYTHON) cannot make .venv; see above. Use another with make PYTHON=…" >&2; exit 1; }

.venv/installed: .venv/bin/pip pyproject.toml setup.py packaging/nemesis_build.py constraints.txt
	@echo "Installing Nemesis and what it needs into .venv, PyTorch among it; this takes some minutes …"
	@$(PIP) --editable . || $(FAILED)
	@$(BIN)/python -m nemesis.games.pokemon.node
	@touch $@

.venv/installed-dev: .venv/installed
	@echo "Installing what development needs into .venv; this takes some minutes …"
	@$(PIP) --editable '.[dev,wandb,benchmarks]' || $(FAILED)
	@$(PIP) --no-deps rlgym-api rlgym-rocket-league || $(FAILED)  # they ask for an older NumPy, but run with this one
	@$(BIN)/python -m nemesis.games.pokemon.node --development
	@touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage* htmlcov
