package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

// A kind of 16-bit float. What is expected is computed from the values of all 65536 of them: rounding is a search for the nearest.
type kind struct {
	name      string
	number    int
	infinity  uint16    // all patterns above it (without sign) are NaNs
	magnitude []float64 // of the patterns from 0 to infinity; infinity's is what would come next
	value     []float32
}

func newKind(name string, number, mantissa int) kind {
	k := kind{name: name, number: number}
	exponents := 1 << (15 - mantissa)
	bias := exponents/2 - 1
	k.infinity = uint16((exponents - 1) << mantissa)
	for pattern := 0; pattern <= int(k.infinity); pattern++ {
		exponent, fraction := pattern>>mantissa, pattern%(1<<mantissa)
		if exponent == 0 {
			exponent = 1
		} else {
			fraction += 1 << mantissa
		}
		k.magnitude = append(k.magnitude, math.Ldexp(float64(fraction), exponent-bias-mantissa))
	}
	for pattern := range 1 << 16 {
		magnitude := math.NaN()
		switch unsigned := uint16(pattern & 0x7fff); {
		case unsigned < k.infinity:
			magnitude = k.magnitude[unsigned]
		case unsigned == k.infinity:
			magnitude = math.Inf(1)
		}
		if pattern >= 1<<15 {
			magnitude = -magnitude
		}
		k.value = append(k.value, float32(magnitude))
	}
	return k
}

var kinds = []kind{newKind("f16", 0, 10), newKind("bf16", 1, 7)}

func isNaN(x float32) bool { return x != x }

func (k kind) isNaN(pattern uint16) bool { return pattern&0x7fff > k.infinity }

// quiet is the bit of a quiet NaN, the first below the exponent.
func (k kind) quiet() uint16 { return k.infinity ^ (k.infinity>>1 | 1<<14) }

// nearest is the pattern of the value nearest to x, of two equally near ones the even pattern.
func (k kind) nearest(x float32) uint16 {
	if isNaN(x) {
		return k.infinity + 1
	}
	size := math.Abs(float64(x))
	above := sort.SearchFloat64s(k.magnitude, size)
	pattern := uint16(min(above, int(k.infinity)))
	if above > 0 && above <= int(k.infinity) {
		up, down := k.magnitude[above]-size, size-k.magnitude[above-1]
		if down < up || down == up && above%2 == 1 {
			pattern--
		}
	}
	if math.Signbit(float64(x)) {
		pattern |= 1 << 15
	}
	return pattern
}

func (k kind) reduce(way int, a, b uint16) uint16 {
	x, y := k.value[a], k.value[b]
	switch way {
	case sum:
		return k.nearest(x + y)
	case prod:
		return k.nearest(x * y)
	}
	switch {
	case isNaN(x) || isNaN(y):
		return k.infinity + 1
	case x == y && (math.Signbit(float64(x)) == (way == least)):
		return a
	case x == y:
		return b
	case (x < y) == (way == least):
		return a
	}
	return b
}

// special patterns: zeros, smallest, subnormal, normal, near 1, largest, infinite, NaN quiet, signalling and full.
func (k kind) special() []uint16 {
	one := k.nearest(1)
	normal := k.nearest(float32(math.Ldexp(1, map[string]int{"f16": -14, "bf16": -126}[k.name])))
	patterns := []uint16{
		0, 1, 2, 3, normal - 1, normal, normal + 1, one - 1, one, one + 1, k.nearest(3), k.infinity - 2, k.infinity - 1, k.infinity,
		k.infinity + 1, k.infinity | k.quiet(), 0x7fff,
	}
	for _, p := range slices.Clone(patterns) {
		patterns = append(patterns, p|1<<15)
	}
	return patterns
}

// same fails unless the patterns are equal, or both NaN and the one got quiet.
func (k kind) same(t *testing.T, expected, got []uint16, what func(i int) string) {
	require.Len(t, got, len(expected))
	for i := range got {
		if got[i] != expected[i] && !(k.isNaN(expected[i]) && k.isNaN(got[i]) && got[i]&k.quiet() != 0) {
			require.Failf(t, "wrong", "%s: %#x (%v) instead of %#x (%v)",
				what(i), got[i], k.value[got[i]], expected[i], k.value[expected[i]])
		}
	}
}

// forAll calls test for every variant of every processor at hand, and for the functions of half.h (variant -1).
func forAll(t *testing.T, test func(t *testing.T, d *driver, variant int, k kind)) {
	forProcessors(t, func(t *testing.T, d *driver) {
		for i, name := range d.variants {
			for _, k := range kinds {
				if i == 0 {
					name = "chosen"
				}
				t.Run(name+"/"+k.name, func(t *testing.T) { test(t, d, i-1, k) })
			}
		}
	})
}

var operations = map[string]int{"sum": sum, "min": least, "max": greatest, "prod": prod}

func all() []uint16 {
	patterns := make([]uint16, 1<<16)
	for i := range patterns {
		patterns[i] = uint16(i)
	}
	return patterns
}

type pairs struct{ in, inout, expected []uint16 }

// Everything with each special value on either side, and random pairs; the half of those are of similar size.
func reductions(k kind, way int) pairs {
	var p pairs
	add := func(a, b uint16) {
		p.in, p.inout, p.expected = append(p.in, a), append(p.inout, b), append(p.expected, k.reduce(way, a, b))
	}
	for i, s := range k.special() {
		for _, pattern := range all() {
			if i%2 == 0 {
				add(pattern, s)
			} else {
				add(s, pattern)
			}
		}
		for _, other := range k.special() {
			add(s, other)
		}
	}
	random := rand.New(rand.NewPCG(5, 16))
	for range 1 << 19 {
		a := uint16(random.Uint32())
		add(a, uint16(random.Uint32()))
		add(a, a^uint16(random.Uint32N(1<<11))^uint16(random.Uint32N(2)<<15))
	}
	return p
}

func TestReduce(t *testing.T) {
	for name, way := range operations {
		expected := []pairs{reductions(kinds[0], way), reductions(kinds[1], way)}
		t.Run(name, func(t *testing.T) {
			forAll(t, func(t *testing.T, d *driver, variant int, k kind) {
				p := expected[k.number]
				got := run(t, d, variant, k, way, 0, p.in, p.inout)
				k.same(t, p.expected, got, func(i int) string { return fmt.Sprintf("%s of %#x and %#x", name, p.in[i], p.inout[i]) })
			})
		})
	}
}

func TestToF32(t *testing.T) {
	forAll(t, func(t *testing.T, d *driver, variant int, k kind) {
		for i, bits := range run(t, d, variant, k, toF32, 0, all(), make([]uint32, 1<<16)) {
			got, expected := math.Float32frombits(bits), k.value[i]
			right := bits == math.Float32bits(expected) || isNaN(got) && isNaN(expected)
			require.True(t, right, "%#x: %v instead of %v", i, got, expected)
		}
	})
}

// Every value, every middle between two with its neighbours, random patterns, and NaNs that truncation makes infinite.
func floatsNear(k kind) []uint32 {
	bits := []uint32{
		0x7f800001, 0x7f80ffff, 0x7f801000, 0x7fc00000, 0x7fffffff, 1, 0x7fffff, 0x800000, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff,
	}
	for i := range int(k.infinity) {
		middle := math.Float32bits(float32((k.magnitude[i] + k.magnitude[i+1]) / 2))
		bits = append(bits, math.Float32bits(float32(k.magnitude[i])), middle-1, middle, middle+1)
	}
	random := rand.New(rand.NewPCG(5, 32))
	for range 1 << 19 {
		bits = append(bits, random.Uint32()>>1)
	}
	for _, b := range slices.Clone(bits) {
		bits = append(bits, b|1<<31)
	}
	return bits
}

func TestFromF32(t *testing.T) {
	forAll(t, func(t *testing.T, d *driver, variant int, k kind) {
		in := floatsNear(k)
		expected := make([]uint16, len(in))
		for i, bits := range in {
			expected[i] = k.nearest(math.Float32frombits(bits))
		}
		got := run(t, d, variant, k, fromF32, 0, in, make([]uint16, len(in)))
		k.same(t, expected, got, func(i int) string { return fmt.Sprintf("f32 %#x", in[i]) })
	})
}

func TestDivide(t *testing.T) {
	infinity, nan := float32(math.Inf(1)), math.Float32frombits(0x7fffffff)
	divisors := []float32{1, 2, 3, 4, 7, 1000, 1e-3, -3, 0, math.SmallestNonzeroFloat32, infinity, nan}
	forAll(t, func(t *testing.T, d *driver, variant int, k kind) {
		for _, by := range divisors {
			expected := make([]uint16, 1<<16)
			for i := range expected {
				expected[i] = k.nearest(k.value[i] / by)
			}
			got := run(t, d, variant, k, divide, by, all(), all())
			k.same(t, expected, got, func(i int) string { return fmt.Sprintf("%#x / %v", i, by) })
		}
	})
}
