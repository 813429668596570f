/*
 * A shared library that is called libnccl.so.2 and has nothing of NCCL in it. Not modelled: everything.
 */
int there_is_no_nccl_here = 1;
