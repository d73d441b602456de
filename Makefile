# What a person does with Docmill: `make help` lists it.
# Settings come from the environment, from `make run PORT=9000`, or from a file .env, in this order.

.DEFAULT_GOAL := help
.PHONY: help setup languages run dev worker migrate test quick pace check e2e bench quality pictures chaos validate crashes fuzz lock audit sbom shape
MAKEFLAGS += --no-print-directory --no-builtin-rules

# Installed packages are marked by what was asked for and where, so that nothing is looked at twice.
RUNTIME := .venv/.ready-$(shell (pwd; cat requirements.txt) | cksum | cut -d ' ' -f 1)
DEVELOPMENT := .venv/.ready-$(shell (pwd; cat requirements.txt requirements-dev.txt) | cksum | cut -d ' ' -f 1)
# Marks say nothing where the Python that they speak of is gone.
$(shell test -x .venv/bin/python || rm -f .venv/.ready-*)

# The first of these that is new enough.
PYTHON ?= python3 python3.13 python3.12 python3.11 python3.14
PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check
FLASK := .venv/bin/flask --app wsgi
PYTEST := .venv/bin/pytest
# Everything, on both databases; TESTS=tests/jobs is a part of it.
TESTS ?=
# Twice as many as there are processors: many tests wait for processes that they have started.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); n=$$((n * 2)); echo $$((n < 8 ? n : 8)))
# All benchmarks; BENCH=upload is one of them.
BENCH ?= $(filter-out __init__ conftest quality pictures,$(patsubst bench/%.py,%,$(filter-out bench/_%,$(wildcard bench/*.py))))
# Tests and benchmarks share one model, whatever data a developer works with.
FOR_TESTS := MODELS_DIR="$$PWD/.cache/models"; export MODELS_DIR
# Tests take seconds to compile: keep what came of it, whatever Python was told elsewhere.
KEEP_COMPILED := unset PYTHONDONTWRITEBYTECODE
# What .env says, for programs that don't read it by themselves. The environment wins.
WITH_ENV := $(if $(wildcard .env),.venv/bin/dotenv run --no-override --)

# Gets the models and the copy of HTMX where they are missing; a look takes a fraction of a second.
MODELS := .venv/bin/python -m webapp.providers.models

# $(call step,what is checked,command,what to do when it fails): silent when all is well.
define step
@printf '%-18s' '$(1)'; \
if output=$$( $(2) 2>&1 ); then echo ok; else echo FAILED; printf '%s\n' "$$output" '' '$(3)'; exit 1; fi
endef

help: ## What can be done here
	@echo "Docmill: drop in files, get something to search, read and trust."
	@echo
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "Settings go in front or behind (make run PORT=9000); docs/settings.md lists them."

setup: $(RUNTIME) ## Install the packages and set up the models (run does this by itself)
	@$(WITH_ENV) $(MODELS) --again
	@echo "Docmill is set up. Start it with: make run"

languages: $(RUNTIME) ## Get what OCR needs to read other letters (LANGUAGES="ru uk el")
	@exec $(WITH_ENV) $(MODELS) --languages

run: $(RUNTIME) ## Start Docmill in the foreground: web pages and work in one process (Ctrl-C ends it)
	@exec $(WITH_ENV) sh -c '$(MODELS) && $(FLASK) db upgrade && exec env -u DATABASE_OWNER_URL .venv/bin/gunicorn wsgi:app'

dev: $(RUNTIME) ## The same, starting again by itself when code changes and showing changed templates at once
	@export FLASK_DEBUG=1; \
	exec $(WITH_ENV) sh -c '$(MODELS) && $(FLASK) db upgrade && exec env -u DATABASE_OWNER_URL .venv/bin/gunicorn --reload wsgi:app'

worker: $(RUNTIME) ## Start one worker process beside a web process (needs DATABASE_URL=postgresql://...)
	@exec $(WITH_ENV) sh -c '$(MODELS) && exec env -u DATABASE_OWNER_URL .venv/bin/python worker.py'

migrate: $(RUNTIME) ## Bring the database's tables up to date
	@exec $(FLASK) db upgrade

test: $(DEVELOPMENT) ## Run the whole suite on both databases (TESTS=tests/jobs runs a part)
	@$(FOR_TESTS); $(MODELS) || exit 1; $(KEEP_COMPILED); \
	exec $(PYTEST) -n $(WORKERS) $(TESTS)

# The fast part: what neither takes long nor starts processes nor needs npm.
FAST := -m "not slow and not journey and not browser and not azurite"

quick: $(DEVELOPMENT) ## Run the fast part of the suite, under half a minute, as often as one likes (TESTS=... too)
	@$(FOR_TESTS); $(MODELS) || exit 1; $(KEEP_COMPILED); \
	exec $(PYTEST) -q -n logical --maxprocesses 8 $(FAST) $(TESTS)

pace: $(DEVELOPMENT) ## Measure anew what is too slow for make quick (on a machine that does nothing else)
	@$(FOR_TESTS); $(MODELS) || exit 1; $(KEEP_COMPILED); \
	exec $(PYTEST) -q -n 2 $(FAST) --measure-pace

check: $(DEVELOPMENT) ## Everything that must hold: format, lint, types, import order, migrations, tests
	$(call step,Format,.venv/bin/ruff format --check .,Run .venv/bin/ruff format . and look at what it changed.)
	$(call step,Lint,.venv/bin/ruff check .,Mend these; a rule that is wrong here is left out with its reason.)
	$(call step,Types,.venv/bin/mypy,Mend these types.)
	$(call step,Import order,.venv/bin/lint-imports,Imports go downward only: pyproject.toml has the order.)
	$(call step,Migrations,$(MIGRATIONS_MATCH),The tables that the migrations make are not those of the models: add a migration.)
	@exec $(MAKE) test

e2e: $(DEVELOPMENT) ## Drive a real Chromium through the pages
	@$(FOR_TESTS); $(MODELS) || exit 1; \
	exec env REQUIRE_BROWSER=1 $(PYTEST) -m browser $(TESTS)

bench: $(DEVELOPMENT) ## Measure what we claim to be fast (BENCH=upload measures one)
	@$(FOR_TESTS); $(MODELS) || exit 1; \
	for name in $(BENCH); do echo "== $$name"; .venv/bin/python -m "bench.$$name" || exit 1; done

# The report as it is now takes the place of the last one, though a figure is worse: accept=1.
accept ?=
quality: $(DEVELOPMENT) ## Measure how well files are read, beside other programs; fails where a figure got worse (accept=1)
	@$(FOR_TESTS); $(MODELS) || exit 1; \
	exec .venv/bin/python -W ignore -m bench.quality $(if $(accept),--accept)

pictures: $(DEVELOPMENT) ## Make the pictures of the README anew, of generated files that a real server reads
	@$(FOR_TESTS); $(MODELS) || exit 1; \
	exec .venv/bin/python -W ignore -m bench.pictures

shape: $(DEVELOPMENT) ## Count what makes the code simple or not: lines, lengths, branches on the database, calls to the claim
	@exec .venv/bin/python -W ignore -m tests.shape

# How long, on which database, and which faults: the same seed chooses the same ones.
minutes ?= 1
database ?= postgresql
queue ?= database
seed ?=
chaos: $(DEVELOPMENT) ## Kill, freeze and cut off real processes, then check every promise (minutes=10 seed=7 queue=bullmq, or database=sqlite)
	@exec .venv/bin/python -m tests.chaos --minutes $(minutes) --database $(database) --queue $(queue) $(if $(seed),--seed $(seed))

validate: $(DEVELOPMENT) ## Kill workers in the middle of long books and see that nothing is lost, doubled or paid twice
	@exec .venv/bin/python -W ignore -m tests.validate

# For each step of the pipeline; the same seed draws the same ones.
points ?= 200
crashes: $(DEVELOPMENT) ## Let the pipeline die at 200 points of each step: nothing lost, doubled or paid twice (points=20)
	@exec .venv/bin/python -W ignore -m tests.crash_points --points $(points) --database $(database) $(if $(seed),--seed $(seed))

# Which readers (pdf,docx or all), for how long; file=var/fuzz/... reads that one again.
seconds ?= 60
reader ?= all
file ?=
fuzz: $(DEVELOPMENT) ## Change good files and see that every reader ends them well (seconds=600 seed=7 reader=pdf)
	@$(FOR_TESTS); $(MODELS) || exit 1; \
	exec .venv/bin/python -W ignore -m tests.fuzz --reader $(reader) $(if $(file),--file $(file),--seconds $(seconds) $(if $(seed),--seed $(seed)))

# Versions of all that an installation brings, and the hashes of their files, for every platform and Python that we
# serve; what is locked stays unless upgrade=name asks for a newer one.
LOCK := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --annotation-style line \
    --custom-compile-command "make lock"
upgrade ?=
lock: ## Pin what the requirements*.in bring, with hashes (upgrade=flask: a newer one of that)
	@test -x .venv/bin/uv || $(MAKE) $(DEVELOPMENT)
	@for list in requirements requirements-bullmq requirements-models requirements-dev; do \
	    $(LOCK) $(if $(upgrade),--upgrade-package $(upgrade)) "$$list.in" --output-file "$$list.txt" >/dev/null || exit 1; \
	done

audit: $(DEVELOPMENT) ## Ask the public database of faults (OSV) about every package that is locked
	@exec .venv/bin/python -m tests.audit

sbom: $(DEVELOPMENT) ## Write a bill of materials of the runtime packages: var/docmill.cdx.json (CycloneDX)
	@mkdir -p var && .venv/bin/cyclonedx-py requirements requirements.txt --output-format JSON --output-file var/docmill.cdx.json
	@echo "The bill of materials is var/docmill.cdx.json."

# An empty database of its own, whatever the environment says.
define MIGRATIONS_MATCH
(export FLASK_SKIP_DOTENV=1 DATABASE_URL= DATABASE_OWNER_URL= EXECUTION= DATA_DIR="$$(mktemp -d)"; \
trap "rm -rf $$DATA_DIR" EXIT; $(FLASK) db upgrade && $(FLASK) db check)
endef

# A Python of our own; anew where this folder was moved or its Python is gone.
define VENV
@if ! grep -qsF "$$PWD/.venv" .venv/bin/activate || ! .venv/bin/python -c "" 2>/dev/null; then \
    found=; made=; \
    for python in $(PYTHON); do \
        "$$python" -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || continue; \
        found="$$python"; \
        "$$python" -c "import ensurepip, venv" 2>/dev/null || continue; \
        "$$python" -m venv --clear .venv && made=yes && break; \
    done; \
    if [ -z "$$found" ]; then echo "Docmill needs Python 3.11 or newer, and none was found (tried: $(PYTHON)). Install one, or name yours: make PYTHON=/path/to/python3" >&2; exit 1; fi; \
    if [ -z "$$made" ]; then echo "$$found cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; fi; \
fi
endef

# $(call install,requirements file,marks that are right afterwards)
define install
$(VENV)
@echo "Installing the packages of $(1) (about a minute, once) ..."
@$(PIP) --require-hashes --requirement $(1) || { echo "The packages could not be installed; the reason is above." >&2; exit 1; }
@printf '#!/bin/sh\nPYTHONPATH="%s" exec "%s/.venv/bin/python" -P -m webapp.client "$$@"\n' "$$PWD" "$$PWD" > .venv/bin/docmill && chmod +x .venv/bin/docmill
@rm -f .venv/.ready-* && touch $(2)
endef

$(RUNTIME):
	$(call install,requirements.txt,$(RUNTIME))

$(DEVELOPMENT):
	$(call install,requirements-dev.txt,$(RUNTIME) $(DEVELOPMENT))
