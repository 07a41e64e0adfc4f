# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
#
# The one door. `make` alone lists what there is.

# each `tennis` that a test starts would compile Tennis again, and each of pytest's workers all tests
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
SPHINX := $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --jobs auto
PYTEST := $(BIN)/pytest

# what lets a folder of tests be chosen: make unit TESTS=tests/rally/statistics
TESTS :=

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: ## install what playing needs: Debian packages, .venv, kernels (says first what; once)
	@scripts/setup.sh

.PHONY: demo
demo: setup ## play mainline and RT, idle and stress: a table, and demo/report.html
	@$(BIN)/tennis demo

# a worker more than there are cores: tests that wait leave some free
WORKERS = --numprocesses $$(($$(nproc) + 1))

.PHONY: test
test: ## setup, lint, books, and every promise once, on real kernels
	@scripts/setup.sh --test
	@$(MAKE) READY=1 --jobs=2 lint-all promises

# tests/browser builds the books, with warnings as errors, while others run
.PHONY: promises
promises:
	@env -u MAKEFLAGS -u MFLAGS -u READY $(PYTEST) -q --all -m "not more and not provision and not release" $(WORKERS)

.PHONY: test-all
test-all: setup-test ## what make test leaves out: more kernels, loads, seeds and pages; PDFs and slides
	@$(MAKE) READY=1 docs
	@$(PYTEST) -q --all -m "more and not provision and not release" $(WORKERS)

.PHONY: unit
unit: ## the quick tests: no kernel, no browser (TESTS= chooses files, and its setup is smaller)
	@$(if $(READY),:,scripts/setup.sh $(if $(TESTS),--first,--unit))
	@$(PYTEST) -q --numprocesses $(if $(filter %.py,$(TESTS)),0,auto) \
	    -m "not virtual $(if $(TESTS),,and not slow) and not more and not provision and not release" $(TESTS)

INPUTS := 1000000

.PHONY: fuzz
fuzz: setup-test ## damage what strangers may send, INPUTS times each (hours), from a seed of its own
	@TENNIS_FUZZ_INPUTS=$(INPUTS) TENNIS_FUZZ_SEED=$$(date +%s) $(PYTEST) -q --numprocesses auto tests/test_fuzz.py

.PHONY: faults
faults: setup-test ## disturb commands in 200 ways, and write docs/evidence/faults.md and a line of SECURITY.md (root)
	@$(BIN)/python scripts/faults.py table

.PHONY: fresh-test
fresh-test: ## set Tennis up in a bare Debian 12 and a bare Debian 13, stage by stage (root; SUITES= chooses)
	@scripts/fresh-test.sh $(SUITES)

SUITES :=

.PHONY: provision-test
provision-test: setup-test ## provision a whole system in QEMU as users do; build a kernel, and install it there (long)
	@ANSIBLE_STRATEGY=linear $(PYTEST) -q -m "provision or release"

.PHONY: setup-unit
setup-unit:
	@$(if $(READY),:,scripts/setup.sh --unit)

.PHONY: setup-test
setup-test:
	@$(if $(READY),:,scripts/setup.sh --test)

.PHONY: benchmarks
benchmarks: setup-test ## run the benchmarks: ratios, measured side by side
	@failed=0; for file in $(wildcard benchmarks/*.py); do \
		echo "== $$file"; $(BIN)/python "$$file" || failed=1; done; exit $$failed

.PHONY: lint
lint: setup-unit ## style and types: what each change must pass
	@scripts/lint.sh

.PHONY: lint-all
lint-all: setup-unit ## and imports, shell, C, Ansible, licences
	@scripts/lint.sh all

.PHONY: setup-lab
setup-lab:
	@$(if $(READY),:,scripts/setup.sh --lab)

.PHONY: figures
figures: setup-test ## play again what pages print and is not of today's edition; says first how long
	@$(BIN)/python scripts/figures.py play

# words for its matches: MATCH="--cluster tcp://head:8786 --store /shared/tennis"
MATCH :=

.PHONY: evidence
evidence: setup-test ## play what one page prints, or go on with it: make evidence PAGE=knutsson-match
	@$(BIN)/python scripts/figures.py evidence $(PAGE) $(MATCH)

.PHONY: reference
reference: setup-lab ## write into docs/ what the code says: options, fields, settings, wires, sessions
	@$(BIN)/python scripts/reference.py write

.PHONY: books
books: setup-lab
	@$(BIN)/python scripts/figures.py check
	@$(BIN)/python scripts/reference.py
	@$(SPHINX) -b html handouts handouts/_build/html && echo "docs: handouts/_build/html/index.html"
	@$(SPHINX) -b html docs docs/_build/html && echo "docs: docs/_build/html/index.html"

.PHONY: docs
docs: books ## build the students' book, also as PDF, the reference book and slides; warnings are errors
	@$(SPHINX) -b singlehtml -t print -d handouts/_build/.printed handouts handouts/_build/print && \
	    $(BIN)/weasyprint --quiet handouts/_build/print/index.html handouts/_build/labs.pdf && \
	    echo "docs: handouts/_build/labs.pdf"
	@$(SPHINX) -b html slides slides/_build/html && echo "docs: slides/_build/html/index.html"
# students have no exam
ifneq ($(wildcard exam/conf.py),)
	@$(SPHINX) -b html exam exam/_build/html && echo "docs: exam/_build/html/index.html"
endif

.PHONY: site
site: books ## make build/site: the books, and recorded rallies to explore; opens without a server
	@$(BIN)/python scripts/make_site.py

.PHONY: dist
dist: ## build what people install, into dist/: wheel, sdist, list of parts, checksums
	@$(if $(READY),:,scripts/setup.sh --dist)
	@scripts/dist.sh dist

.PHONY: slides
slides: docs ## print each deck of slides as a PDF, a page a slide
	@for page in slides/_build/html/[0-9]*.html; do \
		$(BIN)/weasyprint --quiet "$$page" "$${page%.html}.pdf" && echo "slides: $${page%.html}.pdf" || exit 1; done

.PHONY: exam
exam: docs ## print the exam's paper and its answers as PDF (students' trees have none)
	@for page in exam/_build/html/paper.html exam/_build/html/answers.html; do \
		$(BIN)/weasyprint --quiet "$$page" "$${page%.html}.pdf" && echo "exam: $${page%.html}.pdf" || exit 1; done

LAB := 01-first-serve
FOLDER := .

.PHONY: lab
lab: setup-lab ## open JupyterLab on your folder of a lab: make lab LAB=04 (begin with tennis lab start)
	@$(BIN)/tennis lab open $(LAB)

.PHONY: notebook
notebook: setup-lab ## run LAB's notebook on the rallies in FOLDER, into a page below build/
	@$(BIN)/python -m tennis.course.notebook.notebook_page $(LAB) build/notebook/$(LAB).html $(FOLDER)

.PHONY: clean
clean: ## remove what was built here; .venv and the kernels' cache stay
	@rm -rf build demo dist handouts/_build docs/_build slides/_build exam/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
