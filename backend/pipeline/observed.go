package pipeline

import (
	"context"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// How a run of a job ended.
const (
	JobDone      = "done"
	JobCancelled = "cancelled" // by a person
	JobStopped   = "stopped"   // by the end of the service
	JobRetried   = "retried"   // it failed, and is tried again
	JobFailed    = "failed"    // for good
)

// What became of a file.
const (
	UploadAccepted = "accepted"
	UploadRepeated = "repeated" // it was uploaded before
	UploadRefused  = "refused"
	UploadImported = "imported"
	UploadFailed   = "failed" // it was accepted, and cannot be imported
)

// Observe is told of what happens; what is nil is not told.
type Observe struct {
	// Job is told of a job before it runs, and answers the context for it and
	// what is told how the run ended, with its error.
	Job      func(ctx context.Context, job store.Claimed) (context.Context, func(outcome string, cause error))
	Upload   func(kind, outcome string) // kind as in api.Upload
	Forecast func()                     // one was issued and stored
	Detect   func()                     // a run of the detector was recorded
	Train    func(skill float64)        // a model was registered; its backtest's skill, 1 is perfect
}

// begun is what Job answers.
func (o Observe) begun(ctx context.Context, job store.Claimed) (context.Context, func(outcome string, cause error)) {
	if o.Job == nil {
		return ctx, func(string, error) {}
	}
	return o.Job(ctx, job)
}

func (o Observe) upload(kind, outcome string) {
	if o.Upload != nil {
		if kind == "" {
			kind = api.UploadTrain
		}
		o.Upload(kind, outcome)
	}
}

func (o Observe) acknowledged(kind string, ack api.UploadAck) {
	outcome := UploadAccepted
	if ack.Message == ackRepeated {
		outcome = UploadRepeated
	}
	o.upload(kind, outcome)
}

// tell calls what is told, unless it is nil.
func tell(told func()) {
	if told != nil {
		told()
	}
}

// JobKinds are the kinds of jobs that there are.
func JobKinds() []string {
	return []string{jobIngest, jobTrain, jobForecast, jobDetect, jobMaintain, jobInterpolate, jobSnapshot}
}
