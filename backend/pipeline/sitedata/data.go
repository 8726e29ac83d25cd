// Package sitedata holds what the jobs of all kinds read of a site: its history,
// weather, location, models and state, and what a job is.
//
// Objects are announced before they are put and confirmed by the transaction
// that names them in a record, so that a crash leaves no object without an owner
// (see [Data.AnnounceObjects]).
package sitedata

import (
	"context"
	"crypto/rand"
	"hash/fnv"
	"log/slog"
	"math"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// Actor is the actor of what no person asked for.
const Actor = "pipeline"

const day = 24 * time.Hour

// Config is what a Data reads and writes. All but Weather is required.
type Config struct {
	Records   store.Records
	Telemetry store.Telemetry
	Objects   store.Objects
	Domain    *domain.Services
	Weather   weather.Provider // nil: climatology only
	Now       func() time.Time // the plant's clock, which telemetry is compared with
	Wall      func() time.Time // the real clock, for jobs and announcements
	Logger    *slog.Logger
	// Exclusive says that no other process works on this queue and these objects.
	Exclusive bool
	Hooks     Hooks
}

// Hooks observe the jobs; nil hooks are not called.
type Hooks struct {
	// Job is called before a job runs. It returns the job's context and what is
	// called with the outcome and the error of the run.
	Job      func(ctx context.Context, job store.Claimed) (context.Context, func(outcome string, cause error))
	Upload   func(kind, outcome string) // kind as in api.Upload, outcome one of package importer
	Forecast func()                     // a forecast was stored
	Detect   func()                     // a run of the detector was stored
	Train    func(skill float64)        // a model was registered, with the skill of its backtest; 1 is perfect
}

func (h *Hooks) defaults() {
	if h.Job == nil {
		h.Job = func(ctx context.Context, _ store.Claimed) (context.Context, func(string, error)) {
			return ctx, func(string, error) {}
		}
	}
	if h.Upload == nil {
		h.Upload = func(string, string) {}
	}
	if h.Forecast == nil {
		h.Forecast = func() {}
	}
	if h.Detect == nil {
		h.Detect = func() {}
	}
	if h.Train == nil {
		h.Train = func(float64) {}
	}
}

// Data is shared by the packages of all jobs of a process. Its methods are safe
// for concurrent use.
type Data struct {
	Config
	ModelCache ModelCache
	Progress   Progress

	processID string // distinguishes this process's announcements from those of earlier ones
}

// New returns a Data without cached models.
func New(c Config) *Data {
	c.Hooks.defaults()
	return &Data{Config: c, processID: rand.Text()}
}

// Round rounds to three decimals, as figures are stored and sent. It never
// returns -0.
func Round(v float64) float64 { return math.Round(v*1e3)/1e3 + 0 }

// FirstLine is the first line of an error's text: a panic's has a stack after it.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Seed is the seed of a site's trainings: the same each time.
func Seed(siteID string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(siteID)) // never fails
	return h.Sum64()
}

// SiteLocation returns the location of a site: its coordinates, else the place
// that [place.Of] finds from its address and its power, with the decisions in
// words.
func (d *Data) SiteLocation(site api.Site, power series.Series) (loc solar.Location, found *model.Location, decisions []string) {
	if loc, ok := model.LocationOf(site, nil); ok {
		return loc, nil, nil
	}
	f, ok := place.Of(site.Location, power)
	decisions = []string{"place: " + f.Description}
	if !ok {
		return solar.Location{}, nil, decisions
	}
	found = &model.Location{LatitudeDeg: f.LatitudeDeg, LongitudeDeg: f.LongitudeDeg}
	loc, _ = model.LocationOf(site, found)
	return loc, found, decisions
}

// PlaneOf returns the plane of a site's modules; nil if it is not known.
func PlaneOf(site api.Site) *solar.Plane {
	if site.TiltDeg == nil || site.AzimuthDeg == nil {
		return nil
	}
	return &solar.Plane{TiltDeg: *site.TiltDeg, AzimuthDeg: *site.AzimuthDeg}
}
