# Each target creates what it needs and is quick when nothing is to do. The logic is in scripts/setup.py.
# ARGS goes to the program a target runs: make labs ARGS="--port 9000"

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: labs docs site test test-release check attack audit bench mutants wheel release clean help python3

# where it is set, every program that a test starts would compile all modules again
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
SETUP := python3 scripts/setup.py
APART := torch browser postgres slow attack release
# quick enough, but together more than the half minute that check may take. Each line is one process: a second worker would collect all
# tests again, import PyTorch again and open each lab again, and a third process hand them out (milliseconds a test, of ten thousand)
LABS := tests/labs tests/figures
ASKED := $(wildcard tests/cli tests/registry tests/calibration tests/test_compare.py)
SERVED := $(wildcard tests/measure tests/server tests/recall tests/kit)
THE_REST := $(wildcard tests/engine/serving tests/engine/cluster tests/engine/advice tests/engine/training tests/study tests/backends tests/worker tests/classroom tests/site tests/pages tests/manual tests/pictures tests/widget tests/test_errata.py tests/ledger tests/report)
# what opens labs on the one server that these tests share; the other half of the browser's tests has pages of its own
OPENED := $(addprefix tests/browser/test_,explore.py flow_browser.py formulas.py lab_01_browser.py lab_11_browser.py lab_v2_17_browser.py labs_browser.py review_browser.py sketch_and_chain.py start_page.py state_browser.py way_in.py)
# judged in a browser, of labs that tests/labs has computed already; after it, since a browser is driven by a loop that others would find running
PICTURES := tests/browser/test_labels.py
LATER := $(LABS) $(ASKED) $(SERVED) $(THE_REST)
# a server of the database that is there, or one for this run alone
POSTGRES := if [ -n "$$IRONLAW_TEST_POSTGRES" ]; then $(BIN)/pytest tests/postgres; else \
	$(BIN)/python scripts/private_postgres.py "$$($(SETUP) postgres)" $(BIN)/pytest tests/postgres; fi
# a browser for those attacks that come from a page; -rP prints what a test has counted
WITH_CHROMIUM := chromium="$$($(SETUP) browser)" && IRONLAW_CHROMIUM="$$chromium"
BROWSER := $(WITH_CHROMIUM) $(BIN)/pytest
ATTACK := $(BROWSER) tests/attack
# what each test took, and whether its folder keeps to its budget (tests/budget.toml)
CPU_LOG := .pytest_cache/cpu_seconds.jsonl
# of four at a time two are mostly waiting, for their browsers or their processes. What is long begins first, and the others give way to the
# first of all: mypy has one thread, and a browser stalls where it gets too little
TOGETHER := python3 scripts/side_by_side.py

site: python3 ## build the static site into public/: the labs for any web host (docs/site.md); ARGS=--serve tries it
	@$(SETUP) venv docs
	@$(BIN)/ironlaw site public $(ARGS)

labs: python3 ## open the labs in the browser
	@$(SETUP) venv
	@$(BIN)/ironlaw labs $(ARGS)

# ARGS goes to every pytest; the environment carries it past all quoting
test check test-release: export PYTEST_ADDOPTS := $(PYTEST_ADDOPTS) $(ARGS)
test test-release: export IRONLAW_CPU_LOG = $(CURDIR)/$(CPU_LOG)

test: check ## all of check, then the command line, the labs, the ledger and the server, PyTorch, a browser and PostgreSQL
	@$(SETUP) torch
	@$(SETUP) browser >/dev/null
	@[ -n "$$IRONLAW_TEST_POSTGRES" ] || $(SETUP) postgres >/dev/null
	@$(TOGETHER) --at-once 4 '$(BROWSER) $(OPENED)' '$(BIN)/pytest tests/torch' '$(BROWSER) $(LABS) $(PICTURES)' '$(BIN)/pytest $(ASKED)' \
		'$(BIN)/pytest $(SERVED)' '$(BIN)/pytest $(THE_REST)' '$(ATTACK)' \
		'$(BROWSER) tests/browser $(OPENED:%=--ignore=%) $(PICTURES:%=--ignore=%)' '$(BIN)/pytest tests/slow' '$(POSTGRES)'
	@$(BIN)/python scripts/budget.py $(CPU_LOG)

# IRONLAW_TESTS=release: more examples of each property; and make release, which a test runs, does not begin with all of this again
test-release: export IRONLAW_TESTS := release
test-release: test ## all of test with longer searches, then what only a release can break: the wheel, the docs, the fits, the attacks at full length
	@$(SETUP) venv release
	@chromium="$$($(SETUP) browser)" && IRONLAW_CHROMIUM="$$chromium" $(BIN)/pytest tests/release
	@$(MAKE) attack

check: python3 ## format, lint, types, import contract and unit tests, in half a minute
	@$(SETUP) venv test
	@mkdir -p $(dir $(CPU_LOG)) && rm -f $(CPU_LOG)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(TOGETHER) '$(BIN)/mypy' '$(BIN)/pytest tests/engine $(filter --ignore=tests/engine/%,$(LATER:%=--ignore=%))' \
		'$(BIN)/pytest --ignore=tests/engine $(APART:%=--ignore=tests/%) $(LATER:%=--ignore=%)' '$(BIN)/lint-imports'

attack: python3 ## the attacks at full length, with their figures: misbehaving files, fuzzing, kills, corruption, 300 openings (docs/security.md)
	@$(SETUP) venv test
	@$(SETUP) torch
	@IRONLAW_ATTACK=full; export IRONLAW_ATTACK; $(ATTACK) -rP $(ARGS)
	@IRONLAW_ATTACK=full; export IRONLAW_ATTACK PYTEST_ADDOPTS='-rP -k "soak or integrity"'; $(POSTGRES)

audit: python3 ## known holes in the packages that the locks hold; asks PyPI (docs/release.md)
	@program="$$($(SETUP) audit)" && python3 scripts/audit.py "$$program"

bench: python3 ## speed and accuracy, as tables
	@$(SETUP) venv bench
	@$(BIN)/python benchmarks/run.py $(ARGS)
	@$(SETUP) counters
	@$(BIN)/python benchmarks/capture.py
	@$(BIN)/python benchmarks/accuracy.py
	@chromium="$$($(SETUP) browser)" && IRONLAW_CHROMIUM="$$chromium" $(BIN)/python benchmarks/labs.py

mutants: python3 ## change the code on purpose and see whether a test notices
	@$(SETUP) venv mutants
	@$(BIN)/python scripts/mutants $(ARGS)

docs: python3 ## build the documentation as pages into build/docs
	@$(SETUP) venv docs
	@$(BIN)/python -m ironlaw.manual $(ARGS)

wheel: python3 ## build a wheel into dist/
	@$(SETUP) wheel
	@ls dist/*.whl

release: python3 $(if $(filter release,$(IRONLAW_TESTS)),,test-release) ## after test-release, build the sdist and the wheel into an empty dist/, and check that version, changelog and tags agree (docs/release.md)
	@$(SETUP) venv release
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist .
	@$(BIN)/python scripts/release.py check dist

clean: ## remove everything that make created
	@rm -rf .venv dist build .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache mutants .mutmut-cache public
	@find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1|/p' Makefile | while IFS='|' read -r name what; do printf '%-14s %s\n' "$$name" "$$what"; done

python3:
	@command -v python3 >/dev/null || { echo 'ironlaw needs Python 3.11 or newer as python3: sudo apt-get install -y python3 python3-venv, or https://www.python.org/downloads/' >&2; exit 1; }
