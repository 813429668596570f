# libreactant_mpi_wrapper.so: plain C, beside libreactant_mpi.so, which it opens when it is first used.
WRAPPER := build/libreactant_mpi_wrapper.so
WRAPPER_WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wvla -Wwrite-strings -Wpointer-arith \
	-Wundef -Wformat=2 -Werror
WRAPPER_LINK := -Wl,--version-script=wrapper/exports.map -Wl,-soname,$(notdir $(WRAPPER)) -Wl,-z,relro,-z,now,-z,nodelete \
	-Wl,--as-needed -Wl,--no-undefined -Wl,--build-id=none -s

$(WRAPPER): $(wildcard wrapper/*.c wrapper/*.h wrapper/*.inc) wrapper/exports.map wrapper/wrapper.mk $(HEADER)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O3 -fwrapv -fPIC -shared -fvisibility=hidden $(WRAPPER_WARNINGS) -Iinclude -o $@ $(filter %.c,$^) $(WRAPPER_LINK)

# Its test is not linked with libreactant_mpi.so: the wrapper opens that.
build/tests/c/wrapper: tests/c/wrapper.c $(HEADER) $(wildcard tests/c/*.h) $(WRAPPER) | $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $< -lpthread -ldl
