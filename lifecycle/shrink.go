package lifecycle

import (
	"encoding/binary"
	"time"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/handle"
)

// Shrink makes the communicator of the ranks that live, after the failure of others. Collective over those; ranks that still wait in the
// old one are thrown out of their calls first.
func Shrink(word unsafe.Pointer) (handle.Comm, *cerr.Error) {
	var none handle.Comm
	parent, err := live(word)
	if err != nil {
		return none, err
	}
	if !parent.lib.FaultTolerant() {
		return none, cerr.New(cerr.Unsupported, "this MPI does not go on after the failure of a process: start Open MPI 5 or later with "+
			"`mpiexec --with-ft ulfm --mca pml ob1`; library %s", parent.lib.Path)
	}
	steps := timings{last: time.Now()}
	defer enter()()
	for _, comm := range []uint64{parent.user, parent.control} {
		if err := parent.lib.Revoke(comm); err != nil {
			return none, err
		}
	}
	c, _ := handle.ByWord(word)
	c.Revoked()
	user, err := parent.lib.Shrink(parent.user, parent.options.TimeoutMS)
	if err != nil {
		return none, err
	}
	_, size, err := parent.lib.RankSize(user)
	if err != nil {
		return none, err
	}
	all, err := parent.lib.AllGather(user, size, binary.NativeEndian.AppendUint32(nil, uint32(parent.rank)), parent.options.TimeoutMS)
	if err != nil {
		return none, err
	}
	ranks := make([]int, size)
	for i, b := range all {
		ranks[i] = int(binary.NativeEndian.Uint32(b))
	}
	s := parent.child(ranks)
	s.user = user
	if s.control, err = parent.lib.Dup(user, parent.options.TimeoutMS); err != nil {
		return none, s.undo(err)
	}
	made, err := s.complete(0, &steps)
	if err == nil {
		process.Lock()
		parent.shrunk = true
		process.Unlock()
	}
	return made, err
}
