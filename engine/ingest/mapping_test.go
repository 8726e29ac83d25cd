package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"app.sunloop/engine/series"
)

// dayOf returns a file of a day in steps of an hour: header, then a row by f.
func dayOf(header string, row func(hour int, light float64) string) string {
	b := header + "\n"
	for h := range 24 {
		light := max(0, 1-float64((h-12)*(h-12))/36)
		b += fmt.Sprintf("2026-06-01 %02d:00;%s\n", h, row(h, light))
	}
	return b
}

func mustMap(t *testing.T, text string) Mapping {
	t.Helper()
	m, err := ParseMapping(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMapping: what a mapping states has priority over names and values.
func TestMapping(t *testing.T) {
	file := dayOf("Datum;Quux A;Quux B;Leistung kW;Foo", func(h int, light float64) string {
		return fmt.Sprintf("%.1f;%.1f;%.1f;%.0f", 3000*light+7, 2000*light, 9*light, 800*light)
	})
	res, err := Read(strings.NewReader(file), Options{Now: now, Mapping: mustMap(t, "time=Datum,power[INV 1]=Quux A, power[INV 2]=#3,irradiance=foo,unit=W,zone=Asia/Tokyo")})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Assets) != 2 || res.Assets[0].Name != "INV 1" || res.Assets[1].Name != "INV 2" {
		t.Fatalf("units %+v", res.Assets)
	}
	f := res.Assets[0].Frame
	if at := f.Times[12]; at != 1780282800 || f.At(series.PowerKW, 12) != 3.007 || f.At(series.IrradianceWM2, 12) != 800 {
		t.Errorf("noon is %d, %g kW, %g W/m²", at, f.At(series.PowerKW, 12), f.At(series.IrradianceWM2, 12))
	}
	var roles []string
	for _, c := range res.Columns {
		roles = append(roles, c.Role+" "+c.Unit+" "+c.Asset)
		if c.Reason == "" {
			t.Errorf("column %d has no reason", c.Number)
		}
	}
	if want := []string{"time  ", "power W INV 1", "power W INV 2", "ignored kW ", "irradiance  "}; !slices.Equal(roles, want) {
		t.Errorf("columns %q, want %q", roles, want)
	}
	again, err := Read(strings.NewReader(file), Options{Now: now, Mapping: res.Mapping})
	if err != nil || again.Mapping.String() != res.Mapping.String() || again.Rows.Stored != res.Rows.Stored || again.First != res.First {
		t.Errorf("the suggested mapping %s reads otherwise: %v", res.Mapping, err)
	}
}

// TestSuggestedMapping: a file is read in the same way with the mapping that was inferred.
// TestShortNames asserts that the mapping of a file of which the names of units were shortened shortens those of a part of
// it that has other units.
func TestShortNames(t *testing.T) {
	rows := func(units ...string) string {
		text := "time;Series;kW\n"
		for i := range 8 {
			for _, u := range units {
				text += fmt.Sprintf("2024-06-01 10:%02d;%s;%d,5\n", 5*i, u, i+1)
			}
		}
		return text
	}
	first, err := Read(strings.NewReader(rows("WR1 Leistung", "WR2 Leistung")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ units, want []string }{
		{[]string{"Shed Leistung"}, []string{"Shed"}},
		{[]string{"WR1 Leistung", "Shed"}, []string{"WR1", "Shed"}},
		{[]string{"WR1 Leistung", "WR1"}, []string{"WR1 Leistung", "WR1"}},
	} {
		later, err := Read(strings.NewReader(rows(c.units...)), Options{Mapping: first.Mapping})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range later.Assets {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q by %q: %q, want %q", c.units, first.Mapping, got, c.want)
		}
	}
}

func TestSuggestedMapping(t *testing.T) {
	long := "Time;Device;Parameter;Wert\n"
	for h := range 24 {
		for _, d := range []string{"A", "B"} {
			long += fmt.Sprintf("2026-06-01 %02d:00;%s;AC power [kW];%d\n2026-06-01 %02d:00;%s;Irradiance [W/m2];%d\n", h, d, max(0, 30-(h-12)*(h-12)), h, d, max(0, 900-20*(h-12)*(h-12)))
		}
	}
	for name, file := range map[string]string{
		"one":     dayOf("Time;Power (kW);Ambient temp (°C)", func(h int, l float64) string { return fmt.Sprintf("%.3f;%d", 5*l, h) }),
		"wide":    dayOf("Time;INV 1 Power (W);INV 2 Power (W)", func(h int, l float64) string { return fmt.Sprintf("%.0f;%.0f", 5000*l, 4000*l) }),
		"counter": dayOf("Time;Total yield (kWh)", func(h int, l float64) string { return fmt.Sprintf("%.2f", 10000+float64(h)) }),
		"key":     dayOf("Time;Series;P kW", func(h int, l float64) string { return fmt.Sprintf("a, b;%.2f\n2026-06-01 %02d:00;c;%.2f", 5*l, h, 4*l) }),
		"long":    long,
	} {
		res, err := Read(strings.NewReader(file), Options{Now: now})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, err := ParseMapping(res.Mapping.Text())
		if err != nil || m.String() != res.Mapping.String() {
			t.Errorf("%s: %q reads back as %q: %v", name, res.Mapping, m, err)
		}
		again, err := Read(strings.NewReader(file), Options{Now: now, Mapping: m})
		if err != nil {
			t.Errorf("%s with %s: %v", name, m, err)
			continue
		}
		a, b := Summarize(res, nil), Summarize(again, nil)
		if a.Rows != b.Rows || a.SumPowerKW != b.SumPowerKW || a.ValueKind != b.ValueKind || !slices.Equal(a.Assets, b.Assets) {
			t.Errorf("%s: read as %d rows, %g, %s of %q; with %s %d, %g, %s of %q", name, a.Rows, a.SumPowerKW, a.ValueKind, a.Assets, m, b.Rows, b.SumPowerKW, b.ValueKind, b.Assets)
		}
	}
}

func TestMappingErrors(t *testing.T) {
	for _, text := range []string{"power", "power=", "foo=Bar", "power[INV1=X", "unit=V", "zone=Mars/Base", "dates=ymd", "decimal=;", "time[INV1]=T", "power=A,power=B", "time=A,time=B", "value=A"} {
		if _, err := ParseMapping(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	file := dayOf("Time;P kW;P kW;T", func(h int, l float64) string { return fmt.Sprintf("%g;%g;%d", l, l, h) })
	for text, want := range map[string]string{
		"power=Q":           `"Q"`,
		"power=P kW":        "columns 2 and 3",
		"time=T,power=T":    `"T"`,
		"time=P kW,power=T": "columns 2 and 3",
	} {
		_, err := Read(strings.NewReader(file), Options{Now: now, Mapping: mustMap(t, text)})
		var r *Refusal
		if !errors.As(err, &r) || r.Kind != Mapped || !strings.Contains(r.Message, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	m := mustMap(t, "# of the logger\ntime=Datum\npower[a,b]=\"P, \"\"AC\"\"\"\ndecimal=,\n")
	if got := m.String(); got != `time=Datum,power[a,b]="P, ""AC""",decimal=,` {
		t.Errorf("the mapping is %s", got)
	}
}

// TestProfile: the mapping that is kept for a shape reads the next file of that shape, and no other one.
func TestProfile(t *testing.T) {
	file := func(title string) string {
		return dayOf(title+";Quux;Power (kW)", func(h int, l float64) string { return fmt.Sprintf("%.1f;%.1f", 3*l, 9*l) })
	}
	m := mustMap(t, "power=Quux,unit=kW")
	first, err := Read(strings.NewReader(file("Time")), Options{Now: now, Mapping: m})
	if err != nil {
		t.Fatal(err)
	}
	profile := func(shape string) (Mapping, bool) { return m, shape == first.Shape }
	for title, want := range map[string]float64{"Time": 3, "Zeit": 9} {
		res, err := Read(strings.NewReader(file(title)), Options{Now: now, Profile: profile})
		if err != nil || res.Assets[0].Frame.At(series.PowerKW, 12) != want {
			t.Errorf("%s: %v, %v", title, res, err)
		}
	}
}
