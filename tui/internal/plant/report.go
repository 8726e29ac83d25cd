package plant

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"app.sunloop/backend/api"
)

// weatherSource is the source of the forecasts' weather.
const weatherSource = "open-meteo"

// Issued returns the forecasts of the last days, newest first, each a little off.
func (p *Plant) Issued(now time.Time) []api.StoredForecast {
	var out []api.StoredForecast
	for i := range 4 {
		at := now.Truncate(time.Hour).Add(-time.Duration(24*i) * time.Hour)
		f := api.StoredForecast{
			ForecastID: "fc-" + at.UTC().Format("2006-01-02T15"), SiteID: p.SiteID, GeneratedAt: api.At(at), ModelName: "sunloop-blend", ModelVersion: "1.1.0", HorizonHours: 72,
			WeatherContext: api.WeatherContext{AvgTemperatureC: 21.4 + float64(i), AvgIrradianceWM2: 503, AvgWindSpeedMS: 3.2, Source: weatherSource},
		}
		for h := range 72 {
			v := p.value(at.Add(time.Duration(h) * time.Hour))
			off := 1 + 0.03*float64(i)
			f.ForecastPoints = append(f.ForecastPoints, api.ForecastPoint{Timestamp: v.Timestamp, HourAhead: h + 1, PredictedPowerKW: v.PredictedPowerKW * off, LowerConfKW: v.ConfidenceInterval.Lower, UpperConfKW: v.ConfidenceInterval.Upper, ClearSkyKW: v.ClearSkyKW})
		}
		out = append(out, f)
	}
	return out
}

// Accuracy returns the accuracy of the forecasts, lower with each lead.
func (p *Plant) Accuracy(now time.Time) api.Accuracy {
	day := func(back int) string { return p.Midnight(now).AddDate(0, 0, -back).Format(time.DateOnly) }
	a := api.Accuracy{CustomerID: p.customer(), SiteID: p.SiteID, Days: 30, From: day(30), To: day(1),
		Overall:  api.ModelScore{Samples: 43120, PinballPercent: 2.1, NMAEPercent: 5.9, BiasPercent: 0.8, Coverage80: 0.79, WidthPercent: 19},
		Promised: &api.ModelScore{Samples: 4000, PinballPercent: 1.9, NMAEPercent: 5.2, BiasPercent: 0.1, Coverage80: 0.8, WidthPercent: 18},
	}
	if p.Backcasts > 0 { // the first day of a site
		a.From, a.To, a.Overall = "", "", api.ModelScore{}
		a.Backcast = &api.ModelScore{Samples: 340, PinballPercent: 2.3, NMAEPercent: 6.4, BiasPercent: -0.4, Coverage80: 0.82, WidthPercent: 21}
		return a
	}
	for i, lead := range [][2]int{{0, 6}, {6, 24}, {24, 48}, {48, 72}, {72, 168}} {
		x := float64(i)
		a.Leads = append(a.Leads, api.LeadAccuracy{FromHours: lead[0], ToHours: lead[1], ModelScore: api.ModelScore{Samples: 900 * (i + 1), PinballPercent: 1.1 + 0.4*x, NMAEPercent: 3.4 + 1.1*x, BiasPercent: 0.6 - 0.5*x, Coverage80: 0.82 - 0.04*x, WidthPercent: 12 + 3*x}})
	}
	return a
}

// Moves returns the registry's, newest first.
func (p *Plant) Moves(now time.Time) []api.ModelMove {
	at := func(days int) api.Time { return api.At(p.Midnight(now).AddDate(0, 0, -days).Add(2 * time.Hour)) }
	move := func(version, from, to, actor, reason string, days int) api.ModelMove {
		return api.ModelMove{ModelName: "sunloop-blend", ModelVersion: version, From: from, To: to, At: at(days), Actor: actor, Reason: reason}
	}
	return []api.ModelMove{
		move("1.2.0", "", api.ModelChallenger, "pipeline", "trained", 0),
		move("1.1.0", api.ModelChallenger, api.ModelProduction, "anna", "better in the last three weeks", 30),
		move("1.0.0", api.ModelProduction, api.ModelArchived, "anna", "succeeded by 1.1.0: better in the last three weeks", 30),
		move("1.0.0", "", api.ModelChallenger, "pipeline", "trained", 200),
	}
}

// Issues returns those of the findings: a new one, one that is in progress, and one
// that was closed.
func (p *Plant) Issues(now time.Time) []api.Issue {
	at := func(days, hour int) api.Time {
		return api.At(p.Midnight(now).AddDate(0, 0, -days).Add(time.Duration(hour) * time.Hour))
	}
	made := func(days int) api.IssueMove {
		return api.IssueMove{To: api.IssueNew, At: at(days, 8), Actor: "detector"}
	}
	taken := api.IssueMove{From: api.IssueNew, To: api.IssueInProgress, At: at(16, 9), Actor: "anna", Note: "strings are measured on Tuesday"}
	closed := api.IssueMove{From: api.IssueInProgress, To: api.IssueResolved, At: at(29, 9), Actor: "bob", Note: "confirmed: the logger's switch had lost power"}
	return []api.Issue{
		{IssueID: "iss-dead", SiteID: p.SiteID, AssetID: p.UnitID(DeadUnit), SummaryID: "f-dead", Status: api.IssueNew, Priority: api.PriorityHigh, History: []api.IssueMove{made(0)}},
		{IssueID: "iss-weak", SiteID: p.SiteID, AssetID: p.UnitID(WeakUnit), SummaryID: "f-weak", Status: api.IssueInProgress, Priority: api.PriorityMedium, History: []api.IssueMove{made(17), taken}},
		{IssueID: "iss-over", SiteID: p.SiteID, AssetID: p.UnitID(0), SummaryID: "f-over", Status: api.IssueResolved, History: []api.IssueMove{made(30), closed}},
	}
}

// KPIs are KPIs of the last 30 whole days, one of which is not available.
func (p *Plant) KPIs(now time.Time) api.KPIs {
	from, to := p.Midnight(now).AddDate(0, 0, -30), p.Midnight(now)
	k := api.KPIs{SiteID: p.SiteID, From: api.At(from), To: api.At(to), StepMinutes: 15, Units: p.Units, RatedKW: float64(p.Units * UnitKW), Reportable: true, UsefulBy: []string{"forecast", "peers"}}
	data := 0.993
	k.DataAvailability = &data
	k.AsOf, k.Revision = api.At(to.Add(6*time.Hour)), 2
	k.Revisions = []api.KPIRevision{{Revision: 1, AsOf: api.At(to.Add(time.Hour)), Reason: "First computed."}, {Revision: 2, AsOf: k.AsOf, Reason: "Telemetry of the window has changed.", Changed: []string{"performance_ratio"}}}
	k.Ratings = &api.Ratings{DCKW: 1.2 * k.RatedKW, DCSource: api.RatingSet, ACKW: k.RatedKW, ACSource: api.RatingCapacity, ACInferred: true, Inferred: true}
	k.Irradiance = &api.Irradiance{Role: api.IrradianceFlat, Transposed: true, Class: "A", Description: "horizontal, transposed to the plane of the modules (DISC and Perez), class A, ±10 %"}
	figure := func(name, unit, source, basis string, value float64) *api.KPI {
		k.Figures = append(k.Figures, api.KPI{Name: name, Value: &value, Unit: unit, From: k.From, To: k.To, Source: source, Basis: basis, DataAvailability: &data, Reportable: true, AsOf: k.AsOf, Revision: k.Revision})
		return &k.Figures[len(k.Figures)-1]
	}
	figure("data_availability", "1", "samples received over samples due, by day", "intervals by day with a reading, of all units", data)
	figure("specific_yield", "kWh/kWp", "IEC 61724-1, final yield", "mean power", 152.4)
	ratio := figure("performance_ratio", "1", "IEC 61724-1", "mean power", 0.834)
	ratio.Formula, ratio.Irradiance, ratio.Covered = "PR = Yf / Yr = Σ P × dt / Σ (P_DC × G / 1 kW/m² × dt)", k.Irradiance, &data
	ratio.Rating = &api.FigureRating{KW: k.Ratings.DCKW, Side: "dc", Source: api.RatingSet}
	ratio.Energy, ratio.Excluded = &api.EnergyShares{Counter: 0.82, Power: 0.15, Extrapolated: 0.03}, []api.ExcludedHours{{Category: "no_power", Hours: 2.5}}
	figure("time_availability", "1", "Sandia SAND2015-10223, raw", "useful time by rating", 0.941)
	figure("energy_lost", "kWh", "expected less measured over events", "losses that detection found", 1141)
	k.Figures = append(k.Figures, api.KPI{Name: "mttr_mean", Unit: "h", From: k.From, To: k.To, Source: "restored less onset, mean", DataAvailability: &data, Note: "No failure ended in the window."})
	k.Categories = []api.CategoryHours{{Category: api.AvailabilityFull, Hours: 302, Share: 0.94}, {Category: api.AvailabilityPartial, Hours: 9, Share: 0.03}, {Category: api.AvailabilityForced, Hours: 10, Share: 0.03}}
	actual := math.Round(152.4 * k.RatedKW)
	k.Losses = &api.Losses{ExpectedBy: api.ExpectedByForecast, ActualKWh: actual, ExpectedKWh: actual + 1141 + 2400, UnexplainedKWh: 2400,
		ByCause: []api.LossCause{{FaultFamily: "string_outage", LostKWh: 873}, {FaultFamily: "inverter_outage", LostKWh: 268}}}
	return k
}

// Fills are two runs of gap filling, newest first.
func (p *Plant) Fills(now time.Time) []api.InterpolationResult {
	air, sun := 24.1, 612.0
	run := func(id string, days, gaps int) api.InterpolationResult {
		at := p.Midnight(now).AddDate(0, 0, -days)
		return api.InterpolationResult{
			ResultID: id, SiteID: p.SiteID, ProcessedAt: api.At(at.Add(3 * time.Hour)), Method: "bilstm", AssetIDs: []string{p.UnitID(0), p.UnitID(1)}, DataWindow: api.Window{Start: api.At(at.AddDate(-1, 0, 0)), End: api.At(at)},
			GapStatistics:      api.GapStatistics{TotalGaps: gaps, AverageGapMinutes: 62, LargestGapMinutes: 1450, CoverageImprovementPercent: 1.7},
			PerformanceMetrics: fillErrors(12.5, 7.4, 0.97, 1.6),
			WeatherFeatures:    api.WeatherFeatures{MeanTemperatureC: &air, MeanIrradianceWM2: &sun}, Methods: map[string]int{"bilstm": gaps - 12, "bridge": 12},
			ByGapLength: []api.GapLengthMetrics{
				{GapMinutes: 15, KnownFrom: "sibling units", Method: "bridge", HiddenGaps: 120, PerformanceMetrics: fillErrors(4.1, 2.2, 0.99, 0.5)},
				{GapMinutes: 180, KnownFrom: "weather", Method: "bilstm", HiddenGaps: 80, PerformanceMetrics: fillErrors(14.5, 8.2, 0.96, 1.8)},
				{GapMinutes: 1440, KnownFrom: "nothing", Method: "bilstm", HiddenGaps: 40, PerformanceMetrics: fillErrors(41, 28, 0.71, 5.1)},
			},
			FilledValues: "sunloop://objects/" + id + ".csv", Notes: []string{"telemetry itself stays as it was measured"},
		}
	}
	return []api.InterpolationResult{run("int-2", 0, 212), run("int-1", 7, 198)}
}

// Sources are an inverter that is read and one that does not respond, a folder and a server
// that does not respond, and two brokers.
func (p *Plant) Sources(now time.Time) api.SourcesResponse {
	age, old, rate, power, volts := 4.0, 5400.0, 12.0, 41.5, 230.25
	return api.SourcesResponse{Success: true, SiteID: p.SiteID, Reads: true, Count: 2, Sources: []api.SourceDevice{
		{AssetID: p.UnitID(0), Kind: "inverter", Manufacturer: "Sunny", Model: "Fifty", Serial: "S-0001", Protocol: "SunSpec", Connection: "tcp://192.0.2.10:502 unit 1", State: api.SourceReading,
			LastReadAt: api.At(now), AgeS: &age, PerMinute: &rate, Readings: 8640, Errors: 2, PowerKW: &power, Stored: true},
		{AssetID: p.UnitID(1), Kind: "inverter", Manufacturer: "Sunny", Model: "Fifty", Serial: "S-0002", Protocol: "SunSpec", Connection: "tcp://192.0.2.10:502 unit 2", State: api.SourceUnreachable,
			LastReadAt: api.At(now.Add(-90 * time.Minute)), AgeS: &old, Readings: 7500, Errors: 91, Error: "read model 103: no response", ErrorAt: api.At(now.Add(-time.Minute)), Dropped: map[string]int{"frozen": 3}, Stored: true},
	}, Values: []api.SourceValue{{Name: "103.PhVphA", Value: &volts}, {Name: "103.TmpOt"}}, Files: []api.SourceFiles{
		{Name: "exports", Kind: "folder", Place: "/srv/exports", State: api.SourceReading, LastReadAt: api.At(now.Add(-8 * time.Second)), Taken: 96, Refused: 1, Waiting: 2, LastFile: "day.csv", LastUploadID: "upl-1",
			Sending:  &api.SourceSending{State: "service not reached", Error: "connect: connection refused", RetryAt: api.At(now.Add(2 * time.Minute)), Waiting: 3},
			Refusals: []api.SourceRefusal{{File: "notes.csv", At: api.At(now.Add(-time.Hour)), By: api.RefusedByService, Reason: "no column has times", UploadID: "upl-0"}}},
		{Name: "portal", Kind: "sftp", Place: "sftp://plant@portal.example:22/out", State: api.SourceUnreachable, LastReadAt: api.At(now.Add(-3 * time.Hour)), Taken: 4, Error: "connect: connection refused",
			ErrorAt: api.At(now.Add(-2 * time.Hour)), RetryAt: api.At(now.Add(5 * time.Minute))},
	}, Brokers: []api.SourceBroker{
		{Address: "mqtts://broker.example:8883", Dialect: "opendtu", Connected: true, Version: "5", Messages: 51840, Refused: map[string]int{"not a number": 2}, Others: []string{"114100000009"}},
		{Address: "mqtt://192.0.2.20:1883", Dialect: "victron", Messages: 12, Error: "connection refused: not authorized"},
	}, Registers: []api.SourceRegisters{{Address: 40070, Words: []int{0x67, 0x32, 0x8fc}}}}
}

// Discovery is a search that found three devices, of which one can be added.
func (p *Plant) Discovery(now time.Time) api.DiscoveryResponse {
	power := 41500.0
	return api.DiscoveryResponse{Success: true, State: api.DiscoveryEnded, StartedAt: api.At(now.Add(-time.Minute)), EndedAt: api.At(now.Add(-20 * time.Second)), Targets: []string{"192.168.1.0/28"}, Units: "1-3",
		Addresses: 16, Searched: 16, Count: 3, Missed: []string{"tcp://192.168.1.2:502: no response"}, Devices: []api.FoundDevice{
			{AssetID: "S-0003", Address: "tcp://192.168.1.4:502", Unit: 1, Kind: "inverter", Manufacturer: "Sunny", Model: "Fifty", Serial: "S-0003", Version: "1.2", RatingKW: 50, PowerW: &power, Models: []int{103, 160}, Readable: true},
			{AssetID: "S-0001", Address: "tcp://192.168.1.5:502", Unit: 1, Kind: "inverter", Manufacturer: "Sunny", Model: "Fifty", Serial: "S-0001", RatingKW: 50, PowerW: &power, Models: []int{103}, Readable: true, Added: true},
			{AssetID: "192.168.1.9-unit-2", Address: "tcp://192.168.1.9:502", Unit: 2, Kind: "other", Manufacturer: "Logger", Model: "X"},
		}}
}

// discover answers the requests of a search.
func (p *Plant) discover(now time.Time, q question) (answer any, ok bool) {
	d := p.Discovery(now)
	switch q.Action {
	case api.ActionDiscovery, api.ActionStopDiscovery:
	case api.ActionDiscover:
		d.State, d.Searched, d.At, d.AtUnit = api.DiscoveryRunning, 3, "tcp://192.168.1.3:502", 2
	case api.ActionAddDevices:
		d.Devices[0].Added, d.NewDevices = true, 1
	case api.ActionInvite:
		return api.GatewaysResponse{Success: true, Message: "The code is shown only now and works once", Code: "ABCD-EFGH-JKLM-NPQR", ExpiresAt: api.At(now.Add(time.Hour))}, true
	default:
		return nil, false
	}
	return d, true
}

// Gateways are one that sends data.
func (p *Plant) Gateways(now time.Time) []api.GatewayRecord {
	return []api.GatewayRecord{{GatewayID: "roof gateway", APIKeyID: "key_7", Epoch: "e1", SiteID: p.SiteID, CustomerID: p.customer(), LastSeenAt: api.At(now.Add(-20 * time.Second)), LastPointAt: api.At(now.Add(-40 * time.Second)), Backlog: 12, ClockOffsetS: 75, ClockWrong: true}}
}

// Gaps are two gaps of the newest run, the longest first.
func (p *Plant) Gaps(now time.Time) api.GapsResponse {
	yesterday := p.Midnight(now).AddDate(0, 0, -1)
	gap := func(unit int, from time.Time, steps int, method string) api.FilledGap {
		g := api.FilledGap{AssetID: p.UnitID(unit), Start: api.At(from), End: api.At(from.Add(time.Duration(steps) * 15 * time.Minute)), Minutes: 15 * float64(steps), StepMinutes: 15, Method: method}
		for i := range steps {
			kw := p.PowerKW(unit, from.Add(time.Duration(i)*15*time.Minute))
			g.P10KW, g.P50KW, g.P90KW = append(g.P10KW, 0.8*kw), append(g.P50KW, kw), append(g.P90KW, 1.15*kw)
			g.EnergyKWh += kw / 4
		}
		return g
	}
	gaps := []api.FilledGap{gap(0, yesterday.Add(9*time.Hour), 20, "bilstm"), gap(1, yesterday.Add(14*time.Hour), 4, "bridge")}
	return api.GapsResponse{Success: true, ResultID: "int-2", SiteID: p.SiteID, Gaps: gaps, Count: 2, TotalGaps: 212}
}

// Runs returns what people started.
func (p *Plant) Runs(now time.Time) []api.ManualRun {
	of := func(id, kind, status, result string, minutes int) api.ManualRun {
		at := now.Add(-time.Duration(minutes) * time.Minute)
		r := api.ManualRun{RunID: id, SiteID: p.SiteID, CustomerID: p.customer(), Kind: kind, Status: status, Result: result, RequestedBy: "anna", RequestedAt: api.At(at), StartedAt: api.At(at)}
		if r.Ended() {
			r.Progress, r.EndedAt = 1, api.At(at.Add(time.Minute))
		}
		return r
	}
	training := of("run-3", api.RunTrain, api.RunRunning, "", 2)
	training.Progress = 0.42
	detection := of("run-2", api.RunDetect, api.RunCompleted, "2 findings were there in the window: string outage 1, soiling 1; 120 kWh lost.", 30)
	detection.From, detection.To = api.At(p.Midnight(now).AddDate(0, -2, 0)), api.At(p.Midnight(now).AddDate(0, -1, 0))
	return []api.ManualRun{training, detection, of("run-1", api.RunForecast, api.RunFailed, "The site has no model yet: train one first.", 60*24*3)}
}

// History returns what was found in the year before now.
func (p *Plant) History(now time.Time) api.History {
	at := func(days int) api.Time { return api.At(p.Midnight(now).AddDate(0, 0, days).Add(9 * time.Hour)) }
	of := func(family string, unit, from, to int, kWh, sure float64) api.Finding {
		return api.Finding{FaultFamily: family, AssetID: p.UnitID(unit), StartedAt: at(from), EndedAt: at(to), LostKWh: kWh, Confidence: sure}
	}
	running := of("string_outage", 2, -40, 0, 410, 0.84)
	running.Active, running.EndedAt = true, api.Time{}
	site := of("curtailment", 0, -200, -198, 95, 0.8)
	site.AssetID, site.AssetIDs = "", []string{p.UnitID(0), p.UnitID(1), p.UnitID(2), p.UnitID(3), p.UnitID(4)}
	return api.History{
		From: at(-365), To: at(0), Count: 9, Active: 1, LostKWh: 1935,
		Families: []api.HistoryFamily{
			{FaultFamily: "inverter_outage", Count: 4, LastedHours: 131.5, LostKWh: 1430, AssetIDs: []string{p.UnitID(0), p.UnitID(3)}},
			{FaultFamily: "string_outage", Count: 1, Active: 1, LastedHours: 960, LostKWh: 410, AssetIDs: []string{p.UnitID(2)}},
			{FaultFamily: "curtailment", Count: 1, LastedHours: 48, LostKWh: 95, AssetIDs: site.AssetIDs},
			{FaultFamily: "communication_gap", Count: 3, LastedHours: 7.25, AssetIDs: []string{p.UnitID(1)}},
		},
		LargestLoss: []api.Finding{of("inverter_outage", 3, -310, -306, 890, 0.95), running, of("inverter_outage", 0, -120, -119, 320, 0.93), site},
	}
}

// Daily returns the energy of whole days up to now.
func (p *Plant) Daily(from, to, now time.Time) map[string][]api.Record {
	out := map[string][]api.Record{}
	for i := range p.Units {
		id := p.UnitID(i)
		for day := p.Midnight(from); day.Before(to) && day.Before(now); day = day.AddDate(0, 0, 1) {
			kwh := 0.0
			for h := range 24 {
				kwh += p.PowerKW(i, day.Add(time.Duration(h)*time.Hour+30*time.Minute))
			}
			out[id] = append(out[id], api.Record{AssetID: id, SiteID: p.SiteID, Timestamp: api.At(day), Power: kwh / 24, KWh: kwh})
		}
	}
	return out
}

// report answers the requests of the analysis screens; ok is false for others.
func (p *Plant) report(r *http.Request, now time.Time, q question) (answer any, ok bool) {
	switch {
	case r.URL.Path == api.PathTerminalForecast && q.Action == api.ActionAccuracy:
		return api.AccuracyResponse{Success: true, Accuracy: p.Accuracy(now)}, true
	case r.URL.Path == api.PathTerminalForecast:
		return api.StoredForecastsResponse{Success: true, CustomerID: p.customer(), ForecastResults: p.Issued(now)}, true
	case r.URL.Path == api.PathInterpolation && q.Action == api.ActionGaps:
		return p.Gaps(now), true
	case r.URL.Path == api.PathInterpolation:
		return api.InterpolationsResponse{Success: true, CustomerID: p.customer(), InterpolationResults: p.Fills(now)}, true
	case r.URL.Path == api.PathRuns:
		return api.RunsResponse{Success: true, Runs: p.Runs(now), Count: len(p.Runs(now))}, true
	case r.URL.Path == api.PathGateways && q.Action == api.ActionSources:
		return p.Sources(now), true
	case r.URL.Path == api.PathGateways && q.Action != api.ActionList && q.Action != "":
		return p.discover(now, q)
	case r.URL.Path == api.PathGateways:
		return api.GatewaysResponse{Success: true, Gateways: p.Gateways(now), Count: 1}, true
	case r.URL.Path == api.PathIssues:
		return api.IssuesResponse{Success: true, Issues: p.Issues(now)}, true
	case r.URL.Path == strings.Replace(api.PathSiteKPIs, "{site_id}", p.SiteID, 1):
		return p.KPIs(now), true
	case r.URL.Path == api.PathModels && q.Action == api.ActionHistory:
		return api.ModelHistoryResponse{Success: true, History: p.Moves(now)}, true
	}
	return nil, false
}

// Hours returns all units' means over an hour in [from, to).
func (p *Plant) Hours(from, to, now time.Time) map[string][]api.Record {
	out := map[string][]api.Record{}
	for id, records := range p.Records(from, to, now) {
		for i := 0; i < len(records); {
			at, sum, n := records[i].Timestamp.Truncate(time.Hour), 0.0, 0
			for ; i < len(records) && records[i].Timestamp.Truncate(time.Hour).Equal(at); i++ {
				sum += records[i].Power
				n++
			}
			out[id] = append(out[id], api.Record{AssetID: id, SiteID: p.SiteID, Timestamp: api.At(at), Power: sum / float64(n), KWh: sum / float64(n)})
		}
	}
	return out
}

// Month returns a file of 33 days of hours, up to now, of two units of which
// the second is stopped for its last three days: enough for detection.
func Month(now time.Time) string {
	const hours = 33 * 24
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw\n")
	for h := range hours {
		at := now.Truncate(time.Hour).Add(time.Duration(h-hours) * time.Hour)
		power := 45 * max(0, math.Sin(float64(at.Hour()-4)/12*math.Pi)) * (0.7 + 0.3*math.Sin(float64(at.YearDay()*7)))
		second := power
		if h >= hours-72 {
			second = 0
		}
		fmt.Fprintf(&b, "%s,INV-1,%.2f\n%[1]s,INV-2,%.2[3]f\n", at.Format(time.RFC3339), power, second)
	}
	return b.String()
}

// fillErrors returns the metrics of a run that filled gaps.
func fillErrors(rmse, mae, r2, nrmse float64) api.PerformanceMetrics {
	return api.PerformanceMetrics{RMSEKW: &rmse, MAEKW: &mae, R2Score: &r2, NRMSEPercent: &nrmse}
}
