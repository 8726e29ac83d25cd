package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/place"
	"app.sunloop/engine/plausible"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Inspect reads a file as an upload would, and returns what that would do. It
// stores nothing.
func (im *Importer) Inspect(ctx context.Context, scope api.Scope, req api.UploadRequest, file io.Reader) (api.Inspection, error) {
	if err := checkFields(scope, &req); err != nil {
		return api.Inspection{}, err
	}
	var err error
	if req.SiteID, err = im.Domain.Sites.NewSiteKey(ctx, req.CustomerID, req.SiteID); err != nil {
		return api.Inspection{}, err
	}
	if err := scope.Check(req.CustomerID, req.SiteID); err != nil {
		return api.Inspection{}, err
	}
	leave, err := im.holdLargeFile(ctx)
	if err != nil {
		return api.Inspection{}, err
	}
	defer leave()
	options, err := im.readOptions(ctx, req)
	if err != nil {
		return api.Inspection{}, err
	}
	result, err := readWhole(file, options)
	var refusal *ingest.Refusal
	if errors.As(err, &refusal) {
		return api.Inspection{Error: refusal.Error(), ErrorKind: string(refusal.Kind), ErrorLine: refusal.Line, Columns: fileColumns(refusal.Columns)}, nil
	}
	if err != nil {
		return api.Inspection{}, err
	}
	known, existing, err := im.siteAndUnits(ctx, req)
	if err != nil {
		return api.Inspection{}, err
	}
	doubts, err := im.doubts(ctx, req, known, existing, options, result)
	if err != nil {
		return api.Inspection{}, err
	}
	out := api.Inspection{
		Accept: true, RowsRead: result.Rows.Read, RowsUsed: result.Rows.Used, RowsSkipped: result.Rows.Skipped, RowsStored: result.Rows.Stored,
		RowsMissing: result.Rows.Missing, Manufacturer: result.Manufacturer, Unit: result.UnitSource, ValueKind: result.ValueKind,
		IntervalMinutes: result.Interval.Minutes(), Timezone: zoneOf(options).String(), NewSite: known.SiteID == "",
		FirstRecord: wireTime(result.First), LastRecord: wireTime(result.Last), Columns: fileColumns(result.Columns),
		Mapping: result.Mapping.Text(), FirstDay: firstDay(result, zoneOf(options)), RunnersUp: decisionTexts(result.RunnersUp),
		Decisions: decisionTexts(result.Decisions), Warnings: append(decisionTexts(result.Warnings), decisionTexts(doubts)...),
	}
	zone := zoneOf(options)
	if known.Timezone != "" {
		zone = record.Zone(known.Timezone)
	}
	intoDays(result, zone)
	for _, a := range result.Assets {
		id := newAssetID(existing, a.Name)
		if there := findAsset(existing, a.Name); there != nil {
			id = there.AssetID
			changes, err := im.changesOf(ctx, known.SiteID, id, a.Frame)
			if err != nil {
				return api.Inspection{}, err
			}
			out.RowsReplaced += changes.rows
		} else {
			out.NewAssetIDs = append(out.NewAssetIDs, id)
			existing = append(existing, api.Asset{AssetID: id, Name: a.Name})
		}
		out.AssetIDs = append(out.AssetIDs, id)
	}
	return out, nil
}

// checkFields checks the names and the scope of a request, and its mapping.
func checkFields(scope api.Scope, req *api.UploadRequest) error {
	if req.Kind == "" {
		req.Kind = api.UploadTrain
	}
	for _, f := range []struct{ name, value string }{{"customer_id", req.CustomerID}, {"site_id", req.SiteID}} {
		if f.value == "" {
			return api.MissingParameter(f.name)
		}
	}
	if err := scope.Check(req.CustomerID, req.SiteID); err != nil {
		return err
	}
	if _, err := ingest.ParseMapping(req.Mapping); err != nil {
		return api.InvalidParameter("mapping", err.Error())
	}
	return site.CheckNames(api.Site{SiteID: req.SiteID, CustomerID: req.CustomerID, Timezone: req.Timezone, CapacityKW: req.CapacityKW})
}

func zoneOf(o ingest.Options) *time.Location {
	if o.Zone == nil {
		return time.UTC
	}
	return o.Zone
}

// siteAndUnits returns the site of a request and its units; the site is empty if there is none yet.
func (im *Importer) siteAndUnits(ctx context.Context, req api.UploadRequest) (api.Site, []api.Asset, error) {
	is, err := im.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), req.SiteID)
	if errors.Is(err, api.ErrSiteNotFound) {
		return api.Site{}, nil, nil
	}
	if err != nil {
		return is, nil, err
	}
	var units []api.Asset
	err = im.Records.View(ctx, func(tx store.Tx) error {
		units, err = im.Domain.Sites.AssetsInTx(tx, req.SiteID)
		return err
	})
	return is, units, err
}

// Bounds of the comparison of a new unit with those that exist.
const (
	comparedDays  = 40
	comparedUnits = 50
)

// doubts compares a file with what is known of its site and its units.
func (im *Importer) doubts(ctx context.Context, req api.UploadRequest, site api.Site, units []api.Asset, o ingest.Options, r *ingest.Result) ([]ingest.Decision, error) {
	known := plausible.Site{Zone: o.Zone}
	switch {
	case site.Latitude != nil && site.Longitude != nil:
		known.Location = &solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}
	default:
		text := req.Location
		if site.Location != "" {
			text = site.Location
		}
		if found, ok := place.Find(text); ok && !found.Rough {
			known.Location = &solar.Location{LatitudeDeg: found.LatitudeDeg, LongitudeDeg: found.LongitudeDeg}
		}
	}
	for _, a := range r.Assets {
		if there := findAsset(units, a.Name); there != nil {
			known.CapacityKW += there.CapacityKW
		} else {
			known.CapacityKW = 0
			break
		}
	}
	if len(units) == 0 {
		known.CapacityKW = req.CapacityKW
	} else if firm, err := im.firmCapacity(ctx, site, units, req.AssetID); err != nil {
		return nil, err
	} else if firm == 0 {
		known.CapacityKW = 0 // an estimate from the power is raised by the file
	}
	doubts := plausible.Check(r, known)
	for _, a := range r.Assets {
		if findAsset(units, a.Name) != nil || len(units) == 0 || len(units) > comparedUnits || a.Frame.Len() == 0 {
			continue
		}
		from := a.Frame.Times[0]
		part := a.Frame.Slice(from, from+comparedDays*86400)
		var same []string
		for _, unit := range units {
			f, err := store.Collect(im.Telemetry.Read(ctx, site.SiteID, unit.AssetID, time.Unix(from, 0), time.Unix(from+comparedDays*86400, 0), series.PowerKW))
			if err != nil {
				return nil, fmt.Errorf("read the telemetry of asset %s: %w", unit.AssetID, err)
			}
			if plausible.Same(part, f) {
				same = append(same, unit.AssetID)
			}
		}
		if len(same) > 0 {
			doubts = append(doubts, plausible.Renamed(a.Name, same...))
		}
	}
	return doubts, nil
}

// changes is what storing a frame would change of what is stored of its unit.
type changes struct {
	rows    int          // stamps at which stored values change
	before  series.Frame // stored values that change or go
	further series.Frame // values that are added besides those of the frame
}

// changesOf compares a frame with what is stored of its unit.
func (im *Importer) changesOf(ctx context.Context, siteID, assetID string, f series.Frame) (c changes, err error) {
	if siteID == "" || f.Len() == 0 {
		return c, nil
	}
	// A sample of a longer interval may replace the finer ones that follow it.
	from, to := time.Unix(f.Times[0], 0).Add(-day), time.Unix(f.Times[f.Len()-1], 0).Add(day)
	stored, err := store.Collect(im.Telemetry.Read(ctx, siteID, assetID, from, to))
	if err != nil {
		return c, fmt.Errorf("read the telemetry of asset %s: %w", assetID, err)
	}
	return changesIn(stored, f), nil
}

// changesIn is what a frame changes in what is stored.
func changesIn(stored, f series.Frame) (c changes) {
	if stored.Len() == 0 {
		return c
	}
	stored = energy.WithoutDerived(stored, math.MinInt64, math.MaxInt64)
	merged := energy.Merge(stored, f)
	var changed map[int64]bool
	c.before, changed = missingIn(stored, merged, true)
	c.before = series.Merge(c.before, common(stored, f))
	added, _ := missingIn(merged, stored, false)
	c.further, _ = missingIn(added, f, false)
	c.rows = len(changed)
	return c
}

// common returns the values of a at whose stamps b has the same quantity.
func common(a, b series.Frame) series.Frame {
	out := series.Frame{Times: a.Times}
	found := false
	for _, c := range a.Columns {
		others := b.Values(c.Quantity)
		if others == nil {
			continue
		}
		values := make([]float64, len(c.Values))
		for i, j := 0, 0; i < len(values); i++ {
			for j < b.Len() && b.Times[j] < a.Times[i] {
				j++
			}
			if values[i] = math.NaN(); j < b.Len() && b.Times[j] == a.Times[i] && !math.IsNaN(others[j]) {
				values[i] = c.Values[i]
				found = found || !math.IsNaN(values[i])
			}
		}
		out.Set(c.Quantity, values)
	}
	if !found {
		return series.Frame{}
	}
	return dropEmpty(out, func(int64) bool { return true })
}

// missingIn returns the values of a that b does not have at the same stamp, or, if changed is set, has otherwise; and their stamps.
func missingIn(a, b series.Frame, changed bool) (out series.Frame, stamps map[int64]bool) {
	stamps = map[int64]bool{}
	index := make([]int, a.Len())
	for i, j := 0, 0; i < a.Len(); i++ {
		for j < b.Len() && b.Times[j] < a.Times[i] {
			j++
		}
		if index[i] = -1; j < b.Len() && b.Times[j] == a.Times[i] {
			index[i] = j
		}
	}
	columns := make([][]float64, len(a.Columns))
	for k, c := range a.Columns {
		others := b.Values(c.Quantity)
		for i, v := range c.Values {
			if math.IsNaN(v) {
				continue
			}
			w := math.NaN()
			if others != nil && index[i] >= 0 {
				w = others[index[i]]
			}
			if math.IsNaN(w) || changed && w != v {
				if columns[k] == nil {
					columns[k] = make([]float64, a.Len())
					for n := range columns[k] {
						columns[k][n] = math.NaN()
					}
				}
				columns[k][i] = v
				stamps[a.Times[i]] = true
			}
		}
	}
	keep := make([]int, 0, len(stamps))
	for i, at := range a.Times {
		if stamps[at] {
			keep = append(keep, i)
			out.Times = append(out.Times, at)
		}
	}
	for k, values := range columns {
		if values == nil {
			continue
		}
		kept := make([]float64, len(keep))
		for n, i := range keep {
			kept[n] = values[i]
		}
		out.Set(a.Columns[k].Quantity, kept)
	}
	return out, stamps
}

func fileColumns(columns []ingest.Column) []api.FileColumn {
	var out []api.FileColumn
	for _, c := range columns {
		out = append(out, api.FileColumn{Number: c.Number, Title: c.Title, Role: c.Role, Unit: c.Unit, Asset: c.Asset, Reason: c.Reason})
	}
	return out
}

func decisionTexts(list []ingest.Decision) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.String())
	}
	return out
}

// firstDay returns the power of the first day with production; nil if there is none.
func firstDay(r *ingest.Result, zone *time.Location) *api.FileDay {
	day := ingest.FirstDay(r, zone)
	if day == nil {
		return nil
	}
	out := &api.FileDay{Day: day.Day, StepMinutes: day.StepMinutes}
	for _, p := range day.Points {
		out.Points = append(out.Points, api.FilePoint{Timestamp: api.At(p.Start), PowerKW: p.PowerKW})
	}
	return out
}
