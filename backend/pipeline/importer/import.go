package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// RunJob turns an upload's object into telemetry. What was stored before a crash
// is stored again, unchanged.
func (im *Importer) RunJob(ctx context.Context, job store.Claimed) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	u, err := im.Domain.Uploads.Get(ctx, body.UploadID)
	if errors.Is(err, store.ErrNotFound) {
		return sitedata.NewPermanent(err)
	}
	if err != nil || u.Ended() || u.Version > 0 {
		return err
	}
	if err := im.waitForChange(ctx, u); err != nil {
		return err
	}
	defer im.Progress.Forget(u.UploadID)
	im.Progress.SetUpload(u.UploadID, sitedata.StageValidating, 0)
	if u, err = im.assemble(ctx, u); err != nil {
		return err
	}
	var refusal *ingest.Refusal
	if u.Bytes > api.MaxUploadBytes {
		err := im.importPieces(ctx, u)
		if errors.As(err, &refusal) {
			im.Hooks.Upload(u.Kind, UploadFailed)
			return im.rejectImport(ctx, u, refusal)
		}
		if err == nil {
			im.Hooks.Upload(u.Kind, UploadImported)
		}
		return err
	}
	result, options, err := im.readObject(ctx, u)
	if errors.As(err, &refusal) {
		im.Hooks.Upload(u.Kind, UploadFailed)
		return im.rejectImport(ctx, u, refusal)
	}
	if err != nil {
		return err
	}
	im.Progress.SetUpload(u.UploadID, sitedata.StageStoring, 0)
	if u.Kind == api.UploadTrain {
		before, known, err := im.siteAndUnits(ctx, u.Request.Of(u.CustomerID, u.SiteID))
		if err != nil {
			return err
		}
		doubts, err := im.doubts(ctx, u.Request.Of(u.CustomerID, u.SiteID), before, known, options, result)
		if err != nil {
			return err
		}
		result.Warnings = append(result.Warnings, doubts...)
	}
	implausible, err := im.dropImplausible(ctx, u, result)
	if err != nil {
		return err
	}
	site, units, words, err := im.resolveAssets(ctx, u, result)
	if err != nil {
		return err
	}
	words = append(words, implausible...)
	intoDays(result, record.Zone(site.Timezone))
	replaced, err := im.keepReplaced(ctx, u, site, result.Assets, units)
	if err != nil {
		return err
	}
	if replaced > 0 {
		words = append(words, fmt.Sprintf("rows: the values of %s replaced stored values", display.CountOf(replaced, "row", "rows")))
	}
	if err := im.storeFrames(ctx, u.UploadID, site, result.Assets, units); err != nil {
		return err
	}
	if err := im.joinCounters(ctx, u, site, result, units); err != nil {
		return err
	}
	if err = im.recordImport(ctx, u, site, units, result, words); err == nil {
		im.Hooks.Upload(u.Kind, UploadImported)
	}
	return err
}

// waitForChange postpones an import while its site is being changed, unless the change
// waits for it.
func (im *Importer) waitForChange(ctx context.Context, u upload.Upload) error {
	change, err := im.Domain.Sites.RunningChangeOf(ctx, u.SiteID)
	if err != nil || change == nil || slices.Contains(change.WaitFor, u.UploadID) {
		return err
	}
	return sitedata.Postponed{For: 2 * time.Second, Why: "site " + u.SiteID + " is being changed"}
}

const day = 24 * time.Hour

// minKindSpan is the span of a file whose values decide which kind of energy the
// site's shorter files contain.
const minKindSpan = 3 * day

// readOptions returns what is known of a file before it is read.
func (im *Importer) readOptions(ctx context.Context, req api.UploadRequest) (ingest.Options, error) {
	o := ingest.Options{CapacityKW: req.CapacityKW, Now: im.Now(), MaxBytes: api.MaxUploadBytes, Asset: req.AssetID}
	if req.Timezone != "" {
		zone, err := time.LoadLocation(req.Timezone)
		if err != nil {
			return o, api.InvalidParameter("timezone", "it is not an IANA time zone")
		}
		o.Zone, o.ZoneFrom = zone, "the zone given with the file"
	}
	site, err := im.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), req.SiteID)
	if err != nil && !errors.Is(err, api.ErrSiteNotFound) {
		return o, err
	}
	units, err := im.Domain.Sites.SiteAssets(ctx, req.SiteID)
	if err != nil {
		return o, err
	}
	state, err := im.State(ctx, req.SiteID)
	if err != nil {
		return o, err
	}
	o.EnergyKind = state.EnergyKind
	if o.Mapping, err = ingest.ParseMapping(req.Mapping); err != nil {
		return o, api.InvalidParameter("mapping", err.Error())
	}
	profiles, err := im.Domain.Uploads.Profiles(ctx, req.SiteID)
	if err != nil {
		return o, err
	}
	o.Profile = func(shape string) (ingest.Mapping, bool) {
		m, err := ingest.ParseMapping(profiles[shape])
		return m, err == nil && len(m.Entries) > 0
	}
	if site.Timezone != "" && req.Timezone == "" {
		o.Zone, o.ZoneFrom = record.Zone(site.Timezone), "the site's zone"
	}
	if o.Asset == "" && len(units) == 1 {
		o.Asset = units[0].AssetID
	}
	if o.Asset == "" {
		o.Asset = api.PublicSiteID(req.SiteID) + "-1"
	}
	if o.CapacityKW == 0 {
		o.CapacityKW, err = im.firmCapacity(ctx, site, units, req.AssetID)
	}
	return o, err
}

// firmCapacity returns the capacity that a file's values are checked against: that
// of the asset it is said to be of, else the site's. It is 0 if that is only an
// estimate from the power seen so far, which a sunnier file may exceed.
func (im *Importer) firmCapacity(ctx context.Context, site api.Site, units []api.Asset, assetID string) (kW float64, err error) {
	err = im.Records.View(ctx, func(tx store.Tx) error {
		sum, firm := 0.0, true
		for _, unit := range units {
			estimated, err := im.Domain.Sites.Estimated(tx, unit)
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

func (im *Importer) readObject(ctx context.Context, u upload.Upload) (result *ingest.Result, options ingest.Options, err error) {
	if options, err = im.readOptions(ctx, u.Request); err != nil {
		return nil, options, err
	}
	if result := im.checked.take(u.UploadID, options); result != nil {
		return result, options, nil
	}
	object, err := im.Objects.Open(ctx, u.ObjectKey)
	if err != nil {
		return nil, options, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	result, err = readWhole(object, options)
	return result, options, err
}

// readWhole reads a file that may be imported. The error is a [*ingest.Refusal],
// or the reader's.
func readWhole(r io.Reader, o ingest.Options) (*ingest.Result, error) {
	result, err := ingest.Read(r, o)
	if err != nil {
		return nil, err
	}
	dropImplausible(result)
	holdValues(result, o.Zone)
	for i := range result.Assets {
		result.Assets[i].Frame = energy.StateStep(result.Assets[i].Frame)
	}
	return result, checkAssetCount(result)
}

// holdValues states what samples cover in files of loggers that write when a
// value changes.
func holdValues(r *ingest.Result, zone *time.Location) {
	if r.ValueKind != ingest.KindPower {
		return
	}
	if zone == nil {
		zone = time.UTC
	}
	next := func(at int64) int64 { return series.NextMidnight(time.Unix(at, 0), zone).Unix() }
	held := 0
	for i := range r.Assets {
		f, ok := energy.Hold(r.Assets[i].Frame, next)
		if ok {
			r.Assets[i].Frame = f
			held++
		}
	}
	if held > 0 {
		r.Decisions = append(r.Decisions, ingest.Decision{Topic: "values", Text: fmt.Sprintf("%d of %s were written when a value changed; each value holds until the next one", held, display.CountOf(len(r.Assets), "unit", "units"))})
	}
}

// intoDays divides the samples that reach over a midnight of the site.
func intoDays(r *ingest.Result, zone *time.Location) {
	next := func(at int64) int64 { return series.NextMidnight(time.Unix(at, 0), zone).Unix() }
	for i := range r.Assets {
		r.Assets[i].Frame = energy.SplitDays(r.Assets[i].Frame, next)
	}
}

// Greatest plausible values: 100 GW, and a thousand times the world's yearly
// energy. Greater values are no measurements of a plant, and would spoil sums.
const (
	maxPowerKW = 1e8
	maxValue   = 1e16
)

// dropImplausible replaces values that no plant can have by missing ones.
func dropImplausible(r *ingest.Result) {
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

// JobFailed ends an upload whose import failed in its last attempt.
func (im *Importer) JobFailed(ctx context.Context, job store.Claimed, cause error) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	kind := api.UploadTrain
	defer func() { im.Hooks.Upload(kind, UploadFailed) }()
	return im.Records.Update(ctx, func(tx store.Tx) error {
		u, err := im.Domain.Uploads.SetStatus(tx, body.UploadID, api.UploadFailed, func(u *upload.Upload) {
			u.Error, u.Stage = "The import failed: "+sitedata.FirstLine(cause), ""
		})
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		kind = u.Kind
		if err := im.Domain.Activities.Record(tx, activity.Record{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseObserve, Title: "Import failed",
			Description: name(u) + ": " + sitedata.FirstLine(cause), Actor: u.Actor}); err != nil {
			return err
		}
		return im.releaseWaiting(tx, u)
	})
}

// releaseWaiting enqueues the training of the site's uploads that waited for the
// last import.
func (im *Importer) releaseWaiting(tx store.Tx, u upload.Upload) error {
	open, err := im.Domain.Uploads.Open(tx, u.SiteID)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.Version > 0 {
			return tx.Enqueue(im.NewJob(sitedata.JobTrain, sitedata.Payload{SiteID: u.SiteID}))
		}
	}
	return nil
}

func name(u upload.Upload) string {
	if u.Filename != "" {
		return u.Filename
	}
	return u.UploadID
}

// storeFrames stores the frames of all units in one transaction, so that a reader sees all of them or
// none. The blocks are made before it begins, so that other writers wait only while they are written.
func (im *Importer) storeFrames(ctx context.Context, uploadID string, site api.Site, assets []ingest.Asset, units []api.Asset) error {
	frames := make([]store.AssetFrame, 0, len(assets))
	for i, a := range assets {
		if a.Frame.Len() > 0 {
			frames = append(frames, store.AssetFrame{AssetID: units[i].AssetID, Frame: a.Frame})
		}
	}
	if len(frames) == 0 {
		return nil
	}
	if err := im.Telemetry.Append(ctx, store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, frames); err != nil {
		return fmt.Errorf("store telemetry of site %s: %w", site.SiteID, err)
	}
	im.Progress.SetUpload(uploadID, sitedata.StageStoring, 1)
	return nil
}

// recordImport stores the upload's record and the site's state, and enqueues what
// follows, in one transaction.
func (im *Importer) recordImport(ctx context.Context, u upload.Upload, site api.Site, units []api.Asset, r *ingest.Result, words []string) error {
	train := u.Kind == api.UploadTrain
	return im.Records.Update(ctx, func(tx store.Tx) error {
		t, err := sitedata.UpdateState(tx, site.SiteID, func(t *sitedata.State) {
			t.CustomerID = site.CustomerID
			t.Data++
			t.Live = t.Live || !train
			if r.ValueKind != ingest.KindPower && r.Last.Sub(r.First) >= minKindSpan {
				t.EnergyKind = r.ValueKind
			}
			if r.Last.After(t.LastData) {
				t.LastData = r.Last
			}
			t.Rhythm.Add(im.Now(), r.Last)
			t.AddHistory(r.First, r.Last)
		})
		if err != nil {
			return err
		}
		newest := map[string]time.Time{}
		for n, a := range r.Assets {
			if times := a.Frame.Times; n < len(units) && len(times) > 0 {
				newest[units[n].AssetID] = time.Unix(times[len(times)-1], 0).UTC()
			}
		}
		if err := sitedata.AddArrivals(tx, site.SiteID, im.Now(), newest); err != nil {
			return err
		}
		words := words
		fill := func(u *upload.Upload) {
			fillRecord(u, site, units, r, words)
			u.FirstDay = firstDay(r, record.Zone(site.Timezone))
			u.Version = t.Data
			u.Stage, u.Progress = sitedata.StageTraining, sitedata.StageStart(sitedata.StageTraining)
		}
		if u.Request.Mapping != "" && !isInferred(u.Request.Mapping) {
			kept, err := im.Domain.Uploads.KeepProfile(tx, upload.Profile{SiteID: site.SiteID, Shape: r.Shape, Mapping: u.Request.Mapping, Actor: u.Actor})
			if err != nil {
				return err
			}
			if kept {
				words = append(slices.Clone(words), mappingKept)
			}
		}
		if _, err := im.Domain.Uploads.SetStatus(tx, u.UploadID, api.UploadProcessing, fill); err != nil {
			return err
		}
		if train {
			return tx.Enqueue(im.NewJob(sitedata.JobTrain, sitedata.Payload{SiteID: site.SiteID}))
		}
		return im.FinishUpload(tx, u.UploadID)
	})
}

// fillRecord sets the outcome of the file in an upload's record.
func fillRecord(u *upload.Upload, site api.Site, units []api.Asset, r *ingest.Result, words []string) {
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
	if u.Request.Mapping == "" && len(r.Applied.Entries) > 0 {
		u.Request.Mapping = r.Applied.String() // of the profile, to read the file again
	}
	u.Columns, u.RunnersUp, u.Mapping = fileColumns(r.Columns), decisionTexts(r.RunnersUp), r.Mapping.Text()
}

func wireTime(t time.Time) api.Time {
	if t.IsZero() {
		return api.Time{}
	}
	return api.At(t)
}

// FinishUpload ends an upload successfully and appends to its decisions.
func (im *Importer) FinishUpload(tx store.Tx, id string, words ...string) error {
	u, err := im.Domain.Uploads.GetIn(tx, id)
	if err != nil || u.Ended() { // it was cancelled on the way
		return err
	}
	end := api.UploadCompleted
	if len(u.Warnings) > 0 {
		end = api.UploadWithWarnings
	}
	u, err = im.Domain.Uploads.SetStatus(tx, id, end, func(u *upload.Upload) {
		u.Decisions = append(u.Decisions, words...)
		u.Stage, u.Progress = "", 1
	})
	if err != nil || u.Kind == api.UploadNowcast {
		return err // a live feed would drown all else
	}
	return im.Domain.Activities.Record(tx, activity.Record{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseObserve, Title: "File imported",
		Description: fmt.Sprintf("%s: %s of %s", name(u), display.CountOf(u.RowsStored, "reading", "readings"), display.CountOf(len(u.AssetIDs), "unit", "units")), Actor: u.Actor})
}
