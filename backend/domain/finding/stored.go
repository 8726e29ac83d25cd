package finding

import (
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
)

// findingRecord is a stored finding. Its fields have the meaning of those of [Finding].
type findingRecord struct {
	SummaryID          string           `json:"summary_id" limit:"id"`
	AssetID            string           `json:"asset_id" limit:"id"`
	CreatedAt          api.Time         `json:"created_at"`
	LastDetectionAt    api.Time         `json:"last_detection_at"`
	UpdatedMS          int64            `json:"updated_ms,omitempty"`
	ModelVersion       string           `json:"model_version" limit:"id"`
	FaultFamily        string           `json:"fault_family" limit:"word"`
	SeverityLabel      string           `json:"severity_label" limit:"word"`
	Confidence         float64          `json:"confidence"`
	EnergyAtRiskKW     float64          `json:"energy_at_risk_kw"`
	RootCause          string           `json:"root_cause" limit:"line cut"`
	RecommendedActions []actionRecord   `json:"recommended_actions" limit:"50 cut"`
	Detections         []string         `json:"detections" limit:"1000 id last"`
	SiteID             string           `json:"site_id" limit:"id"`
	AssetIDs           []string         `json:"asset_ids,omitempty" limit:"10000 id cut"`
	Active             bool             `json:"active"`
	StartedAt          api.Time         `json:"started_at"`
	EndedAt            api.Time         `json:"ended_at,omitzero"`
	LossFraction       float64          `json:"loss_fraction"`
	LostKWh            float64          `json:"lost_kwh"`
	RevenueAtRisk      float64          `json:"revenue_at_risk,omitempty"`
	Currency           string           `json:"currency,omitempty" limit:"word"`
	Summary            string           `json:"summary" limit:"line cut"`
	Causes             []causeRecord    `json:"causes,omitempty" limit:"50 cut"`
	Evidence           []evidenceRecord `json:"evidence,omitempty" limit:"200 cut"`
	CustomerID         string           `json:"customer_id" limit:"id"`
	Subject            string           `json:"subject" limit:"name"`
	SeverityAt         time.Time        `json:"severity_at"`
	Grade              string           `json:"grade" limit:"word cut"`
	DetectedAt         api.Time         `json:"detected_at,omitzero"`
	Losses             []lossRecord     `json:"losses,omitempty" limit:"20000"`
	LossesAsOf         api.Time         `json:"losses_as_of,omitzero"`
	Occasions          []periodRecord   `json:"occasions,omitempty" limit:"1000"`
	Members            []memberRecord   `json:"members,omitempty" limit:"10000 cut"`
}

// actionRecord is a recommended action of a stored finding.
type actionRecord struct {
	Priority string `json:"priority" limit:"word"`
	Action   string `json:"action" limit:"line cut"`
}

// causeRecord is a possible cause of a stored finding.
type causeRecord struct {
	Cause      string  `json:"cause" limit:"line cut"`
	Confidence float64 `json:"confidence"`
}

// evidenceRecord is evidence for or against the cause of a stored finding.
type evidenceRecord struct {
	For  bool   `json:"for"`
	Text string `json:"text" limit:"line cut"`
}

// lossRecord is a stored [LossRun].
type lossRecord struct {
	From api.Time  `json:"from"`
	To   api.Time  `json:"to"`
	KWh  []float64 `json:"kwh" limit:"2000"`
}

// memberRecord is the part of one unit in a stored finding of several.
type memberRecord struct {
	AssetID      string   `json:"asset_id" limit:"id"`
	StartedAt    api.Time `json:"started_at"`
	LastSeenAt   api.Time `json:"last_seen_at"`
	EndedAt      api.Time `json:"ended_at,omitzero"`
	LossFraction float64  `json:"loss_fraction"`
	LostKWh      float64  `json:"lost_kwh"`
}

// periodRecord is a stored [Period].
type periodRecord struct {
	From api.Time `json:"from"`
	To   api.Time `json:"to"`
}

func newFindingRecord(v Finding) findingRecord {
	return findingRecord{
		SummaryID: v.SummaryID, AssetID: v.AssetID, CreatedAt: v.CreatedAt, LastDetectionAt: v.LastDetectionAt, UpdatedMS: v.UpdatedAtMS, ModelVersion: v.ModelVersion,
		FaultFamily: v.FaultFamily, SeverityLabel: v.SeverityLabel, Confidence: v.Confidence, EnergyAtRiskKW: v.EnergyAtRiskKW, RootCause: v.RootCause,
		RecommendedActions: record.Convert(v.RecommendedActions, func(v api.Action) actionRecord { return actionRecord(v) }), Detections: v.Detections,
		SiteID: v.SiteID, AssetIDs: v.AssetIDs, Active: v.Active, StartedAt: v.StartedAt, EndedAt: v.EndedAt, LossFraction: v.LossFraction,
		LostKWh: v.LostKWh, RevenueAtRisk: v.RevenueAtRisk, Currency: v.Currency, Summary: v.Summary,
		Causes:   record.Convert(v.Causes, func(v api.Cause) causeRecord { return causeRecord(v) }),
		Evidence: record.Convert(v.Evidence, func(v api.Evidence) evidenceRecord { return evidenceRecord(v) }), CustomerID: v.CustomerID, Subject: v.Subject,
		SeverityAt: v.SeverityAt, Grade: v.Grade, DetectedAt: v.DetectedAt, Losses: record.Convert(v.Losses, func(r LossRun) lossRecord { return lossRecord{api.At(r.From), api.At(r.To), r.KWh} }), LossesAsOf: api.At(v.LossesAsOf),
		Occasions: record.Convert(v.Occasions, func(p Period) periodRecord { return periodRecord{api.At(p.From), api.At(p.To)} }),
		Members:   record.Convert(v.Members, func(m api.FindingMember) memberRecord { return memberRecord(m) }),
	}
}

func (r findingRecord) finding() Finding {
	f := Finding{
		Finding: api.Finding{
			SummaryID: r.SummaryID, AssetID: r.AssetID, CreatedAt: r.CreatedAt, LastDetectionAt: r.LastDetectionAt, UpdatedAtMS: r.UpdatedMS, ModelVersion: r.ModelVersion,
			FaultFamily: r.FaultFamily, SeverityLabel: r.SeverityLabel, Confidence: r.Confidence, EnergyAtRiskKW: r.EnergyAtRiskKW, RootCause: r.RootCause,
			RecommendedActions: record.Convert(r.RecommendedActions, func(v actionRecord) api.Action { return api.Action(v) }), Detections: r.Detections,
			SiteID: r.SiteID, AssetIDs: r.AssetIDs, Active: r.Active, StartedAt: r.StartedAt, EndedAt: r.EndedAt, LossFraction: r.LossFraction,
			LostKWh: r.LostKWh, RevenueAtRisk: r.RevenueAtRisk, Currency: r.Currency, Summary: r.Summary, DetectedAt: r.DetectedAt,
			Causes:   record.Convert(r.Causes, func(v causeRecord) api.Cause { return api.Cause(v) }),
			Evidence: record.Convert(r.Evidence, func(v evidenceRecord) api.Evidence { return api.Evidence(v) }),
			Members:  record.Convert(r.Members, func(m memberRecord) api.FindingMember { return api.FindingMember(m) }),
		},
		CustomerID: r.CustomerID, Subject: r.Subject, SeverityAt: r.SeverityAt, Grade: r.Grade, Losses: record.Convert(r.Losses, func(r lossRecord) LossRun { return LossRun{r.From.Time, r.To.Time, r.KWh} }), LossesAsOf: r.LossesAsOf.Time,
		Occasions: record.Convert(r.Occasions, func(p periodRecord) Period { return Period{p.From.Time, p.To.Time} }),
	}
	f.LastedHours, f.AlertSeverity = f.lastedHours(), AlertSeverity(f)
	return f
}
