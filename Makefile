# The words of this repository. `make` alone lists them.
PYTHON ?=
TORCH ?=
# Where torch publishes its CPU and CUDA builds, one folder each: the only place outside PyPI that is ever asked.
TORCH_INDEX ?= https://download.pytorch.org/whl
PINS ?= exact
SERVE ?= 1
SHARD ?= 1/1
PORT ?=
REMOVE ?=
VERSION ?=
RECORD ?=
NAMES ?=

RUN := .venv/bin/python
HAVE = $(if $(wildcard $(RUN)),$(RUN),$(ASK))
ASK := $(if $(PYTHON),"$(PYTHON)",python3)
INSTALL = $(ASK) -m tools.install --python "$(PYTHON)" --torch "$(TORCH)" --torch-index "$(TORCH_INDEX)" \
	--pins "$(PINS)"

.DEFAULT_GOAL := help
.PHONY: help book pdf check test test-all torch lab kernel notebooks gpu-check findings clean python

help: ## list these words
	@echo "make WORD, where WORD is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile
	@echo "and, when needed, SERVE=0 (book: build only), PORT=8080, SHARD=2/4 (a part of the tests), PYTHON=/path/to/python3.11,"
	@echo "LABS='ring units' or all (gpu-check: run these labs instead, and record that they came to their end),"
	@echo "TORCH=cpu, cu126, cu129, cu130 or keep (use the torch that is already installed, 2.11 to 2.15); it holds until TORCH=auto"

book: python ## build the website and serve it on 127.0.0.1 (SERVE=0 builds only)
	@$(INSTALL)
	.venv/bin/jupyter-book build . -n -W --keep-going
ifneq ($(SERVE),0)
	$(RUN) -m tools.serve _build/html $(if $(PORT),--port $(PORT))
endif

pdf: python ## print the whole book into one file, _build/bytes-in-motion.pdf; installs what the tests need and Chromium
	@$(INSTALL) --for test
	@$(RUN) -m tools.browser
	.venv/bin/jupyter-book build . -n -W --keep-going
	$(RUN) -m tools.pdf

check: python ## style, types, and the tests near what you have changed; under a minute
	@$(INSTALL) --for test
	@$(RUN) -m tools.check

test: python ## every test that a change needs: style, notebooks, library, ranks, site, browser; a quarter of an hour
	@$(INSTALL) --for test
	@$(RUN) -m tools.browser --firefox
	@$(RUN) -m tools.suite test --shard "$(SHARD)"

test-all: python ## every test there is, also the whole matrices, JAX and the other Pythons; about an hour
	@$(INSTALL) --for all
	@$(RUN) -m tools.browser --firefox
	@$(RUN) -m tools.others --torch-index "$(TORCH_INDEX)"
	@$(RUN) -m tools.suite all --shard "$(SHARD)"

torch: python ## floors 3 and 4 and all labs on another torch, VERSION=2.15.0, in an environment of its own (gigabytes); RECORD=1 keeps what passed
	@$(INSTALL) --for test
	@$(RUN) -m tools.torches --version "$(VERSION)" --torch-index "$(TORCH_INDEX)" $(if $(RECORD),--record)

lab: python ## open JupyterLab on the notebooks, on 127.0.0.1, and say how to reach it over ssh (PORT=8890: there)
	@$(INSTALL)
	@$(RUN) -m tools.lab $(if $(PORT),--port $(PORT))

kernel: python ## bring the course to a Jupyter or VS Code that is here already (REMOVE=1 takes it away again)
	@$(if $(REMOVE),,$(INSTALL))
	@$(if $(REMOVE),$(HAVE),$(RUN)) -m tools.kernel $(if $(REMOVE),--remove)

notebooks: python ## run every notebook again and rewrite it with its outputs
	@$(INSTALL)
	$(RUN) -m tools.notebooks notebooks

# On a machine with GPUs the .venv may be missing: then the python3 there, with torch, numpy, cloudpickle, psutil, nvidia-ml-py;
# for LABS also ipython, plotly and anywidget.
gpu-check: ## on a machine with NVIDIA GPUs: check what CI cannot (under ten minutes), is it good?, one file to send (OUT=folder: there)
	$(HAVE) -m $(if $(LABS),tools.labs $(LABS) $(OUT:%=--out %/labs),tools.gpu_check $(OUT:%=--out %))

findings: ## run the scripts of findings/ one by one, each in an environment that it removes: what has changed? (asks PyPI and npm)
	@$(HAVE) -m tools.findings $(NAMES)

clean: ## remove what was built (.venv stays; delete it to install afresh)
	rm -rf _build .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -path ./.venv -prune -o -type d -name __pycache__ -exec rm -rf {} +

python:
	@command -v $(ASK) >/dev/null || sh tools/no_python.sh "$(PYTHON)"
