package mpi

import (
	"encoding/binary"

	"reactantmpi/internal/cerr"
)

// clockRounds is how often each rank asks for the time; the fastest answer counts.
const clockRounds = 20

// Clock measures how far the clock of rank 0 is ahead of this rank's. The ranks ask one after the other; rank 0 notes the time of each answer
// and tells all of them in the end. An answer was given somewhere within its round trip. Collective, waiting at most the given time for a
// rank. Takes two tags.
func (l *Library) Clock(comm uint64, rank, size, tag int, now func() int64, timeoutMS int64) (offset, roundTrip int64, err *cerr.Error) {
	answers := make([]byte, 8*clockRounds*size)
	var begin, end [clockRounds]int64
	if rank == 0 {
		for i := clockRounds; i < clockRounds*size; i++ {
			if err := l.await(comm, i/clockRounds, tag, timeoutMS); err != nil {
				return 0, 0, err
			}
			binary.NativeEndian.PutUint64(answers[8*i:], uint64(now()))
			if err := l.sendEmpty(comm, i/clockRounds, tag+1); err != nil {
				return 0, 0, err
			}
		}
	} else {
		for i := range clockRounds {
			begin[i] = now()
			if err := l.sendEmpty(comm, 0, tag); err != nil {
				return 0, 0, err
			}
			if err := l.await(comm, 0, tag+1, timeoutMS); err != nil {
				return 0, 0, err
			}
			end[i] = now()
		}
	}
	if err := l.Bcast(comm, 0, answers, timeoutMS); err != nil || rank == 0 {
		return 0, 0, err
	}
	for i := range clockRounds {
		if took := end[i] - begin[i]; i == 0 || took < roundTrip {
			answer := int64(binary.NativeEndian.Uint64(answers[8*(rank*clockRounds+i):]))
			offset, roundTrip = answer-(begin[i]+took/2), took
		}
	}
	return offset, roundTrip, nil
}
