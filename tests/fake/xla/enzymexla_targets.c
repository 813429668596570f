/*
 * enzymexla_compile_cpu stands for the custom-call target that Reactant's XLA has for code compiled by Enzyme-JAX on a CPU: jaxlib's XLA has
 * none. backend_config is two addresses, of the code and of what makes its state (none on a CPU); the code takes the operands' addresses.
 * Not modelled: the twin whose code returns an error text.
 * test_after gives its first operand, a 32-bit number, when the second is there: tests put calls in an order with it.
 */
#include <stddef.h>
#include <string.h>

void enzymexla_compile_cpu(void *out, const void **operands, const char *config, size_t length, void *status);
void test_after(void *out, const void **operands, const char *config, size_t length, void *status);

void enzymexla_compile_cpu(void *out, const void **operands, const char *config, size_t length, void *status)
{
    void (*run)(const void **);
    (void)out, (void)length, (void)status;
    memcpy(&run, config, sizeof run);
    run(operands);
}

void test_after(void *out, const void **operands, const char *config, size_t length, void *status)
{
    (void)config, (void)length, (void)status;
    memcpy(out, operands[0], 4);
}
