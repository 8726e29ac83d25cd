package api

import "net/http"

// Capabilities of the service that readiness reports separately.
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

// None is the request of an operation without parameters.
type None struct{}

// ReadyQuery asks for GET /readyz.
type ReadyQuery struct {
	Capability string `query:"capability"` // empty: what most requests need
}

// OpenAPIDocument is the response of /openapi.json.
type OpenAPIDocument struct{}

// DocsPage is the response of /docs.
type DocsPage struct{}

var (
	health = Route{
		Name: "health", Method: http.MethodGet, Path: PathHealth, Credential: CredentialNone,
		Summary: "Check whether the process is alive", Description: "Does not check dependencies.",
	}
	ready = Route{
		Name: "ready", Method: http.MethodGet, Path: PathReady, Credential: CredentialNone,
		Summary: "Get readiness and the state of each capability", Description: "200 while most requests can be served, with the state of each capability; 503 while they cannot, or while the requested capability is unavailable.",
	}
	document = Route{
		Name: "openapi", Method: http.MethodGet, Path: PathOpenAPI, Credential: CredentialNone,
		Summary: "Get this document", Description: "OpenAPI 3.1, generated from the code of the service.",
	}
	docsPage = Route{
		Name: "docs", Method: http.MethodGet, Path: PathDocs, Credential: CredentialNone,
		Summary: "Get this document as a page", Description: "HTML without scripts and external resources.",
	}
)

// The state of the service and its documents.
var (
	GetHealth  = define[None, Done](&health, Operation{})
	GetReady   = define[ReadyQuery, Readiness](&ready, Operation{Fields: Fields{optional("capability").about("reads, writes, uploads, jobs or mail", CapabilityUploads)}})
	GetOpenAPI = define[None, OpenAPIDocument](&document, Operation{Cacheable: true})
	GetDocs    = define[None, DocsPage](&docsPage, Operation{Cacheable: true})
)
