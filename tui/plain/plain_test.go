package plain

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"app.sunloop/backend/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC)

// zones of the sites of the tests.
var zones = ZonesOf([]api.Site{{SiteID: "Sibaya", Timezone: "Africa/Johannesburg"}, {SiteID: "Nowhere", Timezone: "Moon/Tycho"}})

func text(t *testing.T, table *Table) string {
	t.Helper()
	var b strings.Builder
	if err := table.Write(&b, ""); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTable(t *testing.T) {
	for _, tt := range []struct {
		name  string
		heads []string
		rows  [][]string
		want  string
	}{
		{"points stand below each other", []string{"unit", "#power kW"}, [][]string{{"INV-1", "3.41"}, {"long name", "1234"}, {"b", Unknown}, {"c", "-0.50"}},
			"unit       power kW\nINV-1          3.41\nlong name   1234\nb           unknown\nc             -0.50\n"},
		{"a column that is empty throughout is left out", []string{"a", "b", "c"}, [][]string{{"1", "", "3"}, {"4", "", ""}}, "a  c\n1  3\n4\n"},
		{"wide characters take two cells", []string{"site", "id"}, [][]string{{"発電所", "x"}, {"ab", "y"}}, "site    id\n発電所  x\nab      y\n"},
		{"text cannot steer the terminal", []string{"site", "id"}, [][]string{{"a\x1b[2J\nb\u202e", "x"}}, "site    id\na[2J b  x\n"},
		{"nothing of nothing", []string{"site"}, nil, ""},
	} {
		table := NewTable(tt.heads...)
		for _, r := range tt.rows {
			table.Add(r...)
		}
		if got := text(t, table); got != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, got, tt.want)
		}
	}
}

func TestNumber(t *testing.T) {
	low := 0.8312
	for want, got := range map[string]string{
		"3.41": Number(3.4149), "34.1": Number(34.149), "1234": Number(1234.4), "0.00": Number(0), Unknown: Number(math.NaN()),
		"83.1": Maybe(&low, 100), "-0.50": Number(-0.5),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if Number(math.Inf(1)) != Unknown || Maybe(nil, 1) != Unknown {
		t.Error("what is not known is not said so")
	}
}

// Times are the site's, with their offset; where the zone is not known, UTC's.
func TestWhen(t *testing.T) {
	at := api.At(noon)
	for site, want := range map[string]string{"Sibaya": "2026-11-28 11:30 +02:00", "Nowhere": "2026-11-28 09:30 +00:00", "other": "2026-11-28 09:30 +00:00"} {
		if got := When(at, zones.Of(api.SiteRef{SiteID: site})); got != want {
			t.Errorf("%s: %s, want %s", site, got, want)
		}
	}
	if got := When(api.Time{}, time.UTC); got != "" {
		t.Errorf("no time is %q", got)
	}
}

func ofSibaya(list []api.Alert) (all []Sited[api.Alert]) {
	for _, a := range list {
		all = append(all, Sited[api.Alert]{api.SiteRef{SiteID: "Sibaya"}, a})
	}
	return all
}

func TestAlerts(t *testing.T) {
	until := api.At(noon.Add(time.Hour))
	got := text(t, Alerts(ofSibaya([]api.Alert{
		{AlertSeverity: api.AlertCritical, SiteID: "Sibaya", AssetID: "INV-03", AlertType: "inverter_outage", Timestamp: api.At(noon), EnergyAtRiskKW: 24.66, State: api.AlertUnacknowledged, AlertID: "a1"},
		{AlertSeverity: api.AlertMinor, SiteID: "Sibaya", AlertType: "site_outage_grid", Timestamp: api.At(noon), State: api.AlertShelved, ShelvedUntil: until, AlertID: "a2",
			Metadata: &api.AlertMetadata{AssetIDs: []string{"a", "b"}}},
		{AlertSeverity: api.AlertMinor, SiteID: "Sibaya", AlertType: "soiling", Timestamp: api.At(noon), State: api.AlertAcknowledged, AcknowledgedBy: "anna", AlertID: "a3"},
	}), zones))
	want := `priority  site    unit        fault            since (site time)        at risk kW, daylight mean  state                                  id
critical  Sibaya  INV-03      inverter outage  2026-11-28 11:30 +02:00                      24.7   not acknowledged                       a1
low       Sibaya  2 units     site outage      2026-11-28 11:30 +02:00                       0.00  shelved until 2026-11-28 12:30 +02:00  a2
low       Sibaya  whole site  soiling          2026-11-28 11:30 +02:00                       0.00  acknowledged by anna                   a3
`
	if got != want {
		t.Errorf("alerts:\n%s\nwant:\n%s", got, want)
	}
}

// An order is late by the first of its times that is not met, and never once it
// has ended.
func TestOrderLate(t *testing.T) {
	at := api.At(noon)
	for _, tt := range []struct {
		name   string
		status string
		clocks api.OrderClocks
		late   bool
	}{
		{"new", api.OrderPending, api.OrderClocks{}, false},
		{"unassigned", api.OrderPending, api.OrderClocks{Breached: []string{"acknowledge"}}, true},
		{"taken late, to be begun in time", api.OrderPending, api.OrderClocks{AcknowledgedAt: at, Breached: []string{"acknowledge"}}, false},
		{"not begun", api.OrderOnHold, api.OrderClocks{AcknowledgedAt: at, Breached: []string{"start"}}, true},
		{"not restored", api.OrderInProgress, api.OrderClocks{AcknowledgedAt: at, StartedAt: at, Breached: []string{"start", "restore"}}, true},
		{"done late", api.OrderCompleted, api.OrderClocks{AcknowledgedAt: at, StartedAt: at, RestoredAt: at, Breached: []string{"restore"}}, false},
		{"cancelled", api.OrderCancelled, api.OrderClocks{Breached: []string{"acknowledge"}}, false},
	} {
		if got := OrderLate(api.Order{Status: tt.status, Clocks: tt.clocks}); got != tt.late {
			t.Errorf("%s: late %v, want %v", tt.name, got, tt.late)
		}
	}
}

// Days are the site's: the hours of a forecast that begins in the evening
// belong to two.
func TestForecastDays(t *testing.T) {
	f := api.GeneratedForecast{SiteID: "Sibaya", StepMinutes: 30}
	for i := range 6 {
		f.Forecasts = append(f.Forecasts, api.ForecastValue{Timestamp: api.At(time.Date(2026, 11, 28, 21, 30*i, 0, 0, time.UTC)), PredictedPowerKW: float64(i)})
	}
	want := "day         hours forecast  P10 kWh  P50 kWh  P90 kWh  note\n2026-11-28            1.00  unknown     0.50  unknown  sum of the hours\n2026-11-29            2.00  unknown     7.00  unknown  sum of the hours\n"
	if got := text(t, ForecastDays(f, zones)); got != want {
		t.Errorf("days of an answer without days:\n%s\nwant:\n%s", got, want)
	}
	// The quantiles of a day are the service's, not sums of those of the hours.
	f.Days = []api.ForecastDay{{Day: "2026-11-28", Hours: 24, Complete: true, P10KWh: 80, P50KWh: 100, P90KWh: 115}, {Day: "2026-11-29", Hours: 2, P10KWh: 5, P50KWh: 6.5, P90KWh: 8}}
	want = "day         hours forecast  P10 kWh  P50 kWh  P90 kWh  note\n2026-11-28           24.0     80.0    100      115\n2026-11-29            2.00     5.00     6.50     8.00  part of the day\n"
	if got := text(t, ForecastDays(f, zones)); got != want {
		t.Errorf("days:\n%s\nwant:\n%s", got, want)
	}
}

func TestFigures(t *testing.T) {
	v, low, high := 0.831, 0.8, 0.86
	got := text(t, Figures(api.KPIs{Figures: []api.KPI{
		{Name: "performance_ratio", Value: &v, Low: &low, High: &high, Unit: "1", DataAvailability: new(0.95)},
		{Name: "energy_lost", Unit: "kWh", Note: "Only 3 % of the data arrived; 90 % are needed."},
	}}))
	want := `figure               value  unit  low (95 %)  high (95 %)   data %  note
performance ratio     83.1  %           80.0         86.0     95.0
energy lost        unknown  kWh                            unknown  Only 3 % of the data arrived; 90 % are needed.
`
	if got != want {
		t.Errorf("figures:\n%s\nwant:\n%s", got, want)
	}
}

// The basis of figures is a sentence: an inferred rating says so, and a window that
// is over names its revision with the reason.
func TestFigureDetails(t *testing.T) {
	at := api.At(time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC))
	k := api.KPIs{AsOf: at, Revision: 2, Revisions: []api.KPIRevision{{Revision: 1}, {Revision: 2, Reason: "Settings have changed."}},
		Ratings:    &api.Ratings{DCKW: 120, DCSource: api.RatingSet, ACKW: 100, ACSource: api.RatingCapacity, ACInferred: true},
		Irradiance: &api.Irradiance{Description: "plane of array, class A"},
		Figures:    []api.KPI{{Name: "capacity_factor", From: at, To: at, Formula: "CF = E / (P_AC × t)", Rating: &api.FigureRating{KW: 100, Side: "ac", Source: api.RatingCapacity, Inferred: true}}}}
	want := []string{"rating: 120 kW DC; 100 kW AC, inferred from the capacity", "irradiance: plane of array, class A", "as of: 2026-06-15 10:00 +00:00, revision 2: Settings have changed."}
	if got := KPIWords(k, time.UTC); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	details := text(t, FigureDetails(k, time.UTC))
	for _, words := range []string{"CF = E / (P_AC × t)", "100 kW AC, inferred from the capacity", "2026-06-15 10:00 +00:00 to 2026-06-15 10:00 +00:00"} {
		if !strings.Contains(details, words) {
			t.Errorf("without %q:\n%s", words, details)
		}
	}
}
