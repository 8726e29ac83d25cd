package store

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

func parts() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 0xff}), 0, 4, -1), 0, 4)
}

// TestKeySorts: keys sort as their parts do, and give the parts back.
func TestKeySorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts().Draw(t, "a"), parts().Draw(t, "b")
		ka, kb := Key(a...), Key(b...)
		if got, want := bytes.Compare(ka, kb), slices.Compare(a, b); got != want {
			t.Fatalf("%q and %q compare as %d, want %d", ka, kb, got, want)
		}
		if got := Parts(ka); len(a) > 0 && !slices.Equal(got, a) {
			t.Fatalf("parts of %q: %q, want %q", ka, got, a)
		}
		// The keys with a prefix are those of the parts with that beginning.
		inside := bytes.Compare(kb, ka) >= 0 && (After(ka) == nil || bytes.Compare(kb, After(ka)) < 0)
		if begins := len(b) >= len(a) && slices.Equal(b[:len(a)], a); len(a) > 0 && inside != begins {
			t.Fatalf("%q within the prefix %q: %v, want %v", b, a, inside, begins)
		}
	})
}

func TestAfter(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{"a", "b"}, {"a\xff", "b"}, {"a\xff\xff", "b"}, {"ab", "ac"}, {"a\x00", "a\x01"},
	} {
		if got := After([]byte(c.prefix)); string(got) != c.want {
			t.Errorf("After(%q) = %q, want %q", c.prefix, got, c.want)
		}
	}
	for _, none := range []string{"", "\xff", "\xff\xff"} {
		if got := After([]byte(none)); got != nil {
			t.Errorf("After(%q) = %q", none, got)
		}
	}
}

func FuzzParts(f *testing.F) {
	for _, s := range []string{"", "a\x00\x01", "a\x00\xff\x00\x01\x00\x01", "\x00", "a", "\x00\x02"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if p := Parts(key); p != nil && !bytes.Equal(Key(p...), key) {
			t.Fatalf("%q has parts %q, which make %q", key, p, Key(p...))
		}
	})
}

// TestCollect joins frames whose columns come and go.
func TestCollect(t *testing.T) {
	nan := math.NaN()
	frame := func(first int64, q series.Quantity, values ...float64) series.Frame {
		var f series.Frame
		for i := range values {
			f.Times = append(f.Times, first+int64(i))
		}
		f.Set(q, values)
		return f
	}
	got, err := Collect(func(yield func(series.Frame, error) bool) {
		_ = yield(frame(1, series.PowerKW, 1, 2), nil) && yield(frame(3, series.TemperatureC, 20), nil) && yield(frame(4, series.PowerKW, 4), nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := frame(1, series.PowerKW, 1, 2, nan, 4)
	want.Set(series.TemperatureC, []float64{nan, nan, 20, nan})
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	stop := errors.New("stop")
	if _, err := Collect(func(yield func(series.Frame, error) bool) { yield(series.Frame{}, stop) }); !errors.Is(err, stop) {
		t.Errorf("the error becomes %v", err)
	}
}
