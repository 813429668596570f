package device

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode decodes the bytes as they are, and a good record into which they are written: short inputs reach every field.
func FuzzDecode(f *testing.F) {
	f.Add(uint16(0), []byte{})
	f.Add(uint16(7), []byte{64})
	f.Add(uint16(hostAt-1), []byte{9, 0xff, 0, 'x'})
	f.Fuzz(func(t *testing.T, at uint16, b []byte) {
		_, err := Decode(b)
		require.True(t, err == nil || len(err.Error()) > 0)
		record := Encode(world(t, "n0 A*B=1@0-7")[0])
		copy(record[int(at)%Size:], b)
		r, err := Decode(record)
		if err != nil {
			return
		}
		again, err := Decode(Encode(r))
		require.NoError(t, err)
		require.Equal(t, r, again)
		list, p := Choose([]Rank{r, r})
		sound(t, []Rank{r, r}, list, p)
	})
}

// FuzzChoose reads ranks of few bytes each, so that they see devices in common.
func FuzzChoose(f *testing.F) {
	f.Add([]byte{1, 0, 0, 3, 0, 1, 2, 1, 0, 0, 3, 0, 1, 2})
	f.Add([]byte{1, 4, 255, 2, 0x80, 1, 2, 9, 1, 1, 0x11, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		next := func() byte {
			if len(b) == 0 {
				return 0
			}
			c := b[0]
			b = b[1:]
			return c
		}
		var ranks []Rank
		for len(b) > 0 && len(ranks) < 40 {
			kind, flags, want := next(), next(), next()
			r := Rank{Host: "h", Node: uint64(kind & 7), Machine: uint64(kind >> 2 & 1), Vendor: CUDA, NCCL: 23007, Want: Any,
				MultiRank: flags&1 != 0, Visible: "ROCR_VISIBLE_DEVICES=0 HIP_VISIBLE_DEVICES=0"}
			if flags&2 != 0 {
				r.Want = int(int8(want))
			}
			if flags&0xf8 == 0xf8 { // seldom
				r.Code, r.Vendor, r.Mode, r.NCCL = int32(want&1), Vendor(want>>1), Mode(want>>4), int(want)*1000
			}
			for n := next() % 12; n > 0; n-- {
				d := next()
				g := GPU{PCI: PCI{Bus: d & 7}, MIG: d&8 != 0, Active: d&0x70 == 0x70, ComputeExclusive: d&0x80 != 0}
				g.UUID[0] = d & 15
				g.LocalCPUs.Add(int(d & 1))
				r.GPUs = append(r.GPUs, g)
			}
			if flags&4 != 0 {
				r.CPUs.Add(int(want & 1))
			}
			ranks = append(ranks, r)
		}
		list, p := Choose(ranks)
		if len(ranks) > 0 {
			sound(t, ranks, list, p)
		}
	})
}
