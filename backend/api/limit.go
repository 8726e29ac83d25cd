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
	MaxFormBytes          = MaxUploadBytes + 1<<20 // an upload with the fields in addition to its file
	MaxJSONBytes          = 256 << 10              // a JSON body of a route that needs a credential
	MaxPublicJSONBytes    = 16 << 10               // of one that needs none: sign-in, codes, checks of a key
	MaxJSONDepth          = 16                     // lists and objects within each other in a JSON body
	MaxJSONList           = 5000                   // elements of one list in a JSON body; the lists of most fields may have fewer
	MaxJSONValues         = 10_000                 // values in a JSON body: texts, numbers, lists, objects, names of fields
	MaxBulkBytes          = 1 << 20                // a JSON body of /terminal/bulk
	MaxBulkValues         = 40_000                 // values in it
	MaxBulkRecords        = 1000                   // records of it
	DefaultHorizonHours   = 48
	MaxHorizonHours       = 720
	MaxPastDays           = 60 // of what was forecast for former days
	DefaultLimit          = 100
	MaxLimit              = 1000
	TrainingDays          = 180  // days of data before training starts
	MaxOrderHours         = 2000 // of a work order: a year of one person
	MaxSSHKeys            = 20   // public keys of a user

	// Most records of a kind: one more is a 409.
	MaxUnits         = 10_000 // of a site
	MaxSites         = 20_000 // of a customer
	MaxOpenIssues    = 10_000 // of a site, as persons open them
	MaxOpenSchedules = 1000   // of a unit
	MaxOpenOrders    = 1000   // of a unit
	MaxBOMs          = 10_000 // of a unit
	MaxUsers         = 10_000 // of a customer
	MaxKeys          = 10_000 // of a customer, without expired and revoked ones

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
	RoleCollector  = "role_collector" // of keys only: writes telemetry of its sites
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

// TooMany refuses a record beyond the most that there may be: "Site Sibaya has
// 10000 units, which is the most".
func TooMany(of string, most int, what string) *Error {
	return LimitReached("%s has %d %s, which is the most", of, most, what)
}
