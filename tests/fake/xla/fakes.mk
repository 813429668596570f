# The doubles of XLA libraries. XLA_FAKES: what a target that needs them depends on. The C++ library is named by its file, which is there
# without a compiler for C++; the doubles throw exceptions with it.
XLA_FAKES := $(patsubst %,build/tests/fake/xla/%.so,pjrt_plugin libReactantExtra enzymexla_targets)

build/tests/fake/xla/pjrt_plugin.so: tests/fake/xla/pjrt_plugin.c tests/fake/xla/double.h
build/tests/fake/xla/libReactantExtra.so: tests/fake/xla/reactant_extra.c tests/fake/xla/double.h
build/tests/fake/xla/enzymexla_targets.so: tests/fake/xla/enzymexla_targets.c
$(XLA_FAKES):
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -shared -fPIC -Wl,-soname,$(@F) -o $@ $< -Wl,--no-as-needed -l:libstdc++.so.6 -lpthread
