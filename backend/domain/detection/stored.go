package detection

import (
	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
)

// detectionRecord is a stored run of the detector. Its fields have the meaning of those
// of [Detection].
type detectionRecord struct {
	DetectionID       string          `json:"detection_id" limit:"id"`
	AssetID           string          `json:"asset_id" limit:"id"`
	DetectedAt        api.Time        `json:"detected_at"`
	AnomaliesDetected int             `json:"anomalies_detected"`
	Severity          string          `json:"severity" limit:"word"`
	Status            string          `json:"status" limit:"word"`
	Analysis          *analysisRecord `json:"analysis,omitempty"`
	CustomerID        string          `json:"customer_id" limit:"id"`
	SiteID            string          `json:"site_id" limit:"id"`
	Signature         string          `json:"signature" limit:"4000 cut"`
}

// analysisRecord is the result of a stored run.
type analysisRecord struct {
	SeverityLabel   string          `json:"severity_label" limit:"word"`
	SeverityScore   float64         `json:"severity_score"`
	Status          string          `json:"status" limit:"word cut"`
	FaultType       string          `json:"fault_type" limit:"word"`
	Summary         string          `json:"summary" limit:"line cut"`
	Anomalies       []anomalyRecord `json:"anomalies" limit:"1000 cut"`
	Metrics         metricsRecord   `json:"metrics"`
	EnergyAtRiskKW  float64         `json:"energy_at_risk_kw"`
	LastObservation api.Time        `json:"last_observation,omitzero"`
	NotJudged       []string        `json:"not_judged,omitempty" limit:"200 line cut"`
}

// anomalyRecord is an event of a stored run.
type anomalyRecord struct {
	SummaryID     string   `json:"summary_id,omitempty" limit:"id"`
	FaultFamily   string   `json:"fault_family" limit:"word"`
	SeverityLabel string   `json:"severity_label" limit:"word"`
	StartedAt     api.Time `json:"started_at"`
	LastSeenAt    api.Time `json:"last_seen_at"`
	EndedAt       api.Time `json:"ended_at,omitzero"`
	LossFraction  float64  `json:"loss_fraction"`
	LostKWh       float64  `json:"lost_kwh"`
	Confidence    float64  `json:"confidence"`
	Summary       string   `json:"summary" limit:"line cut"`
}

// metricsRecord are the latest measured values of a stored run.
type metricsRecord struct {
	LatestPowerKW       *float64 `json:"latest_power_kw,omitempty"`
	BaselinePowerKW     *float64 `json:"baseline_power_kw,omitempty"`
	LatestIrradianceWM2 *float64 `json:"latest_irradiance_wm2,omitempty"`
	LatestTemperatureC  *float64 `json:"latest_temperature_c,omitempty"`
	LatestInverterState *int     `json:"latest_inverter_state,omitempty"`
	LatestRunState      *int     `json:"latest_run_state,omitempty"`
}

func newDetectionRecord(v Detection) detectionRecord {
	return detectionRecord{
		DetectionID: v.DetectionID, AssetID: v.AssetID, DetectedAt: v.DetectedAt, AnomaliesDetected: v.AnomaliesDetected, Severity: v.Severity,
		Status: v.Status, Analysis: record.ConvertOptional(v.Analysis, newAnalysisRecord), CustomerID: v.CustomerID, SiteID: v.SiteID, Signature: v.Signature,
	}
}

func (r detectionRecord) detection() Detection {
	return Detection{
		Detection: api.Detection{
			DetectionID: r.DetectionID, AssetID: r.AssetID, DetectedAt: r.DetectedAt, AnomaliesDetected: r.AnomaliesDetected, Severity: r.Severity,
			Status: r.Status, Analysis: record.ConvertOptional(r.Analysis, analysisRecord.toAPI),
		},
		CustomerID: r.CustomerID, SiteID: r.SiteID, Signature: r.Signature,
	}
}

func newAnalysisRecord(v api.Analysis) analysisRecord {
	return analysisRecord{
		SeverityLabel: v.SeverityLabel, SeverityScore: v.SeverityScore, Status: v.Status, FaultType: v.FaultType, Summary: v.Summary,
		Anomalies: record.Convert(v.Anomalies, func(v api.Anomaly) anomalyRecord { return anomalyRecord(v) }), Metrics: metricsRecord(v.Metrics),
		EnergyAtRiskKW: v.EnergyAtRiskKW, LastObservation: v.LastObservation, NotJudged: v.NotJudged,
	}
}

func (r analysisRecord) toAPI() api.Analysis {
	return api.Analysis{
		SeverityLabel: r.SeverityLabel, SeverityScore: r.SeverityScore, Status: r.Status, FaultType: r.FaultType, Summary: r.Summary,
		Anomalies: record.Convert(r.Anomalies, func(v anomalyRecord) api.Anomaly { return api.Anomaly(v) }), Metrics: api.AnalysisMetrics(r.Metrics),
		EnergyAtRiskKW: r.EnergyAtRiskKW, LastObservation: r.LastObservation, NotJudged: r.NotJudged,
	}
}

// diagnosticRecord is a stored diagnosis. Its fields have the meaning of those of
// [Diagnostic].
type diagnosticRecord struct {
	DiagnosticID string          `json:"diagnostic_id" limit:"id"`
	AssetID      string          `json:"asset_id" limit:"id"`
	DiagnosedAt  api.Time        `json:"diagnosed_at"`
	RootCause    string          `json:"root_cause" limit:"line cut"`
	Confidence   float64         `json:"confidence"`
	Severity     string          `json:"severity" limit:"word"`
	Status       string          `json:"status" limit:"word"`
	DetectionID  string          `json:"detection_id,omitempty" limit:"id"`
	SummaryID    string          `json:"summary_id,omitempty" limit:"id"`
	Analysis     diagnosisRecord `json:"analysis"`
	CustomerID   string          `json:"customer_id" limit:"id"`
	SiteID       string          `json:"site_id" limit:"id"`
}

// diagnosisRecord is the explanation of a stored diagnosis.
type diagnosisRecord struct {
	RootCause          string           `json:"root_cause" limit:"line cut"`
	Category           string           `json:"category" limit:"word"`
	Confidence         float64          `json:"confidence"`
	Summary            string           `json:"summary" limit:"line cut"`
	RecommendedActions []actionRecord   `json:"recommended_actions" limit:"50 cut"`
	Evidence           []evidenceRecord `json:"evidence" limit:"200 cut"`
	Alternatives       []causeRecord    `json:"alternatives" limit:"50 cut"`
}

// actionRecord is a recommended action of a stored diagnosis.
type actionRecord struct {
	Priority string `json:"priority" limit:"word"`
	Action   string `json:"action" limit:"line cut"`
}

// causeRecord is a possible cause of a stored diagnosis.
type causeRecord struct {
	Cause      string  `json:"cause" limit:"line cut"`
	Confidence float64 `json:"confidence"`
}

// evidenceRecord is evidence for or against the cause of a stored diagnosis.
type evidenceRecord struct {
	For  bool   `json:"for"`
	Text string `json:"text" limit:"line cut"`
}

func newDiagnosticRecord(v Diagnostic) diagnosticRecord {
	return diagnosticRecord{
		DiagnosticID: v.DiagnosticID, AssetID: v.AssetID, DiagnosedAt: v.DiagnosedAt, RootCause: v.RootCause, Confidence: v.Confidence, Severity: v.Severity,
		Status: v.Status, DetectionID: v.DetectionID, SummaryID: v.SummaryID, Analysis: newDiagnosisRecord(v.Analysis), CustomerID: v.CustomerID,
		SiteID: v.SiteID,
	}
}

func (r diagnosticRecord) diagnostic() Diagnostic {
	return Diagnostic{
		Diagnostic: api.Diagnostic{
			DiagnosticID: r.DiagnosticID, AssetID: r.AssetID, DiagnosedAt: r.DiagnosedAt, RootCause: r.RootCause, Confidence: r.Confidence, Severity: r.Severity,
			Status: r.Status, DetectionID: r.DetectionID, SummaryID: r.SummaryID, Analysis: r.Analysis.toAPI(),
		},
		CustomerID: r.CustomerID, SiteID: r.SiteID,
	}
}

func newDiagnosisRecord(v api.Diagnosis) diagnosisRecord {
	return diagnosisRecord{
		RootCause: v.RootCause, Category: v.Category, Confidence: v.Confidence, Summary: v.Summary,
		RecommendedActions: record.Convert(v.RecommendedActions, func(v api.Action) actionRecord { return actionRecord(v) }),
		Evidence:           record.Convert(v.Evidence, func(v api.Evidence) evidenceRecord { return evidenceRecord(v) }),
		Alternatives:       record.Convert(v.Alternatives, func(v api.Cause) causeRecord { return causeRecord(v) }),
	}
}

func (r diagnosisRecord) toAPI() api.Diagnosis {
	return api.Diagnosis{
		RootCause: r.RootCause, Category: r.Category, Confidence: r.Confidence, Summary: r.Summary,
		RecommendedActions: record.Convert(r.RecommendedActions, func(v actionRecord) api.Action { return api.Action(v) }),
		Evidence:           record.Convert(r.Evidence, func(v evidenceRecord) api.Evidence { return api.Evidence(v) }),
		Alternatives:       record.Convert(r.Alternatives, func(v causeRecord) api.Cause { return api.Cause(v) }),
	}
}
