package api

// DiagnoseRequest is the body of POST /terminal/diagnose: action run or list.
type DiagnoseRequest struct {
	Action        string `json:"action" limit:"word"`
	AssetID       string `json:"asset_id,omitempty" limit:"id"`
	SiteID        string `json:"site_id,omitempty" limit:"id"` // extension
	CustomerID    string `json:"customer_id,omitempty" limit:"id"`
	DetectionID   string `json:"detection_id,omitempty" limit:"id"` // empty: of a new run of the detector
	LookbackHours int    `json:"lookback_hours,omitempty"`
	Severity      string `json:"severity,omitempty" limit:"word"` // list
	Page
}

// Ref is the unit that the request names.
func (r DiagnoseRequest) Ref() AssetRef {
	return AssetRef{AssetID: r.AssetID, SiteID: r.SiteID, CustomerID: r.CustomerID}
}

// Diagnostic is a stored diagnosis of one asset. The fields after Status are
// extensions.
type Diagnostic struct {
	DiagnosticID string  `json:"diagnostic_id" limit:"id"`
	AssetID      string  `json:"asset_id" limit:"id"`
	DiagnosedAt  Time    `json:"diagnosed_at"`
	RootCause    string  `json:"root_cause" limit:"line cut"` // "none" when nothing is wrong
	Confidence   float64 `json:"confidence"`                  // 0..1
	Severity     string  `json:"severity" limit:"word"`
	Status       string  `json:"status" limit:"word"` // "completed"

	DetectionID string    `json:"detection_id,omitempty" limit:"id"`
	SummaryID   string    `json:"summary_id,omitempty" limit:"id"` // of the finding it explains
	Analysis    Diagnosis `json:"analysis"`
}

// Diagnosis is what a diagnosis says.
type Diagnosis struct {
	RootCause          string     `json:"root_cause" limit:"line cut"`
	Category           string     `json:"category" limit:"word"` // the fault's family, "none"
	Confidence         float64    `json:"confidence"`
	Summary            string     `json:"summary" limit:"line cut"`
	RecommendedActions []Action   `json:"recommended_actions" limit:"50 cut"`
	Evidence           []Evidence `json:"evidence" limit:"200 cut"`
	Alternatives       []Cause    `json:"alternatives" limit:"50 cut"`
}

// DiagnoseResponse answers /terminal/diagnose.
type DiagnoseResponse struct {
	Success      bool         `json:"success"`
	Message      string       `json:"message,omitempty"`
	DiagnosticID string       `json:"diagnostic_id,omitempty"`
	AssetID      string       `json:"asset_id,omitempty"`
	RootCause    string       `json:"root_cause,omitempty"`
	Confidence   *float64     `json:"confidence,omitempty"` // run: always there
	Status       string       `json:"status,omitempty"`
	DetectionID  string       `json:"detection_id,omitempty"`
	Analysis     *Diagnosis   `json:"analysis,omitempty"`
	Diagnostics  []Diagnostic `json:"diagnostics,omitzero"` // list: there even when empty
	Count        int          `json:"count"`
	NextCursor   string       `json:"next_cursor,omitempty"`
}

var diagnose = Route{
	Name: "diagnose", Path: PathDiagnose,
	Summary: "Explain what is wrong with a unit, and list diagnoses", Description: "Diagnoses a stored detection, or a new run of the detector.",
	Example: DiagnoseRequest{Action: ActionRun, AssetID: exampleAsset}, Errors: append(assetErrors[:3:3], ErrDetectionNotFound),
}

var diagnostics = Route{Name: "diagnostics", Path: PathDiagnostics, Summary: "List diagnoses", Description: "Newest first.", Errors: assetErrors[:1]}

// Diagnoses of units.
var (
	RunDiagnosis = define[DiagnoseRequest, DiagnoseResponse](&diagnose, Operation{Action: ActionRun, Permission: PermissionDetect, Idempotent: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{required("asset_id"), optional("lookback_hours").between(1, MaxLookbackHours)}})
	ListDiagnoseRuns = define[DiagnoseRequest, DiagnoseResponse](&diagnose, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{since(), pageLimit()}})
	ListDiagnostics = define[DiagnoseRequest, DiagnoseResponse](&diagnostics, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
		Target: Target{Asset: "asset_id"}, Fields: Fields{since(), pageLimit()}})
)
