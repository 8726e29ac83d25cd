package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
)

// Track is how far the work on a site has come.
type Track struct {
	SiteID     string `json:"site_id" limit:"id"`
	CustomerID string `json:"customer_id" limit:"id"`

	Data     uint64    `json:"data"`      // counts the imports
	LastData time.Time `json:"last_data"` // newest stamp
	Live     bool      `json:"live"`      // nowcasts come in

	EnergyKind string `json:"energy_kind,omitempty" limit:"word"` // that files of days have held, of [ingest.Result.ValueKind]

	Trained    uint64    `json:"trained"`     // of Data, at the last training
	TrainedEnd time.Time `json:"trained_end"` // end of the data that the production model learned from
	TriedEnd   time.Time `json:"tried_end"`   // end of the data at the last training, however it went
	HasModel   bool      `json:"has_model"`
	Young      bool      `json:"young,omitempty"` // the production model was learned before there was enough of the site's own

	ForecastAt   time.Time `json:"forecast_at"`   // plant's clock
	ForecastData uint64    `json:"forecast_data"` // of Data, then
	ScoredTo     time.Time `json:"scored_to"`     // up to when forecasts were held against actuals
	DetectAt     time.Time `json:"detect_at"`
	DetectData   uint64    `json:"detect_data"`
	DeepAt       time.Time `json:"deep_at"` // of the last detection that looked at months
	Snapshots    Made      `json:"snapshots"`
}

var tracks = store.Table[Track]{
	Bucket: "tracks",
	Key:    func(t Track) []byte { return store.Key(t.SiteID) },
}

// advance changes a site's track within the transaction.
func advance(tx store.Tx, siteID string, change func(*Track)) (Track, error) {
	t, err := tracks.Get(tx, store.Key(siteID))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return t, fmt.Errorf("read the track of site %s: %w", siteID, err)
	}
	t.SiteID = siteID
	change(&t)
	if err := tracks.Put(tx, t); err != nil {
		return t, fmt.Errorf("store the track of site %s: %w", siteID, err)
	}
	return t, nil
}

func (p *Pipeline) track(ctx context.Context, siteID string) (Track, error) {
	var t Track
	err := p.Records.View(ctx, func(tx store.Tx) error {
		var err error
		t, err = tracks.Get(tx, store.Key(siteID))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return Track{SiteID: siteID}, nil
	}
	return t, err
}

// payload is what a job carries.
type payload struct {
	UploadID string `json:"upload_id,omitempty"`
	SiteID   string `json:"site_id,omitempty"`
}

func (p *Pipeline) job(kind string, body payload) store.Job {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // two strings
	}
	unique := cmp.Or(body.UploadID, body.SiteID, "all")
	return store.Job{Kind: kind, Unique: unique, Payload: b, RunAt: p.Wall(), MaxAttempts: attempts[kind]}
}

// attempts of each kind. A crash counts as one, so imports and trainings have
// many; what the planner asks for again has few.
var attempts = map[string]int{jobIngest: 50, jobTrain: 30, jobForecast: 5, jobDetect: 5, jobMaintain: 5, jobInterpolate: 30, jobSnapshot: 5}

func read(job store.Claimed) (payload, error) {
	var body payload
	if err := json.Unmarshal(job.Payload, &body); err != nil {
		return body, permanent{fmt.Errorf("read the payload of a %s job: %w", job.Kind, err)}
	}
	return body, nil
}

// recover puts back on its way what a former process may have left behind:
// every open upload has a job, and no object is there without a record, unless
// another process is about to name it.
func (p *Pipeline) recover(ctx context.Context) error {
	if err := p.sweepIntents(ctx, true); err != nil {
		return err
	}
	return p.requeue(ctx)
}

// requeue gives every open upload a job, unless it has one.
func (p *Pipeline) requeue(ctx context.Context) error {
	err := p.Records.Update(ctx, func(tx store.Tx) error {
		open, err := p.Ops.AllOpenUploads(tx)
		if err != nil {
			return err
		}
		for _, u := range open {
			job := p.resume(u)
			job.Spare = true
			if err := tx.Enqueue(job); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take up the open uploads: %w", err)
	}
	return nil
}

// resume is the job that an open upload waits for.
func (p *Pipeline) resume(u ops.Upload) store.Job {
	if u.ProcessingStatus == api.UploadProcessing && u.Version > 0 { // its telemetry is in
		return p.job(jobTrain, payload{SiteID: u.SiteID})
	}
	return p.job(jobIngest, payload{UploadID: u.UploadID})
}
