package device

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecordsSurviveTheWire(t *testing.T) {
	for _, test := range cases {
		for _, want := range world(t, test.world, test.change...) {
			want.Driver, want.Code, want.Text = 12040, -7, "Gerät weg"
			b := Encode(want)
			require.Len(t, b, Size)
			got, err := Decode(b)
			require.NoError(t, err)
			require.Equal(t, want, got, test.name)
		}
	}
}

// The limits of the record cost what they must and no more.
func TestRecordsAreCut(t *testing.T) {
	long := Rank{Host: strings.Repeat("h", 1000), Visible: strings.Repeat("ü", 1000), Text: "dlopen: \xff\xfe\x00rest"}
	for i := range 100 {
		g := GPU{PCI: PCI{Bus: uint8(i)}, NUMA: -1}
		g.LocalCPUs.Add(i)
		long.GPUs = append(long.GPUs, g, g)
	}
	b := Encode(long)
	require.Len(t, b, Size)
	got, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("h", hostSize-3)+"…", got.Host)
	require.Equal(t, strings.Repeat("ü", visSize/2-2)+"…", got.Visible)
	require.Equal(t, "dlopen: ?", got.Text)
	require.Len(t, got.GPUs, MaxGPUs)
	for i, g := range got.GPUs {
		want := long.GPUs[i]
		if i/2 >= maxSets {
			want.LocalCPUs = CPUSet{}
		}
		require.Equal(t, want, g)
	}
	require.LessOrEqual(t, Size, 4096, "4096 ranks gather this from each")
}

func TestOtherRecordsAreRefused(t *testing.T) {
	good := Encode(Rank{GPUs: []GPU{made("n0", "A")}})
	for name, b := range map[string][]byte{
		"nothing": nil, "short": good[:Size-1], "long": append(append([]byte{}, good...), 0), "zero": make([]byte, Size),
		"layout": changed(good, 0), "vendor": changed(good, 4), "mode": changed(good, 5), "count": changed(good, 7),
		"CPU set": changed(good, gpusAt+gpuSize-1),
	} {
		_, err := Decode(b)
		require.Error(t, err, name)
	}
}

func changed(b []byte, at int) []byte {
	b = append([]byte{}, b...)
	b[at] = 200
	return b
}

func TestNames(t *testing.T) {
	cuda := GPU{UUID: UUID{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8}}
	require.Equal(t, "GPU-12345678-9abc-def0-0102-030405060708", cuda.ID())
	cuda.MIG = true
	require.Equal(t, "MIG-12345678-9abc-def0-0102-030405060708", cuda.ID())
	require.Equal(t, "GPU-18f61a3bcd02ab4f", GPU{UUID: UUID([]byte("18f61a3bcd02ab4f"))}.ID())
	require.Equal(t, "0000:3b:00.0", GPU{PCI: PCI{Bus: 0x3b}}.ID())
	require.Equal(t, "unknown GPU", GPU{}.ID())
	require.Equal(t, "7", Mode(7).String())
}

func TestPCI(t *testing.T) {
	for text, want := range map[string]PCI{
		"0000:3B:00.0": {Bus: 0x3b}, "00000000:3b:00.0": {Bus: 0x3b}, "10000:01:1f.7": {0x10000, 1, 0x1f, 7}, "0001:c1:02": {1, 0xc1, 2, 0},
		"0000:3b:00.0\x00\x00": {Bus: 0x3b},
	} {
		got, err := ParsePCI(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		again, err := ParsePCI(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, text := range []string{"", "3b:00.0", "0000:3b:00.x", "0000:100:00.0", "a:b:c:d", "100000000:0:0.0", "0000:-1:00.0"} {
		_, err := ParsePCI(text)
		require.Error(t, err, text)
	}
}

func TestCPUs(t *testing.T) {
	for text, want := range map[string]string{"": "", "0": "0", "0-3\n": "0-3", "8,0-3,9": "0-3,8-9", "63-64": "63-64", "1020-2000": "1020-1023", "4000": ""} {
		s, err := ParseCPUs(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.String())
		require.Equal(t, want == "", s.Empty())
	}
	for _, text := range []string{"x", "1-", "-1", "3-1", "1-2-3", "99999999999999999999"} {
		_, err := ParseCPUs(text)
		require.Error(t, err, text)
	}
	var s CPUSet
	s.Add(-1)
	s.Add(MaxCPUs)
	require.True(t, s.Empty())
	s.Add(700)
	require.True(t, s.Has(700))
	require.False(t, s.Has(-1) || s.Has(MaxCPUs) || s.Has(699))
	require.False(t, s.Meets(CPUSet{}))
	require.True(t, s.Meets(s))
}
