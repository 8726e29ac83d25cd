package upload

import (
	"time"

	"app.sunloop/backend/api"
)

// uploadRecord is a stored upload. Its fields have the meaning of those of [Upload].
type uploadRecord struct {
	UploadID         string         `json:"upload_id" limit:"id"`
	Kind             string         `json:"kind" limit:"word"`
	CustomerID       string         `json:"customer_id" limit:"id"`
	SiteID           string         `json:"site_id" limit:"id"`
	Filename         string         `json:"filename,omitempty" limit:"255"`
	Region           string         `json:"region,omitempty" limit:"name"`
	Location         string         `json:"location,omitempty" limit:"name"`
	S3Path           string         `json:"s3_path" limit:"url"`
	Bytes            int64          `json:"bytes"`
	ProcessingStatus string         `json:"processing_status" limit:"word"`
	Stage            string         `json:"stage,omitempty" limit:"word cut"`
	Progress         float64        `json:"progress"`
	Error            string         `json:"error,omitempty" limit:"line cut"`
	ErrorKind        string         `json:"error_kind,omitempty" limit:"word cut"`
	ErrorLine        int            `json:"error_line,omitempty"`
	RowsRead         int            `json:"rows_read"`
	RowsStored       int            `json:"rows_stored"`
	RowsMissing      int            `json:"rows_missing"`
	RowsSkipped      map[string]int `json:"rows_skipped,omitempty" limit:"200 line cut"`
	Manufacturer     string         `json:"manufacturer,omitempty" limit:"name cut"`
	Unit             string         `json:"unit,omitempty" limit:"name cut"`
	ValueKind        string         `json:"value_kind,omitempty" limit:"word cut"`
	IntervalMinutes  float64        `json:"interval_minutes,omitempty"`
	Timezone         string         `json:"timezone,omitempty" limit:"word"`
	AssetIDs         []string       `json:"asset_ids,omitempty" limit:"10000 id cut"`
	FirstRecord      api.Time       `json:"first_record,omitzero"`
	LastRecord       api.Time       `json:"last_record,omitzero"`
	Decisions        []string       `json:"decisions,omitempty" limit:"500 line cut"`
	Warnings         []string       `json:"warnings,omitempty" limit:"500 line cut"`
	CreatedAt        api.Time       `json:"created_at"`
	UpdatedAt        api.Time       `json:"updated_at"`
	UpdatedMS        int64          `json:"updated_ms,omitempty"`
	Hash             string         `json:"hash" limit:"name"`
	ObjectKey        string         `json:"object_key" limit:"url"`
	Actor            string         `json:"actor" limit:"id"`
	Request          requestRecord  `json:"request"`
	Version          uint64         `json:"version"`
	Accepted         time.Time      `json:"accepted,omitzero"`
	RowsReplaced     int            `json:"rows_replaced,omitempty"`
	Columns          []columnRecord `json:"columns,omitempty" limit:"1000 cut"`
	RunnersUp        []string       `json:"runners_up,omitempty" limit:"100 line cut"`
	Mapping          string         `json:"mapping,omitempty" limit:"64KiB cut"`
	FirstDay         *dayRecord     `json:"first_day,omitempty"`
	NewSite          bool           `json:"new_site,omitempty"`
	NewAssetIDs      []string       `json:"new_asset_ids,omitempty" limit:"10000 id cut"`
	RowsRemoved      int            `json:"rows_removed,omitempty"`
	RowsRestored     int            `json:"rows_restored,omitempty"`
	RevertedBy       string         `json:"reverted_by,omitempty" limit:"id"`
	SessionID        string         `json:"session_id,omitempty" limit:"id"`
	Source           string         `json:"source,omitempty" limit:"id"`
	SenderID         string         `json:"sender_id,omitempty" limit:"id"`
}

// requestRecord is the request of a stored upload, without what the upload has itself.
type requestRecord struct {
	CustomerID   string  `json:"customer_id" limit:"id"`
	SiteID       string  `json:"site_id" limit:"id"`
	Region       string  `json:"region" limit:"name"`
	Location     string  `json:"location" limit:"name"`
	Manufacturer string  `json:"manufacturer,omitempty" limit:"name"`
	S3Path       string  `json:"s3_path,omitempty" limit:"url"`
	DataType     string  `json:"data_type,omitempty" limit:"word"`
	Timezone     string  `json:"timezone,omitempty" limit:"word"`
	CapacityKW   float64 `json:"capacity_kw,omitempty"`
	AssetID      string  `json:"asset_id,omitempty" limit:"id"`
	Mapping      string  `json:"mapping,omitempty" limit:"64KiB"`
	Source       string  `json:"source,omitempty" limit:"id"`
	DeliveryID   string  `json:"delivery_id,omitempty" limit:"name"`
}

func newUploadRecord(v Upload) uploadRecord {
	return uploadRecord{
		UploadID: v.UploadID, Kind: v.Kind, CustomerID: v.CustomerID, SiteID: v.SiteID, Filename: v.Filename, Region: v.Region, Location: v.Location,
		S3Path: v.S3Path, Bytes: v.Bytes, ProcessingStatus: v.ProcessingStatus, Stage: v.Stage, Progress: v.Progress, Error: v.Error, ErrorKind: v.ErrorKind,
		ErrorLine: v.ErrorLine, RowsRead: v.RowsRead, RowsStored: v.RowsStored, RowsMissing: v.RowsMissing, RowsSkipped: v.RowsSkipped,
		Manufacturer: v.Manufacturer, Unit: v.Unit, ValueKind: v.ValueKind, IntervalMinutes: v.IntervalMinutes, Timezone: v.Timezone, AssetIDs: v.AssetIDs,
		FirstRecord: v.FirstRecord, LastRecord: v.LastRecord, Decisions: v.Decisions, Warnings: v.Warnings, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, UpdatedMS: v.UpdatedAtMS,
		Hash: v.Hash, ObjectKey: v.ObjectKey, Actor: v.Actor, Request: newRequestRecord(v.Request), Version: v.Version, Accepted: v.Accepted,
		RowsReplaced: v.RowsReplaced, Columns: newColumnRecords(v.Columns), RunnersUp: v.RunnersUp, Mapping: v.Mapping, FirstDay: newDayRecord(v.FirstDay), NewSite: v.NewSite,
		NewAssetIDs: v.NewAssetIDs, RowsRemoved: v.RowsRemoved, RowsRestored: v.RowsRestored, RevertedBy: v.RevertedBy, SessionID: v.SessionID, Source: v.Source, SenderID: v.SenderID,
	}
}

func (r uploadRecord) upload() Upload {
	return Upload{
		Upload: api.Upload{
			UploadID: r.UploadID, Kind: r.Kind, CustomerID: r.CustomerID, SiteID: r.SiteID, Filename: r.Filename, Region: r.Region, Location: r.Location,
			S3Path: r.S3Path, Bytes: r.Bytes, ProcessingStatus: r.ProcessingStatus, Stage: r.Stage, Progress: r.Progress, Error: r.Error, ErrorKind: r.ErrorKind,
			ErrorLine: r.ErrorLine, RowsRead: r.RowsRead, RowsStored: r.RowsStored, RowsMissing: r.RowsMissing, RowsSkipped: r.RowsSkipped,
			Manufacturer: r.Manufacturer, Unit: r.Unit, ValueKind: r.ValueKind, IntervalMinutes: r.IntervalMinutes, Timezone: r.Timezone, AssetIDs: r.AssetIDs,
			FirstRecord: r.FirstRecord, LastRecord: r.LastRecord, Decisions: r.Decisions, Warnings: r.Warnings, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, UpdatedAtMS: r.UpdatedMS,
			RowsReplaced: r.RowsReplaced, Columns: columnsOf(r.Columns), RunnersUp: r.RunnersUp, Mapping: r.Mapping, FirstDay: r.FirstDay.toAPI(), NewSite: r.NewSite,
			NewAssetIDs: r.NewAssetIDs, RowsRemoved: r.RowsRemoved, RowsRestored: r.RowsRestored, RevertedBy: r.RevertedBy, Source: r.Source,
		},
		Hash: r.Hash, ObjectKey: r.ObjectKey, Actor: r.Actor, Request: r.Request.toAPI(), Version: r.Version, Accepted: r.Accepted, SessionID: r.SessionID, SenderID: r.SenderID,
	}
}

func newRequestRecord(v api.UploadRequest) requestRecord {
	return requestRecord{
		CustomerID: v.CustomerID, SiteID: v.SiteID, Region: v.Region, Location: v.Location, Manufacturer: v.Manufacturer, S3Path: v.S3Path,
		DataType: v.DataType, Timezone: v.Timezone, CapacityKW: v.CapacityKW, AssetID: v.AssetID, Mapping: v.Mapping, Source: v.Source, DeliveryID: v.DeliveryID,
	}
}

func (r requestRecord) toAPI() api.UploadRequest {
	return api.UploadRequest{
		CustomerID: r.CustomerID, SiteID: r.SiteID, Region: r.Region, Location: r.Location, Manufacturer: r.Manufacturer, S3Path: r.S3Path,
		DataType: r.DataType, Timezone: r.Timezone, CapacityKW: r.CapacityKW, AssetID: r.AssetID, Mapping: r.Mapping, Source: r.Source, DeliveryID: r.DeliveryID,
	}
}

// columnRecord is what a column of a stored upload's file was taken for. Its fields
// have the meaning of those of [api.FileColumn].
type columnRecord struct {
	Number int    `json:"number"`
	Title  string `json:"title,omitempty" limit:"name cut"`
	Role   string `json:"role" limit:"word cut"`
	Unit   string `json:"unit,omitempty" limit:"name cut"`
	Asset  string `json:"asset,omitempty" limit:"name cut"`
	Reason string `json:"reason" limit:"line cut"`
}

// dayRecord is the power of the first day of a stored upload's file.
type dayRecord struct {
	Day         string        `json:"day" limit:"word"`
	StepMinutes float64       `json:"step_minutes"`
	Points      []pointRecord `json:"points" limit:"200"`
}

type pointRecord struct {
	Timestamp api.Time `json:"timestamp"`
	PowerKW   float64  `json:"power_kw"`
}

func newColumnRecords(columns []api.FileColumn) []columnRecord {
	var out []columnRecord
	for _, c := range columns {
		out = append(out, columnRecord(c))
	}
	return out
}

func columnsOf(records []columnRecord) []api.FileColumn {
	var out []api.FileColumn
	for _, c := range records {
		out = append(out, api.FileColumn(c))
	}
	return out
}

func newDayRecord(v *api.FileDay) *dayRecord {
	if v == nil {
		return nil
	}
	d := &dayRecord{Day: v.Day, StepMinutes: v.StepMinutes}
	for _, p := range v.Points {
		d.Points = append(d.Points, pointRecord(p))
	}
	return d
}

func (r *dayRecord) toAPI() *api.FileDay {
	if r == nil {
		return nil
	}
	d := &api.FileDay{Day: r.Day, StepMinutes: r.StepMinutes}
	for _, p := range r.Points {
		d.Points = append(d.Points, api.FilePoint(p))
	}
	return d
}
