/*
 * A vendor's MPI by its version string (-DVERSION): everything else is that of the MPI of the same ABI which it is linked to.
 * Not modelled: whatever the vendor's has beyond the ABI.
 */
#include <stdio.h>

int MPI_Get_library_version(char *text, int *length)
{
    return *length = sprintf(text, "%s", VERSION), 0;
}
