package sitedata

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/rhythm"
)

// State is how far the jobs of a site have come. The planner derives from it
// which jobs are due.
type State struct {
	SiteID     string `json:"site_id" limit:"id"`
	CustomerID string `json:"customer_id" limit:"id"`

	Data     uint64    `json:"data"`      // number of imports
	LastData time.Time `json:"last_data"` // newest time stamp of telemetry
	Live     bool      `json:"live"`      // nowcasts are uploaded

	EnergyKind string `json:"energy_kind,omitempty" limit:"word"` // kind of energy in files that span days, of [ingest.Result.ValueKind]

	Trained    uint64    `json:"trained"`     // value of Data at the last training
	TrainedEnd time.Time `json:"trained_end"` // end of the data that the production model was trained on
	TriedEnd   time.Time `json:"tried_end"`   // end of the data at the last training, successful or not
	HasModel   bool      `json:"has_model"`
	ColdStart  bool      `json:"young,omitempty"` // the production model was trained on peer sites, for lack of own history

	ForecastAt   time.Time      `json:"forecast_at"`   // by the plant's clock
	ForecastData uint64         `json:"forecast_data"` // value of Data at that forecast
	ScoredTo     time.Time      `json:"scored_to"`     // time up to which forecasts were compared with actuals
	DayBand      DayBand        `json:"day_band,omitzero"`
	DetectAt     time.Time      `json:"detect_at"`
	DetectData   uint64         `json:"detect_data"`
	LongRunAt    time.Time      `json:"deep_at"` // of the last detection over months
	Snapshots    SnapshotInputs `json:"snapshots"`

	// HistoryFrom and HistoryTo bound the imported data that no detection has
	// evaluated yet; both zero if there are none.
	HistoryFrom time.Time `json:"history_from,omitzero"`
	HistoryTo   time.Time `json:"history_to,omitzero"`

	Rhythm      rhythm.Record `json:"rhythm,omitzero"`       // of the arrivals of data, by the plant's clock
	SilentSince time.Time     `json:"silent_since,omitzero"` // the last arrival before a silence that is a finding; zero: none
	SilentAt    time.Time     `json:"silent_at,omitzero"`    // when that finding was last recorded
}

// DayBand is how the bands of a site's days are fitted to the site.
type DayBand struct {
	Low  float64   `json:"low"`
	High float64   `json:"high"`
	To   time.Time `json:"to"` // end of the last day that it has learned from
}

// AddHistory extends the data that detection has to evaluate by those of an import.
func (s *State) AddHistory(from, to time.Time) {
	if from.IsZero() || to.IsZero() {
		return
	}
	if s.HistoryFrom.IsZero() || from.Before(s.HistoryFrom) {
		s.HistoryFrom = from
	}
	if to.After(s.HistoryTo) {
		s.HistoryTo = to
	}
}

var states = store.Table[State]{
	Bucket: "tracks",
	Key:    func(s State) []byte { return store.Key(s.SiteID) },
}

// UpdateState changes a site's state within the transaction, creating it if the
// site has none, and returns the new one.
func UpdateState(tx store.Tx, siteID string, change func(*State)) (State, error) {
	s, err := states.Get(tx, store.Key(siteID))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return s, fmt.Errorf("read state of site %s: %w", siteID, err)
	}
	s.SiteID = siteID
	change(&s)
	if err := states.Put(tx, s); err != nil {
		return s, fmt.Errorf("store state of site %s: %w", siteID, err)
	}
	return s, nil
}

// StateIn returns the state of a site within a transaction; the zero state if it has none.
func StateIn(tx store.Tx, siteID string) (State, error) {
	s, err := states.Get(tx, store.Key(siteID))
	if errors.Is(err, store.ErrNotFound) {
		return State{SiteID: siteID}, nil
	}
	return s, err
}

// States returns the states of all sites.
func States(tx store.Tx) ([]State, error) {
	all, _, err := states.List(tx, store.Query{})
	return all, err
}

// State returns the state of a site; the zero state if it has none.
func (d *Data) State(ctx context.Context, siteID string) (State, error) {
	var s State
	err := d.Records.View(ctx, func(tx store.Tx) (err error) {
		s, err = StateIn(tx, siteID)
		return err
	})
	return s, err
}

// reportingFor is how long after its newest telemetry a site counts as
// reporting. Until then data that are missing up to now are missing; later the
// site is a file without a feed.
const reportingFor = 7 * day

// IsReporting reports whether telemetry is expected up to now.
func (s State) IsReporting(now time.Time) bool {
	return s.Live && now.Sub(s.LastData) < reportingFor
}

// SnapshotInputs are the runs that a site's partner snapshots were built from.
type SnapshotInputs struct {
	At         time.Time `json:"at"` // of the build, by the plant's clock
	DetectAt   time.Time `json:"detect_at"`
	ForecastAt time.Time `json:"forecast_at"`
}

// snapshotEvery is the age, by the plant's clock, at which snapshots are built
// again without news: days end.
const snapshotEvery = time.Hour

// SnapshotsCurrent reports whether nothing was forecast or detected since the
// snapshots were built, and they are not too old.
func (s State) SnapshotsCurrent(now time.Time) bool {
	age := now.Sub(s.Snapshots.At)
	return s.Snapshots.DetectAt.Equal(s.DetectAt) && s.Snapshots.ForecastAt.Equal(s.ForecastAt) && age >= 0 && age < snapshotEvery
}
