package alert

import (
	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
)

// alertRecord is a stored alert. Its fields have the meaning of those of [Alert].
type alertRecord struct {
	TerminalDeviceID string          `json:"terminal_device_id" limit:"id"`
	SiteID           string          `json:"site_id" limit:"id"`
	Timestamp        api.Time        `json:"timestamp"`
	AlertType        string          `json:"alert_type" limit:"word cut"`
	AlertSeverity    string          `json:"alert_severity" limit:"word"`
	Message          string          `json:"message" limit:"line cut"`
	SourceSystem     string          `json:"source_system" limit:"name"`
	Resolved         bool            `json:"resolved"`
	Metadata         *metadataRecord `json:"metadata,omitempty"`
	Cursor           string          `json:"cursor,omitempty" limit:"token"`
	AlertID          string          `json:"alert_id" limit:"id"`
	AssetID          string          `json:"asset_id,omitempty" limit:"id"`
	State            string          `json:"state" limit:"word"`
	AcknowledgedBy   string          `json:"acknowledged_by,omitempty" limit:"name cut"`
	AcknowledgedAt   api.Time        `json:"acknowledged_at,omitzero"`
	ShelvedUntil     api.Time        `json:"shelved_until,omitzero"`
	SuppressedTo     api.Time        `json:"suppressed_until,omitzero"`
	EnergyAtRiskKW   float64         `json:"energy_at_risk_kw"`
	ResolvedAt       api.Time        `json:"resolved_at,omitzero"`
	UpdatedMS        int64           `json:"updated_ms,omitempty"`
	Occurrences      int             `json:"occurrences"`
	History          []moveRecord    `json:"history" limit:"1000 last"`
	CustomerID       string          `json:"customer_id" limit:"id"`
	SummaryID        string          `json:"summary_id" limit:"id"`
}

// metadataRecord is what a stored alert says of its finding.
type metadataRecord struct {
	SummaryID    string   `json:"summary_id" limit:"id"`
	AssetIDs     []string `json:"asset_ids,omitempty" limit:"10000 id cut"`
	RootCause    string   `json:"root_cause,omitempty" limit:"line cut"`
	Confidence   float64  `json:"confidence"`
	LossFraction float64  `json:"loss_fraction"`
	LostKWh      float64  `json:"lost_kwh"`
}

// moveRecord is a change of the state of a stored alert.
type moveRecord struct {
	From   string   `json:"from,omitempty" limit:"word"`
	To     string   `json:"to" limit:"word"`
	At     api.Time `json:"at"`
	Actor  string   `json:"actor" limit:"name cut"`
	Reason string   `json:"reason,omitempty" limit:"text cut"`
	Until  api.Time `json:"until,omitzero"`
}

func newAlertRecord(v Alert) alertRecord {
	return alertRecord{
		TerminalDeviceID: v.TerminalDeviceID, SiteID: v.SiteID, Timestamp: v.Timestamp, AlertType: v.AlertType, AlertSeverity: v.AlertSeverity,
		Message: v.Message, SourceSystem: v.SourceSystem, Resolved: v.Resolved, Metadata: (*metadataRecord)(v.Metadata), Cursor: v.Cursor, AlertID: v.AlertID,
		AssetID: v.AssetID, State: v.State, AcknowledgedBy: v.AcknowledgedBy, AcknowledgedAt: v.AcknowledgedAt, ShelvedUntil: v.ShelvedUntil,
		SuppressedTo: v.SuppressedTo, EnergyAtRiskKW: v.EnergyAtRiskKW, ResolvedAt: v.ResolvedAt, UpdatedMS: v.UpdatedAtMS, Occurrences: v.Occurrences,
		History: record.Convert(v.History, func(v api.AlertMove) moveRecord { return moveRecord(v) }), CustomerID: v.CustomerID, SummaryID: v.SummaryID,
	}
}

func (r alertRecord) alert() Alert {
	return Alert{
		Alert: api.Alert{
			TerminalDeviceID: r.TerminalDeviceID, SiteID: r.SiteID, Timestamp: r.Timestamp, AlertType: r.AlertType, AlertSeverity: r.AlertSeverity,
			Message: r.Message, SourceSystem: r.SourceSystem, Resolved: r.Resolved, Metadata: (*api.AlertMetadata)(r.Metadata), Cursor: r.Cursor,
			AlertID: r.AlertID, AssetID: r.AssetID, State: r.State, AcknowledgedBy: r.AcknowledgedBy, AcknowledgedAt: r.AcknowledgedAt,
			ShelvedUntil: r.ShelvedUntil, SuppressedTo: r.SuppressedTo, EnergyAtRiskKW: r.EnergyAtRiskKW, ResolvedAt: r.ResolvedAt, UpdatedAtMS: r.UpdatedMS, Occurrences: r.Occurrences,
			History: record.Convert(r.History, func(v moveRecord) api.AlertMove { return api.AlertMove(v) }),
		},
		CustomerID: r.CustomerID, SummaryID: r.SummaryID,
	}
}
