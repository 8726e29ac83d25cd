package sitedata

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"app.sunloop/backend/store"
)

// Kinds of jobs, as they are stored.
const (
	JobIngest      = "ingest"
	JobTrain       = "train"
	JobForecast    = "forecast"
	JobDetect      = "detect"
	JobMaintain    = "maintain"
	JobInterpolate = "interpolate"
	JobSnapshot    = "snapshot"
	JobSite        = "site"   // a change of a whole site
	JobManual      = "manual" // a run that a person started
)

// JobKinds returns all kinds of jobs.
func JobKinds() []string {
	return []string{JobIngest, JobTrain, JobForecast, JobDetect, JobMaintain, JobInterpolate, JobSnapshot, JobSite, JobManual}
}

// maxAttempts of each kind. A crash counts as an attempt, so imports and
// trainings have many; jobs that the planner enqueues again have few.
var maxAttempts = map[string]int{JobIngest: 50, JobTrain: 30, JobForecast: 5, JobDetect: 5, JobMaintain: 5, JobInterpolate: 30, JobSnapshot: 5, JobSite: 1000, JobManual: 5}

// Payload is what a job carries: the upload, the run or the site that it works on.
type Payload struct {
	UploadID string `json:"upload_id,omitempty"`
	RunID    string `json:"run_id,omitempty"`
	SiteID   string `json:"site_id,omitempty"`
}

// NewJob returns a job to run now. Of a kind, one job is queued for each upload,
// run or site.
func (d *Data) NewJob(kind string, body Payload) store.Job {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings
	}
	unique := cmp.Or(body.UploadID, body.RunID, body.SiteID, "all")
	return store.Job{Kind: kind, Unique: unique, Payload: b, RunAt: d.Wall(), MaxAttempts: maxAttempts[kind]}
}

// ReadPayload decodes a job's payload. An error is [Permanent].
func ReadPayload(job store.Claimed) (Payload, error) {
	var body Payload
	if err := json.Unmarshal(job.Payload, &body); err != nil {
		return body, Permanent{fmt.Errorf("read the payload of a %s job: %w", job.Kind, err)}
	}
	return body, nil
}

// Postponed is an error of a job that cannot run yet, which counts as no attempt.
type Postponed struct {
	For time.Duration
	Why string
}

func (e Postponed) Error() string { return "postponed: " + e.Why }

// Permanent is an error of a job that another attempt would repeat.
type Permanent struct{ error }

// NewPermanent marks an error as permanent.
func NewPermanent(err error) error { return Permanent{err} }

func (e Permanent) Unwrap() error { return e.error }

// SkipJob changes the state of a failed job's site, so that the planner waits for
// its usual interval before it enqueues another.
func (d *Data) SkipJob(ctx context.Context, job store.Claimed, change func(*State)) error {
	body, err := ReadPayload(job)
	if err != nil {
		return err
	}
	return d.Records.Update(ctx, func(tx store.Tx) error {
		_, err := UpdateState(tx, body.SiteID, change)
		return err
	})
}
