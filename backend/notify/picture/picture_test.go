package picture_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"testing"
	"time"

	"app.sunloop/backend/notify/picture"
)

func day(t *testing.T) picture.Day {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	d := picture.Day{Start: time.Date(2026, 6, 21, 0, 0, 0, 0, zone), End: time.Date(2026, 6, 22, 0, 0, 0, 0, zone), Zone: zone, Step: 15 * time.Minute}
	d.Now = d.Start.Add(18 * time.Hour)
	for i := range 96 {
		e := max(0, 80*math.Sin(math.Pi*(float64(i)-22)/52))
		d.Expected = append(d.Expected, e)
		a := e * (0.95 + 0.04*math.Sin(float64(i)))
		switch {
		case i >= 40 && i < 50:
			a = e * 0.5
		case i >= 56 && i < 64 || i >= 72:
			a = math.NaN()
		}
		d.Actual = append(d.Actual, a)
	}
	return d
}

// TestPNG draws a day with a loss and a time without data, and looks at the colours in
// the places where they must be.
func TestPNG(t *testing.T) {
	b, err := picture.PNG(day(t))
	if err != nil {
		t.Fatal(err)
	}
	if name := os.Getenv("SUNLOOP_PICTURE"); name != "" {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil || img.Bounds() != image.Rect(0, 0, picture.Width, picture.Height) {
		t.Fatalf("%v, %v", img.Bounds(), err)
	}
	if len(b) > 60<<10 {
		t.Errorf("the picture has %d bytes: too many for each message", len(b))
	}
	at := func(hour float64, y int) color.RGBA { return img.(*image.RGBA).RGBAAt(96+int(1000*hour/24), y) }
	for _, test := range []struct {
		what string
		hour float64
		y    int
		want color.RGBA
	}{
		{"loss at 11:00", 11, 200, color.RGBA{247, 190, 129, 255}},
		{"no data at 15:00", 15.2, 390, color.RGBA{241, 243, 245, 255}},
		{"nothing is due at 20:00", 20.1, 120, color.RGBA{255, 255, 255, 255}},
	} {
		if got := at(test.hour, test.y); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
	again, err := picture.PNG(day(t))
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("a second picture of the day differs, %v", err)
	}
}

// TestOddDays draws days of clock changes, without values, with extreme ones and with
// more or fewer values than steps.
func TestOddDays(t *testing.T) {
	base := day(t)
	spring, autumn := base, base
	spring.Start, spring.End = time.Date(2026, 3, 29, 0, 0, 0, 0, base.Zone), time.Date(2026, 3, 30, 0, 0, 0, 0, base.Zone)
	autumn.Start, autumn.End = time.Date(2026, 10, 25, 0, 0, 0, 0, base.Zone), time.Date(2026, 10, 26, 0, 0, 0, 0, base.Zone)
	empty, odd, short := base, base, base
	empty.Actual, empty.Expected = nil, nil
	odd.Actual = []float64{math.Inf(1), -5, math.MaxFloat64, math.NaN(), 1e-300}
	short.Step = 25 * time.Hour
	for name, d := range map[string]picture.Day{"23 hours": spring, "25 hours": autumn, "empty": empty, "odd": odd, "long step": short, "no zone": {Start: base.Start, End: base.End, Step: time.Hour}} {
		if _, err := picture.PNG(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, d := range map[string]picture.Day{"none": {}, "no step": {Start: base.Start, End: base.End}, "a week": {Start: base.Start, End: base.End.AddDate(0, 0, 7), Step: time.Hour}} {
		if _, err := picture.PNG(d); err == nil {
			t.Errorf("%s was drawn", name)
		}
	}
}

func BenchmarkPNG(b *testing.B) {
	t := &testing.T{}
	d := day(t)
	for b.Loop() {
		if _, err := picture.PNG(d); err != nil {
			b.Fatal(err)
		}
	}
}
