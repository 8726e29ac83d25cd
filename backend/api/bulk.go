package api

import (
	"net/http"
)

// BulkAlert names an alert of a bulk request.
type BulkAlert struct {
	AlertID string `json:"alert_id" limit:"id"`
	SiteID  string `json:"site_id,omitempty" limit:"id"` // empty: that of the request, or any
	Reason  string `json:"reason,omitempty" limit:"text"`
}

// BulkSchedule is a schedule of a bulk request, with the fields of the action create of
// /terminal/schedule. Empty ids of site and customer are those of the request.
type BulkSchedule struct {
	AssetID                string  `json:"asset_id" limit:"id"`
	SiteID                 string  `json:"site_id,omitempty" limit:"id"`
	CustomerID             string  `json:"customer_id,omitempty" limit:"id"`
	MaintenanceType        string  `json:"maintenance_type,omitempty" limit:"word"`
	ScheduledDate          Time    `json:"scheduled_date,omitzero"`
	Priority               string  `json:"priority" limit:"word"`
	Reason                 string  `json:"reason,omitempty" limit:"text"`
	Task                   string  `json:"task,omitempty" limit:"text"`
	EveryDays              int     `json:"every_days,omitempty"`
	EveryMonths            int     `json:"every_months,omitempty"`
	EstimatedDurationHours float64 `json:"estimated_duration_hours,omitempty"`
	Title                  string  `json:"title,omitempty" limit:"name"`
	Description            string  `json:"description,omitempty" limit:"text"`
}

// Request returns the request that creates the schedule alone.
func (b BulkSchedule) Request() ScheduleRequest {
	return ScheduleRequest{
		Action: ActionCreate, AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID, MaintenanceType: b.MaintenanceType, ScheduledDate: b.ScheduledDate,
		Priority: b.Priority, Reason: b.Reason, Task: b.Task, EveryDays: b.EveryDays, EveryMonths: b.EveryMonths,
		EstimatedDurationHours: b.EstimatedDurationHours, Title: b.Title, Description: b.Description,
	}
}

// BulkRequest is the body of POST /terminal/bulk (extension): action add-assets,
// acknowledge-alerts or create-schedules, with up to [MaxBulkRecords] records.
type BulkRequest struct {
	Action     string         `json:"action" limit:"word"`
	CustomerID string         `json:"customer_id,omitempty" limit:"id"` // of records that name none
	SiteID     string         `json:"site_id,omitempty" limit:"id"`     // of records that name none
	Atomic     bool           `json:"atomic,omitempty"`                 // write all records or none
	Assets     []Asset        `json:"assets,omitempty" limit:"1000"`
	Alerts     []BulkAlert    `json:"alerts,omitempty" limit:"1000"`
	Schedules  []BulkSchedule `json:"schedules,omitempty" limit:"1000"`
}

// BulkResult is the result of one record of a bulk request.
type BulkResult struct {
	Index  int    `json:"index"`             // of the record in the request, from 0
	Status int    `json:"status"`            // as the response of a request with the record alone: 200, or that of the error
	ID     string `json:"id,omitempty"`      // of the record
	SiteID string `json:"site_id,omitempty"` // of a record that was written
	Error  string `json:"error,omitempty"`
	Code   string `json:"code,omitempty"`
	Field  string `json:"field,omitempty"` // of the record
	Reason string `json:"reason,omitempty"`
}

// BulkResponse answers /terminal/bulk: a result for each record, in the order of the request.
type BulkResponse struct {
	Success bool         `json:"success"`
	Message string       `json:"message"`
	Results []BulkResult `json:"results"`
	Count   int          `json:"count"`  // of the records that were written
	Failed  int          `json:"failed"` // of the records that were refused
}

// BulkRefused is the 409 of an atomic bulk request of which records were refused.
func BulkRefused(refused []BulkResult, of int) *Error {
	return RecordsRefused("Nothing was written: %d of %d records were refused", len(refused), of).With("results", refused)
}

var bulk = Route{
	Name: "bulk", Path: PathBulk, Body: Body{JSON: MaxBulkBytes, Values: MaxBulkValues},
	Summary: "Add units, acknowledge alerts or create schedules, up to 1,000 a call",
	Description: "All records that are accepted are written in one transaction. A record that is refused has no effect and does not hold up the others: `results` has the status of each record, with the error that a request " +
		"with it alone would get. With `atomic`, one refused record is a 409 and nothing is written; its `details.results` name the refused records. Access is checked for each record.",
	Example: BulkRequest{Action: ActionAcknowledgeAlerts, SiteID: exampleSite, Alerts: []BulkAlert{{AlertID: "alr_01J9Z0", Reason: "Storm damage, work is ordered"}}},
	Reply:   BulkResponse{Success: true, Message: "1 alert acknowledged", Results: []BulkResult{{Status: http.StatusOK, ID: "alr_01J9Z0", SiteID: exampleSite}}, Count: 1},
	Errors: []*Error{ErrInvalidAction, MissingField("assets"), InvalidField("assets", "at most 1000 items"), ErrSiteNotFound,
		BulkRefused([]BulkResult{{Index: 1, Status: http.StatusNotFound, ID: "alr_01J9Z1", Error: ErrAlertNotFound.Message, Code: CodeOf(ErrAlertNotFound.Message)}}, 2)},
}

// Bulk writes.
var (
	AddAssets         = bulkWrite(ActionAddAssets, PermissionAssets, "assets")
	AcknowledgeAlerts = bulkWrite(ActionAcknowledgeAlerts, PermissionDetect, "alerts")
	CreateSchedules   = bulkWrite(ActionCreateSchedules, PermissionOrders, "schedules")
)

func bulkWrite(action string, permission Permission, list string) Endpoint[BulkRequest, BulkResponse] {
	return define[BulkRequest, BulkResponse](&bulk, Operation{Action: action, Permission: permission, Idempotent: true, Fields: Fields{
		required(list), rule(func(r *BulkRequest) error {
			for name, n := range map[string]int{"assets": len(r.Assets), "alerts": len(r.Alerts), "schedules": len(r.Schedules)} {
				switch {
				case name == list && n == 0:
					return MissingField(name)
				case name != list && n > 0:
					return InvalidField(name, "the action "+action+" takes "+list)
				}
			}
			return nil
		})}})
}
