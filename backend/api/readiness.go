package api

// Capabilities of the service that readiness tells apart.
const (
	CapabilityReads   = "reads"   // records, telemetry and sign-in
	CapabilityWrites  = "writes"  // changes of records
	CapabilityUploads = "uploads" // files, which also need the place of the objects
	CapabilityJobs    = "jobs"    // imports, training, forecasts and detection
	CapabilityMail    = "mail"    // e-mail
)

// CapabilityNames are the capabilities in the order of documents.
func CapabilityNames() []string {
	return []string{CapabilityReads, CapabilityWrites, CapabilityUploads, CapabilityJobs, CapabilityMail}
}

// States of a capability.
const (
	CapabilityOK          = "ok"
	CapabilityUnavailable = "unavailable"
)

// Capability is the state of one capability.
type Capability struct {
	Status string `json:"status"`           // ok or unavailable
	Reason string `json:"reason,omitempty"` // why it is unavailable
	Since  *Time  `json:"since,omitempty"`  // when this replica found it unavailable
}

// Readiness is what the service can do now. Details of a 503 have the same
// members.
type Readiness struct {
	Success      bool                  `json:"success"`
	Capabilities map[string]Capability `json:"capabilities"`
	NotReady     map[string]string     `json:"not_ready,omitempty"` // part → why it is not ready
}
