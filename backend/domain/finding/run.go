package finding

import (
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/loss"
)

// Run is what one run of the detector says of a site.
type Run struct {
	Site         api.Site
	ModelVersion string // of the detector
	From, Now    time.Time
	// Read is when the run read its data: a finding that was recorded later is not ended
	// by it. Zero: just now.
	Read     time.Time
	Units    []string // that were judged
	Events   []Event
	Analyses map[string]api.Analysis // by asset
	// Requested are the assets whose run was asked for: their detections are
	// stored even when they say nothing new.
	Requested []string
	// DayKWh is the energy that units are expected to make in a day.
	DayKWh func(units []string) float64
	// NotJudged are families that this run could not judge; their findings
	// stay as they are.
	NotJudged []string
	// LongRunFamilies are families of which the run cannot determine whether what began before
	// Learned is still there: those findings are not ended by it.
	LongRunFamilies []string
	LearnedAt       time.Time
	// DayYields are the recent whole days of units, in order, where a repair
	// waits to be verified.
	DayYields map[string][]DayYield
	// Past says that the run evaluated years before the present: it ends no
	// active finding and changes none.
	Past bool
}

// DayYield is what a unit made of what was expected on a day.
type DayYield struct {
	From, To time.Time // midnights of the site
	Expected float64   // energy, in any unit that all days share
	Ratio    float64   // made to expected, where both are known
	Known    bool      // most of the day has readings
	Clear    bool      // about the most was expected that the season gives
}

// evaluated reports whether the run evaluated all of the finding's units for
// its family.
func (r Run) evaluated(f Finding) bool {
	if slices.Contains(r.NotJudged, f.FaultFamily) || slices.Contains(r.LongRunFamilies, f.FaultFamily) && f.StartedAt.Before(r.LearnedAt) {
		return false
	}
	if !r.Read.IsZero() && f.UpdatedAtMS > r.Read.UnixMilli() {
		return false
	}
	for _, u := range f.Units() {
		if !slices.Contains(r.Units, u) {
			return false
		}
	}
	return true
}

// RunResult is what recording a run changed.
type RunResult struct {
	Detections    map[string]api.Detection // stored now, by asset
	Opened, Ended []Finding
	Past          []Finding // began and ended before the run that first saw them
	Revised       []Finding // over before the run, which estimated their losses again or saw them longer
}

// HasOpened says whether the finding opened now, first or again.
func (o RunResult) HasOpened(f Finding) bool {
	return slices.ContainsFunc(o.Opened, func(x Finding) bool { return x.SummaryID == f.SummaryID })
}

// LinkDetections writes the ids of the stored detections into the findings that
// their anomalies name.
func LinkDetections(tx store.Tx, out RunResult, list []Finding) error {
	for _, f := range list {
		units := f.AssetIDs
		if len(units) == 0 {
			units = []string{f.AssetID}
		}
		before := len(f.Detections)
		for _, u := range units {
			if d, ok := out.Detections[u]; ok && d.Analysis != nil && slices.ContainsFunc(d.Analysis.Anomalies, func(a api.Anomaly) bool { return a.SummaryID == f.SummaryID }) ||
				ok && d.Analysis == nil && d.AnomaliesDetected > 0 {
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

// Event is a fault as a run of the detector saw it, within the run's span.
type Event struct {
	Family          string
	Units           []string
	Start, LastSeen time.Time
	End             time.Time // zero while it lasts
	LossFraction    float64
	LostKWh         float64
	Losses          loss.Ledger // LostKWh by hour; empty where only the sum is known
	Occasions       []Period    // when it was there; empty: from Start to LastPresent
	// Members are the parts of the units of an event of several; empty: it is of one unit,
	// or the parts are not known.
	Members        []api.FindingMember
	DetectedAt     time.Time // when the rule was met; zero: when the run was made
	EnergyAtRiskKW float64   // daylight mean of the next 24 h
	Confidence     float64
	Severity       string // api.SeverityCritical, …
	Grade          string // Critical, High, Medium, Low; empty where only Severity is known
	Summary        string
	Causes         []api.Cause
	Actions        []api.Action
	Evidence       []api.Evidence
}

func (e Event) subject() string {
	if len(e.Units) == 1 {
		return e.Units[0]
	}
	return ""
}

// Part returns the part of a unit in the event: all of it, if it is the only one or the parts
// are not known.
func (e Event) Part(assetID string) api.FindingMember {
	for _, m := range e.Members {
		if m.AssetID == assetID {
			return m
		}
	}
	return api.FindingMember{AssetID: assetID, StartedAt: api.At(e.Start), LastSeenAt: api.At(e.LastSeen), EndedAt: api.At(e.End), LossFraction: e.LossFraction, LostKWh: e.LostKWh}
}

// Affected are the units that are affected still, of an event that lasts; all of one that is
// over.
func (e Event) Affected() []string {
	return slices.DeleteFunc(slices.Clone(e.Units), func(u string) bool { return e.End.IsZero() && !e.Part(u).EndedAt.IsZero() })
}

// LastPresent is when the event was last there.
func (e Event) LastPresent() time.Time {
	if e.End.IsZero() {
		return e.LastSeen
	}
	return e.End
}
