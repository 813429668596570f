// Package device decides which GPU each rank takes.
//
// Every rank fills a Rank, all exchange them (Encode, one allgather, Decode), and every rank calls Choose on the same list. Choose reads
// nothing else, no environment and no option of its own process, so the verdict, the codes and the texts are identical on every rank.
//
// # What device a rank gets
//
// The first row that fits decides. "Group" means the ranks of one machine that see devices in common, containers included.
//
//	situation                                                       device                                   Reason
//	REACTANT_MPI_GPU=off                                            none                                     host only
//	no rank sees a device, or no rank has NCCL or RCCL; gpu=auto    none, host communicator                  host only
//	   the same with gpu=required, or where a rank asked for one    error 61 (no device), 60 (no NCCL)
//	only some ranks see a device, or have NCCL                      error 61, 60; 68 where two variables filter
//	NCCL and RCCL, two versions, or older than 2.18                 error 64, 65
//	the rank asked (option device, REACTANT_MPI_DEVICE)             that ordinal, among its visible ones     asked for
//	   no such ordinal; another device is in use by its process     error 11; 68
//	exactly one device is in use by the process (XLA, CUDA.jl)      that one                                 active context
//	one visible device (gpus-per-task), no other rank sees it       ordinal 0                                one visible device
//	all of the group see the same list, CPU masks say nothing       ordinal = place in the group             local rank
//	   each rank can have one near its CPUs                         the first such matching                  NUMA
//	lists differ                                                    own lowest ordinal that leaves all       matching
//	                                                                others one
//	fewer devices than ranks on a machine                           error 62
//	enough devices, but the lists do not allow one each             error 68
//	two ranks asked for or already use one device                   error 63
//	two MIG instances of one GPU in two ranks of a host             error 63
//	   the last four with NCCL ≥ 2.30 and                           the least taken one, lowest ordinal      shared device
//	   NCCL_MULTI_RANK_GPU_ENABLE=1 on every rank
package device
