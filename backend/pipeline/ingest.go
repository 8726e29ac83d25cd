package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
)

// ingest is the job that turns an upload's object into telemetry. Whatever was
// stored before a crash is stored again: the same.
func (p *Pipeline) ingest(ctx context.Context, job store.Claimed) error {
	body, err := read(job)
	if err != nil {
		return err
	}
	u, err := p.Ops.UploadRecord(ctx, body.UploadID)
	if errors.Is(err, store.ErrNotFound) {
		return permanent{err}
	}
	if err != nil || u.Ended() || u.Version > 0 {
		return err
	}
	defer p.progress.forget(u.UploadID)
	p.progress.upload(u.UploadID, stageValidating, 0)
	result, err := p.readObject(ctx, u)
	var refusal *ingest.Refusal
	if errors.As(err, &refusal) {
		p.Observe.upload(u.Kind, UploadFailed)
		return p.reject(ctx, u, refusal)
	}
	if err != nil {
		return err
	}
	p.progress.upload(u.UploadID, stageStoring, 0)
	site, units, words, err := p.settle(ctx, u, result)
	if err != nil {
		return err
	}
	if err := p.append(ctx, u.UploadID, site, result.Assets, units); err != nil {
		return err
	}
	if err := p.mendSeams(ctx, site, result, units); err != nil {
		return err
	}
	if err = p.imported(ctx, u, site, units, result, words); err == nil {
		p.Observe.upload(u.Kind, UploadImported)
	}
	return err
}

// longFile is how long a file is whose values tell what kind of energy they
// are, for shorter ones to follow.
const longFile = 3 * day

// readOptions are what is known of a file before it is read.
func (p *Pipeline) readOptions(ctx context.Context, req api.UploadRequest) (ingest.Options, error) {
	o := ingest.Options{CapacityKW: req.CapacityKW, Now: p.Now(), MaxBytes: api.MaxUploadBytes, Asset: req.AssetID}
	if req.Timezone != "" {
		zone, err := time.LoadLocation(req.Timezone)
		if err != nil {
			return o, api.InvalidParameter("timezone", "it is not an IANA time zone")
		}
		o.Zone, o.ZoneFrom = zone, "the zone given with the file"
	}
	site, err := p.Ops.Site(ctx, api.Unlimited("pipeline"), req.SiteID)
	if err != nil && !errors.Is(err, api.ErrSiteNotFound) {
		return o, err
	}
	units, err := p.Ops.SiteAssets(ctx, req.SiteID)
	if err != nil {
		return o, err
	}
	track, err := p.track(ctx, req.SiteID)
	if err != nil {
		return o, err
	}
	o.EnergyKind = track.EnergyKind
	if site.Timezone != "" && req.Timezone == "" {
		o.Zone, o.ZoneFrom = ops.Zone(site), "the site's zone"
	}
	if o.Asset == "" && len(units) == 1 {
		o.Asset = units[0].AssetID
	}
	if o.Asset == "" {
		o.Asset = api.PublicSiteID(req.SiteID) + "-1"
	}
	if o.CapacityKW == 0 {
		o.CapacityKW, err = p.firmCapacity(ctx, site, units, req.AssetID)
	}
	return o, err
}

// firmCapacity is the capacity that a file is held against: of the unit it is
// said to be of, else of the site; 0 where that is only an estimate from power
// seen so far, which a sunnier file may exceed.
func (p *Pipeline) firmCapacity(ctx context.Context, site api.Site, units []api.Asset, assetID string) (kW float64, err error) {
	err = p.Records.View(ctx, func(tx store.Tx) error {
		sum, firm := 0.0, true
		for _, unit := range units {
			estimated, err := p.Ops.Estimated(tx, unit)
			if err != nil {
				return err
			}
			if unit.AssetID == assetID && !estimated {
				kW = unit.CapacityKW
				return nil
			}
			sum, firm = sum+unit.CapacityKW, firm && !estimated
		}
		kW = site.CapacityKW
		if kW == 0 && firm {
			kW = sum
		}
		return nil
	})
	return kW, err
}

func (p *Pipeline) readObject(ctx context.Context, u ops.Upload) (result *ingest.Result, err error) {
	options, err := p.readOptions(ctx, u.Request)
	if err != nil {
		return nil, err
	}
	object, err := p.Objects.Open(ctx, u.ObjectKey)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	return readWhole(object, options)
}

// readWhole reads a file that may be imported; the error is else a
// [*ingest.Refusal], or that of the reader.
func readWhole(r io.Reader, o ingest.Options) (*ingest.Result, error) {
	result, err := ingest.Read(r, o)
	if err != nil {
		return nil, err
	}
	dropAbsurd(result)
	return result, crowded(result)
}

// Beyond these a number is no measurement of a plant, and sums over it would
// be none either: 100 GW, and a thousand times the world's yearly energy.
const (
	maxPowerKW = 1e8
	maxValue   = 1e16
)

// dropAbsurd takes what cannot be measured as missing.
func dropAbsurd(r *ingest.Result) {
	dropped := 0
	for i := range r.Assets {
		f := &r.Assets[i].Frame
		for k, c := range f.Columns {
			most := maxValue
			if c.Quantity == series.PowerKW {
				most = maxPowerKW
			}
			if !slices.ContainsFunc(c.Values, func(v float64) bool { return math.Abs(v) > most }) {
				continue
			}
			// Frames of one file may share memory.
			values := slices.Clone(c.Values)
			for j, v := range values {
				if math.Abs(v) > most {
					values[j] = math.NaN()
					dropped++
				}
			}
			f.Columns = slices.Clone(f.Columns)
			f.Columns[k].Values = values
		}
	}
	if dropped > 0 {
		r.Warnings = append(r.Warnings, ingest.Decision{Topic: "values", Text: fmt.Sprintf("%d are larger than any measurement of a plant and taken as missing", dropped)})
	}
}

// ingestFailed ends an upload whose import failed in its last attempt.
func (p *Pipeline) ingestFailed(ctx context.Context, job store.Claimed, cause error) error {
	body, err := read(job)
	if err != nil {
		return err
	}
	kind := ""
	defer func() { p.Observe.upload(kind, UploadFailed) }()
	return p.Records.Update(ctx, func(tx store.Tx) error {
		u, err := p.Ops.MoveUpload(tx, body.UploadID, api.UploadFailed, func(u *ops.Upload) {
			u.Error, u.Stage = "The import failed: "+firstLine(cause), ""
		})
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		kind = u.Kind
		if err := p.Ops.Note(tx, ops.Note{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseObserve, Title: "Import failed",
			Description: name(u) + ": " + firstLine(cause), Actor: u.Actor}); err != nil {
			return err
		}
		return p.releaseOthers(tx, u)
	})
}

// releaseOthers lets the site's uploads go on that waited for the last import.
func (p *Pipeline) releaseOthers(tx store.Tx, u ops.Upload) error {
	open, err := p.Ops.OpenUploads(tx, u.SiteID)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.Version > 0 {
			return tx.Enqueue(p.job(jobTrain, payload{SiteID: u.SiteID}))
		}
	}
	return nil
}

func name(u ops.Upload) string {
	if u.Filename != "" {
		return u.Filename
	}
	return u.UploadID
}

func firstLine(err error) string {
	s := err.Error()
	for i, r := range s {
		if r == '\n' {
			return s[:i]
		}
	}
	return s
}

// chunkStamps is about how many stamps are appended in one transaction: enough
// that commits cost little, few enough that other writers wait only briefly.
const chunkStamps = 50_000

// append stores the frames, asset by asset.
func (p *Pipeline) append(ctx context.Context, uploadID string, site api.Site, assets []ingest.Asset, units []api.Asset) error {
	total, done := 0, 0
	for _, a := range assets {
		total += a.Frame.Len()
	}
	var chunk []store.AssetFrame
	size := 0
	flush := func() error {
		if len(chunk) == 0 {
			return nil
		}
		if err := p.Telemetry.Append(ctx, ops.TelemetryKey(site), chunk); err != nil {
			return fmt.Errorf("store telemetry of site %s: %w", site.SiteID, err)
		}
		done += size
		p.progress.upload(uploadID, stageStoring, float64(done)/float64(total))
		chunk, size = nil, 0
		return nil
	}
	for i, a := range assets {
		for from := 0; from < a.Frame.Len(); {
			to := min(from+chunkStamps-size, a.Frame.Len())
			part := a.Frame
			if from > 0 || to < a.Frame.Len() {
				part = a.Frame.Slice(a.Frame.Times[from], a.Frame.Times[to-1]+1)
			}
			chunk, size = append(chunk, store.AssetFrame{AssetID: units[i].AssetID, Frame: part}), size+part.Len()
			from = to
			if size >= chunkStamps {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// imported writes the upload's record and the site's track, and asks for what
// follows, in one transaction.
func (p *Pipeline) imported(ctx context.Context, u ops.Upload, site api.Site, units []api.Asset, r *ingest.Result, words []string) error {
	train := u.Kind == api.UploadTrain
	return p.Records.Update(ctx, func(tx store.Tx) error {
		t, err := advance(tx, site.SiteID, func(t *Track) {
			t.CustomerID = site.CustomerID
			t.Data++
			t.Live = t.Live || !train
			if r.ValueKind != ingest.KindPower && r.Last.Sub(r.First) >= longFile {
				t.EnergyKind = r.ValueKind
			}
			if r.Last.After(t.LastData) {
				t.LastData = r.Last
			}
		})
		if err != nil {
			return err
		}
		fill := func(u *ops.Upload) {
			describe(u, site, units, r, words)
			u.Version = t.Data
			u.Stage, u.Progress = stageTraining, stageSpan[stageTraining][0]
		}
		if _, err := p.Ops.MoveUpload(tx, u.UploadID, api.UploadProcessing, fill); err != nil {
			return err
		}
		if train {
			return tx.Enqueue(p.job(jobTrain, payload{SiteID: site.SiteID}))
		}
		return p.finishUpload(tx, u.UploadID)
	})
}

// describe fills in what became of the file.
func describe(u *ops.Upload, site api.Site, units []api.Asset, r *ingest.Result, words []string) {
	u.RowsRead, u.RowsStored, u.RowsMissing, u.RowsSkipped = r.Rows.Read, r.Rows.Stored, r.Rows.Missing, r.Rows.Skipped
	u.Manufacturer = r.Manufacturer
	if u.Manufacturer == "" {
		u.Manufacturer = u.Request.Manufacturer
	}
	u.Unit, u.ValueKind, u.IntervalMinutes, u.Timezone = r.UnitSource, r.ValueKind, r.Interval.Minutes(), site.Timezone
	u.FirstRecord, u.LastRecord = wireTime(r.First), wireTime(r.Last)
	u.AssetIDs, u.Decisions, u.Warnings = nil, nil, nil
	for _, unit := range units {
		u.AssetIDs = append(u.AssetIDs, unit.AssetID)
	}
	for _, d := range r.Decisions {
		u.Decisions = append(u.Decisions, d.String())
	}
	u.Decisions = append(u.Decisions, words...)
	for _, w := range r.Warnings {
		u.Warnings = append(u.Warnings, w.String())
	}
}

func wireTime(t time.Time) api.Time {
	if t.IsZero() {
		return api.Time{}
	}
	return api.At(t)
}

// finishUpload ends an upload well, with what was added to its words on the way.
func (p *Pipeline) finishUpload(tx store.Tx, id string, words ...string) error {
	u, err := p.Ops.UploadInTx(tx, id)
	if err != nil || u.Ended() { // it was cancelled on the way
		return err
	}
	end := api.UploadCompleted
	if len(u.Warnings) > 0 {
		end = api.UploadWithWarnings
	}
	u, err = p.Ops.MoveUpload(tx, id, end, func(u *ops.Upload) {
		u.Decisions = append(u.Decisions, words...)
		u.Stage, u.Progress = "", 1
	})
	if err != nil || u.Kind == api.UploadNowcast {
		return err // a live feed would drown all else
	}
	return p.Ops.Note(tx, ops.Note{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseObserve, Title: "File imported",
		Description: fmt.Sprintf("%s: %d readings of %d units", name(u), u.RowsStored, len(u.AssetIDs)), Actor: u.Actor})
}
