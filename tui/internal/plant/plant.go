// Package plant is a simulated plant and its service, for tests of the console:
// every response depends on the time only.
package plant

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
)

// Plant is a site of equal units with one that is stopped since seven and one
// that produces a fifth too little.
type Plant struct {
	Customer string // empty: acme
	SiteID   string
	Units    int
	Zone     *time.Location
	Step     time.Duration
	Silent   time.Duration         // since the newest sample
	Late     map[int]time.Duration // since that of single units, beyond Silent
	Name     func(i int) string    // of unit i; nil names them INV-01 and so on
	// Backcasts is the number of days before today whose forecasts were computed afterwards.
	Backcasts int
}

// New returns a plant of eight units in Johannesburg, sampled each five minutes.
func New() *Plant {
	zone, err := time.LoadLocation("Africa/Johannesburg")
	if err != nil {
		zone = time.FixedZone("SAST", 2*3600)
	}
	return &Plant{SiteID: "Sibaya", Units: 8, Zone: zone, Step: 5 * time.Minute}
}

// Faulty units.
const (
	DeadUnit = 2
	WeakUnit = 4
)

// UnitKW is the capacity of each unit.
const UnitKW = 100

// UnitID returns the id of unit i.
func (p *Plant) UnitID(i int) string {
	if p.Name != nil {
		return p.Name(i)
	}
	return fmt.Sprintf("INV-%02d", i+1)
}

// customer returns the id of the plant's customer.
func (p *Plant) customer() string { return cmp.Or(p.Customer, "acme") }

// Site returns the plant's record.
func (p *Plant) Site() api.Site {
	return api.Site{
		SiteID: p.SiteID, CustomerID: p.customer(), Name: "Sibaya Solar", Timezone: p.Zone.String(), Location: "ZA",
		CapacityKW: float64(p.Units * UnitKW), Currency: "ZAR", TariffPerKWh: 1.5, AssetCount: p.Units,
	}
}

// Assets returns the units.
func (p *Plant) Assets() []api.Asset {
	out := make([]api.Asset, p.Units)
	for i := range out {
		out[i] = api.Asset{AssetID: p.UnitID(i), Name: fmt.Sprintf("Inverter %d", i+1), Type: "inverter", CapacityKW: UnitKW, SiteID: p.SiteID, CustomerID: p.customer()}
	}
	return out
}

// sun returns the share of capacity under a clear sky at t: a sine from six to
// eighteen.
func (p *Plant) sun(t time.Time) float64 {
	l := t.In(p.Zone)
	hour := float64(l.Hour()) + float64(l.Minute())/60 + float64(l.Second())/3600
	return max(math.Sin((hour-6)/12*math.Pi), 0) * 0.9
}

// PowerKW returns the power of unit i at t.
func (p *Plant) PowerKW(i int, t time.Time) float64 {
	cloud := 0.9 + 0.1*math.Sin(float64(t.Unix())/4000)
	kw := UnitKW * p.sun(t) * cloud
	switch {
	case i == DeadUnit && t.In(p.Zone).Hour() >= 7:
		return 0
	case i == WeakUnit:
		kw *= 0.8
	}
	return math.Round(kw*100) / 100
}

// Records returns all units' samples in [from, to), none after now.
func (p *Plant) Records(from, to, now time.Time) map[string][]api.Record {
	out := map[string][]api.Record{}
	now = now.Add(-p.Silent)
	first := from.Truncate(p.Step)
	if first.Before(from) {
		first = first.Add(p.Step)
	}
	for i := range p.Units {
		id, now := p.UnitID(i), now.Add(-p.Late[i])
		for t := first; t.Before(to) && !t.After(now); t = t.Add(p.Step) {
			kw := p.PowerKW(i, t)
			out[id] = append(out[id], api.Record{
				AssetID: id, SiteID: p.SiteID, Timestamp: api.At(t), Power: kw, KWh: kw * p.Step.Hours(), InverterState: 1, RunState: 1,
			})
		}
	}
	return out
}

// Means returns all units' means over five minutes in [from, to), where samples
// come more often; the newest is of what came so far.
func (p *Plant) Means(from, to, now time.Time) map[string][]api.Record {
	const bucket = 5 * time.Minute
	now = now.Add(-p.Silent)
	out := map[string][]api.Record{}
	for i := range p.Units {
		id, now := p.UnitID(i), now.Add(-p.Late[i])
		for t := from.Truncate(bucket); t.Before(to) && !t.After(now); t = t.Add(bucket) {
			sum, n := 0.0, 0
			for s := t; s.Before(t.Add(bucket)) && !s.After(now); s = s.Add(p.Step) {
				sum += p.PowerKW(i, s)
				n++
			}
			kw := math.Round(sum/float64(n)*100) / 100
			out[id] = append(out[id], api.Record{AssetID: id, SiteID: p.SiteID, Timestamp: api.At(t), Power: kw, KWh: kw * bucket.Hours() * float64(n) / float64(bucket/p.Step), InverterState: 1, RunState: 1})
		}
	}
	return out
}

// last returns the newest sample's time.
func (p *Plant) last(now time.Time) time.Time { return now.Add(-p.Silent).Truncate(p.Step) }

// Summary returns the day so far.
func (p *Plant) Summary(now time.Time) api.SiteSummary {
	start := p.Midnight(now)
	s := api.SiteSummary{TotalInverters: p.Units, LastUpdated: api.NullTime(api.At(p.last(now))), ServiceTime: api.At(now)}
	for i := range p.Units {
		if kw := p.PowerKW(i, p.last(now)); p.Silent <= api.PowerStaleAfter {
			s.TotalPowerKW += kw
			if kw > 0 {
				s.ActiveInverters++
			}
		}
		for t := start; !t.After(now.Add(-p.Silent)); t = t.Add(p.Step) {
			s.TotalKWhToday += p.PowerKW(i, t) * p.Step.Hours()
		}
	}
	expected, today := p.expectedKW(now), 0.0
	for h := range 24 {
		today += p.expectedKW(start.Add(time.Duration(h)*time.Hour + 30*time.Minute))
	}
	pr, availability, yield := 83.0, 92.5, s.TotalKWhToday/(float64(p.Units)*UnitKW)
	s.ExpectedPowerKW, s.ExpectedKWhToday, s.FleetPRPct, s.FleetAvailabilityPct, s.SpecificYieldKWhKWp = &expected, &today, &pr, &availability, &yield
	return s
}

func (p *Plant) expectedKW(t time.Time) float64 { return float64(p.Units) * UnitKW * p.sun(t) * 0.85 }

// Midnight returns the beginning of the site's day that holds t.
func (p *Plant) Midnight(t time.Time) time.Time {
	y, m, d := t.In(p.Zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, p.Zone)
}

func (p *Plant) value(t time.Time) api.ForecastValue {
	mid := p.expectedKW(t.Add(30 * time.Minute))
	return api.ForecastValue{
		Timestamp: api.At(t), PredictedPowerKW: mid, ConfidenceInterval: api.Interval{Lower: 0.6 * mid, Upper: 1.08 * mid},
		ClearSkyKW:        float64(p.Units) * UnitKW * p.sun(t.Add(30*time.Minute)),
		WeatherConditions: api.WeatherConditions{TemperatureC: 15 + 12*p.sun(t), IrradianceWM2: 1000 * p.sun(t.Add(30*time.Minute)), WindSpeedMS: 3.2},
	}
}

// Forecast is issued at the full hour: a week ahead, and the whole of today.
func (p *Plant) Forecast(now time.Time) api.GeneratedForecast {
	hour := now.Truncate(time.Hour)
	f := api.GeneratedForecast{
		ForecastID: "fc-1", CustomerID: p.customer(), SiteID: p.SiteID, GeneratedAt: api.At(hour), HorizonHours: 168, StepMinutes: 60,
		Metadata: api.ForecastMetadata{ModelType: "sunloop-blend", ModelVersion: "1.0.0", ModelAccuracy: 0.93, WeatherSource: weatherSource},
	}
	for h := range 168 {
		f.Forecasts = append(f.Forecasts, p.value(hour.Add(time.Duration(h)*time.Hour)))
	}
	for t := p.Midnight(now); t.Before(p.Midnight(now).AddDate(0, 0, 1)); t = t.Add(time.Hour) {
		f.Today = append(f.Today, p.value(t))
	}
	return f
}

// Findings returns one critical, one warning, and one that is over.
func (p *Plant) Findings(now time.Time) []api.Finding {
	day := p.Midnight(now)
	return []api.Finding{
		{
			SummaryID: "f-dead", AssetID: p.UnitID(DeadUnit), SiteID: p.SiteID, Active: true, FaultFamily: "inverter_outage", SeverityLabel: api.SeverityCritical,
			Confidence: 0.95, EnergyAtRiskKW: 42.5, LossFraction: 1, LostKWh: 268, RevenueAtRisk: 662, Currency: "ZAR", ModelVersion: "rules-1",
			StartedAt: api.At(day.Add(7 * time.Hour)), LastDetectionAt: api.At(p.last(now)), RootCause: "inverter failed",
			Summary: p.UnitID(DeadUnit) + " has made no power since 07:00; 268 kWh lost so far.",
			Evidence: []api.Evidence{
				{For: true, Text: "Power was 0 kW over four hours of daylight, while the other units of the site put the expectation at 65 kW."},
				{For: true, Text: "The lifetime counter is frozen."},
				{For: false, Text: "No error code was reported."},
			},
			Causes: []api.Cause{{Cause: "A part of the inverter has failed: power stage, capacitors, control board or relay.", Confidence: 0.4}, {Cause: "The AC breaker of the unit is open.", Confidence: 0.16}},
			RecommendedActions: []api.Action{
				{Priority: api.PriorityMedium, Action: "Swap the unit, or its failed part, if the test finds one."},
				{Priority: api.PriorityHigh, Action: "Read the event codes and try a remote restart."},
			},
		},
		{
			SummaryID: "f-weak", AssetID: p.UnitID(WeakUnit), SiteID: p.SiteID, Active: true, FaultFamily: "string_outage", SeverityLabel: api.SeverityWarning,
			Confidence: 0.86, EnergyAtRiskKW: 12.1, LossFraction: 0.2, LostKWh: 873, RevenueAtRisk: 91, Currency: "ZAR", ModelVersion: "rules-1",
			StartedAt: api.At(day.AddDate(0, 0, -17)), LastDetectionAt: api.At(p.last(now)), Summary: p.UnitID(WeakUnit) + " makes 20 % less than its peers.",
			Evidence: []api.Evidence{{For: true, Text: "A fifth is missing at every height of the sun."}},
		},
		{
			SummaryID: "f-over", AssetID: p.UnitID(0), AssetIDs: []string{p.UnitID(0), p.UnitID(1)}, SiteID: p.SiteID, FaultFamily: "communication_gap", SeverityLabel: api.SeverityNormal,
			Confidence: 0.99, LostKWh: 0, ModelVersion: "rules-1", StartedAt: api.At(day.AddDate(0, 0, -30)), EndedAt: api.At(day.AddDate(0, 0, -29)), LastDetectionAt: api.At(day.AddDate(0, 0, -29)),
			Summary: "Two units sent nothing for a day.",
		},
	}
}

// Uploads returns one running, one refused, one completed and one of a live feed.
func (p *Plant) Uploads(now time.Time) []api.Upload {
	day := p.Midnight(now)
	return []api.Upload{
		{UploadID: "upl-live", Kind: api.UploadNowcast, SiteID: p.SiteID, Filename: "live.csv", ProcessingStatus: api.UploadCompleted, RowsRead: 8, RowsStored: 8, CreatedAt: api.At(p.last(now))},
		{UploadID: "upl-way", Kind: api.UploadTrain, SiteID: p.SiteID, Filename: "history-2.csv", ProcessingStatus: api.UploadProcessing, Stage: "training", Progress: 0.6, RowsRead: 70080, RowsStored: 70080, CreatedAt: api.At(day.Add(10 * time.Hour))},
		{UploadID: "upl-bad", Kind: api.UploadTrain, SiteID: p.SiteID, Filename: "notes.csv", ProcessingStatus: api.UploadRejected, Error: "line 1: no column holds dates or times", ErrorLine: 1, CreatedAt: api.At(day.Add(9 * time.Hour))},
		{UploadID: "upl-done", Kind: api.UploadTrain, SiteID: p.SiteID, Filename: "history-1.csv", ProcessingStatus: api.UploadWithWarnings, RowsRead: 35040, RowsStored: 35000, RowsMissing: 30, RowsSkipped: map[string]int{"no number": 10},
			AssetIDs: []string{p.UnitID(0), p.UnitID(1)}, FirstRecord: api.At(day.AddDate(-1, 0, 0)), LastRecord: api.At(day), CreatedAt: api.At(day.Add(8 * time.Hour)),
			Decisions: []string{"encoding: UTF-8", "delimiter: comma", "unit: kW"}, Warnings: []string{"10 rows had no number."}},
	}
}

// Inspection returns what the import of a wide file of three units would do.
func Inspection(now time.Time) api.Inspection {
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC).AddDate(0, 0, -30)
	is := api.Inspection{
		Accept: true, RowsRead: 2880, RowsUsed: 2878, RowsSkipped: map[string]int{"the time is not a time": 2}, RowsStored: 5756, RowsMissing: 12, RowsReplaced: 192,
		Manufacturer: "SolarEdge", Unit: "W", ValueKind: "power", IntervalMinutes: 15, Timezone: "Africa/Johannesburg",
		AssetIDs: []string{"INV-01", "INV-02"}, NewAssetIDs: []string{"INV-02"}, FirstRecord: api.At(day), LastRecord: api.At(day.AddDate(0, 0, 30)),
		Columns: []api.FileColumn{
			{Number: 1, Title: "Time", Role: "time", Reason: "\"Time\", calendar dates"},
			{Number: 2, Title: "INV-01 AC power (W)", Role: "power", Unit: "W", Asset: "INV-01", Reason: "power is derived from it: its name or unit says power"},
			{Number: 3, Title: "INV-02 AC power (W)", Role: "power", Unit: "W", Asset: "INV-02", Reason: "power is derived from it: its name or unit says power"},
			{Number: 4, Title: "Irradiance (W/m2)", Role: "irradiance", Unit: "W/m2", Reason: "its name or unit says irradiance"},
			{Number: 5, Title: "Forecast (W)", Role: "ignored", Reason: "its name says that it is a forecast, an estimate or a plan"},
		},
		RunnersUp: []string{"columns: Forecast (W) is a unit of the plant"},
		Mapping:   "time=Time\npower[INV-01]=INV-01 AC power (W)\npower[INV-02]=INV-02 AC power (W)\nirradiance=Irradiance (W/m2)\nignore=Forecast (W)\nunit=W\n",
		Decisions: []string{"encoding: UTF-8", "delimiter: comma, in all lines"}, Warnings: []string{"values: INV-02 produces 3 % of its energy at the site's night; the zone Europe/Vienna would fit"},
		FirstDay: &api.FileDay{Day: day.Format(time.DateOnly), StepMinutes: 15},
	}
	for i := range 96 {
		h := float64(i) / 4
		is.FirstDay.Points = append(is.FirstDay.Points, api.FilePoint{
			Timestamp: api.At(day.Add(-2*time.Hour + time.Duration(i)*15*time.Minute)), PowerKW: max(0, 160*math.Sin((h-6)/12*math.Pi)),
		})
	}
	return is
}

// RefusedInspection is that of a file whose columns are not known.
func RefusedInspection() api.Inspection {
	return api.Inspection{Error: "line 1: no column holds power or energy of production", ErrorKind: "no_power_or_energy", ErrorLine: 1, Columns: []api.FileColumn{
		{Number: 1, Title: "Zeit", Role: "time", Reason: "\"Zeit\", calendar dates"}, {Number: 2, Title: "Q1", Role: "ignored", Reason: "neither its name nor its unit is known"},
	}}
}

// Models returns one in production and one before it.
func (p *Plant) Models(now time.Time) []api.Model {
	m := api.Model{
		ModelName: "sunloop-blend", ModelVersion: "1.1.0", ModelType: "forecasting", Status: api.ModelProduction, LastTrainedAt: api.At(p.Midnight(now).Add(2 * time.Hour)),
		TrainingDataWindow: api.Window{Start: api.At(p.Midnight(now).AddDate(-1, 0, 0)), End: api.At(p.Midnight(now))}, Members: map[string]float64{"trees": 0.7, "neural": 0.3},
		ModelAccuracy: 0.93, Coverage80: 0.81, SkillPercent: 10.6, Hyperparameters: api.Hyperparameters{Layers: []int{32, 16}, LearningRate: 0.001, Dropout: 0.1, Optimizer: "adam"},
		TrainingMetrics: api.TrainingMetrics{Epochs: 40, EarlyStopEpoch: 31, TrainLoss: 0.02, ValidationLoss: 0.025},
	}
	for i := range 40 {
		x := float64(i)
		m.TrainingMetrics.Curve = append(m.TrainingMetrics.Curve, api.EpochLoss{TrainLoss: 0.018 + 0.04*math.Exp(-x/6), ValidationLoss: 0.025 + 0.035*math.Exp(-x/5) + 0.00003*math.Abs(x-30)})
	}
	old, next := m, m
	old.ModelVersion, old.Status, old.TrainingMetrics.Curve = "1.0.0", api.ModelArchived, nil
	next.ModelVersion, next.Status, next.ModelAccuracy, next.Coverage80 = "1.2.0", api.ModelChallenger, 0.94, 0.79
	next.Evaluation = &api.ModelEvaluation{Verdict: "it errs less by 0.4 %, which is not enough: 1 % is asked", Method: api.EvaluatedHeldOut, Against: "1.1.0", GainPercent: 0.4, Samples: 214, EvaluatedAt: api.At(p.Midnight(now)),
		Production: &api.ModelScore{Samples: 214, PinballPercent: 1.92, NMAEPercent: 5.4, BiasPercent: -0.6, Coverage80: 0.81, WidthPercent: 17},
		Challenger: &api.ModelScore{Samples: 214, PinballPercent: 1.91, NMAEPercent: 5.3, BiasPercent: 0.2, Coverage80: 0.79, WidthPercent: 16}}
	return []api.Model{next, m, old}
}

// Activities returns the trail of the day.
func (p *Plant) Activities(now time.Time) []api.Activity {
	day := p.Midnight(now)
	at := func(h, m int) api.Time {
		return api.At(day.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute))
	}
	return []api.Activity{
		{Phase: api.PhaseObserve, Title: "File imported", Description: "history-1.csv: 35000 readings of 2 units", Timestamp: at(10, 29), SiteID: p.SiteID, Actor: "operator"},
		{Phase: api.PhaseOrient, Title: "Finding opened", Description: p.UnitID(DeadUnit) + " has made no power since 07:00; 268 kWh lost so far.", Timestamp: at(8, 2), SiteID: p.SiteID, AssetID: p.UnitID(DeadUnit), Actor: "detector"},
		{Phase: api.PhaseDecide, Title: "Forecast issued", Description: "168 hours ahead by sunloop-blend 1.1.0", Timestamp: at(8, 0), SiteID: p.SiteID, Actor: "pipeline"},
		{Phase: api.PhaseAct, Title: "Asset added", Description: "Inverter 3", Timestamp: at(7, 30), SiteID: p.SiteID, AssetID: p.UnitID(DeadUnit), Actor: "operator"},
	}
}
