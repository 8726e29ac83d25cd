package api

import "net/http"

// Paths of what collectors and gateways send.
const (
	PathTelemetryWrite = "/telemetry/write"
	PathGateways       = "/terminal/gateways"
	PathGatewayJoin    = "/gateways/join"
)

// Limits of one request that writes points.
const (
	MaxWriteBytes  = 8 << 20 // of the body, unpacked
	MaxWritePoints = 100_000
)

// Media types of points.
const (
	MediaLine        = "text/plain"
	MediaRemoteWrite = "application/x-protobuf"
)

// Values of unknown.
const (
	UnknownRefuse = "refuse"
	UnknownIgnore = "ignore"
	InvalidSkip   = "skip" // of invalid, which has UnknownRefuse too
)

// WriteQuery are the parameters of POST /telemetry/write. A batch of a gateway has the
// last five groups: it is stored once, however often it is sent.
type WriteQuery struct {
	SiteID     string `query:"site_id"`
	CustomerID string `query:"customer_id"`
	AssetTag   string `query:"asset_tag"`
	Precision  string `query:"precision"`
	Unknown    string `query:"unknown"`
	Invalid    string `query:"invalid"`

	GatewayID     string `query:"gateway_id"`
	Epoch         string `query:"epoch"`
	FirstSequence int    `query:"first_sequence"`
	Sequence      int    `query:"sequence"`
	SHA256        string `query:"sha256"`
	SentAt        Time   `query:"sent_at"`
	Version       string `query:"version"`
	Backlog       int    `query:"backlog"`
	Refused       int    `query:"refused"`
}

// SequenceRange are numbers of batches from First to Last.
type SequenceRange struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// WriteResponse is the response of POST /telemetry/write. What it says is on stable
// storage.
type WriteResponse struct {
	Success       bool            `json:"success"`
	Points        int             `json:"points"`                   // that were stored
	Units         int             `json:"units"`                    // that they are of
	Ignored       int             `json:"ignored"`                  // points whose quantity is unknown
	Invalid       int             `json:"invalid,omitempty"`        // points that were left out
	InvalidPoints []InvalidPoint  `json:"invalid_points,omitempty"` // the first hundred of them
	CreatedAssets []string        `json:"created_assets,omitempty"`
	Duplicate     bool            `json:"duplicate,omitempty"` // the batch was stored before; nothing was done
	Received      []SequenceRange `json:"received,omitempty"`  // of a gateway: all batches that are stored, ascending
	ServiceTime   Time            `json:"service_time"`        // the clock of the service
	ClockOffsetS  *float64        `json:"clock_offset_s,omitempty"`
}

// InvalidPoint is a point that was left out.
type InvalidPoint struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// MaxInvalidPoints is the most points that a response names.
const MaxInvalidPoints = 100

// PointBatch is the JSON body of POST /telemetry/write: points one by one, or by unit.
type PointBatch struct {
	Points []Point      `json:"points,omitempty" limit:"100000"`
	Units  []UnitPoints `json:"units,omitempty" limit:"10000"`
}

// Point is one value of a quantity, or several in values.
type Point struct {
	AssetID   string             `json:"asset_id" limit:"128"`
	Timestamp any                `json:"timestamp"` // an ISO 8601 time with its offset, or a number of seconds since 1970
	Quantity  string             `json:"quantity,omitempty" limit:"word"`
	Value     float64            `json:"value,omitempty"`
	Values    map[string]float64 `json:"values,omitempty"`
}

// UnitPoints are the points of a unit: a value or null for each timestamp.
type UnitPoints struct {
	AssetID    string                `json:"asset_id" limit:"128"`
	Timestamps []any                 `json:"timestamps" limit:"100000"` // as above
	Values     map[string][]*float64 `json:"values"`
}

// ErrBatchChanged refuses a batch whose number was used for another one.
var ErrBatchChanged = Conflict("Batch was stored already with other points")

// errPoint is an example of a refusal of points.
var errPoint = InvalidField("points[3].value", "power_kw is from -1e+12 to 1e+12, not 1e+300")

var telemetryWrite = Route{
	Name: "telemetry-write", Path: PathTelemetryWrite, Host: HostTelemetry,
	Raw: []RawBody{
		{Type: MediaJSON, Description: "Points one by one, or by unit.", Of: PointBatch{}},
		{Type: MediaLine, Description: "InfluxDB's line protocol: the field is the quantity, a tag has the unit."},
		{Type: MediaRemoteWrite, Description: "Prometheus remote write 1.0, packed with snappy: the name of a series is the quantity, a label has the unit. Other series are ignored."},
	},
	Body:    Body{Raw: MaxWriteBytes},
	Summary: "Write points of telemetry",
	Description: "A point is one value of one quantity of one unit at one time. All points of the body are stored durably, or none: the first that is wrong is named. " +
		"Units that the site does not have are added to it. The later value of a unit, quantity and time replaces the former one. The body may be packed with gzip or zstd. " +
		"A batch with gateway_id, epoch and sequence is stored once; the response has the batches that are stored.",
	Example: PointBatch{Points: []Point{{AssetID: exampleAsset, Timestamp: exampleNoon, Quantity: "power_kw", Value: 41.5}}},
	Errors:  []*Error{errPoint, ErrBatchChanged, ErrSiteNotFound, MissingParameter("site_id")},
}

// WriteTelemetry stores points.
var WriteTelemetry = define[WriteQuery, WriteResponse](&telemetryWrite, Operation{Permission: PermissionTelemetry, Frequent: true,
	Fields: Fields{querySite, queryCustomer,
		optional("asset_tag").about("The tag or label with the id of the unit; asset_id if it is absent.", nil),
		optional("precision").about("Of the times of line protocol; ns if it is absent.", nil).oneOf("ns", "us", "ms", "s"),
		optional("unknown").about("What becomes of a point whose quantity is unknown: the batch is refused, or the point ignored and counted. Remote write always ignores.", nil).oneOf(UnknownRefuse, UnknownIgnore),
		optional("invalid").about("What becomes of a point of JSON whose time, quantity or value is wrong: the batch is refused, or the point is left out and named in the response.", nil).oneOf(UnknownRefuse, InvalidSkip),
		optional("gateway_id").about("Names the sender of a numbered batch.", nil), optional("epoch").about("Names the sender's numbering: random, made with its store.", nil),
		optional("first_sequence").about("The first number, of several batches in one body.", nil).between(1, maxSequence),
		optional("sequence").about("The number of the batch, from 1. Without it the body is empty, and the response says what is stored.", nil).between(1, maxSequence),
		optional("sha256").about("Of the unpacked body, in hexadecimal digits.", nil), optional("sent_at").about("The sender's clock.", nil),
		optional("version").about("The sender's version.", nil), optional("backlog").about("Points that the sender has yet to send.", nil).between(0, maxSequence),
		optional("refused").about("Points that the service refused from this sender.", nil).between(0, maxSequence),
		rule(func(q *WriteQuery) error {
			for _, f := range []struct {
				name, value string
				most        int
			}{{"asset_tag", q.AssetTag, 64}, {"gateway_id", q.GatewayID, 64}, {"epoch", q.Epoch, 64}, {"sha256", q.SHA256, 64}, {"version", q.Version, 64}} {
				if len(f.value) > f.most || !printable(f.value) {
					return InvalidParameter(f.name, "at most 64 printable characters of ASCII")
				}
			}
			switch {
			case q.GatewayID == "" && (q.Epoch != "" || q.Sequence != 0 || q.FirstSequence != 0):
				return MissingParameter("gateway_id")
			case q.GatewayID != "" && q.Epoch == "":
				return MissingParameter("epoch")
			case q.Sequence != 0 && q.SHA256 == "":
				return MissingParameter("sha256")
			case q.FirstSequence > q.Sequence:
				return InvalidParameter("first_sequence", "not above sequence")
			}
			return nil
		})}})

// maxSequence bounds numbers of batches, also where an int has 32 bits.
const maxSequence = 1<<31 - 1

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// GatewaysRequest is the body of POST /terminal/gateways.
type GatewaysRequest struct {
	Action          string `json:"action,omitempty" limit:"word"`
	CustomerID      string `json:"customer_id,omitempty" limit:"id"`
	SiteID          string `json:"site_id,omitempty" limit:"id"`
	Name            string `json:"name,omitempty" limit:"name"`       // invite: of the gateway and its key
	LifetimeMinutes *int   `json:"lifetime_minutes,omitempty"`        // invite: of the code; 60 when left out
	GatewayID       string `json:"gateway_id,omitempty" limit:"word"` // rotate: of the caller, for the record
	Device          string `json:"device,omitempty" limit:"id"`       // sources: the device whose values are asked for

	Targets  []string `json:"targets,omitempty" limit:"16 name"`   // discover: private addresses, networks of at most 256, serial ports
	Units    string   `json:"units,omitempty" limit:"name"`        // discover: unit ids as 1-20,126; the usual ones when left out
	Port     int      `json:"port,omitempty"`                      // discover: of addresses without one; 502 when left out
	AssetIDs []string `json:"asset_ids,omitempty" limit:"1000 id"` // add_devices: of the search; all that can be read when left out
	Page
}

// GatewaysResponse lists gateways, or has a new code or key.
type GatewaysResponse struct {
	Success    bool            `json:"success"`
	Message    string          `json:"message,omitempty"`
	Gateways   []GatewayRecord `json:"gateways,omitzero"`
	Count      int             `json:"count"`
	NextCursor string          `json:"next_cursor,omitempty"`

	Code      string `json:"code,omitempty"` // invite: shown once
	ExpiresAt Time   `json:"expires_at,omitzero"`
	APIKey    string `json:"api_key,omitempty"` // rotate: shown once
	APIKeyID  string `json:"api_key_id,omitempty"`
}

// GatewayRecord is what the service knows of a sender of numbered batches.
type GatewayRecord struct {
	GatewayID    string          `json:"gateway_id"`
	Epoch        string          `json:"epoch"`
	SiteID       string          `json:"site_id"`
	CustomerID   string          `json:"customer_id"`
	APIKeyID     string          `json:"api_key_id"`
	Version      string          `json:"version,omitempty"`
	FirstSeenAt  Time            `json:"first_seen_at"`
	LastSeenAt   Time            `json:"last_seen_at"`
	LastStoredAt Time            `json:"last_stored_at,omitzero"`
	LastPointAt  Time            `json:"last_point_at,omitzero"` // newest time of a point
	Points       int64           `json:"points"`
	Backlog      int             `json:"backlog"` // points that the gateway has yet to send, as it said last
	Refused      int             `json:"refused"` // points that the service refused, as the gateway said last
	ClockOffsetS float64         `json:"clock_offset_s"`
	ClockWrong   bool            `json:"clock_wrong"` // by more than [ClockTolerance]
	Received     []SequenceRange `json:"received"`
}

// ClockToleranceS is the difference, in seconds, from which the clock of a gateway is
// called wrong.
const ClockToleranceS = 60

// Lifetimes of a code with which a gateway joins, in minutes.
const (
	DefaultJoinMinutes = 60
	MaxJoinMinutes     = 7 * 24 * 60
)

var gateways = Route{
	Name: "gateways", Path: PathGateways,
	Summary:     "Invite gateways, list them and replace a gateway's key",
	Description: "invite makes a code with which one gateway joins a site: it gets a key that writes the telemetry of this site, sends files for it, reads the outcome of these, and does nothing else. list has what the service received of each gateway. sources has the devices that the service reads itself, and with a device its values and registers. discover searches for devices in private networks and on serial ports of the service's machine, discovery is how far the search is and what it found, stop_discovery ends it, and add_devices adds what it found to the sources file, from which it is read. rotate gives the calling gateway a new key; the former one ends after a day.",
	Example:     GatewaysRequest{Action: ActionInvite, SiteID: exampleSite, Name: "roof gateway"},
	Errors:      []*Error{ErrInvalidAction, MissingField("site_id"), ErrSiteNotFound, ErrNoDiscovery},
}

// ActionInvite makes a code with which a gateway joins.
const ActionInvite = "invite"

// Gateways.
var (
	ListGateways  = define[GatewaysRequest, GatewaysResponse](&gateways, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true, Fields: Fields{since(), pageLimit()}})
	InviteGateway = define[GatewaysRequest, GatewaysResponse](&gateways, Operation{Action: ActionInvite, Permission: PermissionUsers,
		Fields: Fields{required("site_id"), required("name"), optional("lifetime_minutes").between(1, MaxJoinMinutes)}})
	RotateGatewayKey = define[GatewaysRequest, GatewaysResponse](&gateways, Operation{Action: ActionRotate, Permission: PermissionTelemetry, Target: Target{NoSite: true}})
)

// JoinRequest is the body of POST /gateways/join.
type JoinRequest struct {
	Code string `json:"code" limit:"word"`
}

// JoinResponse has the key of a gateway, which is returned only here.
type JoinResponse struct {
	Success    bool   `json:"success"`
	APIKey     string `json:"api_key"`
	APIKeyID   string `json:"api_key_id"`
	CustomerID string `json:"customer_id"`
	SiteID     string `json:"site_id"`
	Timezone   string `json:"timezone"`
	Name       string `json:"name"`
}

// ErrJoinCode refuses a code that is unknown, used or has expired.
var ErrJoinCode = newError(http.StatusUnauthorized, "Join code is unknown, used or has expired")

var gatewayJoin = Route{
	Name: "gateway-join", Path: PathGatewayJoin, Credential: CredentialNone,
	Summary: "Join a site as a gateway", Description: "The code works once. The key writes the telemetry of the site of the code, sends files for it, reads the outcome of these, and does nothing else.",
	Example: JoinRequest{Code: "K7QD-3JXA-9PLM-2VTE"},
	Errors:  []*Error{MissingField("code"), ErrJoinCode},
}

// JoinGateway exchanges a code for a key.
var JoinGateway = define[JoinRequest, JoinResponse](&gatewayJoin, Operation{Fields: Fields{required("code")}})
