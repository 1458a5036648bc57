# Two commands: `make train` and `make test`; `make coverage` also shows what the tests run. Each sets up everything it
# needs into .venv.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: train test coverage setup clean

train: .venv/installed
	$(BIN)/nemesis train gen1randombattle $(if $(RUN),--run $(RUN))

test: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal

# Actors are killed when a run ends, so what only they run counts as not covered.
coverage: .venv/installed-dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/coverage html --quiet

setup: .venv/installed-dev

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	$(BIN)/python -c 'from nemesis.games.pokemon.node import set_up; set_up()'
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,wandb,benchmarks]'
	$(BIN)/python -c 'from nemesis.games.pokemon.node import set_up; set_up(development=True)'
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage* htmlcov
