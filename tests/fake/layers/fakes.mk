# The doubles of layers over another MPI, and of vendors' MPIs. LAYER_FAKES lists all of them.

LAYER_DIR := build/tests/fake/layers
LAYER_SRC := tests/fake/layers
LAYER_CC = $(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -g -shared -fPIC -I$(LAYER_DIR) -I$(LAYER_SRC)
LAYER_GENERATED := $(LAYER_DIR)/functions.h

$(LAYER_GENERATED): $(LAYER_SRC)/generate.py mpi/functions.inc
	@mkdir -p $(LAYER_DIR)
	$(PYTHON) $< mpi/functions.inc $(LAYER_DIR)

LAYER_WRAPPER    := $(LAYER_DIR)/libmpiwrapper.so
LAYER_TRAMPOLINE := $(LAYER_DIR)/libmpitrampoline.so.5
LAYER_MUK        := $(LAYER_DIR)/muk/libmuk.so
LAYER_CONVERTERS := $(LAYER_DIR)/muk/mpich-wrap.so $(LAYER_DIR)/muk/ompi-wrap.so
LAYER_PRELOAD    := $(LAYER_DIR)/libwi4mpi_OMPI_MPICH.so $(LAYER_DIR)/libwi4mpi_MPICH_OMPI.so
LAYER_INTERFACE  := $(LAYER_DIR)/wi4mpi/libmpi.so
LAYER_BEHIND     := $(LAYER_DIR)/wi4mpi/libwi4mpi_ANY.so

LAYER_FAKES := $(LAYER_WRAPPER) $(LAYER_TRAMPOLINE) $(LAYER_MUK) $(LAYER_CONVERTERS) $(LAYER_PRELOAD) $(LAYER_INTERFACE) \
	$(LAYER_BEHIND)

$(LAYER_WRAPPER): $(LAYER_SRC)/mpiwrapper.c
$(LAYER_TRAMPOLINE): $(LAYER_SRC)/mpitrampoline.c
$(LAYER_MUK): $(LAYER_SRC)/mukautuva.c
$(LAYER_CONVERTERS): tests/fake/empty.c
$(LAYER_PRELOAD) $(LAYER_BEHIND): $(LAYER_SRC)/wi4mpi.c
$(LAYER_INTERFACE): $(LAYER_SRC)/wi4mpi_interface.c
$(LAYER_DIR)/libwi4mpi_OMPI_MPICH.so: LAYER_WHICH := -DAPP_OMPI
$(LAYER_DIR)/libwi4mpi_MPICH_OMPI.so: LAYER_WHICH := -DAPP_MPICH
$(LAYER_BEHIND): LAYER_WHICH := -DAPP_WI4MPI
$(LAYER_TRAMPOLINE): LAYER_WHICH := -Wl,-soname,libmpitrampoline.so.5

$(LAYER_FAKES): $(LAYER_GENERATED) $(wildcard $(LAYER_SRC)/*.h) $(LAYER_SRC)/fakes.mk
	@mkdir -p $(@D)
	$(LAYER_CC) $(LAYER_WHICH) -o $@ $(filter %.c,$^) -ldl -lpthread
