package api

import (
	"net/http"
	"slices"
)

// States of an upload.
const (
	UploadQueued       = "queued"
	UploadValidating   = "validating"
	UploadProcessing   = "processing"
	UploadCompleted    = "completed"
	UploadWithWarnings = "completed_with_warnings"
	UploadFailed       = "failed"
	UploadRejected     = "rejected"
	UploadReverted     = "reverted" // its values are removed again
)

// Kinds of upload.
const (
	UploadTrain   = "historical"
	UploadNowcast = "nowcast"
)

// UploadAck is the answer to an accepted upload.
type UploadAck struct {
	Status           string `json:"status"` // "success"
	Message          string `json:"message"`
	S3Path           string `json:"s3_path"`
	ProcessingStatus string `json:"processing_status"` // "queued"
	UploadID         string `json:"upload_id"`         // extension

	// Of /v1/data-ingestion alone.
	DataPoints *int              `json:"data_points,omitempty"` // lines of data in the file
	Validation *UploadValidation `json:"validation,omitempty"`
}

// UploadValidation says how far the check of a file has come when it is
// acknowledged: rows are judged afterwards, see GET /uploads/{id}.
type UploadValidation struct {
	Status string `json:"status"` // a state of an upload
}

// Upload is the state of an imported file: GET /uploads/{id} (extension).
type Upload struct {
	UploadID         string         `json:"upload_id" limit:"id"`
	Kind             string         `json:"kind" limit:"word"` // historical or nowcast
	CustomerID       string         `json:"customer_id" limit:"id"`
	SiteID           string         `json:"site_id" limit:"id"`
	Filename         string         `json:"filename,omitempty" limit:"255"`
	Source           string         `json:"source,omitempty" limit:"id"` // name of the folder, server or mailbox that the service, or a gateway, took the file from
	Region           string         `json:"region,omitempty" limit:"name"`
	Location         string         `json:"location,omitempty" limit:"name"`
	S3Path           string         `json:"s3_path" limit:"url"`
	Bytes            int64          `json:"bytes"`
	ProcessingStatus string         `json:"processing_status" limit:"word"`
	Stage            string         `json:"stage,omitempty" limit:"word cut"` // validating, storing, training, forecasting, detecting
	Progress         float64        `json:"progress"`                         // 0..1 over all stages
	Error            string         `json:"error,omitempty" limit:"line cut"` // one sentence
	ErrorKind        string         `json:"error_kind,omitempty" limit:"word cut"`
	ErrorLine        int            `json:"error_line,omitempty"`
	RowsRead         int            `json:"rows_read"`
	RowsStored       int            `json:"rows_stored"`
	RowsMissing      int            `json:"rows_missing"`
	RowsSkipped      map[string]int `json:"rows_skipped,omitempty" limit:"200 line cut"` // reason → count
	Manufacturer     string         `json:"manufacturer,omitempty" limit:"name cut"`
	Unit             string         `json:"unit,omitempty" limit:"name cut"`
	ValueKind        string         `json:"value_kind,omitempty" limit:"word cut"`
	IntervalMinutes  float64        `json:"interval_minutes,omitempty"`
	Timezone         string         `json:"timezone,omitempty" limit:"word"`
	AssetIDs         []string       `json:"asset_ids,omitempty" limit:"10000 id cut"`
	FirstRecord      Time           `json:"first_record,omitzero"`
	LastRecord       Time           `json:"last_record,omitzero"`
	Decisions        []string       `json:"decisions,omitempty" limit:"500 line cut"`
	Warnings         []string       `json:"warnings,omitempty" limit:"500 line cut"`
	RowsReplaced     int            `json:"rows_replaced,omitempty"`                      // stamps of units at which stored values changed
	Columns          []FileColumn   `json:"columns,omitempty" limit:"1000 cut"`           // what each column was taken for
	RunnersUp        []string       `json:"runners_up,omitempty" limit:"100 line cut"`    // other readings that fit nearly as well
	Mapping          string         `json:"mapping,omitempty" limit:"64KiB cut"`          // with which the file is read in the same way
	FirstDay         *FileDay       `json:"first_day,omitempty"`                          // power of its first day
	NewSite          bool           `json:"new_site,omitempty"`                           // the upload created the site
	NewAssetIDs      []string       `json:"new_asset_ids,omitempty" limit:"10000 id cut"` // units that the upload created
	RowsRemoved      int            `json:"rows_removed,omitempty"`                       // reverted: stamps of units whose values went
	RowsRestored     int            `json:"rows_restored,omitempty"`                      // reverted: stamps of units whose former values came back
	RevertedBy       string         `json:"reverted_by,omitempty" limit:"id"`
	CreatedAt        Time           `json:"created_at"`
	UpdatedAt        Time           `json:"updated_at"`
	UpdatedAtMS      int64          `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
}

// Ended says that the upload's state will not change any more.
func (u Upload) Ended() bool {
	switch u.ProcessingStatus {
	case UploadCompleted, UploadWithWarnings, UploadFailed, UploadRejected, UploadReverted:
		return true
	}
	return false
}

// UploadMoveRequest is the body of POST /uploads/{id} (extension): cancel ends
// an import that has stored nothing yet, or the training that it waits for;
// revert undoes an import that has ended.
type UploadMoveRequest struct {
	Action string `json:"action" limit:"word"`
	ID     string `json:"-" path:"id" limit:"id"`
}

// UploadResponse answers GET and POST /uploads/{id}.
type UploadResponse struct {
	Success bool   `json:"success"`
	Upload  Upload `json:"upload"`
}

// UploadsResponse answers GET /uploads (customer_id, site_id, limit, cursor),
// newest first.
type UploadsResponse struct {
	Success    bool     `json:"success"`
	Uploads    []Upload `json:"uploads"`
	Count      int      `json:"count"`
	NextCursor string   `json:"next_cursor,omitempty"`
}

// uploadFields are the parts of an upload's form.
var uploadFields = []FormField{
	{"file", "file", "The CSV file, at most 10 MB.", true},
	{"customer_id", "string", "The customer.", true},
	{"site_id", "string", "The site; the first file of a site makes it.", true},
	{"region", "string", "The cloud region.", true},
	{"location", "string", "A town or `lat,lon`.", true},
	{"manufacturer", "string", "Found out from the file when left out.", false},
	{"timezone", "string", "Extension: the IANA name of the zone of times without an offset.", false},
	{"capacity_kw", "number", "Extension: the capacity of the site in kW.", false},
	{"asset_id", "string", "Extension: the unit of a file that names none.", false},
	{"mapping", "string", "Extension: what columns hold, as `time=Date,power[INV1]=P1,unit=kW`. What it leaves out is inferred. It is kept for the next files of the site with the same header.", false},
	{"source", "string", "Extension: the name of the folder, server or mailbox that the file was taken from.", false},
	{"delivery_id", "string", "Extension: names the file at its sender. A file of one sender, name and content is one upload, however often it is sent and whatever became of it: the answer has the state of the former one.", false},
}

// v1UploadFields are the parts of the form of /v1/data-ingestion, which must name
// only the site.
func v1UploadFields(dataType string) []FormField {
	list := []FormField{{"data_type", "string", "Is `" + dataType + "` on this path.", false}}
	for _, f := range uploadFields {
		f.Required = f.Name == "file" || f.Name == "site_id"
		list = append(list, f)
	}
	return list
}

var (
	uploadErrors   = []*Error{ErrCSVRequired, ErrInvalidCSV, MissingParameter("customer_id"), ErrUploadFailed}
	v1UploadErrors = []*Error{ErrCSVRequired, ErrInvalidCSV, ErrSiteNotFound, ErrUploadFailed}
	// importFields are of the JSON form, which names a stored object.
	importFields = Fields{required("customer_id"), required("site_id"), required("region"), required("location"), required("s3_path")}
)

// uploadOperation is the operation of an upload. The first file of a site creates
// the site.
func uploadOperation(fields Fields) Operation {
	return Operation{Permission: PermissionUpload, Idempotent: true, Target: Target{NewSite: true}, Fields: slices.Clone(fields), Tolerated: []string{"data_type"}}
}

// v1UploadOperation is uploadOperation of a form alone, which gateways send too.
func v1UploadOperation() Operation {
	o := uploadOperation(nil)
	o.Own = PermissionUploadOwn
	return o
}

// ErrMappingOfGateway refuses a mapping, which would be kept for the next files of the
// site, from a caller who may only send files.
var ErrMappingOfGateway = ErrForbidden.With("field", "mapping").With("reason", "the key may send files, but no mapping, which the site would keep")

var uploadTrain = Route{
	Name: "upload-train", Path: PathUploadTrain, Form: uploadFields, Files: true, Failure: ErrUploadFailed,
	Summary: "Upload historical data", Description: "A file as a form, or the URI of a stored file as JSON. Training starts with 180 days of data.",
	Reply:  UploadAck{Status: StatusSuccess, Message: "Upload accepted", S3Path: "s3://bucket/historical/…", ProcessingStatus: UploadQueued, UploadID: "upl_…"},
	Errors: uploadErrors,
}

var uploadNowcast = Route{
	Name: "upload-nowcast", Path: PathUploadNowcast, Form: uploadFields, Files: true, Failure: ErrUploadFailed,
	Summary: "Upload recent data", Description: "As /upload_train, without training: forecast and detection run again.", Errors: uploadErrors,
}

var v1UploadTrain = Route{
	Name: "v1-upload-train", Path: PathV1UploadTrain, Form: v1UploadFields("training"), FormOnly: true, Files: true, Failure: ErrUploadFailed,
	Summary: "Upload historical data of an existing site", Description: "The customer is the site's.", Errors: v1UploadErrors,
}

var v1UploadNowcast = Route{
	Name: "v1-upload-nowcast", Path: PathV1UploadNowcast, Form: v1UploadFields("nowcast"), FormOnly: true, Files: true, Failure: ErrUploadFailed,
	Summary: "Upload recent data of an existing site", Description: "The customer is the site's.", Errors: v1UploadErrors,
}

// Uploads of files, and of stored objects by their URI.
var (
	UploadHistory   = define[UploadRequest, UploadAck](&uploadTrain, uploadOperation(importFields))
	UploadRecent    = define[UploadRequest, UploadAck](&uploadNowcast, uploadOperation(importFields))
	V1UploadHistory = define[V1UploadRequest, UploadAck](&v1UploadTrain, v1UploadOperation())
	V1UploadRecent  = define[V1UploadRequest, UploadAck](&v1UploadNowcast, v1UploadOperation())
)

// V1UploadRequest are the fields of a form of /v1/data-ingestion.
type V1UploadRequest UploadRequest

// UploadsQuery asks for GET /uploads.
type UploadsQuery struct {
	CustomerID string `query:"customer_id"`
	SiteID     string `query:"site_id"`
	Kind       string `query:"kind"`   // UploadTrain or UploadNowcast, of a site
	Status     string `query:"status"` // a processing_status
	Page
}

var uploads = Route{Name: "uploads", Method: http.MethodGet, Path: PathUploads, Summary: "List uploads", Description: "Newest first."}

// ListUploads lists uploads, newest first. The first upload of a site precedes the
// site.
var ListUploads = define[UploadsQuery, UploadsResponse](&uploads, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{NewSite: true}, Fields: Fields{
	optional("customer_id").about("The customer.", exampleCustomer), optional("site_id").about("The site.", exampleSite), since(), pageLimit(), pageCursor(),
	optional("status").about("The processing_status.", nil).oneOf(UploadQueued, UploadValidating, UploadProcessing, UploadCompleted, UploadWithWarnings, UploadFailed, UploadRejected, UploadReverted),
	optional("kind").about("The kind of upload; goes with site_id.", nil).oneOf(UploadTrain, UploadNowcast).withReason("it is historical or nowcast"),
	rule(func(q *UploadsQuery) error {
		if q.Kind != "" && q.SiteID == "" {
			return InvalidParameter("kind", "it goes with site_id")
		}
		return nil
	}),
}})

// UploadQuery asks for GET /uploads/{id}.
type UploadQuery struct {
	ID string `path:"id"`
}

var upload = Route{
	Name: "upload", Method: http.MethodGet, Path: PathUpload,
	Summary: "Get the state of an upload", Description: "State, progress, counts of rows by result, and what was inferred from the file.", Errors: []*Error{ErrNotFound},
}

var uploadID = required("id").about("The upload.", "upl_01J9Z0").inPath()

// GetUpload returns the state of an upload.
var GetUpload = define[UploadQuery, UploadResponse](&upload, Operation{Permission: PermissionRead, Own: PermissionUploadOwn, Cacheable: true, Fields: Fields{uploadID}})

var uploadMove = Route{
	Name: "upload-move", Path: PathUpload,
	Summary: "Cancel or revert an upload", Description: "Cancel stops an import that has not stored anything, or the training that follows it. Revert undoes an import that has ended: values that it replaced come back, the others that it stored are removed, and so are units and a site that it alone created. Uploads may be reverted in any order.",
	Errors: []*Error{ErrInvalidAction, ErrNotFound, InvalidTransition("Upload upl_01J9Z0 has ended; it is completed")},
}

// CancelUpload ends an import or the training after it.
var CancelUpload = define[UploadMoveRequest, UploadResponse](&uploadMove, Operation{Action: ActionCancel, Permission: PermissionUpload, Fields: Fields{uploadID}})

// RevertUpload undoes an import.
var RevertUpload = define[UploadMoveRequest, UploadResponse](&uploadMove, Operation{Action: ActionRevert, Permission: PermissionUpload, Fields: Fields{uploadID}})
