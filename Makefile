# Every target does its own set-up: a virtual environment in .venv with pinned packages.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEMO_STAMP := .venv/.installed-demo
DOCS_STAMP := .venv/.installed-docs
SOAK_STAMP := .venv/.installed-soak
BENCH_STAMP := .venv-bench/.installed
DBT_STAMP := .venv-dbt/.installed
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help install demo test bench docs page pages screenshots papers format check wheel clean soak mutants planted device npm referee least release-check

help: ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 15

install: $(STAMP) ## make the virtual environment and install Rumor with its pinned packages

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Rumor needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@echo "installing Rumor into .venv (a minute or two the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(BIN)/pip || $(BIN)/python -m ensurepip --default-pip > /dev/null
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python $(PIP) --editable '.[dev]'
	@touch $@

# What the demonstration needs and nothing else: no tools, no byte code of modules that nobody loads,
# and no pip of its own where there is one that installs into other environments.
$(DEMO_STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Rumor needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@echo "installing Rumor into .venv (a minute the first time)"
	@if test -x $(BIN)/pip || ! $(PYTHON) -m pip --python "$$(command -v $(PYTHON))" --version > /dev/null 2>&1; then \
	  test -x $(BIN)/python || $(PYTHON) -m venv .venv; set -- $(BIN)/python -m pip; \
	else \
	  $(PYTHON) -m venv --without-pip .venv; set -- $(PYTHON) -m pip --python $(BIN)/python; \
	fi; \
	test $(STAMP) -nt pyproject.toml || PIP_CONSTRAINT=constraints.txt "$$@" install --quiet \
	  --disable-pip-version-check --constraint constraints.txt --no-compile --editable '.[demo]'
	@touch $@

$(DOCS_STAMP): $(STAMP)
	@$(BIN)/python $(PIP) --editable '.[docs]'
	@touch $@

$(SOAK_STAMP): $(STAMP)
	@$(BIN)/python $(PIP) --editable '.[docs,soak]'
	@touch $@

$(BENCH_STAMP): pyproject.toml constraints.txt benchmarks/requirements.txt
	@echo "installing Rumor and its peers into .venv-bench (a few minutes the first time)"
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	@PIP_CONSTRAINT=constraints.txt .venv-bench/bin/python $(PIP) --requirement benchmarks/requirements.txt --editable '.[all,spark]'
	@touch $@

$(DBT_STAMP): tests/analysis/dbt-requirements.txt
	@test -x .venv-dbt/bin/python || $(PYTHON) -m venv .venv-dbt
	@.venv-dbt/bin/python -m pip install --quiet --disable-pip-version-check --requirement $< || echo "dbt could not be installed: its test will be skipped"
	@touch $@

demo: $(DEMO_STAMP) ## the whole flow on this machine, in one go
	@$(BIN)/rumor demo

# Byte code is written whatever the environment says: four workers and their processes share it.
# Four workers leave no core idle, and further threads of numpy's matrix products wait actively.
test: $(STAMP) ## run the tests (ARGS="kinds/ordered" runs those of a folder)
	@PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --quiet $(foreach a,$(ARGS),$(if $(wildcard tests/$(a)),tests/$(a),$(a)))

bench: $(BENCH_STAMP) ## measure speed beside the peers and the machine's limits (ARGS=--quick)
	@.venv-bench/bin/python -m benchmarks $(ARGS)

soak: $(SOAK_STAMP) $(DBT_STAMP) ## operate, kill, starve, strike and fuzz everything, and sample every oracle, for long (an hour)
	@DBT_HOME=$(abspath .venv-dbt) $(BIN)/python -m pytest -n 2 --dist loadfile --quiet --slow -m slow
	@$(BIN)/python -m pytest --quiet tests/soak/soak_*.py $(ARGS)

referee: $(STAMP) ## judge every promise of a number in worlds drawn from today's date (half an hour; ARGS=--long)
	@$(BIN)/python -m benchmarks.referee $(ARGS)

# What the client for apps is built of and with, at the versions and hashes of package-lock.json.
DEVICE := src/rumor/client/device
DEVICE_STAMP := build/device/.installed

$(DEVICE_STAMP): $(DEVICE)/package.json $(DEVICE)/package-lock.json
	@mkdir -p build/device && cp $^ build/device/
	@cd build/device && npm ci --silent --no-audit --no-fund
	@touch $@

NPM_OUT ?= dist
device: $(DEVICE_STAMP) ## build the client for apps into dist/: an ES module and a classic script
	@mkdir -p "$(NPM_OUT)"
	@node $(DEVICE)/build.mjs build/device $(DEVICE)/device.js "$(NPM_OUT)/rumor-device.mjs"
	@node $(DEVICE)/build.mjs build/device $(DEVICE)/device.js "$(NPM_OUT)/rumor-device.js"
	@cat LICENSE build/device/node_modules/@noble/*/LICENSE > "$(NPM_OUT)/rumor-device.licenses.txt"

npm: $(DEVICE_STAMP) ## build the npm package of the client for browsers and apps into dist/
	@rm -rf build/npm && mkdir -p build/npm "$(NPM_OUT)"
	@cp -r src/rumor/client/js/. build/npm/ && cp LICENSE build/npm/
	@$(MAKE) --no-print-directory device NPM_OUT=build/npm/device && cp $(DEVICE)/device.d.ts build/npm/device/rumor-device.d.ts
	@cd build/npm && npm pack --silent --pack-destination "$(abspath $(NPM_OUT))"

mutants: $(STAMP) ## draw 300 bugs, plant each and see whether the tests notice (an hour; ARGS="--seed 7 --area client")
	@$(BIN)/python -m tests.mutants $(ARGS)

planted: $(STAMP) ## plant the bugs that tests/mutants lists and see whether the tests notice (ARGS="--area ledger")
	@$(BIN)/python -m tests.mutants.planted $(ARGS)

papers: $(STAMP) ## reproduce the papers, a few trials of each cell (minutes)
	@$(BIN)/rumor papers run all --quick --out papers-results $(ARGS)

docs: $(DOCS_STAMP) ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "documentation built: open site/index.html"

pages: $(STAMP) ## run what the documentation shows and rewrite what changed, screenshots too
	@$(BIN)/python -m docs.make_pages
	@$(BIN)/python -m docs.make_screenshots

screenshots: $(STAMP) ## every state of every page as pictures, in build/screenshots (ARGS="--only drawn,sent")
	@$(BIN)/python -m docs.make_screenshots $(ARGS)

format: $(STAMP) ## rewrite the code in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

check: $(STAMP) ## format, lint and types, changing nothing
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

PAGE := rumor-answer.html
page: $(STAMP) ## build the answer page as one file for any origin into dist/, with its SHA-256
	@mkdir -p dist && cd dist && ../$(BIN)/rumor modules --page $(PAGE) > $(PAGE).sha256 && cat $(PAGE).sha256

wheel: $(STAMP) ## build the wheel and the source archive into dist/
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build --outdir dist .

least: $(STAMP) ## run the fast tests with the lowest versions of packages that are allowed
	@$(BIN)/python -m deploy.least_versions $(ARGS)

release-check: $(DOCS_STAMP) ## build everything twice, compare, install it small and whole under every Python, print one page
	@$(BIN)/python -m deploy.release_check $(ARGS)

clean: ## remove everything that make made
	@rm -rf .venv .venv-bench .venv-dbt .venv-least site dist build papers-results .pytest_cache .mypy_cache .ruff_cache
