# Two commands for a fresh machine with Python 3.11+, make and a C++ compiler:
#   make reproduce    make test
PYTHON ?= python3
BIN := .venv/bin

.PHONY: reproduce test check slow docs clean

reproduce: .venv/ready
	$(BIN)/squentropy reproduce

test: check
	$(BIN)/pytest -n 2

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

slow: .venv/ready
	$(BIN)/pytest -m slow -n 2

docs: .venv/ready
	$(BIN)/mkdocs build --strict

# The environment is made again only when what it installs has changed.
.venv/ready: pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/squentropy/losses/kernels/*.cpp src/squentropy/losses/kernels/*.h)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv build site
