# make sample   pack a real sentence encoder, run it in an environment without torch
# make test     lint, then the tests; everything they need is installed first
# make lint     ruff, mypy --strict, import contracts
# make compare  the benchmarks beside other runtimes
# make test-slow  the long matrices

PYTHON ?= python3
PIP_FLAGS := --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST_FLAGS ?= -n 2 --dist loadgroup

PACK := .venv/.pack
DEV := .venv/.dev
RUNTIME := .venv-runtime/.installed
WHEEL := dist/.built
MINILM := .cache/samples/minilm.cuvil
CODE := $(shell find cuvil_pack runtime schemas -name '*.py' -o -name '*.h')

export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: sample test test-slow lint compare clean

sample: $(MINILM) $(RUNTIME)
	.venv-runtime/bin/python samples/sentence_encoder/run.py $(MINILM)

test: lint
	.venv/bin/python -m pytest -m "not slow" $(PYTEST_FLAGS)

test-slow: $(DEV)
	.venv/bin/python -m pytest -m slow

lint: $(DEV)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy cuvil_pack runtime/cuvil_runtime schemas/cuvil_schema
	.venv/bin/lint-imports

compare: $(DEV)
	.venv/bin/python -m tests.benchmarks.compare

clean:
	rm -rf .venv .venv-runtime build dist .cache cuvil.egg-info

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv-runtime/bin/python:
	$(PYTHON) -m venv .venv-runtime

$(PACK): .venv/bin/python pyproject.toml constraints.txt
	.venv/bin/python -m pip install $(PIP_FLAGS) --editable '.[pack]'
	touch $@

$(DEV): $(PACK)
	.venv/bin/python -m pip install $(PIP_FLAGS) --editable '.[pack,dev]'
	touch $@

$(WHEEL): $(PACK) $(CODE)
	rm -rf build dist
	.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	touch $@

$(RUNTIME): .venv-runtime/bin/python $(WHEEL)
	.venv-runtime/bin/python -m pip install $(PIP_FLAGS) --force-reinstall dist/cuvil-*.whl
	.venv-runtime/bin/python -m pip uninstall --quiet --yes setuptools
	touch $@

$(MINILM): $(PACK) $(CODE) samples/sentence_encoder/pack.py
	.venv/bin/python -m samples.sentence_encoder.pack $@
