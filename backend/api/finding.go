package api

import "slices"

// DetectRequest is the body of POST /terminal/detect: action run or list.
type DetectRequest struct {
	Action        string `json:"action" limit:"word"`
	AssetID       string `json:"asset_id,omitempty" limit:"id"`
	SiteID        string `json:"site_id,omitempty" limit:"id"` // extension
	CustomerID    string `json:"customer_id,omitempty" limit:"id"`
	LookbackHours int    `json:"lookback_hours,omitempty"`
	Severity      string `json:"severity,omitempty" limit:"word"` // list
	Page
}

// Detection is a stored run of the detector over one asset.
type Detection struct {
	DetectionID       string    `json:"detection_id" limit:"id"`
	AssetID           string    `json:"asset_id" limit:"id"`
	DetectedAt        Time      `json:"detected_at"`
	AnomaliesDetected int       `json:"anomalies_detected"` // the anomalies of the analysis: those that last, and those that ended in the look-back
	Severity          string    `json:"severity" limit:"word"`
	Status            string    `json:"status" limit:"word"` // "completed"
	Analysis          *Analysis `json:"analysis,omitempty"`
}

// Statuses of an analysis.
const (
	AnomalyDetected = "anomaly_detected"
	AnomalyNone     = "normal"
)

// Analysis is what a run of the detector saw.
type Analysis struct {
	SeverityLabel   string          `json:"severity_label" limit:"word"` // of the worst anomaly; at most warning if all have ended
	SeverityScore   float64         `json:"severity_score"`              // 0..1
	Status          string          `json:"status" limit:"word cut"`     // anomaly_detected if there are anomalies, otherwise normal
	FaultType       string          `json:"fault_type" limit:"word"`     // family, "none"
	Summary         string          `json:"summary" limit:"line cut"`
	Anomalies       []Anomaly       `json:"anomalies" limit:"1000 cut"`
	Metrics         AnalysisMetrics `json:"metrics"`
	EnergyAtRiskKW  float64         `json:"energy_at_risk_kw"` // a power: the mean that is lost in the daylight of the next 24 h
	LastObservation Time            `json:"last_observation,omitzero"`
	NotJudged       []string        `json:"not_judged,omitempty" limit:"200 line cut"` // what could not be judged, and why
}

// Anomaly is one event of an analysis.
type Anomaly struct {
	SummaryID     string  `json:"summary_id,omitempty" limit:"id"` // the finding, whose losses these are
	FaultFamily   string  `json:"fault_family" limit:"word"`
	SeverityLabel string  `json:"severity_label" limit:"word"`
	StartedAt     Time    `json:"started_at"`
	LastSeenAt    Time    `json:"last_seen_at"`
	EndedAt       Time    `json:"ended_at,omitzero"`
	LossFraction  float64 `json:"loss_fraction"`
	LostKWh       float64 `json:"lost_kwh"`
	Confidence    float64 `json:"confidence"`
	Summary       string  `json:"summary" limit:"line cut"`
}

// AnalysisMetrics are the latest values behind an analysis; absent when not measured.
type AnalysisMetrics struct {
	LatestPowerKW       *float64 `json:"latest_power_kw,omitempty"`
	BaselinePowerKW     *float64 `json:"baseline_power_kw,omitempty"`
	LatestIrradianceWM2 *float64 `json:"latest_irradiance_wm2,omitempty"`
	LatestTemperatureC  *float64 `json:"latest_temperature_c,omitempty"`
	LatestInverterState *int     `json:"latest_inverter_state,omitempty"`
	LatestRunState      *int     `json:"latest_run_state,omitempty"`
}

// DetectResponse answers /terminal/detect.
type DetectResponse struct {
	Success           bool        `json:"success"`
	Message           string      `json:"message,omitempty"`
	DetectionID       string      `json:"detection_id,omitempty"`
	AssetID           string      `json:"asset_id,omitempty"`
	AnomaliesDetected *int        `json:"anomalies_detected,omitempty"` // run: always there
	Status            string      `json:"status,omitempty"`
	Analysis          *Analysis   `json:"analysis,omitempty"`
	Detections        []Detection `json:"detections,omitzero"` // list: there even when empty
	Count             int         `json:"count"`
	NextCursor        string      `json:"next_cursor,omitempty"`
}

// Action is a recommendation.
type Action struct {
	Priority string `json:"priority" limit:"word"` // high, medium, low
	Action   string `json:"action" limit:"line cut"`
}

// Cause is a possible root cause with its confidence 0..1.
type Cause struct {
	Cause      string  `json:"cause" limit:"line cut"`
	Confidence float64 `json:"confidence"`
}

// Evidence is a sentence made from data, for or against the finding.
type Evidence struct {
	For  bool   `json:"for"`
	Text string `json:"text" limit:"line cut"`
}

// Finding is an OODA summary: one fault of one asset (or of a whole site) from
// its first detection to its end. The fields after Detections are extensions.
type Finding struct {
	SummaryID          string   `json:"summary_id" limit:"id"`
	AssetID            string   `json:"asset_id" limit:"id"`
	CreatedAt          Time     `json:"created_at"`
	LastDetectionAt    Time     `json:"last_detection_at"`
	UpdatedAtMS        int64    `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
	ModelVersion       string   `json:"model_version" limit:"id"`
	FaultFamily        string   `json:"fault_family" limit:"word"`
	SeverityLabel      string   `json:"severity_label" limit:"word"`
	Confidence         float64  `json:"confidence"`
	EnergyAtRiskKW     float64  `json:"energy_at_risk_kw"` // a power: the mean that is lost in the daylight of the next 24 h
	RootCause          string   `json:"root_cause" limit:"line cut"`
	RecommendedActions []Action `json:"recommended_actions" limit:"50 cut"`
	Detections         []string `json:"detections" limit:"1000 id last"`

	SiteID        string     `json:"site_id" limit:"id"`
	AlertSeverity string     `json:"alert_severity,omitempty" limit:"word"`    // of its alert; severity_label is coarser
	AssetIDs      []string   `json:"asset_ids,omitempty" limit:"10000 id cut"` // all units of a grouped finding
	Active        bool       `json:"active"`
	StartedAt     Time       `json:"started_at"`
	EndedAt       Time       `json:"ended_at,omitzero"`
	DetectedAt    Time       `json:"detected_at,omitzero"` // when the detector first reported it
	LossFraction  float64    `json:"loss_fraction"`
	LostKWh       float64    `json:"lost_kwh"`                  // so far, until the end; the sum of its hours
	LastedHours   float64    `json:"lasted_hours,omitempty"`    // that it was there: the sum of its occasions
	RevenueAtRisk float64    `json:"revenue_at_risk,omitempty"` // a day's, in Currency
	Currency      string     `json:"currency,omitempty" limit:"word"`
	Summary       string     `json:"summary" limit:"line cut"`
	Causes        []Cause    `json:"causes,omitempty" limit:"50 cut"`
	Evidence      []Evidence `json:"evidence,omitempty" limit:"200 cut"`

	Members []FindingMember `json:"members,omitempty" limit:"10000 cut"` // the part of each unit in a finding of several with one cause; absent: there is one unit, or the parts are not known
}

// FindingMember is the part of one unit in a finding of several units.
type FindingMember struct {
	AssetID      string  `json:"asset_id" limit:"id"`
	StartedAt    Time    `json:"started_at"`
	LastSeenAt   Time    `json:"last_seen_at"`
	EndedAt      Time    `json:"ended_at,omitzero"` // absent: the unit is affected still
	LossFraction float64 `json:"loss_fraction"`
	LostKWh      float64 `json:"lost_kwh"` // so far; those of all members add up to lost_kwh of the finding
}

// Part is the part of a unit in the finding: all of it, if it is the only one or the parts are
// not known.
func (f Finding) Part(assetID string) FindingMember {
	for _, m := range f.Members {
		if m.AssetID == assetID {
			return m
		}
	}
	m := FindingMember{AssetID: assetID, StartedAt: f.StartedAt, LastSeenAt: f.LastDetectionAt, LossFraction: f.LossFraction, LostKWh: f.LostKWh}
	if !f.Active {
		m.EndedAt = f.EndedAt
	}
	return m
}

// Affects reports whether an active finding affects a unit now, which a member that has
// recovered is not any more.
func (f Finding) Affects(assetID string) bool {
	for _, m := range f.Members {
		if m.AssetID == assetID {
			return f.Active && m.EndedAt.IsZero()
		}
	}
	return f.Active && (f.AssetID == assetID || slices.Contains(f.AssetIDs, assetID))
}

// FindingsRequest is the body of POST /terminal/ooda: action list or history. SiteID,
// From and To narrow (extensions).
type FindingsRequest struct {
	Action     string `json:"action,omitempty" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	From       Time   `json:"from,omitzero"`                         // only findings that were there at this instant or later
	To         Time   `json:"to,omitzero"`                           // only findings that were there before this instant
	Severity   string `json:"severity_label,omitempty" limit:"word"` // list
	Family     string `json:"fault_family,omitempty" limit:"word"`   // list
	Page
}

// checkFindingsPeriod refuses a period that is empty.
func checkFindingsPeriod(r *FindingsRequest) error {
	if !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To.Time) {
		return InvalidField("to", "it must be later than from")
	}
	return nil
}

// History sums up the findings of a period.
type History struct {
	From        Time            `json:"from,omitzero"` // of the period, or the first start of a finding
	To          Time            `json:"to,omitzero"`   // of the period, or the last end of a finding
	Count       int             `json:"count"`
	Active      int             `json:"active"`       // of them
	LostKWh     float64         `json:"lost_kwh"`     // within the period
	Families    []HistoryFamily `json:"families"`     // most energy lost first
	LargestLoss []Finding       `json:"largest_loss"` // the findings that lost the most energy within the period, at most MaxHistoryFindings; their lost_kwh is that of the period
}

// HistoryFamily sums up the findings of one fault family in a period.
type HistoryFamily struct {
	FaultFamily string   `json:"fault_family"`
	Count       int      `json:"count"`
	Active      int      `json:"active"`
	LastedHours float64  `json:"lasted_hours"` // within the period, summed over findings
	LostKWh     float64  `json:"lost_kwh"`     // within the period
	AssetIDs    []string `json:"asset_ids"`
}

// MaxHistoryFindings bounds the findings in a [History].
const MaxHistoryFindings = 10

// HistoryResponse answers the action history of /terminal/ooda. Without findings its
// lists are empty.
type HistoryResponse struct {
	Success    bool    `json:"success"`
	CustomerID string  `json:"customer_id"`
	SiteID     string  `json:"site_id,omitempty"`
	History    History `json:"history"`
}

// FindingsResponse answers /terminal/ooda: active first, most power at risk (kW, daylight mean) first.
type FindingsResponse struct {
	Success              bool      `json:"success"`
	CustomerID           string    `json:"customer_id"`
	MLEnhancedActivities []Finding `json:"ml_enhanced_activities"`
	Count                int       `json:"count"`
	NextCursor           string    `json:"next_cursor,omitempty"`
}

// Phases of an activity.
const (
	PhaseObserve = "observe"
	PhaseOrient  = "orient"
	PhaseDecide  = "decide"
	PhaseAct     = "act"
)

// Activity is one thing that the service or a person did.
type Activity struct {
	Phase       string `json:"phase"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Timestamp   Time   `json:"timestamp"`
	SiteID      string `json:"site_id,omitempty"`
	AssetID     string `json:"asset_id,omitempty"`
	Actor       string `json:"actor,omitempty"`
}

// ActivitiesResponse answers /terminal/activities: the last 24 hours, newest first.
type ActivitiesResponse struct {
	Success    bool       `json:"success"`
	Activities []Activity `json:"activities"`
	Count      int        `json:"count"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// MaxLookbackHours is the longest span of a run of the detector: two years.
const MaxLookbackHours = 2 * 366 * 24

var ooda = Route{
	Name: "ooda", Path: PathOODA,
	Summary: "List OODA summaries", Description: "Active ones first, of these the ones with the most power at risk (kW, daylight mean).",
	Example: FindingsRequest{CustomerID: exampleCustomer}, Errors: append(listErrors[:3:3], ErrNoSummaries),
}

// ListFindings lists OODA summaries, GetHistory sums them up.
var (
	ListFindings = define[FindingsRequest, FindingsResponse](&ooda, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("customer_id"), rule(checkFindingsPeriod), since(), pageLimit()}})
	GetHistory = define[FindingsRequest, HistoryResponse](&ooda, Operation{Action: ActionHistory, Permission: PermissionRead, Cacheable: true, Fields: Fields{required("customer_id"), rule(checkFindingsPeriod)}})
)

var detect = Route{
	Name: "detect", Path: PathDetect,
	Summary: "Run the detector over a unit, and list runs", Description: "A run evaluates the last hours of the unit.",
	Example: DetectRequest{Action: ActionRun, AssetID: exampleAsset, LookbackHours: 24}, Errors: assetErrors,
}

var detections = Route{Name: "detections", Path: PathDetections, Summary: "List runs of the detector", Description: "Newest first.", Errors: assetErrors[:1]}

// Runs of the detector over one unit.
var (
	RunDetection = define[DetectRequest, DetectResponse](&detect, Operation{Action: ActionRun, Permission: PermissionDetect, Idempotent: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{required("asset_id"), optional("lookback_hours").between(1, MaxLookbackHours)}})
	ListDetectRuns = define[DetectRequest, DetectResponse](&detect, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"}, Fields: Fields{since(), pageLimit()}})
	ListDetections = define[DetectRequest, DetectResponse](&detections, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{since(), pageLimit()}})
)

var activities = Route{Name: "activities", Path: PathActivities, Summary: "List the activities of the last 24 hours", Description: "Newest first.", Errors: assetErrors[:1]}

// ListActivities lists what was done in the last 24 hours; without a limit all of
// a day, except for the busiest.
var ListActivities = define[ActivitiesRequest, ActivitiesResponse](&activities, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
	Fields: Fields{since(), pageLimit().withDefault(MaxLimit)}})
