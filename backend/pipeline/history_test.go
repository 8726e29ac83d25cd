package pipeline

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/simulate"
)

// A file of years ago that is imported after recent data has findings, as past events:
// without an issue, with alerts that are cleared. A list and a summary of its period
// contain them.
func TestImportedYearsAreEvaluated(t *testing.T) {
	p := newPlant(t, day0, nil)
	s := fleet(10, 3)
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -10), day0, 15*time.Minute)))
	p.await("detection of recent data", func() bool { track := p.standing(); return track.DetectData == track.Data })

	past := day0.AddDate(-5, 0, 0)
	down := past.AddDate(0, 0, 8).Add(30 * time.Minute)
	s = simulate.Clean(1, past, 3).Sites[0] // of the same names
	// The third unit is down at the end of the file.
	s.SetFaults([]simulate.Fault{
		{ID: "a", Kind: simulate.UnitOutage, Units: []string{s.Units[1].AssetID}, From: down, To: down.Add(30 * time.Hour)},
		{ID: "b", Kind: simulate.UnitOutage, Units: []string{s.Units[2].AssetID}, From: past.AddDate(0, 0, 11), To: past.AddDate(0, 1, 0)},
	})
	p.pass(time.Hour)
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, past, past.AddDate(0, 0, 13), 15*time.Minute)))
	p.await("detection of the history", func() bool {
		track := p.standing()
		return track.DetectData == track.Data && track.HistoryFrom.IsZero() && track.HistoryTo.IsZero()
	})
	q := api.ListQuery{CustomerID: "acme", SiteID: "South", From: api.At(past), To: api.At(past.AddDate(0, 0, 13))}
	list, _, err := p.Domain.Findings.Findings(t.Context(), admin, q)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]api.Finding{}
	for _, f := range list {
		if f.Active || f.EndedAt.IsZero() {
			t.Errorf("active: %+v", f)
		}
		if f.FaultFamily == "inverter_outage" {
			found[f.AssetID] = f
		}
	}
	if f := found[s.Units[1].AssetID]; f.LostKWh <= 0 || f.StartedAt.Sub(down).Abs() > time.Hour {
		t.Errorf("the outage of %v: %+v in %d findings", down, f, len(list))
	}
	if f := found[s.Units[2].AssetID]; f.LostKWh <= 0 {
		t.Errorf("the outage at the end of the file: %+v", f)
	}
	alerts, _, _, err := p.Domain.Alerts.Alerts(t.Context(), admin, api.ListQuery{SiteID: "South"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts {
		if a.State != api.AlertCleared && a.Timestamp.Before(day0.AddDate(-1, 0, 0)) {
			t.Errorf("an alarm of the past: %+v", a)
		}
	}
	issues, _, err := p.Domain.Issues.Issues(t.Context(), admin, api.ListQuery{SiteID: "South"})
	for _, i := range issues {
		if f := found[i.AssetID]; f.SummaryID == i.SummaryID {
			t.Errorf("an issue of the past: %+v", i)
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	h, err := p.Domain.Findings.History(t.Context(), admin, q)
	if err != nil || h.Count != len(list) || h.Active != 0 || len(h.LargestLoss) < 2 || h.LostKWh <= 0 || h.Families[0].FaultFamily != "inverter_outage" || h.Families[0].Count != 2 {
		t.Errorf("history: %+v, %v", h, err)
	}
	// Of a day within an outage only the day's losses count.
	q.From, q.To = api.At(past.AddDate(0, 0, 11)), api.At(past.AddDate(0, 0, 12))
	if part, err := p.Domain.Findings.History(t.Context(), admin, q); err != nil || part.Count < 1 || !(part.LostKWh > 0 && part.LostKWh < h.LostKWh) || part.LargestLoss[0].LostKWh > part.LostKWh+0.001 {
		t.Errorf("a day of it: %+v, %v", part, err)
	}
	q.From, q.To = api.At(past.AddDate(1, 0, 0)), api.At(past.AddDate(2, 0, 0))
	if none, err := p.Domain.Findings.History(t.Context(), admin, q); err != nil || none.Count != 0 {
		t.Errorf("a year without data: %+v, %v", none, err)
	}
}

// A file that ends years ago is history altogether: what was down at its end is a
// finding of the past.
func TestOldFileRaisesNoAlarm(t *testing.T) {
	p := newPlant(t, day0, nil)
	past := day0.AddDate(-3, 0, 0)
	s := simulate.Clean(1, past, 3).Sites[0]
	s.SetFaults([]simulate.Fault{{ID: "a", Kind: simulate.UnitOutage, Units: []string{s.Units[1].AssetID}, From: past.AddDate(0, 0, 8), To: past.AddDate(0, 1, 0)}})
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, past, past.AddDate(0, 0, 12), 15*time.Minute)))
	p.await("detection", func() bool { track := p.standing(); return track.DetectData == track.Data })
	h, err := p.Domain.Findings.History(t.Context(), admin, api.ListQuery{CustomerID: "acme", SiteID: "South"})
	if err != nil || h.Count == 0 || h.Active != 0 || h.LostKWh <= 0 {
		t.Errorf("history: %+v, %v", h, err)
	}
	if issues, _, err := p.Domain.Issues.Issues(t.Context(), admin, api.ListQuery{SiteID: "South"}); err != nil || len(issues) > 0 {
		t.Errorf("issues: %+v, %v", issues, err)
	}
}
