# The library's C files without Go, over a double of MPI, under each sanitizer; SANITIZED lists the programs.

# The underline keeps what cgo writes there out of ./...
SANITIZE_DIR := build/_sanitize
SANITIZE_CGO := $(SANITIZE_DIR)/cgo/_cgo_export.h
SANITIZE_MACHINE := $(if $(filter x86_64,$(shell uname -m)),arm64,amd64)
SANITIZE_SRC := $(filter-out %_$(SANITIZE_MACHINE).c,$(wildcard capi/*.c ffi/*.c mpi/*.c node/kernels/*.c nccl/*.c \
	internal/handle/*.c internal/cerr/*.c internal/company/*.c internal/trace/*.c tests/fake/mpi/*.c tests/sanitize/*.c))
SANITIZE_STUBS := $(SANITIZE_DIR)/cgo/stubs.c
SANITIZED := $(patsubst %,$(SANITIZE_DIR)/%,address thread plain)

SANITIZE_FLAGS_address := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_FLAGS_thread := -fsanitize=thread
SANITIZE_FLAGS_plain :=

# cgo's header of what Go exports; a function of it that tests/sanitize/team.c does not have gives code 10.
$(SANITIZE_CGO): $(wildcard capi/*.go)
	@mkdir -p $(@D)
	cd capi && go tool cgo -objdir $(CURDIR)/$(@D) -- -I../include -I.. $$(go list -f '{{join .CgoFiles " "}}' .)

$(SANITIZE_STUBS): $(SANITIZE_CGO)
	{ echo '#include "_cgo_export.h"'; \
	sed -n 's/^extern \(.*\) \(rmpiGo[A-Za-z]*\)(\(.*\));$$/__attribute__((weak)) \1 \2(\3) { return (\1)REACTANT_MPI_ERR_UNSUPPORTED; }/p' $<; } > $@

SANITIZE_DEPS := $(INCLUDED) $(HEADER) $(wildcard tests/sanitize/*.h tests/fake/mpi/*.h tests/c/*.h) tests/sanitize/sanitize.mk

define SANITIZE
$(SANITIZE_DIR)/$(1): $(SANITIZE_SRC:%.c=$(SANITIZE_DIR)/$(1).objects/%.o) $(SANITIZE_DIR)/$(1).objects/stubs.o
	$(CC) $(SANITIZE_FLAGS_$(1)) -o $$@ $$^ -lpthread -ldl -lm -lrt

$(SANITIZE_DIR)/$(1).objects/stubs.o: $(SANITIZE_STUBS)
$(SANITIZE_DIR)/$(1).objects/%.o: %.c $(SANITIZE_STUBS) $(SANITIZE_DEPS)
	@mkdir -p $$(@D)
	$(CC) -std=gnu11 -O1 -g -fno-omit-frame-pointer $(SANITIZE_FLAGS_$(1)) -Iinclude -I. -isystem $(SANITIZE_DIR)/cgo -c -o $$@ $$<

$(SANITIZE_DIR)/$(1).objects/stubs.o:
	@mkdir -p $$(@D)
	$(CC) -std=gnu11 -O1 -g $(SANITIZE_FLAGS_$(1)) -Iinclude -I. -isystem $(SANITIZE_DIR)/cgo -c -o $$@ $$<
endef
$(foreach kind,address thread plain,$(eval $(call SANITIZE,$(kind))))
