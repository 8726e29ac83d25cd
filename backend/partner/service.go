// Package partner makes and stores the snapshots that partner systems read:
// KPIs, signals, planned maintenance and the forecast of a site. Each document
// is made after the site's forecast or detection; a read only looks it up.
package partner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// Schedules are the planned maintenance of sites.
type Schedules interface {
	// Schedules lists open ones first.
	Schedules(ctx context.Context, scope api.Scope, q api.ListQuery, status string, overdueOnly bool) ([]api.Schedule, string, error)
	// Order is a work order; api.ErrOrderNotFound for an unknown id.
	Order(ctx context.Context, scope api.Scope, orderID string) (api.Order, error)
}

// Config configures a [Service]; all fields not marked optional are required.
type Config struct {
	Records store.Records
	Domain  *domain.Services
	Now     func() time.Time // the plant's clock

	Schedules Schedules  // optional: nothing is planned
	Rates     site.Rates // optional: without one there are no amounts in ZAR
}

// Service makes and stores snapshots. It is safe for concurrent use; snapshots
// of one site should be made one at a time.
type Service struct{ Config }

// New returns a Service. A rate that is not positive and an unknown currency
// are errors.
func New(cfg Config) (*Service, error) {
	if cfg.Records == nil || cfg.Domain == nil || cfg.Now == nil {
		return nil, errors.New("partner: records, the domain and a clock are needed")
	}
	if err := cfg.Rates.Check(); err != nil {
		return nil, fmt.Errorf("partner: %w", err)
	}
	return &Service{cfg}, nil
}

// actor is who reads for snapshots.
const actor = "partner"

// bucket holds the documents as they are sent, by site and kind.
const bucket = "partner-snapshots"

// Make makes all snapshots of a site. end is the end of its data: now, or for a
// site without live data its newest time stamp. Documents for which the site
// has no data are deleted.
func (s *Service) Make(ctx context.Context, siteID string, end time.Time) error {
	site, err := s.Domain.Sites.Site(ctx, api.Unlimited(actor), siteID)
	if err != nil {
		return err
	}
	units, err := s.Domain.Sites.SiteAssets(ctx, siteID)
	if err != nil {
		return err
	}
	faults, err := s.Domain.Detections.Faults(ctx, siteID, end.AddDate(0, 0, -signalDays))
	if err != nil {
		return err
	}
	made := documents{}
	former, err := read[api.KPIRollup](ctx, s, siteID, api.SnapshotKPIs)
	if err != nil && !errors.Is(err, api.ErrNotFound) {
		return err
	}
	rollup, err := s.rollup(ctx, site, units, end, former)
	if err != nil {
		return fmt.Errorf("roll up site %s: %w", siteID, err)
	}
	forecast, err := s.forecast(ctx, site)
	if err != nil {
		return err
	}
	said, err := read[api.MaintenanceSignals](ctx, s, siteID, api.SnapshotSignals)
	if err != nil && !errors.Is(err, api.ErrNotFound) {
		return err
	}
	made.add(api.SnapshotKPIs, rollup)
	made.add(api.SnapshotForecast, forecast)
	made.add(api.SnapshotSignals, s.signals(site, units, faults, end, said))
	drawn := func() (documents, error) {
		schedule, err := s.schedule(ctx, site, units, faults)
		if err != nil {
			return nil, fmt.Errorf("list the work at site %s: %w", siteID, err)
		}
		made.add(api.SnapshotSchedule, schedule)
		return made, nil
	}
	for range drawings {
		if stored, err := s.draw(ctx, siteID, api.SnapshotKinds(), drawn); err != nil || stored {
			return err
		}
	}
	return fmt.Errorf("store the snapshots of site %s: its plan changes faster than they are made", siteID)
}

// documents are bodies by kind.
type documents map[string][]byte

// add writes a document; nil is none.
func (d documents) add(kind string, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // documents hold rounded numbers, text and times
	}
	if body := b.Bytes(); !bytes.Equal(body, []byte("null\n")) {
		d[kind] = body
	}
}

// Snapshot returns the stored document of a kind, or [api.ErrNotFound]. The
// caller checks access to the site.
func (s *Service) Snapshot(ctx context.Context, siteID, kind string) (json.RawMessage, error) {
	var body []byte
	err := s.Records.View(ctx, func(tx store.Tx) error {
		b, err := tx.Get(bucket, store.Key(siteID, kind))
		body = bytes.Clone(b)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, api.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read the %s of site %s: %w", kind, siteID, err)
	}
	return body, nil
}

// read returns a document of a kind, or [api.ErrNotFound].
func read[T any](ctx context.Context, s *Service, siteID, kind string) (*T, error) {
	body, err := s.Snapshot(ctx, siteID, kind)
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(body, v); err != nil {
		return nil, fmt.Errorf("read the %s of site %s: %w", kind, siteID, err)
	}
	return v, nil
}

// money turns amounts of a site's currency into what documents show.
type money struct {
	currency string // empty: the site has no tariff
	tariff   float64
	rate     float64 // ZAR for one; 0: not known
}

func (s *Service) money(site api.Site) money {
	if !(site.TariffPerKWh > 0) || site.Currency == "" {
		return money{}
	}
	return money{currency: site.Currency, tariff: site.TariffPerKWh, rate: s.Rates.ZAR(site.Currency)}
}

// worth returns the value of energy in the site's currency and in ZAR; nil if
// it is unknown.
func (m money) worth(kWh float64) (own, zar *float64) {
	if m.currency == "" || math.IsNaN(kWh) {
		return nil, nil
	}
	v := rounded(kWh * m.tariff)
	if m.rate > 0 {
		z := rounded(kWh * m.tariff * m.rate)
		zar = &z
	}
	return &v, zar
}

// rounded keeps three decimals, and no negative zero.
func rounded(v float64) float64 { return math.Round(v*1e3)/1e3 + 0 }

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		marks,
		store.Unchecked(bucket),
		store.Unchecked(planWords),
	}
}

// SiteRecords returns the records of this package, which are of sites.
func SiteRecords() []record.OfSite {
	return record.OfSites(marks, store.Unchecked(bucket), store.Unchecked(planWords))
}
