# The doubles of the GPU libraries. GPU_FAKES lists all of them, and the program that tests them.

GPU_FAKE_DIR := build/tests/fake/gpu
GPU_FAKE_SRC := tests/fake/gpu
GPU_FAKE_CC = $(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -g -shared -fPIC -fvisibility=hidden \
	-Wl,-soname,$(@F) -Wl,--no-undefined
GPU_FAKE_HEADERS := $(wildcard $(GPU_FAKE_SRC)/*.h) $(GPU_FAKE_SRC)/fakes.mk
GPU_FAKE_DRIVER := $(addprefix $(GPU_FAKE_SRC)/,inject.c device.c context.c stream.c memory.c)
GPU_FAKE_NCCL := $(addprefix $(GPU_FAKE_SRC)/,inject.c reduce.c rendezvous.c nccl_config.c nccl_init.c nccl_comm.c nccl_split.c \
	nccl_group.c nccl_collectives.c nccl_move.c nccl_rest.c)

GPU_FAKE_CUDA := $(GPU_FAKE_DIR)/cuda/libcuda.so.1
GPU_FAKE_HIP := $(GPU_FAKE_DIR)/hip/libamdhip64.so.6
GPU_FAKE_NCCLS := $(patsubst %,$(GPU_FAKE_DIR)/%/libnccl.so.2,nccl218 nccl222 nccl228 nccl232 nccl_missing)
GPU_FAKE_RCCLS := $(patsubst %,$(GPU_FAKE_DIR)/%/librccl.so.1,rccl rccl_new)
GPU_FAKE_STUBS := $(patsubst %,$(GPU_FAKE_DIR)/%/libReactantExtra.so,xla_stub xla_forward)

GPU_FAKES := $(GPU_FAKE_CUDA) $(GPU_FAKE_HIP) $(GPU_FAKE_NCCLS) $(GPU_FAKE_RCCLS) $(GPU_FAKE_STUBS) \
	$(GPU_FAKE_DIR)/not_nccl/libnccl.so.2 $(GPU_FAKE_DIR)/selftest

$(GPU_FAKE_DIR)/nccl218/%: GPU_FAKE_WHICH := -DNCCL_CODE=21805
$(GPU_FAKE_DIR)/nccl222/%: GPU_FAKE_WHICH := -DNCCL_CODE=22203
$(GPU_FAKE_DIR)/nccl228/%: GPU_FAKE_WHICH := -DNCCL_CODE=22809
$(GPU_FAKE_DIR)/nccl232/%: GPU_FAKE_WHICH := -DNCCL_CODE=23203
$(GPU_FAKE_DIR)/nccl_missing/%: GPU_FAKE_WHICH := -DNCCL_CODE=22809 -DFAKE_WITHOUT_COMM_INIT_RANK
$(GPU_FAKE_DIR)/rccl/%: GPU_FAKE_WHICH := -DNCCL_CODE=22106 -DFAKE_RCCL
$(GPU_FAKE_DIR)/rccl_new/%: GPU_FAKE_WHICH := -DNCCL_CODE=22707 -DFAKE_RCCL -DFAKE_NEW_SPELLING
$(GPU_FAKE_DIR)/xla_forward/%: GPU_FAKE_WHICH := -DFAKE_FORWARD
$(GPU_FAKE_DIR)/xla_stub/%: GPU_FAKE_WHICH :=

$(GPU_FAKE_CUDA): $(GPU_FAKE_DRIVER) $(GPU_FAKE_SRC)/cuda.c $(GPU_FAKE_HEADERS)
	@mkdir -p $(@D)
	$(GPU_FAKE_CC) -DFAKE_PREFIX='"FAKE_GPU"' -o $@ $(filter %.c,$^) -lpthread

$(GPU_FAKE_HIP): $(GPU_FAKE_DRIVER) $(GPU_FAKE_SRC)/hip.c $(GPU_FAKE_HEADERS)
	@mkdir -p $(@D)
	$(GPU_FAKE_CC) -DFAKE_PREFIX='"FAKE_GPU"' -DFAKE_HIP -o $@ $(filter %.c,$^) -lpthread

$(GPU_FAKE_NCCLS): $(GPU_FAKE_NCCL) $(GPU_FAKE_HEADERS)
	@mkdir -p $(@D)
	$(GPU_FAKE_CC) -DFAKE_PREFIX='"FAKE_NCCL"' $(GPU_FAKE_WHICH) -o $@ $(filter %.c,$^) -lpthread -ldl -lm

# As the real one, librccl brings its runtime along.
$(GPU_FAKE_RCCLS): $(GPU_FAKE_NCCL) $(GPU_FAKE_HEADERS) | $(GPU_FAKE_HIP)
	@mkdir -p $(@D)
	$(GPU_FAKE_CC) -DFAKE_PREFIX='"FAKE_NCCL"' $(GPU_FAKE_WHICH) -o $@ $(filter %.c,$^) -lpthread -ldl -lm \
		-Wl,--no-as-needed $(GPU_FAKE_HIP) -Wl,-rpath,'$$ORIGIN/../hip'

$(GPU_FAKE_STUBS): $(GPU_FAKE_SRC)/xla_stub.c $(GPU_FAKE_HEADERS)
	@mkdir -p $(@D)
	$(GPU_FAKE_CC) $(GPU_FAKE_WHICH) -o $@ $< -ldl

$(GPU_FAKE_DIR)/not_nccl/libnccl.so.2: $(GPU_FAKE_SRC)/not_nccl.c $(GPU_FAKE_HEADERS)
	@mkdir -p $(@D)
	$(GPU_FAKE_CC) -fvisibility=default -o $@ $<

$(GPU_FAKE_DIR)/selftest: $(wildcard $(GPU_FAKE_SRC)/selftest*.c) $(GPU_FAKE_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -g -o $@ $(filter %.c,$^) -lpthread -ldl -lm
