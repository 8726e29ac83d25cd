package api

import (
	"errors"
	"time"

	"app.sunloop/backend/limit"
)

// The limits of the contract.
const (
	RequestsPerMinute     = 60  // accepted requests in any 60 s, per key and API
	UserRequestsPerMinute = 600 // the same for a signed-in person
	MaxUploadBytes        = 10 << 20
	MaxJSONBytes          = 10 << 20
	DefaultHorizonHours   = 48
	MaxHorizonHours       = 720
	MaxPastDays           = 60 // of what was forecast for former days
	DefaultLimit          = 100
	MaxLimit              = 1000
	TrainingDays          = 180  // days of data before training starts
	MaxOrderHours         = 2000 // of a work order: a year of one person
	MaxSSHKeys            = 20   // public keys of a user

	TokenLifetime     = 24 * time.Hour
	ChallengeLifetime = 5 * time.Minute
	ChallengeTries    = 5
	IdempotencyWindow = 24 * time.Hour
)

// Priorities of work, as the specification spells them.
const (
	PriorityHigh   = "high"
	PriorityMedium = "medium"
	PriorityLow    = "low"
)

// Severity labels of OODA summaries and detections.
const (
	SeverityCritical = "critical"
	SeverityWarning  = "warning"
	SeverityNormal   = "normal"
)

// Roles of users and API keys.
const (
	RoleAdmin      = "role_admin"
	RoleOperator   = "role_operator"
	RoleTechnician = "role_technician"
	RoleAnalyst    = "role_analyst"
)

// CheckLimits returns [InvalidField] for the first field of a request that is
// above the limit that it declares, or nil.
func CheckLimits(request any) error { return checkLimits(request, InvalidField) }

// CheckFormLimits is CheckLimits for the fields of a form.
func CheckFormLimits(request any) error { return checkLimits(request, InvalidParameter) }

func checkLimits(request any, invalid func(name, why string) *Error) error {
	var e *limit.Error
	if errors.As(limit.Check(request), &e) {
		return invalid(e.Path, e.Reason())
	}
	return nil
}
