# Short names for what scripts/ does. ARGS goes to the script: make test ARGS="-R AllReduce".
.DEFAULT_GOAL := build
.PHONY: quickstart test parity test-gpu fuzz build format lint bench package setup clean distclean help
ARGS ?=
PRESET ?= release

quickstart: ## install what is missing, build, train MNIST on two ranks
	@scripts/quickstart $(ARGS)

test: ## install what is missing, build, run every test
	@scripts/test $(ARGS)

parity: ## compare with Python's torch, number by number
	@scripts/parity $(ARGS)

test-gpu: ## run the tests that need a GPU
	@scripts/test-gpu $(ARGS)

fuzz: ## feed damaged files to every parser, 20 s each
	@scripts/fuzz $(ARGS)

build: ## install what is missing, build all but the tests (PRESET=debug, clang, asan, tsan or cuda for another build)
	@scripts/setup --group build
	@scripts/build $(PRESET) --no-tests $(ARGS)

format: ## format the sources
	@scripts/format $(ARGS)

lint: ## formatting, shellcheck and clang-tidy
	@scripts/lint $(ARGS)

bench: ## measure all-reduce on two ranks
	@scripts/setup --group build
	@scripts/build release --no-tests --target lockstep_command --target lockstep-torch
	@build/release/bin/lockstep bench allreduce -n 2 $(ARGS)

package: ## make a relocatable archive and a .deb in build/release/packages
	@scripts/package

setup: ## only install what is missing
	@scripts/setup $(ARGS)

clean: ## remove build/
	rm -rf build

distclean: clean ## remove build/ and what was fetched into .deps/
	rm -rf .deps

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name what; do printf '  make %-12s %s\n' "$$name" "$$what"; done
