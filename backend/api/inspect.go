package api

// FileColumn states what one column of a file was taken for (extension).
type FileColumn struct {
	Number int    `json:"number"`                           // from 1
	Title  string `json:"title,omitempty" limit:"name cut"` // as a mapping names it
	Role   string `json:"role" limit:"word cut"`            // a role of a mapping, feed_in or ignored
	Unit   string `json:"unit,omitempty" limit:"name cut"`  // of measure
	Asset  string `json:"asset,omitempty" limit:"name cut"` // unit of the column; absent: all of the file
	Reason string `json:"reason" limit:"line cut"`          // why it has the role, or why it is ignored
}

// FileDay is the power of a file's first day with production, of all units
// together (extension).
type FileDay struct {
	Day         string      `json:"day" limit:"word"` // of the zone in which times were read
	StepMinutes float64     `json:"step_minutes"`
	Points      []FilePoint `json:"points" limit:"200"` // in order of time; those that are unknown are left out
}

// FilePoint is the mean power of an interval (extension).
type FilePoint struct {
	Timestamp Time    `json:"timestamp"` // start of the interval
	PowerKW   float64 `json:"power_kw"`
}

// Inspection is what an upload of a file would do (extension).
type Inspection struct {
	Accept          bool           `json:"accept"`
	Error           string         `json:"error,omitempty" limit:"line"` // one sentence
	ErrorKind       string         `json:"error_kind,omitempty" limit:"word"`
	ErrorLine       int            `json:"error_line,omitempty"`
	RowsRead        int            `json:"rows_read"`
	RowsUsed        int            `json:"rows_used"` // the others are skipped, by reason
	RowsSkipped     map[string]int `json:"rows_skipped,omitempty" limit:"200 line"`
	RowsStored      int            `json:"rows_stored"`   // stamps of units with a power
	RowsMissing     int            `json:"rows_missing"`  // stamps of units without a usable value
	RowsReplaced    int            `json:"rows_replaced"` // stamps of units at which stored values would change
	Manufacturer    string         `json:"manufacturer,omitempty" limit:"name"`
	Unit            string         `json:"unit,omitempty" limit:"name"`
	ValueKind       string         `json:"value_kind,omitempty" limit:"word"`
	IntervalMinutes float64        `json:"interval_minutes,omitempty"`
	Timezone        string         `json:"timezone,omitempty" limit:"word"` // in which times without an offset were read
	NewSite         bool           `json:"new_site"`                        // the upload would create the site
	AssetIDs        []string       `json:"asset_ids,omitempty" limit:"10000 id"`
	NewAssetIDs     []string       `json:"new_asset_ids,omitempty" limit:"10000 id"` // that the upload would create
	FirstRecord     Time           `json:"first_record,omitzero"`
	LastRecord      Time           `json:"last_record,omitzero"`
	Columns         []FileColumn   `json:"columns,omitempty" limit:"5000"`
	RunnersUp       []string       `json:"runners_up,omitempty" limit:"100 line"` // other readings that fit nearly as well
	Mapping         string         `json:"mapping,omitempty" limit:"64KiB"`       // with which the file is read in the same way
	FirstDay        *FileDay       `json:"first_day,omitempty"`
	Decisions       []string       `json:"decisions,omitempty" limit:"500 line"`
	Warnings        []string       `json:"warnings,omitempty" limit:"500 line"`
}

// InspectResponse answers POST /uploads/inspect.
type InspectResponse struct {
	Success    bool       `json:"success"`
	Inspection Inspection `json:"inspection"`
}

// inspectFields are the parts of the form of an inspection.
func inspectFields() []FormField {
	var list []FormField
	for _, f := range uploadFields {
		f.Required = f.Name == "file" || f.Name == "customer_id" || f.Name == "site_id"
		list = append(list, f)
	}
	return list
}

var uploadInspect = Route{
	Name: "upload-inspect", Path: PathUploadInspect, Form: inspectFields(), FormOnly: true, Failure: ErrUploadFailed,
	Summary: "Show what an upload would do", Description: "Takes the form of /upload_train and stores nothing: the meaning of each column with its reason, rows by result, stored values that would be replaced, warnings, and the mapping with which the file is read in the same way. A file that an upload would reject is answered with accept false and the reason.",
	Errors: []*Error{ErrCSVRequired, MissingParameter("customer_id")},
}

// InspectUpload shows what an upload would do.
var InspectUpload = define[UploadRequest, InspectResponse](&uploadInspect, Operation{Permission: PermissionUpload, ReadOnly: true, Target: Target{NewSite: true}})
