package api

// States of an upload.
const (
	UploadQueued       = "queued"
	UploadValidating   = "validating"
	UploadProcessing   = "processing"
	UploadCompleted    = "completed"
	UploadWithWarnings = "completed_with_warnings"
	UploadFailed       = "failed"
	UploadRejected     = "rejected"
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

// Upload is what became of a file: GET /uploads/{id} (extension).
type Upload struct {
	UploadID         string         `json:"upload_id" limit:"id"`
	Kind             string         `json:"kind" limit:"word"` // historical or nowcast
	CustomerID       string         `json:"customer_id" limit:"id"`
	SiteID           string         `json:"site_id" limit:"id"`
	Filename         string         `json:"filename,omitempty" limit:"255"`
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
	CreatedAt        Time           `json:"created_at"`
	UpdatedAt        Time           `json:"updated_at"`
}

// Ended says that the upload's state will not change any more.
func (u Upload) Ended() bool {
	switch u.ProcessingStatus {
	case UploadCompleted, UploadWithWarnings, UploadFailed, UploadRejected:
		return true
	}
	return false
}

// UploadMoveRequest is the body of POST /uploads/{id} (extension): cancel ends
// an import that has stored nothing yet, or the training that it waits for.
type UploadMoveRequest struct {
	Action string `json:"action" limit:"word"`
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
