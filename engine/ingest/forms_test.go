package ingest

import (
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/series"
)

// TestNumberForms asserts the power that cells of many forms give.
func TestNumberForms(t *testing.T) {
	for _, c := range []struct {
		header, cell string
		want         float64
	}{
		{"power (kW)", "１２３４．５", 1234.5},           // full width
		{"power (kW)", "-１２．５", -12.5},             // full-width digits, ASCII sign
		{"power (kW)", "－１２．５", -12.5},             // full-width sign
		{"power (kW)", "١٢٣٤٫٥", 1234.5},           // Arabic
		{"power (kW)", "١٬٢٣٤٫٥", 1234.5},          // Arabic, grouped
		{"power (kW)", "۱۲۳۴٫۵", 1234.5},           // Persian
		{"power (kW)", "१२३४.५", 1234.5},           // Devanagari
		{"power (kW)", "১২৩৪.৫", 1234.5},           // Bengali
		{"power (kW)", "๑๒๓๔.๕", 1234.5},           // Thai
		{"power (kW)", "၁၂၃၄.၅", 1234.5},           // Burmese
		{"power (kW)", "𝟏𝟐𝟑𝟒.𝟓", 1234.5},           // beyond 16 bits
		{"power (kW)", `="1234.5"`, 1234.5},        // a formula
		{"power (kW)", `"=""1234.5"""`, 1234.5},    // a formula, quoted
		{"power (kW)", "1234.5*", 1234.5},          // estimated
		{"power (kW)", "1234.5 (e)", 1234.5},       // estimated
		{"power (kW)", "1234.5 kW (est.)", 1234.5}, // estimated
		{"power", "1234.5 kW*", 1234.5},
		{"power (kW)", "1'234.5", 1234.5},
		{"power (kW)", "1’234.5", 1234.5},
		{"power (kW)", "1\u2009234.5", 1234.5},
		{"power (kW)", "1\u202f234.5", 1234.5},
		{"power (kW)", "1\u2007234.5", 1234.5},
		{"power (kW)", "1\u00a0234.5", 1234.5},
		{"power (kW)", "1234500 W", 1234.5},
		{"energy (MJ)", "3.6", 4}, // of 15 minutes
		{"energy (kJ)", "3600", 4},
		{"energy (GJ)", "0.0036", 4},
		{"energy MJ", "3.6", 4},
		{"energy (BTU)", "3412.14163313", 4},
		{"energy (kBTU)", "3.41214163313", 4},
		{"energy (kW-hr)", "4", 16},
		{"energy [Kilowatt-hours]", "4", 16},
		{"energy (watt hours)", "4000", 16},
		{"power (MWatt)", "1.25", 1250},
		{"output k.W.", "1.25", 1.25},
		{"energy (J)", "3.6e6", 4},
		{"energy (Ws)", "3600000", 4},
		{"energy (0.1 kWh)", "10", 4},
		{"power (kJ/h)", "3600", 1},
		{"power (kJ/s)", "1234.5", 1234.5},
		{"power (BTU/h)", "3412.14163313", 1},
		{"power (hp)", "10", 7.45699872},
		{"power (PS)", "10", 7.3549875},
		{"power kWh/h", "1234.5", 1234.5},
		{"power (mW)", "1234500000", 1234.5},
		{"power (mW)", "1.25", 1250}, // megawatts, as is mostly meant
	} {
		lines := []string{"time;" + c.header}
		for i := range 4 {
			at := time.Date(2024, 6, 1, 10, 15*i, 0, 0, time.UTC)
			lines = append(lines, at.Format("2006-01-02 15:04")+";"+c.cell)
		}
		res, err := Read(strings.NewReader(strings.Join(lines, "\n")+"\n"), Options{EnergyKind: KindIntervalEnergy})
		if err != nil {
			t.Errorf("%s %q: %v", c.header, c.cell, err)
			continue
		}
		got := res.Assets[0].Frame.Values(series.PowerKW)
		if len(got) != 4 || math.Abs(got[0]-c.want) > 1e-9*math.Abs(c.want) {
			t.Errorf("%s %q: %v kW, want %v %v", c.header, c.cell, got, c.want, res.Decisions)
		}
	}
}

// TestTimeForms asserts the UTC of times of many forms, in a site at Berlin.
func TestTimeForms(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	want := time.Date(2026, 6, 15, 12, 30, 0, 0, time.UTC) // 14:30 at the site
	for _, c := range []struct{ header, first, second string }{
		{"time", "20260615T143000", "20260615T144500"},
		{"time", "20260615T123000Z", "20260615T124500Z"},
		{"time", "20260615T123000.0Z", "20260615T124500.0Z"},
		{"time", "20260615T1430+0200", "20260615T1445+0200"},
		{"time", "2026-166T14:30", "2026-166T14:45"},
		{"time", "2026-W25-1T14:30", "2026-W25-1T14:45"},
		{"time", "2026W251T1430", "2026W251T1445"},
		{"time", "Mon 15 Jun 2026 14:30", "Mon 15 Jun 2026 14:45"},
		{"time", "2026. 06. 15. 14:30", "2026. 06. 15. 14:45"},
		{"time", "2026年6月15日 14時30分00秒", "2026年6月15日 14時45分00秒"},
		{"time", "260615 14:30", "260615 14:45"},
		{"time", "2026-06-15_14:30:00", "2026-06-15_14:45:00"},
		{"time", "2026-06-15 13:30 (UTC+01:00)", "2026-06-15 13:45 (UTC+01:00)"},
		{"time", "٢٠٢٦-٠٦-١٥ ١٤:٣٠", "٢٠٢٦-٠٦-١٥ ١٤:٤٥"},
		{"time", "２０２６－０６－１５ １４：３０", "２０２６－０６－１５ １４：４５"},
		{"time", "2026166T1430", "2026166T1445"},
		{"time", "Mon Jun 15 14:30:00 2026", "Mon Jun 15 14:45:00 2026"},
		{"time", "Mon Jun 15 13:30:00 CET 2026", "Mon Jun 15 13:45:00 CET 2026"},
		{"time", "Mon Jun 15 12:30:00 +0000 2026", "Mon Jun 15 12:45:00 +0000 2026"},
		{"time", "2606151430", "2606151445"},
		{"time", "260615143000", "260615144500"},
		{"time", "2026-06-15_14-30-00", "2026-06-15_14-45-00"},
		{"time", "2026-06-15 14-30-00", "2026-06-15 14-45-00"},
		{"time", "2026_06_15_14_30", "2026_06_15_14_45"},
		{"time", "2026年6月15日 午後2時30分", "2026年6月15日 午後2時45分"},
		{"time", "2026/6/15 下午 02:30:00", "2026/6/15 下午 02:45:00"},
		{"time", "2026. 6. 15. 오후 2:30:00", "2026. 6. 15. 오후 2:45:00"},
		{"time", "R8.06.15 14:30", "R8.06.15 14:45"},
		{"time", "令和8年6月15日 14時30分", "令和8年6月15日 14時45分"},
		{"time", "15/06/2569 14:30", "15/06/2569 14:45"},
		{"time", "２０２６／０６／１５　１４：３０", "２０２６／０６／１５　１４：４５"},
		{"Year;Day;HHMM", "2026;166;1430", "2026;166;1445"},
		{"MTU (CET/CEST)", "15.06.2026 14:30 - 15.06.2026 14:45", "15.06.2026 14:45 - 15.06.2026 15:00"},
		{"time (UTC)", "2026-06-15 12:30", "2026-06-15 12:45"},
		{"year;doy;hhmm", "2026;166;1430", "2026;166;1445"},
		{"time;offset", "2026-06-15 10:30;-02:00", "2026-06-15 10:45;-02:00"},
		{"local time;UTC offset", "2026-06-15 07:30;-5", "2026-06-15 07:45;-5"},
		{"local time;UTC", "2026-06-15 19:30;2026-06-15 12:30", "2026-06-15 19:45;2026-06-15 12:45"},
	} {
		text := c.header + ";power (kW)\n" + c.first + ";1,5\n" + c.second + ";2,5\n"
		res, err := Read(strings.NewReader(text), Options{Zone: berlin})
		if err != nil {
			t.Errorf("%s %q: %v", c.header, c.first, err)
			continue
		}
		if !res.First.Equal(want) || res.Rows.Stored != 2 || res.Interval != 15*time.Minute {
			t.Errorf("%s %q: %v, %d stored every %v, want %v %v", c.header, c.first, res.First, res.Rows.Stored, res.Interval, want, res.Decisions)
		}
	}
}
