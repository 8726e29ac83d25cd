package api

// Kinds of runs that people start, and the service the last.
const (
	RunTrain    = "train"
	RunForecast = "forecast"
	RunFillGaps = "fill_gaps"
	RunDetect   = "detect"
	RunBackcast = "backcast"
)

// RunKinds returns all kinds of runs in the order of documents.
func RunKinds() []string { return []string{RunTrain, RunForecast, RunFillGaps, RunDetect, RunBackcast} }

// States of a run.
const (
	RunQueued    = "queued"
	RunRunning   = "running"
	RunCompleted = "completed"
	RunFailed    = "failed"
)

// MaxRunDays is the longest window of a detection that a person starts, in days.
const MaxRunDays = 1100

// ManualRun (extension) is work on a site that a person started, which the service
// otherwise does when it is due. Backcasts that the service started are listed too.
type ManualRun struct {
	RunID       string  `json:"run_id"`
	SiteID      string  `json:"site_id"`
	CustomerID  string  `json:"customer_id"`
	Kind        string  `json:"kind"`          // train, forecast, fill_gaps, detect, backcast
	From        Time    `json:"from,omitzero"` // of a detection: its window
	To          Time    `json:"to,omitzero"`   // of a detection: before this time
	Status      string  `json:"status"`        // queued, running, completed, failed
	Progress    float64 `json:"progress"`      // 0 to 1
	Result      string  `json:"result"`        // the outcome, or why it failed, as sentences; empty until it has ended
	RequestedBy string  `json:"requested_by"`  // user name or API key
	RequestedAt Time    `json:"requested_at"`
	StartedAt   Time    `json:"started_at,omitzero"`
	EndedAt     Time    `json:"ended_at,omitzero"`
}

// Ended reports whether the run is over.
func (r ManualRun) Ended() bool { return r.Status == RunCompleted || r.Status == RunFailed }

// RunsRequest is the body of POST /terminal/runs.
type RunsRequest struct {
	Action     string `json:"action,omitempty" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	Kind       string `json:"kind,omitempty" limit:"word"`
	From       Time   `json:"from,omitzero"` // of detect: the window; without one, the present
	To         Time   `json:"to,omitzero"`
	Page
}

// RunResponse answers the action start of /terminal/runs.
type RunResponse struct {
	Success bool      `json:"success"`
	Message string    `json:"message"`
	Run     ManualRun `json:"run"`
}

// RunsResponse answers the action list of /terminal/runs, newest first.
type RunsResponse struct {
	Success    bool        `json:"success"`
	Runs       []ManualRun `json:"runs"`
	Count      int         `json:"count"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

var runs = Route{
	Name: "runs", Path: PathRuns,
	Summary: "Start training, a forecast, gap filling, detection or backcasts of a site, and list such runs",
	Description: "The service does these when they are due; a run does one now. Of a kind, one run of a site is in progress at a time. Detect takes a window of time, " +
		"also in the past; without one it evaluates the present. Backcast computes the forecasts of the last 30 days for which none was issued. The newest 50 runs of a site are kept, with their progress and result.",
	Example: RunsRequest{Action: ActionStart, SiteID: exampleSite, Kind: RunTrain},
	Errors:  []*Error{ErrInvalidAction, MissingField("site_id"), InProgress("A run of this kind is in progress: run_01J9Z0")},
}

// Runs that people start.
var (
	StartRun = define[RunsRequest, RunResponse](&runs, Operation{Action: ActionStart, Permission: PermissionDetect, Idempotent: true,
		Fields: Fields{required("site_id"), required("kind").oneOf(RunKinds()...), rule(checkRunWindow)}})
	ListRuns = define[RunsRequest, RunsResponse](&runs, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("site_id"), since(), pageLimit()}})
)

// checkRunWindow checks the window, which only a detection has.
func checkRunWindow(r *RunsRequest) error {
	switch {
	case r.From.IsZero() && r.To.IsZero():
		return nil
	case r.Kind != RunDetect:
		return InvalidField("from", "only "+RunDetect+" takes a window")
	case r.From.IsZero():
		return MissingField("from")
	case r.To.IsZero():
		return MissingField("to")
	case r.From.Before(earliestWindow):
		return InvalidField("from", "must be "+At(earliestWindow).String()+" or later")
	case !r.From.Before(r.To.Time):
		return InvalidField("to", "must be after from")
	case r.To.Sub(r.From.Time).Hours() > 24*MaxRunDays:
		return InvalidField("to", "must be at most 1100 days after from")
	}
	return nil
}
