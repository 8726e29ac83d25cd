package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Detection is the record of a run over one asset.
type Detection struct {
	api.Detection
	CustomerID string `json:"customer_id" limit:"id"`
	SiteID     string `json:"site_id" limit:"id"`
	Signature  string `json:"signature" limit:"4000 cut"` // of what was found, to tell news from repetition
}

var detections = store.Table[Detection]{
	Bucket: "detections",
	Key:    func(d Detection) []byte { return store.Key(d.SiteID, d.AssetID, d.DetectionID) },
	Indexes: []store.Index[Detection]{
		{Name: "customer", Key: func(d Detection) []byte { return store.Key(d.CustomerID, d.DetectionID) }},
		{Name: "time", Key: func(d Detection) []byte { return store.Key(d.DetectionID) }},
	},
}

func detectionOwner(d Detection) (customer, site, asset string) {
	return d.CustomerID, d.SiteID, d.AssetID
}

// Run is what one run of the detector says of a site.
type Run struct {
	Site         api.Site
	ModelVersion string // of the detector
	From, Now    time.Time
	Units        []string // that were judged
	Events       []Event
	Analyses     map[string]api.Analysis // by asset
	// Asked are the assets whose run was asked for: their detections are
	// stored even when they say nothing new.
	Asked []string
	// DayKWh is the energy that units are expected to make in a day.
	DayKWh func(units []string) float64
	// NotJudged are families that this run could not judge; their findings
	// stay as they are.
	NotJudged []string
	// Slow are families of which the run cannot tell whether what began before
	// Learned is still there: those findings are not ended by it.
	Slow    []string
	Learned time.Time
	// Yields are the whole days of units of late, in order, where a repair
	// waits to be verified.
	Yields map[string][]DayYield
}

// DayYield is what a unit made of what was expected on a day.
type DayYield struct {
	From, To time.Time // midnights of the site
	Expected float64   // energy, in any unit that all days share
	Ratio    float64   // made to expected, where both are known
	Known    bool      // most of the day has readings
	Clear    bool      // about the most was expected that the season gives
}

// judged says whether the run looked at all of the finding's units for its
// family.
func (r Run) judged(f Finding) bool {
	if slices.Contains(r.NotJudged, f.FaultFamily) || slices.Contains(r.Slow, f.FaultFamily) && f.StartedAt.Before(r.Learned) {
		return false
	}
	for _, u := range f.Units() {
		if !slices.Contains(r.Units, u) {
			return false
		}
	}
	return true
}

// Outcome is what recording a run changed.
type Outcome struct {
	Detections    map[string]api.Detection // stored now, by asset
	Opened, Ended []Finding
	Past          []Finding // began and ended before the run that first saw them
}

// opens says whether the finding opened now, first or again.
func (o Outcome) opens(f Finding) bool {
	return slices.ContainsFunc(o.Opened, func(x Finding) bool { return x.SummaryID == f.SummaryID })
}

// RecordRun stores a run: the detections of the assets about which it says
// something new, and the findings they lead to, with their activities.
func (s *Service) RecordRun(tx store.Tx, run Run) (Outcome, error) {
	if run.DayKWh == nil {
		run.DayKWh = func([]string) float64 { return 0 }
	}
	out := Outcome{Detections: map[string]api.Detection{}}
	for _, asset := range run.Units {
		d, isNew, err := s.detection(tx, run, asset)
		if err != nil {
			return out, err
		}
		if isNew || slices.Contains(run.Asked, asset) {
			if err := detections.Put(tx, d); err != nil {
				return out, fmt.Errorf("store detection %s: %w", d.DetectionID, err)
			}
			out.Detections[asset] = d.Detection
		}
	}
	if err := s.reconcile(tx, run, &out); err != nil {
		return out, err
	}
	lasting, err := active(tx, run.Site.SiteID)
	if err != nil {
		return out, err
	}
	if err := s.raiseIssues(tx, run, out, lasting); err != nil {
		return out, err
	}
	if err := s.raiseAlerts(tx, run, out, lasting); err != nil {
		return out, err
	}
	if err := s.tell(tx, run, out); err != nil {
		return out, err
	}
	return out, linkDetections(tx, out, lasting)
}

func (s *Service) detection(tx store.Tx, run Run, asset string) (d Detection, isNew bool, err error) {
	d = Detection{CustomerID: run.Site.CustomerID, SiteID: run.Site.SiteID}
	d.DetectionID, d.AssetID, d.DetectedAt = NewID("det", s.now()), asset, api.At(run.Now)
	d.Status, d.Severity = "completed", api.SeverityNormal
	var marks []string
	for _, e := range run.Events {
		if !slices.Contains(e.Units, asset) || e.end().Before(run.Now.Add(-calm)) {
			continue
		}
		d.AnomaliesDetected++
		if rank(e.Severity) > rank(d.Severity) {
			d.Severity = e.Severity
		}
		mark := e.Family + " " + e.Severity
		if !e.End.IsZero() {
			mark += " ended"
		}
		marks = append(marks, mark)
	}
	if a, ok := run.Analyses[asset]; ok {
		d.Analysis = &a
		d.AnomaliesDetected = len(a.Anomalies)
	}
	slices.Sort(marks)
	d.Signature = strings.Join(marks, "; ")
	last, _, err := detections.List(tx, store.Query{Prefix: store.Key(run.Site.SiteID, asset), Reverse: true, Limit: 1})
	if err != nil {
		return d, false, fmt.Errorf("read the last detection of asset %s: %w", asset, err)
	}
	was := ""
	if len(last) > 0 {
		was = last[0].Signature
	}
	return d, d.Signature != was, nil
}

// linkDetections writes the ids of the stored detections into the active
// findings of their assets.
func linkDetections(tx store.Tx, out Outcome, active []Finding) error {
	for _, f := range active {
		units := f.AssetIDs
		if len(units) == 0 {
			units = []string{f.AssetID}
		}
		before := len(f.Detections)
		for _, u := range units {
			if d, ok := out.Detections[u]; ok && d.AnomaliesDetected > 0 {
				f.Detections = append(f.Detections, d.DetectionID)
			}
		}
		if len(f.Detections) == before {
			continue
		}
		if n := len(f.Detections); n > keptDetections {
			f.Detections = slices.Clone(f.Detections[n-keptDetections:])
		}
		if err := findings.Put(tx, f); err != nil {
			return fmt.Errorf("store finding %s: %w", f.SummaryID, err)
		}
	}
	return nil
}

// keptDetections bounds the ids that a long finding carries.
const keptDetections = 50

func (s *Service) tell(tx store.Tx, run Run, out Outcome) error {
	note := func(f Finding, phase, title string) error {
		return s.Note(tx, Note{CustomerID: run.Site.CustomerID, SiteID: run.Site.SiteID, AssetID: f.AssetID, Phase: phase,
			Title: title, Description: cmp.Or(f.Summary, f.FaultFamily), Actor: "detector"})
	}
	for _, f := range out.Opened {
		if err := note(f, api.PhaseOrient, "Finding opened"); err != nil {
			return err
		}
	}
	for _, f := range out.Ended {
		if err := note(f, api.PhaseOrient, "Finding ended"); err != nil {
			return err
		}
	}
	return nil
}

// Detections lists the stored runs within the scope, newest first.
func (s *Service) Detections(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Detection, string, error) {
	sq := store.Query{Index: "time", Reverse: true}
	switch {
	case q.SiteID != "" && q.AssetID != "":
		sq.Index, sq.Prefix = "", store.Key(q.SiteID, q.AssetID)
	case q.CustomerID != "":
		sq.Index, sq.Prefix = "customer", store.Key(q.CustomerID)
	}
	list, next, err := list(ctx, s.records, detections, sq, scope, q, detectionOwner)
	if err != nil {
		return nil, "", fmt.Errorf("list detections: %w", err)
	}
	out := make([]api.Detection, len(list))
	for i, d := range list {
		out[i] = d.Detection
	}
	return out, next, nil
}
