package api

import (
	"fmt"
	"net/http"
)

// Limits of uploads in parts.
const (
	MaxUploadPart      = MaxUploadBytes // bytes of a part
	MinUploadPart      = 256 << 10      // bytes of a part that is not the last
	DefaultLargeUpload = 2 << 30        // bytes of a file in parts, unless the operator sets another limit
	MaxUploadSessions  = 4              // unfinished sessions of a caller
)

// Paths of uploads in parts.
const (
	PathUploadSessions = "/uploads/sessions"
	PathUploadSession  = "/uploads/sessions/{id}"
	PathUploadPart     = "/uploads/sessions/{id}/parts"
)

// UploadSession is a file that is sent in parts (extension). A part begins at Offset;
// what was acknowledged stays over restarts of the service and the client.
type UploadSession struct {
	SessionID  string `json:"session_id"`
	CustomerID string `json:"customer_id"`
	SiteID     string `json:"site_id"`
	Filename   string `json:"filename,omitempty"`
	Size       int64  `json:"size"`
	Offset     int64  `json:"offset"`              // bytes that are stored; the next part begins here
	MaxPart    int64  `json:"max_part"`            // bytes that a part may have
	MinPart    int64  `json:"min_part"`            // bytes that a part must have unless it is the last
	ExpiresAt  Time   `json:"expires_at"`          // then it is deleted, unless another part comes before
	UploadID   string `json:"upload_id,omitempty"` // once it is finished
}

// UploadSessionRequest is the body of POST /uploads/sessions: the fields of an upload,
// and the file's size and checksum.
type UploadSessionRequest struct {
	CustomerID   string  `json:"customer_id" limit:"id"`
	SiteID       string  `json:"site_id" limit:"id"`
	Size         int64   `json:"size"`                          // bytes of the file
	SHA256       string  `json:"sha256,omitempty" limit:"word"` // of the file, hex; finish may give it instead
	Kind         string  `json:"kind,omitempty" limit:"word"`   // historical (default) or nowcast
	Filename     string  `json:"filename,omitempty" limit:"255"`
	Region       string  `json:"region,omitempty" limit:"name"`
	Location     string  `json:"location,omitempty" limit:"name"`
	Manufacturer string  `json:"manufacturer,omitempty" limit:"name"`
	Timezone     string  `json:"timezone,omitempty" limit:"word"`
	CapacityKW   float64 `json:"capacity_kw,omitempty"`
	AssetID      string  `json:"asset_id,omitempty" limit:"id"`
	Mapping      string  `json:"mapping,omitempty" limit:"64KiB"`
}

// Upload returns the request as that of an upload.
func (r UploadSessionRequest) Upload() UploadRequest {
	return UploadRequest{CustomerID: r.CustomerID, SiteID: r.SiteID, Region: r.Region, Location: r.Location, Manufacturer: r.Manufacturer, Timezone: r.Timezone,
		CapacityKW: r.CapacityKW, AssetID: r.AssetID, Mapping: r.Mapping, Kind: r.Kind, Filename: r.Filename, Bytes: r.Size}
}

// UploadSessionQuery asks for GET /uploads/sessions/{id}, and names the session of a part.
type UploadSessionQuery struct {
	ID string `path:"id"`
}

// UploadSessionMoveRequest is the body of POST /uploads/sessions/{id}: finish imports
// the file, cancel deletes what was sent.
type UploadSessionMoveRequest struct {
	Action string `json:"action" limit:"word"`
	SHA256 string `json:"sha256,omitempty" limit:"word"` // of the whole file, hex
	ID     string `json:"-" path:"id" limit:"id"`
}

// UploadSessionResponse answers the requests about sessions.
type UploadSessionResponse struct {
	Success bool          `json:"success"`
	Session UploadSession `json:"session"`
}

// Errors of uploads in parts.
var (
	ErrSessionNotFound = UnknownID(ErrNotFound.Message)
	ErrNoSpace         = newError(http.StatusInsufficientStorage, "Not enough disk space for this file")
	ErrPartTooLarge    = newError(http.StatusRequestEntityTooLarge, "Part too large: the limit is 10 MB").With("reason", "divide the file into smaller parts; the session stays, and continues at its offset")
)

// UploadTooLarge is the refusal of a file in parts of more than a number of bytes.
func UploadTooLarge(most int64) *Error {
	return newError(http.StatusRequestEntityTooLarge, fmt.Sprintf("Upload too large: the limit of this service is %d MB", most>>20)).With("field", "size").
		With("reason", "split the file, or ask the operator for a higher limit (sunloop serve --max-upload)")
}

// SessionsFull is the refusal of an upload in parts while those that all callers have
// not finished take what the service reserves for them.
func SessionsFull(limit string) *Error {
	return newError(http.StatusInsufficientStorage, "Too many unfinished uploads in parts: the limit of this service is "+limit).
		With("reason", "try again when others are finished; an upload without another part for 24 hours is deleted")
}

var uploadSessions = Route{
	Name: "upload-sessions", Path: PathUploadSessions, Files: true,
	Summary:     "Begin to upload a large file in parts",
	Description: "For files above 10 MB, up to the limit of the service (2 GB by default). Send the parts in order, each with its offset and checksum, then finish. An interrupted upload continues at the offset that GET returns, and one that is begun again with the same fields and checksum is the same session. A caller has at most 4 unfinished sessions. `sunloop import --remote` does all of this.",
	Errors:      []*Error{MissingField("size"), ErrNoSpace, TooMany("The caller", MaxUploadSessions, "unfinished uploads"), SessionsFull("64 uploads"), UploadTooLarge(DefaultLargeUpload)},
}

var uploadSession = Route{Name: "upload-session", Method: http.MethodGet, Path: PathUploadSession, Summary: "Get the offset of an upload in parts", Description: "The session with the number of bytes that are stored: the next part begins there.", Errors: []*Error{ErrSessionNotFound}}

var uploadSessionMove = Route{
	Name: "upload-session-move", Path: PathUploadSession, Files: true, Failure: ErrUploadFailed,
	Summary: "Finish or cancel an upload in parts", Description: "Finish compares the checksum of the whole file and enqueues the import; a file that differs is deleted. It may be repeated.",
	Errors: []*Error{ErrInvalidAction, ErrSessionNotFound, Conflict("The file differs from its checksum: upload it again")},
}

var uploadPart = Route{
	Name: "upload-part", Path: PathUploadPart, Form: []FormField{
		{"file", "file", "The bytes of the part, 256 KB to 10 MB; the last part may be shorter.", true},
		{"offset", "integer", "Where the part begins in the file: the offset of the session.", true},
		{"sha256", "string", "The SHA-256 of the part, hex.", true},
	}, FormOnly: true, Files: true, Failure: ErrUploadFailed, TooLarge: ErrPartTooLarge,
	Summary: "Send the next part of an upload", Description: "A part with another offset is a 409, whose details have the offset to continue at. A part that was stored already is acknowledged again.",
	Errors: []*Error{ErrCSVRequired, ErrPartTooLarge, ErrSessionNotFound, InvalidParameter("sha256", "it is not that of the part"), Conflict("The next part begins at byte 10485760")},
}

var sessionID = required("id").about("The upload session.", "ups_01J9Z0").inPath()

// Uploads in parts.
var (
	CreateUploadSession = define[UploadSessionRequest, UploadSessionResponse](&uploadSessions, Operation{Permission: PermissionUpload, Idempotent: true, Target: Target{NewSite: true},
		Fields: Fields{required("customer_id"), required("site_id"), required("size"), optional("kind").oneOf(UploadTrain, UploadNowcast).withReason("it is historical or nowcast")}})
	GetUploadSession    = define[UploadSessionQuery, UploadSessionResponse](&uploadSession, Operation{Permission: PermissionUpload, Cacheable: true, Fields: Fields{sessionID}})
	SendUploadPart      = define[UploadSessionQuery, UploadSessionResponse](&uploadPart, Operation{Permission: PermissionUpload, Fields: Fields{sessionID}})
	FinishUploadSession = define[UploadSessionMoveRequest, UploadAck](&uploadSessionMove, Operation{Action: ActionFinish, Permission: PermissionUpload, Fields: Fields{sessionID}})
	CancelUploadSession = define[UploadSessionMoveRequest, UploadAck](&uploadSessionMove, Operation{Action: ActionCancel, Permission: PermissionUpload, Fields: Fields{sessionID}})
)
