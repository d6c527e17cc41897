# Few verbs, the same here and in CI. Each does its own set-up and can be run twice.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than two cores: tests wait for browsers and services for a fifth of their time. A fourth gains nothing.
WORKERS ?= 3
PAGE := agentd/sources/cdp/page
# Environments beside the project's own, each for what would not go with it: made while mypy checks.
LIGHT := site pyppeteer trainers
# RL trainers that bring a gigabyte, a benchmark, counterparts of other doors: an environment each, made by `make test-all` alone.
HEAVY := trl verl nemo verifiers inspect browsergym learning webarena judge harbor mcp mlflow phoenix hud agentlightning eval-protocol objects
BUNDLE := $(PAGE)/observer.bundle.js
# Where it is set, every process that is started would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# The browser, and what the Node inside Playwright's wheel links to: a bare Debian has neither.
BROWSER := chromium libatomic1
# What the tests of a desktop drive, and are driven by.
DESKTOP := xdotool xclip openbox x11-xserver-utils dbus at-spi2-core python3-pyatspi mousepad featherpad \
  gedit vim gnome-calculator pcmanfm libatk-adaptor libgail-common libglib2.0-bin procps
# What the wheel links to that trains reward models (LightGBM): a bare Debian has no OpenMP.
TRAINING := libgomp1
# A container engine, and what makes images for one that can pull none.
ENGINE := docker.io docker-compose iptables iproute2 util-linux debootstrap
# What makes and runs a virtual machine.
MACHINE := debootstrap e2fsprogs genisoimage openssh-client qemu-system-x86 qemu-utils util-linux

.PHONY: help demo unit test test-all test-fleet vm-image check lint bench bench-quick pins docs site screenshots clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/ready $(BUNDLE) ## the main job on real Chromium: service, daemon, shop, agent, rewards step by step
	@tools/system-packages $(BROWSER)
	$(BIN)/milestoned demo $(ARGS)

# mypy runs beside the tests: it takes one core for a minute, and the tests do not fill both.
test: $(VENV)/ready $(BUNDLE) ## everything that must hold, but for the slow suites
	@tools/system-packages $(DESKTOP) $(BROWSER) $(TRAINING) xvfb postgresql faketime docker-compose
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint $(LIGHT:%=$(VENV)-%/ready)
	@nice $(BIN)/mypy >.build/mypy.txt 2>&1 & types=$$!; trap "kill $$types" INT; \
	$(BIN)/python -m pytest -m "not slow" -n $(WORKERS) --dist worksteal -ra $(ARGS); tests=$$?; \
	wait $$types; types=$$?; [ $$types = 0 ] || cat .build/mypy.txt; exit $$(( tests ? tests : types ))

test-fleet: $(VENV)/ready $(BUNDLE) ## the fleet of docker-compose.yml on a container engine, worked with and broken (root)
	@tools/system-packages $(BROWSER) $(ENGINE)
	$(BIN)/python -m pytest -s tests/fleet/containers $(ARGS)

vm-image: ## a sandbox as a virtual machine's disk, .build/vm/sandbox.qcow2 (root); PACKAGES="..." for the agent
	@tools/system-packages $(MACHINE)
	PACKAGES="$(PACKAGES)" deploy/vm/build .build/vm/sandbox.qcow2

test-all: $(VENV)/ready $(BUNDLE) $(LIGHT:%=$(VENV)-%/ready) $(HEAVY:%=$(VENV)-%/ready) ## the slow suites too
	@tools/system-packages $(DESKTOP) libreoffice-calc libreoffice-gtk3 $(BROWSER) $(TRAINING) xvfb postgresql faketime docker-compose prometheus $(ENGINE) $(MACHINE)
	$(MAKE) --no-print-directory check
	$(BIN)/python -m pytest $(ARGS)

unit: $(VENV)/ready ## the pure tests alone: detectors and masking, in a minute
	$(BIN)/python -m pytest -q -m "not slow" -n 2 tests/detectors tests/masking $(ARGS)
	@echo "Left out: everything that starts a browser, a desktop, a database or a service; \`make test\` runs these too."

check: lint ## ruff, formatting, rooms, words, the client's models, mypy strict
	$(BIN)/mypy

lint: $(VENV)/ready
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	PYTHONPATH=client $(BIN)/lint-imports --cache-dir .build/import-linter >.build/import-linter.txt || { cat .build/import-linter.txt; exit 1; }
	$(BIN)/python tools/check_words.py
	$(BIN)/python tools/client_models.py --check

bench: $(VENV)/ready $(BUNDLE) ## the figures of docs/performance.md, each beside its reference, and .build/bench.json
	@tools/system-packages $(BROWSER) postgresql
	$(BIN)/python -m benchmarks $(ARGS)

bench-quick: $(VENV)/ready $(BUNDLE) ## the same with fewer rounds, in three minutes on two quiet cores
	@tools/system-packages $(BROWSER) postgresql
	$(BIN)/python -m benchmarks --quick $(ARGS)

docs: $(VENV)/ready ## what is generated: pages of docs/, the client's models, the blocking client
	$(BIN)/python tools/make_docs.py
	$(BIN)/python tools/client_models.py

site: $(VENV)-site/ready ## the docs as a site with search, readable offline: .build/site/index.html
	@tools/build-site $(VENV)-site
	@echo "open .build/site/index.html"

PIN := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet
EXTRAS = $(shell $(PYTHON) -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*("--extra " + name for name in extras if name != "pyppeteer"))')

screenshots: $(VENV)/ready $(BUNDLE) ## the pictures of docs/screenshots, of a demo's own pages
	@tools/system-packages $(BROWSER)
	$(BIN)/python -m tools.make_screenshots

pins: ## the hashed requirement files, from pyproject.toml and requirements/dev.in
	$(PIN) $(EXTRAS) pyproject.toml requirements/dev.in -o requirements/dev.txt
	$(PIN) requirements/uv.in -o requirements/uv.txt
	$(PIN) requirements/site.in -o requirements/site.txt
	$(PIN) --extra pyppeteer pyproject.toml -o requirements/pyppeteer.txt
	$(PIN) --constraint requirements/dev.txt --extra api pyproject.toml -o requirements/service.txt
	$(PIN) --constraint requirements/dev.txt --extra desktop pyproject.toml -o requirements/sandbox.txt
	$(PIN) --constraint requirements/dev.txt requirements/build.in -o requirements/build.txt
	$(PIN) requirements/trainers.in -o requirements/trainers.txt
	$(PIN) --no-deps requirements/trainers-alone.in -o requirements/trainers-alone.txt
	for name in $(filter-out harbor,$(HEAVY)); do $(PIN) --override requirements/no-torch.txt $$( [ $$name = learning ] && echo pyproject.toml ) \
	  requirements/trainers-$$name.in -o requirements/trainers-$$name.txt || exit 1; done
	$(subst 3.11,3.12,$(PIN)) --override requirements/no-torch.txt requirements/trainers-harbor.in -o requirements/trainers-harbor.txt
	$(PIN) --no-deps requirements/trainers-judge-alone.in -o requirements/trainers-judge-alone.txt
	$(subst 3.11,3.12,$(PIN)) --no-deps requirements/trainers-verl-alone.in -o requirements/trainers-verl-alone.txt
	for name in nemo agentlightning; do $(subst 3.11,3.14,$(PIN)) --no-deps requirements/trainers-$$name-alone.in \
	  -o requirements/trainers-$$name-alone.txt || exit 1; done

# The mark is written last: an interrupted set-up starts again.
$(VENV)/ready: pyproject.toml requirements/dev.txt tools/build_page_script.py tools/install_pinned.py
	@PYTHON="$(PYTHON)" tools/set-up $(VENV)

# pyppeteer holds websockets back, so it has an environment of its own; the tree itself is run from where it lies.
$(VENV)-pyppeteer/ready: requirements/pyppeteer.txt | $(VENV)/ready
	@PYTHON="$(PYTHON)" tools/set-up-pyppeteer $(VENV)-pyppeteer

# The generator of the docs site is used by nothing else.
$(VENV)-site/ready: requirements/site.txt tools/set-up-site | $(VENV)/ready
	@PYTHON="$(PYTHON)" tools/set-up-site $(VENV)-site

# RL trainers bring what the project itself does not want, each in a version of its own.
$(VENV)-trainers/ready: requirements/trainers.txt requirements/trainers-alone.txt tools/set-up-trainers $(VENV)/ready
	@PYTHON="$(PYTHON)" tools/set-up-trainers $(VENV)-trainers

$(HEAVY:%=$(VENV)-%/ready): $(VENV)-%/ready: requirements/trainers-%.txt requirements/trainers-torch.in tools/set-up-trainers | $(VENV)/ready
	@PYTHON="$(PYTHON)" tools/set-up-trainers $(VENV)-$* $*

# The page script is bundled by the set-up; here again when one of its parts changed since.
$(BUNDLE): $(filter-out $(BUNDLE),$(wildcard $(PAGE)/*.js) $(PAGE)/dom_names.json) | $(VENV)/ready
	$(BIN)/python tools/build_page_script.py

clean: ## take away what the verbs above made
	rm -rf $(VENV) $(LIGHT:%=$(VENV)-%) $(HEAVY:%=$(VENV)-%) .build .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
