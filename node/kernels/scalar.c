/* Portable: the compiler makes of the vectors what every processor of the kind can do. */
#define VARIANT scalar
#define BYTES 16
#define TARGET
#include "loops.inc"
