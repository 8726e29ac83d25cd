package kpi

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// windowRecord are the figures of a window that is over, as they were last
// shown.
type windowRecord struct {
	SiteID    string           `json:"site_id" limit:"id"`
	From      api.Time         `json:"from"`
	To        api.Time         `json:"to"`
	AsOf      api.Time         `json:"as_of"`
	Formulas  int              `json:"formulas"` // version of the formulas
	Telemetry string           `json:"telemetry" limit:"word"`
	Settings  string           `json:"settings" limit:"word"`
	Revisions []revisionRecord `json:"revisions" limit:"20 last"`
	Figures   []byte           `json:"figures" limit:"256KiB"` // api.KPIs, as gzip
}

type revisionRecord struct {
	Revision int      `json:"revision"`
	AsOf     api.Time `json:"as_of"`
	Reason   string   `json:"reason" limit:"line cut"`
	Changed  []string `json:"changed,omitempty" limit:"100 word cut"`
}

var windows = store.Table[windowRecord]{
	Bucket: "kpi_windows",
	Key:    func(w windowRecord) []byte { return windowKey(w.SiteID, w.From, w.To) },
}

func windowKey(siteID string, from, to api.Time) []byte {
	return store.Key(siteID, to.String(), from.String())
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{windows} }

const (
	// formulasVersion rises with each change of a formula or an input of figures,
	// so that kept figures get a revision that says so.
	formulasVersion = 4
	// maxWindows is how many windows of a site are kept; those with the earliest
	// end are dropped.
	maxWindows = 400
	// maxRevisions is how many revisions of a window are listed.
	maxRevisions = 20
	// lossRate is the figure that only a read of years computes.
	lossRate = "performance_loss_rate"
)

// closed reports whether a window is of whole days of the site that are over.
func closed(from, to, now time.Time, zone *time.Location) bool {
	return from.Equal(series.Midnight(from, zone)) && to.Equal(series.Midnight(to, zone)) && !to.After(series.Midnight(now, zone))
}

// fingerprints are hashes of what figures depend on.
type fingerprints struct{ telemetry, settings string }

// fingerprints returns those of a reading.
func (r *reading) fingerprints(site api.Site, units []api.Asset) (fingerprints, error) {
	h := sha256.New()
	numbers := func(values []float64) {
		b := make([]byte, 0, 8*len(values))
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		_, _ = h.Write(b) // a hash never fails
	}
	for _, u := range r.units {
		_, _ = io.WriteString(h, u.id+"\x00")
		numbers(u.PowerKW.Values)
	}
	roles := make([]any, 0, len(r.sensors)) // what the site sets of sensors or what is inferred
	for _, one := range r.sensors {
		_, _ = io.WriteString(h, one.ID+"\x00")
		numbers(one.Values.Values)
		one.ID, one.Values = "", series.Series{}
		roles = append(roles, one)
	}
	numbers(r.air)
	numbers(r.wind)
	numbers([]float64{r.days.kWh, r.days.counter, r.days.interval, r.days.extrapolated})
	out := fingerprints{telemetry: fmt.Sprintf("%x", h.Sum(nil)[:12])}

	site.AssetCount, site.CreatedAt, site.Name = 0, api.Time{}, ""
	settings := []any{site, r.basis.ratings, r.basis.gamma, r.basis.mounts, roles, r.basis.sky != nil}
	for _, u := range units {
		u.Version, u.Name, u.CreatedAt, u.Components, u.FormerComponents = 0, "", api.Time{}, nil, nil
		settings = append(settings, u)
	}
	b, err := json.Marshal(settings)
	if err != nil {
		return out, fmt.Errorf("encode the settings of site %s: %w", site.SiteID, err)
	}
	sum := sha256.Sum256(b)
	out.settings = fmt.Sprintf("%x", sum[:12])
	return out, nil
}

// keep returns the figures of a window as they are shown: those that are kept, if
// nothing that they rest on has changed, else k as a new revision. Figures of a
// window that is open are k. Of a store that refuses writes the figures have no
// revision.
func (s *Service) keep(ctx context.Context, r *reading, site api.Site, units []api.Asset, k api.KPIs) (api.KPIs, error) {
	now := api.At(s.now())
	if !closed(r.from, r.to, now.Time, r.zone) {
		return withRevision(k, now, 0, nil), nil
	}
	p, err := r.fingerprints(site, units)
	if err != nil {
		return k, err
	}
	out, changed, err := s.compare(ctx, k, p, now)
	if err != nil || !changed {
		return out, err
	}
	err = s.records.Update(store.WithoutCommitHook(ctx), func(tx store.Tx) error {
		was, err := windows.Get(tx, windowKey(k.SiteID, k.From, k.To))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		w, is, _, err := was.revise(k, p, now)
		if err != nil {
			return err
		}
		out = is
		if err := windows.Put(tx, w); err != nil {
			return err
		}
		return dropWindows(tx, k.SiteID)
	})
	if err != nil {
		if ctx.Err() != nil {
			return k, ctx.Err()
		}
		return withRevision(k, now, 0, nil), nil
	}
	return out, nil
}

// compare returns the figures that keep shows, and whether they are to be
// written.
func (s *Service) compare(ctx context.Context, k api.KPIs, p fingerprints, now api.Time) (out api.KPIs, changed bool, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		was, err := windows.Get(tx, windowKey(k.SiteID, k.From, k.To))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		_, out, changed, err = was.revise(k, p, now)
		return err
	})
	if err != nil {
		return k, false, fmt.Errorf("read the kept figures of site %s: %w", k.SiteID, err)
	}
	return out, changed, nil
}

// dropWindows deletes the windows of a site with the earliest end that are too
// many.
func dropWindows(tx store.Tx, siteID string) error {
	var keys [][]byte
	prefix := store.Key(siteID)
	for e, err := range tx.Scan(windows.Bucket, prefix, store.After(prefix), false) {
		if err != nil {
			return err
		}
		keys = append(keys, bytes.Clone(e.Key))
	}
	for _, key := range keys[:max(len(keys)-maxWindows, 0)] {
		if err := windows.Delete(tx, key); err != nil {
			return err
		}
	}
	return nil
}

// revise returns the record that follows was (zero: none) with the figures k,
// the figures that are shown, and whether the record differs from was.
func (was windowRecord) revise(k api.KPIs, p fingerprints, now api.Time) (w windowRecord, shown api.KPIs, changed bool, err error) {
	w = windowRecord{SiteID: k.SiteID, From: k.From, To: k.To, AsOf: now, Formulas: formulasVersion, Telemetry: p.telemetry, Settings: p.settings}
	if len(was.Revisions) == 0 {
		w.Revisions = []revisionRecord{{Revision: 1, AsOf: now, Reason: "First computed."}}
		return w.withFigures(k, true)
	}
	kept, err := was.figures()
	if err != nil {
		return w, k, false, err
	}
	k, added := joinLossRate(k, kept)
	differ := different(kept, k)
	w.Revisions, w.AsOf = was.Revisions, was.AsOf
	if len(differ) == 0 {
		same := was.Formulas == w.Formulas && was.Telemetry == w.Telemetry && was.Settings == w.Settings && !added
		if same {
			return was, withRevision(kept, was.AsOf, was.revision(), was.Revisions), false, nil
		}
		return w.withFigures(k, true)
	}
	w.AsOf = now
	w.Revisions = append(slices.Clone(was.Revisions), revisionRecord{Revision: was.revision() + 1, AsOf: now, Reason: was.reason(w), Changed: differ})
	w.Revisions = w.Revisions[max(len(w.Revisions)-maxRevisions, 0):]
	return w.withFigures(k, true)
}

// reason says why figures of a window differ from the kept ones.
func (was windowRecord) reason(w windowRecord) string {
	var reasons []string
	// Versions of the formulas do not have the same fingerprints.
	if was.Telemetry != w.Telemetry && was.Formulas == w.Formulas {
		reasons = append(reasons, "telemetry of the window has changed")
	}
	if was.Settings != w.Settings && was.Formulas == w.Formulas {
		reasons = append(reasons, "settings of the site or its units have changed")
	}
	if was.Formulas != w.Formulas {
		reasons = append(reasons, fmt.Sprintf("formulas have changed from version %d to %d", was.Formulas, w.Formulas))
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "findings, work orders, forecasts or availability categories have changed")
	}
	text := strings.Join(reasons, "; ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func (was windowRecord) revision() int { return was.Revisions[len(was.Revisions)-1].Revision }

// withFigures returns the record with its figures.
func (was windowRecord) withFigures(k api.KPIs, changed bool) (windowRecord, api.KPIs, bool, error) {
	b, err := json.Marshal(withRevision(k, api.Time{}, 0, nil))
	if err != nil {
		return was, k, false, fmt.Errorf("encode figures: %w", err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(b)
	if err = errors.Join(err, z.Close()); err != nil {
		return was, k, false, fmt.Errorf("compress figures: %w", err)
	}
	was.Figures = packed.Bytes()
	// As the store returns them, so that the first answer equals the later ones.
	kept, err := was.figures()
	return was, withRevision(kept, was.AsOf, was.revision(), was.Revisions), changed, err
}

// figures returns the kept figures.
func (was windowRecord) figures() (k api.KPIs, err error) {
	z, err := gzip.NewReader(bytes.NewReader(was.Figures))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(z, 4<<20)).Decode(&k)
	}
	if err != nil {
		return k, fmt.Errorf("read kept figures: %w", err)
	}
	return k, nil
}

// withRevision returns k with the revision in it and in each of its figures.
func withRevision(k api.KPIs, at api.Time, revision int, list []revisionRecord) api.KPIs {
	k.AsOf, k.Revision, k.Revisions = at, revision, nil
	for _, r := range list {
		k.Revisions = append(k.Revisions, api.KPIRevision(r))
	}
	k.Figures = slices.Clone(k.Figures)
	for i := range k.Figures {
		k.Figures[i].AsOf, k.Figures[i].Revision = at, revision
	}
	return k
}

// joinLossRate adds the kept loss rate to figures that were computed without
// it. added reports that k has one and kept does not.
func joinLossRate(k, kept api.KPIs) (joined api.KPIs, added bool) {
	is := slices.IndexFunc(k.Figures, func(f api.KPI) bool { return f.Name == lossRate })
	was := slices.IndexFunc(kept.Figures, func(f api.KPI) bool { return f.Name == lossRate })
	if is >= 0 || was < 0 {
		return k, is >= 0 && was < 0
	}
	k.Figures = slices.Insert(slices.Clone(k.Figures), min(was, len(k.Figures)), kept.Figures[was])
	return k, false
}

// different are the names of the figures that differ, of values that both have;
// "categories" and "window" are what the window has in addition to figures.
func different(kept, k api.KPIs) []string {
	var names []string
	a, b := plainKPIs(kept), plainKPIs(k)
	find := func(list []api.KPI, name string) (api.KPI, bool) {
		i := slices.IndexFunc(list, func(f api.KPI) bool { return f.Name == name })
		if i < 0 {
			return api.KPI{}, false
		}
		return list[i], true
	}
	for _, f := range b.Figures {
		was, ok := find(a.Figures, f.Name)
		if !ok && f.Name == lossRate {
			continue
		}
		if !reflect.DeepEqual(was, f) {
			names = append(names, f.Name)
		}
	}
	if !reflect.DeepEqual(a.Categories, b.Categories) {
		names = append(names, "availability_categories")
	}
	a.Figures, b.Figures, a.Categories, b.Categories = nil, nil, nil, nil
	if !reflect.DeepEqual(a, b) {
		names = append(names, "window")
	}
	return names
}

// plainKPIs is k as it is decoded from JSON, without its revision and without
// the descriptions of how figures are made: another wording is no other figure.
func plainKPIs(k api.KPIs) (out api.KPIs) {
	k = withRevision(k, api.Time{}, 0, nil)
	for i := range k.Figures {
		k.Figures[i].Formula, k.Figures[i].Source, k.Figures[i].Basis = "", "", ""
	}
	b, err := json.Marshal(k)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return k
	}
	return out
}

// withoutLossRate is k without the figure that needs years.
func withoutLossRate(k api.KPIs) api.KPIs {
	k.Figures = slices.DeleteFunc(slices.Clone(k.Figures), func(f api.KPI) bool { return f.Name == lossRate })
	return k
}

// Forget deletes the windows of a site whose days have changed.
func Forget(tx store.Tx, siteID string) error {
	if _, err := windows.DeletePrefix(tx, store.Key(siteID), math.MaxInt); err != nil {
		return fmt.Errorf("delete the windows of site %s: %w", siteID, err)
	}
	return nil
}
