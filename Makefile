# The two commands: `make figures` and `make test`. They need Python (3.11 or newer) and make, nothing else.
#
#   make figures [SCALE=small|full|gpu] [ONLY=10] [JOBS=2]   run the notebooks; figures and numbers go to figures/
#   make test                                                lint, library tests, stored notebooks, guards
#   make lab                                                 JupyterLab on the notebooks
#   make coverage                                            the lines of lib/ that library tests run, module by module
#   make site                                                the course as a website, in build/site/html
#   make browser                                             JupyterLab and the site in a real Chromium, which has to be there
#   make clean                                               remove what was generated (not .venv)
#
# Long computations are found in data/store, see README.md. To make them anew, with ONLY, SCALE and JOBS as above:
#
#   make data [SHARD=3/8] [DTYPE=auto]   train what data/adapters lacks, compute what data/store lacks, and add both; with SHARD,
#                                        begin with that part; with DTYPE=auto in bfloat16 where the processor multiplies that,
#                                        float32 is the default
#   make data TINY=1                     ... and compute the smallest entry of each kind and model anew, and compare
#   make remeasure SHARE=0.02 SEED=7     compute a random share of all entries anew; a report of what agrees; it computes for
#                                        MINUTES (4) on each core and says what it did not reach; 0 is no limit
#   make figures FRESH=1                 compute everything, as if data/store were empty
#   make train NAME=reader               train an adapter again; without NAME, list what can be trained
#   make benchmark                       how fast this processor fills the store, as ratios
#
# A notebook may take LIMIT minutes (60) and each of its cells CELL_LIMIT (30), 0 is no limit; those that compute have none.
# PIP_ARGS is handed to every `pip install`, LAB_ARGS to JupyterLab. Where the package index would bring a GPU build of PyTorch that you do not
# want, TORCH_ARGS="--index-url URL" (an index of CPU builds) or TORCH_ARGS="--find-links FOLDER" (wheels) chooses another.

PYTHON ?= python3
SCALE ?= small
ONLY ?=
JOBS ?= 2
PIP_ARGS ?=
TORCH_ARGS ?=
LAB_ARGS ?=
FRESH ?= $(MINDSCAPE_FRESH)
TINY ?=
DTYPE ?= $(MINDSCAPE_DTYPE)
SHARD ?=
SHARE ?= 0.02
SEED ?= 0
MINUTES ?= 4
NAME ?=

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# One thread a process: notebooks and tests run side by side, and threads that wait for each other's cores spin. Training runs
# alone, and takes all cores.
ALL_CORES := $(if $(OMP_NUM_THREADS),,env -u OMP_NUM_THREADS)
export OMP_NUM_THREADS ?= 1
# numba, which apricot runs on, sets the threads of torch as well where both share OpenMP's library.
export NUMBA_NUM_THREADS ?= $(OMP_NUM_THREADS)
export TOKENIZERS_PARALLELISM := false
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help figures data remeasure plan train benchmark test coverage site browser lab clean lock stored
.DEFAULT_GOAL := figures

# MODE names the marks that notebooks leave when they are done; what they are run for they read from the environment.
KIND := figures
export SCALE ONLY JOBS
help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

figures: export MODE = $(KIND)
figures: KIND := $(if $(FRESH),fresh,figures)
figures: export MINDSCAPE_FRESH := $(if $(FRESH),1)
data: KIND := $(if $(TINY),tiny,data)
data: export MODE = $(KIND)$(if $(SHARD),-$(subst /,of,$(SHARD)))$(if $(DTYPE),-$(DTYPE))
data: export MINDSCAPE_FILL := 1
data: export MINDSCAPE_TINY := $(if $(TINY),1)
data: export MINDSCAPE_SHARD := $(SHARD)
data remeasure: export MINDSCAPE_DTYPE := $(DTYPE)
remeasure: KIND := remeasure
remeasure: export MODE = remeasure-$(SHARE)-$(SEED)-$(MINUTES)$(if $(DTYPE),-$(DTYPE))
remeasure: export MINDSCAPE_REMEASURE := $(SHARE):$(SEED):$(MINUTES)
figures data remeasure: export LIMIT := $(or $(LIMIT),$(if $(filter figures,$(KIND)),60,0))
figures data remeasure: export CELL_LIMIT := $(or $(CELL_LIMIT),$(if $(filter figures,$(KIND)),30,0))

define run
	@mkdir -p build && touch build/begun
	@$(BIN)/snakemake --cores $(JOBS) --rerun-incomplete --keep-going --nolock --quiet all
	@[ -n "$$(find build/done/$(MODE)/$(SCALE) -newer build/begun)" ] || echo "nothing to do: nothing has changed"
endef

figures: plan .venv/core
	$(run)
	@$(BIN)/python -m mindscape.workflow.report

data: plan .venv/core
	@$(if $(TINY),,$(ALL_CORES) $(BIN)/python -m mindscape.training --missing)
	$(run)
	@$(if $(TINY),$(BIN)/python -m mindscape.remeasure)

remeasure: plan .venv/core
	$(run)
	@$(BIN)/python -m mindscape.remeasure

plan:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or newer is needed: make PYTHON=...")'
	@$(PYTHON) lib/mindscape/workflow/plan.py "$(SCALE)" "$(ONLY)" "$(KIND)"

train: .venv/core
	$(ALL_CORES) $(BIN)/python -m mindscape.training $(NAME)

benchmark: .venv/core
	$(BIN)/python -m mindscape.benchmark

test: .venv/core .venv/extras
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mindscape.assets
	MINDSCAPE_NO_SKIPS=1 $(BIN)/python -m pytest tests lib --doctest-modules -n 2 --dist loadfile
	rm -rf build/nbval
	MINDSCAPE_BUILD="$(CURDIR)/build/nbval" MINDSCAPE_FIGURES="$(CURDIR)/build/nbval/published" $(BIN)/python -m pytest --nbval notebooks -p tests.as_jupyter -n 2 --dist loadscope \
	    --nbval-sanitize-with tests/nbval.cfg --nbval-cell-timeout 600
	$(BIN)/python -m mindscape.workflow.stored --compare build/nbval

coverage: .venv/core .venv/extras
	rm -rf build/coverage && mkdir -p build/coverage
	MINDSCAPE_NO_SKIPS=1 $(BIN)/coverage run -m pytest tests lib --doctest-modules -n 2 --dist loadfile
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --sort cover

site: .venv/core .venv/extras
	$(BIN)/python -m mindscape.workflow.site

browser: .venv/browser
	$(BIN)/python -m pytest tests/browser

lab: .venv/core
	$(BIN)/jupyter lab --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(LAB_ARGS)

clean:
	rm -rf build .snakemake .pytest_cache .ruff_cache .hypothesis
	find figures -path '*@*' -name '*.png' -delete
	find lib tests notebooks \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

# For those who change the kit ------------------------------------------------------------------------------------

# Run the notebooks and store their outputs in place; `make stored ONLY=10` for some.
stored: .venv/core
	$(BIN)/python -m mindscape.workflow.stored "$(ONLY)"
	@$(BIN)/python -m mindscape.workflow.report

# Compile the locks anew after a change of pyproject.toml, with the versions that they hold where these still fit (needs uv;
# UV_ARGS="--find-links FOLDER" for a CPU PyTorch). PyTorch and what its GPU builds bring are left out: which build it is, is the
# user's choice. The lock of the extras has what the core's has not, the browser's what neither has on every platform.
LOCK := uv pip compile pyproject.toml $(UV_ARGS) --generate-hashes --universal --python-version 3.11 --no-header --no-annotate \
    --no-emit-find-links --no-emit-package torch --quiet -o build/lock
WITHOUT_GPU := awk '/^[a-z]/ {drop = /^(nvidia|cuda|triton)-?/} !drop' build/lock
lock:
	@mkdir -p build && cp requirements/core.lock build/lock
	$(LOCK) && $(WITHOUT_GPU) > requirements/core.lock
	@cat requirements/core.lock requirements/extras.lock > build/lock
	$(LOCK) $(foreach extra,milvus serve site peers,--extra $(extra)) && $(WITHOUT_GPU) > build/all.lock
	awk 'NR == FNR {held[$$1]; next} /^[a-z]/ {drop = $$1 in held} !drop' requirements/core.lock build/all.lock > requirements/extras.lock
	@cat requirements/core.lock requirements/extras.lock | tee build/held.lock > build/lock
	$(LOCK) --extra browser && $(WITHOUT_GPU) > build/all.lock
	awk 'NR == FNR {held[$$0]; next} /^[a-z]/ {drop = $$0 in held} !drop' build/held.lock build/all.lock > requirements/browser.lock
	rm build/lock build/all.lock build/held.lock

# Environment ------------------------------------------------------------------------------------------------------

.venv/core: requirements/core.lock pyproject.toml
	@echo "installing the environment into .venv"
	@$(PYTHON) -m venv .venv
	@$(PIP) install --quiet $(PIP_ARGS) --no-deps --require-hashes -r requirements/core.lock
	@$(PIP) install --quiet $(PIP_ARGS) $(TORCH_ARGS) "$$(grep -o 'torch==[0-9.]*' pyproject.toml)"
	@$(PIP) install --quiet $(PIP_ARGS) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/extras: requirements/extras.lock .venv/core
	@echo "installing what only the tests need: Milvus Lite, a loopback model server, two libraries of submodular choice, LlamaIndex's core, Sphinx (700 MB)"
	@$(PIP) install --quiet $(PIP_ARGS) --no-deps --require-hashes -r requirements/extras.lock
	@touch $@

.venv/browser: requirements/browser.lock .venv/extras
	@echo "installing what drives a browser: Playwright and axe-core (170 MB)"
	@$(PIP) install --quiet $(PIP_ARGS) --no-deps --require-hashes -r requirements/browser.lock
	@touch $@
