# The project's commands. `make demo` and `make test` install what they need on a fresh Debian 12; the other targets are
# the stages of `make test`, each usable alone once `make setup` has run.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
EVENTS ?= 1000000
FUZZ_SECONDS ?= 10

PYTHON_ENV := .venv/bin/python
STAGES := lint build unit simulate-histories package python-package typing pytest examples sanitize fuzz tsan tidy

export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# Compiled once, modules are loaded in a third of the time: hundreds of processes that tests start do.
unexport PYTHONDONTWRITEBYTECODE
# Tests with servers wait now and then.
export CTEST_PARALLEL_LEVEL := $(shell echo $$(($(JOBS) + 1)))
# Tests find the C++ programs of the build here.
export COLONNADE_BUILD_DIR := $(CURDIR)/build/default

PYTHON_SOURCES := python tests tools examples benchmarks conftest.py
CPP_SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.cpp' '*.h')

.PHONY: help wheel wheel-check packages setup setup-run setup-bench test demo fresh bench bench-local bench-objects bench-remote bench-frame bench-cluster bench-combine bench-checkpoints bench-cache bench-ml bench-gpu bench-programs clean format cross api-docs terminal-files minimal simulate simulate-mutations soak sanitize-python arrays-package arrays-package-anew $(STAGES)

help:
	@echo "make demo [EVENTS=8500000]  generate, write, read and plot the LHCb sample"
	@echo "make test                   everything that continuous integration runs, which is, one after the other:"
	@echo "                            $(STAGES)"
	@echo "make fresh [SYSTEM=ubuntu]  both of them on a bare Debian 12 (or Ubuntu 24.04) in a folder; as root"
	@echo "make soak [SECONDS=60]      tests of random cases with other cases each time, for at least so long"
	@echo "make sanitize-python        tests of Python under AddressSanitizer and UBSan (SANITIZED=python/tests/test_cache.py: others)"
	@echo "make simulate [SECONDS=60 SEED=1]  commits under every fault, from seeds; make simulate-mutations: does it bite?"
	@echo "make bench                  read and write against ROOT, with ratios; also with targets (BENCH_OPTIONS=...):"
	@echo "                            bench-local (disk), bench-objects (object stores), bench-remote (HTTP, XRootD, S3), bench-frame (the data frame), bench-cluster (engines), bench-combine (merging, against cp; joins), bench-checkpoints, bench-cache, bench-ml (batches for training), bench-gpu (on a GPU)"
	@echo "make wheel                  the wheel and the source archive, in dist/; make wheel-check: on a bare Debian 12; as root"
	@echo "make packages               the C++ library as packages of Debian and archives, in dist/"
	@echo "make api-docs               the reference of the C++ interface, in build/api-docs/html"
	@echo "make fresh FRESH=cross      unit tests for aarch64, in an emulator; as root"
	@echo "others:                     setup format terminal-files minimal clean"

setup:
	@tools/bootstrap.sh test

setup-run:
	@tools/bootstrap.sh run

setup-bench:
	@tools/bootstrap.sh bench

# A second make, so that it sees what the first has installed.
test: setup
	@MAKE='$(MAKE)' tools/run_stages.sh $(STAGES)

# What the package imports is installed while it is compiled. The plot does not wait for the data frame.
demo: export BEGUN := $(shell date +%s)
demo: export WERROR := OFF
demo:
	@tools/bootstrap.sh build
	@tools/bootstrap.sh run & $(MAKE) --no-print-directory arrays-package && wait $$!
	@mkdir -p demo
	.venv/bin/colonnade demo --events $(EVENTS) --output demo
	@echo "from nothing to the plot: $$(($$(date +%s) - BEGUN)) s; what is left is to compile the data frame"
	@$(MAKE) --no-print-directory python-package

# On a machine that has nothing yet: see tools/fresh.sh. FRESH names other targets than the two.
SYSTEM ?= debian
FRESH ?= demo test

fresh:
	@tools/fresh.sh $(SYSTEM) $(FRESH)

# ---- C++

# configure(PRESET): quiet unless it fails.
configure = @mkdir -p build; cmake --preset $(1) >build/$(1)-configure.log 2>&1 || { cat build/$(1)-configure.log; exit 1; }

build:
	$(call configure,default)
	cmake --build --preset default --target all all_verify_interface_header_sets

unit: build
	ctest --preset default -LE example --no-tests=error --quiet -O build/unit.log || { tail -n 200 build/unit.log; exit 1; }
	@grep -E 'tests passed|tests failed' build/unit.log
	@grep -hE '^\[  SKIPPED \] .*\(' build/default/Testing/Temporary/LastTest.log || true

# The simulation of commits, docs/simulation.md.
SECONDS ?= 60
SEED ?= 1
HISTORIES ?= 20000
SIMULATE := build/default/tests/simulate/colonnade_simulate

simulate: build
	$(SIMULATE) --seed $(SEED) --seconds $(SECONDS) --jobs $(JOBS)

simulate-mutations: build
	$(SIMULATE) --mutations --histories $(HISTORIES)

simulate-histories: build
	$(SIMULATE) --seed $(SEED) --histories $(HISTORIES) --jobs $(JOBS)

minimal:
	$(call configure,minimal)
	cmake --build --preset minimal

sanitize:
	$(call configure,asan-ubsan)
	cmake --build --preset asan-ubsan
	ctest --preset asan-ubsan -L unit --no-tests=error

# The extension module of Python under the same sanitizers; SANITIZED are arguments of pytest. Leaks of the interpreter are not
# told from ours. What the reports say lies in build/asan-python/report.*: some tests expect processes that end with an error.
SANITIZED ?= $(addprefix python/tests/,test_attributes.py test_chain.py test_merge.py test_text_functions.py test_random_chains.py \
  test_random_expressions.py test_random_fills.py test_random_layouts.py test_random_lives.py test_random_loops.py)
sanitize-python: python-package
	@cmake --preset asan-ubsan -B build/asan-python -DCOLONNADE_PYTHON=ON -DCOLONNADE_TESTS=OFF -DCOLONNADE_FUZZ=OFF \
	  -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON_ENV) >build/asan-python-configure.log 2>&1 || { cat build/asan-python-configure.log; exit 1; }
	cmake --build build/asan-python --target _core
	rm -rf build/asan-python/package build/asan-python/report.*
	mkdir build/asan-python/package && cp -r python/colonnade build/asan-python/package
	cp build/asan-python/python/_core*.so build/asan-python/package/colonnade
	LD_PRELOAD="$$(clang++-19 -print-file-name=libclang_rt.asan-x86_64.so) $$(clang++-19 -print-file-name=libstdc++.so.6)" \
	  ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:detect_odr_violation=0:strict_string_checks=1:allocator_may_return_null=1:log_path=$(CURDIR)/build/asan-python/report \
	  UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/asan-python/report \
	  PYTHONPATH=$(CURDIR)/build/asan-python/package $(PYTHON_ENV) -m pytest -q -n $(JOBS) --dist loadfile $(SANITIZED)
	@if ls build/asan-python/report.* >/dev/null 2>&1; then cat build/asan-python/report.*; exit 1; fi

# Unit tests for aarch64 in an emulator. It adds an architecture to the system's packages: `make fresh FRESH=cross` does that in
# a folder.
cross:
	@tools/bootstrap.sh cross
	cmake --preset aarch64
	cmake --build --preset aarch64
	ctest --preset aarch64

tsan:
	$(call configure,tsan)
	cmake --build --preset tsan
	ctest --preset tsan

fuzz:
	$(call configure,asan-ubsan)
	cmake --build --preset asan-ubsan
	$(PYTHON_ENV) tools/run_fuzz.py build/asan-ubsan $(FUZZ_SECONDS)

package: build minimal
	tools/check_install.sh build/default

# The reference of the C++ interface, in build/api-docs/html.
api-docs:
	@mkdir -p build
	COLONNADE_VERSION=$$(sed -n 's/^project(Colonnade VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt) doxygen docs/Doxyfile

# ---- Python

# Man pages and completions of the terminal program, which are in the wheel: made again when a command changes.
terminal-files:
	rm -rf python/share
	mkdir -p python/share/man/man1 python/share/bash-completion/completions python/share/zsh/site-functions python/share/fish/vendor_completions.d
	.venv/bin/click-man --target python/share/man/man1 --man-date 2026-01-01 colonnade
	_COLONNADE_COMPLETE=bash_source .venv/bin/colonnade > python/share/bash-completion/completions/colonnade
	_COLONNADE_COMPLETE=zsh_source .venv/bin/colonnade > python/share/zsh/site-functions/_colonnade
	_COLONNADE_COMPLETE=fish_source .venv/bin/colonnade > python/share/fish/vendor_completions.d/colonnade.fish

# Builds the package in build/python and installs it into .venv, unless none of its sources is newer than the last time.
PACKAGE_STAMP := build/python/.installed
PACKAGE_INPUTS = $(shell find include src python cmake CMakeLists.txt pyproject.toml -type f -not -name '*_test.cpp' \
                   -not -path '*/__pycache__/*') .venv/pyvenv.cfg

python-package: $(PACKAGE_STAMP)

# A wheel with its libraries inside, below 15 MB, and the source archive, in dist/.
wheel: python-package
	@tools/wheel.sh

wheel-check: python-package
	@tools/wheel.sh check

# The C++ library as packages of Debian and as archives, in dist/.
packages: build
	@cd build/default && cpack >cpack.log || { tail -n 50 cpack.log; exit 1; }
	@rm -rf dist/_CPack_Packages && ls dist

# Other compilers have other warnings, which must not keep users from the demo.
WERROR ?= ON

# install(SETTINGS): with compiler and flags of `build`, so that the compiler cache has most of it; without, those that
# Python was built with.
install = @mkdir -p build/python; CXX="$${CXX:-c++}" $(PYTHON_ENV) -m pip install . --no-build-isolation --no-deps \
  --force-reinstall --disable-pip-version-check -v --config-settings=build-dir=build/python \
  --config-settings=cmake.define.COLONNADE_WERROR=$(WERROR) $(1) \
  >build/python/install.log 2>&1 || { tail -n 100 build/python/install.log; exit 1; }

$(PACKAGE_STAMP): $(PACKAGE_INPUTS)
	@echo "compiling and installing the Python package; its log is build/python/install.log"
	$(call install)
	@touch $@

# The package without its data frame, until python-package has compiled that; nothing if it has.
ARRAYS := --config-settings=build.targets=_core_arrays --config-settings=install.components=arrays
arrays-package:
	@$(MAKE) --no-print-directory -q $(PACKAGE_STAMP) || $(MAKE) --no-print-directory arrays-package-anew

arrays-package-anew:
	@echo "compiling and installing the Python package without its data frame; its log is build/python/install.log"
	$(call install,$(ARRAYS))

typing: python-package
	.venv/bin/mypy -p colonnade
	.venv/bin/mypy python/tests/test_typing.py
	MYPYPATH=benchmarks:tests/servers .venv/bin/mypy benchmarks/*.py

# The whole run has an end. A worker that dies is not replaced: the next one would run its last test again.
PYTEST_SECONDS ?= 3600
# Many tests wait, for processes and servers: with as many processes as processors a third of the time is idle.
PYTEST_JOBS ?= $(shell echo $$(($(JOBS) * 2)))
pytest: build python-package
	timeout $(PYTEST_SECONDS) $(PYTHON_ENV) -m pytest -q -n $(PYTEST_JOBS) --dist loadfile --no-loadscope-reorder \
	  --max-worker-restart 0

# `make test` has the same random cases each time. COLONNADE_RANDOM_SEED, which is printed, has those of a round again.
soak: build python-package
	@end=$$(($$(date +%s) + $(SECONDS))); \
	while true; do \
	  export COLONNADE_RANDOM_SEED=$$((RANDOM * 32768 + RANDOM + 1)); \
	  echo "COLONNADE_RANDOM_SEED=$$COLONNADE_RANDOM_SEED"; \
	  build/default/src/frame/colonnade_frame_test --gtest_brief=1 --gtest_filter='Mathematics.*'; \
	  $(PYTHON_ENV) -m pytest -q -m random --hypothesis-seed=$$COLONNADE_RANDOM_SEED \
	    -n $(PYTEST_JOBS) --dist loadfile --no-loadscope-reorder; \
	  (($$(date +%s) < end)) || break; \
	done

examples: build python-package
	ctest --preset default -L example --no-tests=error
	$(PYTHON_ENV) tools/run_examples.py

# ---- Style

lint:
	@clang-format-19 --dry-run -Werror $(CPP_SOURCES)
	.venv/bin/ruff check $(wildcard $(PYTHON_SOURCES))
	.venv/bin/ruff format --check $(wildcard $(PYTHON_SOURCES))
	.venv/bin/mypy tools/*.py
	$(PYTHON_ENV) tools/check_includes.py
	$(PYTHON_ENV) tools/check_readme.py

tidy:
	$(call configure,tidy)
	$(PYTHON_ENV) tools/run_tidy.py build/tidy $(TIDY)

format:
	clang-format-19 -i $(CPP_SOURCES)
	.venv/bin/ruff check --fix-only $(wildcard $(PYTHON_SOURCES))
	.venv/bin/ruff format $(wildcard $(PYTHON_SOURCES))
	$(PYTHON_ENV) tools/check_readme.py --update

# ---- Measurements

# For the programs: `.venv/bin/python benchmarks/local.py --help` shows what there is.
BENCH_OPTIONS ?=

bench-programs: setup-bench
	$(call configure,bench)
	cmake --build --preset bench
	$(MAKE) --no-print-directory python-package

bench: bench-programs
	$(PYTHON_ENV) benchmarks/run.py --build build/bench $(BENCH_OPTIONS)

bench-local: bench-programs
	$(PYTHON_ENV) benchmarks/local.py --build build/bench $(BENCH_OPTIONS)

bench-objects: bench-programs
	$(PYTHON_ENV) benchmarks/objects.py --build build/bench $(BENCH_OPTIONS)

# The package in .venv is measured.
bench-remote:
	$(PYTHON_ENV) benchmarks/remote.py $(BENCH_OPTIONS)

bench-frame: bench-programs
	$(PYTHON_ENV) benchmarks/frame.py --build build/bench $(BENCH_OPTIONS)
	$(PYTHON_ENV) benchmarks/loops.py
	$(PYTHON_ENV) benchmarks/trees.py
	$(PYTHON_ENV) benchmarks/trees.py --classes

bench-combine: setup-bench
	$(MAKE) --no-print-directory python-package
	$(PYTHON_ENV) benchmarks/merge.py $(BENCH_OPTIONS)
	$(PYTHON_ENV) benchmarks/joins.py

bench-checkpoints: setup-bench
	$(MAKE) --no-print-directory python-package
	$(PYTHON_ENV) benchmarks/checkpoints.py $(BENCH_OPTIONS)

bench-ml: setup-bench
	$(MAKE) --no-print-directory python-package
	$(PYTHON_ENV) benchmarks/ml.py $(BENCH_OPTIONS)

# The package in .venv is measured, with CuPy, nvCOMP and KvikIO, which are installed by hand: they depend on the driver.
bench-gpu:
	$(PYTHON_ENV) benchmarks/gpu.py $(BENCH_OPTIONS)

# The package in .venv is measured.
bench-cache:
	$(PYTHON_ENV) benchmarks/cache.py $(BENCH_OPTIONS)

# The package in .venv is measured.
bench-cluster:
	$(PYTHON_ENV) benchmarks/cluster.py $(BENCH_OPTIONS)

clean:
	rm -rf build
