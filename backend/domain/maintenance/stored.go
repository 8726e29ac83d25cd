package maintenance

import (
	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
)

// orderRecord is a stored order. Its fields have the meaning of those of [order].
type orderRecord struct {
	OrderID                string              `json:"order_id" limit:"id"`
	AssetID                string              `json:"asset_id" limit:"id"`
	Status                 string              `json:"status" limit:"word"`
	CreatedAt              api.Time            `json:"created_at"`
	EstimatedCompletion    api.Time            `json:"estimated_completion"`
	ScheduleID             string              `json:"schedule_id,omitempty" limit:"id"`
	BOMID                  string              `json:"bom_id" limit:"id"`
	AssignedTechnician     string              `json:"assigned_technician" limit:"name"`
	EstimatedDurationHours float64             `json:"estimated_duration_hours"`
	Priority               string              `json:"priority" limit:"word"`
	SiteID                 string              `json:"site_id" limit:"id"`
	MaintenanceType        string              `json:"maintenance_type" limit:"word"`
	FaultFamily            string              `json:"fault_family,omitempty" limit:"word"`
	SummaryID              string              `json:"summary_id,omitempty" limit:"id"`
	IssueID                string              `json:"issue_id,omitempty" limit:"id"`
	PlannedStart           api.Time            `json:"planned_start"`
	Isolating              bool                `json:"isolating"`
	HoldReason             string              `json:"hold_reason,omitempty" limit:"word"`
	CompletionNotes        string              `json:"completion_notes,omitempty" limit:"text"`
	CompletedAt            api.Time            `json:"completed_at,omitzero"`
	ActualHours            float64             `json:"actual_hours,omitempty"`
	UpdatedAt              api.Time            `json:"updated_at"`
	UpdatedMS              int64               `json:"updated_ms,omitempty"`
	CreatedBy              string              `json:"created_by,omitempty" limit:"name cut"`
	Version                int                 `json:"version"`
	Clocks                 clocksRecord        `json:"clocks"`
	Parts                  []partRecord        `json:"parts,omitzero" limit:"500 cut"`
	Downtime               []downtimeRecord    `json:"downtime,omitempty" limit:"1000"`
	Verification           *verificationRecord `json:"verification,omitempty"`
	Proposals              []proposalRecord    `json:"proposals,omitempty" limit:"100 last"`
	PartsShort             int                 `json:"parts_short,omitempty"`
	Warnings               []string            `json:"warnings,omitempty" limit:"100 line cut"`
	History                []statusChange      `json:"history,omitzero" limit:"1000"`
	CustomerID             string              `json:"customer_id" limit:"id"`
	AcknowledgedAt         api.Time            `json:"acknowledged_at,omitzero"`
	StartedAt              api.Time            `json:"started_at,omitzero"`
	ExpiredAt              api.Time            `json:"expired_at,omitzero"`
	HeldFrom               string              `json:"held_from,omitempty" limit:"word"`
	Holds                  []span              `json:"holds,omitempty" limit:"1000"`
	Pauses                 []span              `json:"pauses,omitempty" limit:"1000"`
}

// The parts of a stored order, as those of [api.Order].
type (
	clocksRecord struct {
		AcknowledgeDue api.Time `json:"acknowledge_due"`
		StartDue       api.Time `json:"start_due"`
		RestoreDue     api.Time `json:"restore_due"`
		AcknowledgedAt api.Time `json:"acknowledged_at,omitzero"`
		StartedAt      api.Time `json:"started_at,omitzero"`
		RestoredAt     api.Time `json:"restored_at,omitzero"`
		PausedMinutes  int      `json:"paused_minutes"`
		Paused         bool     `json:"paused"`
		Breached       []string `json:"breached,omitempty" limit:"10 word"`
	}
	partRecord struct {
		PartNumber  string `json:"part_number" limit:"id"`
		Description string `json:"description" limit:"text cut"`
		Quantity    int    `json:"quantity"`
		Reserved    int    `json:"reserved"`
		Short       int    `json:"short"`
		Used        int    `json:"used,omitempty"`
		Essential   bool   `json:"essential"`
	}
	downtimeRecord struct {
		From api.Time `json:"from"`
		To   api.Time `json:"to,omitzero"`
	}
	verificationRecord struct {
		State string   `json:"state" limit:"word"`
		At    api.Time `json:"at"`
		Day   string   `json:"day,omitempty" limit:"word"`
		Ratio float64  `json:"ratio,omitempty"`
	}
	proposalRecord struct {
		Kind    string   `json:"kind" limit:"word"`
		IssueID string   `json:"issue_id,omitempty" limit:"id"`
		Text    string   `json:"text" limit:"line cut"`
		At      api.Time `json:"at"`
	}
)

func newOrderRecord(v order) orderRecord {
	return orderRecord{
		OrderID: v.OrderID, AssetID: v.AssetID, Status: v.Status, CreatedAt: v.CreatedAt, EstimatedCompletion: v.EstimatedCompletion,
		ScheduleID: v.ScheduleID, BOMID: v.BOMID, AssignedTechnician: v.AssignedTechnician, EstimatedDurationHours: v.EstimatedDurationHours,
		Priority: v.Priority, SiteID: v.SiteID, MaintenanceType: v.MaintenanceType, FaultFamily: v.FaultFamily, SummaryID: v.SummaryID, IssueID: v.IssueID,
		PlannedStart: v.PlannedStart, Isolating: v.Isolating, HoldReason: v.HoldReason, CompletionNotes: v.CompletionNotes, CompletedAt: v.CompletedAt,
		ActualHours: v.ActualHours, UpdatedAt: v.UpdatedAt, UpdatedMS: v.UpdatedAtMS, CreatedBy: v.CreatedBy, Version: v.Version, Clocks: clocksRecord(v.Clocks),
		Parts:        record.Convert(v.Parts, func(v api.OrderPart) partRecord { return partRecord(v) }),
		Downtime:     record.Convert(v.Downtime, func(v api.Downtime) downtimeRecord { return downtimeRecord(v) }),
		Verification: (*verificationRecord)(v.Verification),
		Proposals:    record.Convert(v.Proposals, func(v api.Proposal) proposalRecord { return proposalRecord(v) }), PartsShort: v.PartsShort,
		Warnings: v.Warnings, History: record.Convert(v.History, func(v api.WorkMove) statusChange { return statusChange(v) }), CustomerID: v.CustomerID,
		AcknowledgedAt: v.AcknowledgedAt, StartedAt: v.StartedAt, ExpiredAt: v.ExpiredAt, HeldFrom: v.HeldFrom, Holds: v.Holds, Pauses: v.Pauses,
	}
}

func (r orderRecord) order() order {
	return order{
		Order: api.Order{
			OrderID: r.OrderID, AssetID: r.AssetID, Status: r.Status, CreatedAt: r.CreatedAt, EstimatedCompletion: r.EstimatedCompletion,
			ScheduleID: r.ScheduleID, BOMID: r.BOMID, AssignedTechnician: r.AssignedTechnician, EstimatedDurationHours: r.EstimatedDurationHours,
			Priority: r.Priority, SiteID: r.SiteID, MaintenanceType: r.MaintenanceType, FaultFamily: r.FaultFamily, SummaryID: r.SummaryID, IssueID: r.IssueID,
			PlannedStart: r.PlannedStart, Isolating: r.Isolating, HoldReason: r.HoldReason, CompletionNotes: r.CompletionNotes, CompletedAt: r.CompletedAt,
			ActualHours: r.ActualHours, UpdatedAt: r.UpdatedAt, UpdatedAtMS: r.UpdatedMS, CreatedBy: r.CreatedBy, Version: r.Version, Clocks: api.OrderClocks(r.Clocks),
			Parts:        record.Convert(r.Parts, func(v partRecord) api.OrderPart { return api.OrderPart(v) }),
			Downtime:     record.Convert(r.Downtime, func(v downtimeRecord) api.Downtime { return api.Downtime(v) }),
			Verification: (*api.Verification)(r.Verification),
			Proposals:    record.Convert(r.Proposals, func(v proposalRecord) api.Proposal { return api.Proposal(v) }), PartsShort: r.PartsShort,
			Warnings: r.Warnings, History: record.Convert(r.History, func(v statusChange) api.WorkMove { return api.WorkMove(v) }),
		},
		CustomerID: r.CustomerID, AcknowledgedAt: r.AcknowledgedAt, StartedAt: r.StartedAt, ExpiredAt: r.ExpiredAt, HeldFrom: r.HeldFrom, Holds: r.Holds,
		Pauses: r.Pauses,
	}
}
