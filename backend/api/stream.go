package api

import (
	"net/http"
	"slices"
	"strings"
)

// Kinds of the events of a stream.
const (
	StreamTelemetry = "telemetry"
	StreamAlert     = "alert"
	StreamFinding   = "finding"
	StreamOrder     = "order"
	StreamForecast  = "forecast"

	// StreamReload says that events may be missing: the reader reads again what it shows.
	StreamReload = "reload"
	// StreamEnd says that the credential does not allow the stream any more.
	StreamEnd = "end"
)

// States of a finding in a stream.
const (
	StreamOpen   = "open"
	StreamClosed = "closed"
)

// StreamKinds are the kinds that a stream may be asked for.
var StreamKinds = []string{StreamTelemetry, StreamAlert, StreamFinding, StreamOrder, StreamForecast}

// MediaEvents is the media type of server-sent events.
const MediaEvents = "text/event-stream"

// HeaderLastEventID continues a stream after an event.
const HeaderLastEventID = "Last-Event-ID"

// Bounds of streams.
const (
	MaxStreams     = 1500 // of a process
	MaxCallStreams = 20   // of these, of one key or person
	MaxStreamSites = 200  // that a stream names
)

// StreamQuery asks for GET /stream.
type StreamQuery struct {
	SiteID     string `query:"site_id"`     // one or several, separated by commas; empty: all accessible ones
	CustomerID string `query:"customer_id"` // of the sites; empty: any
	Kinds      string `query:"kinds"`       // of [StreamKinds], separated by commas; empty: all
	Follow     string `query:"follow"`      // "false" ends the stream after the events that were missed
}

// StreamEvent is the data of an event: what has changed. Of telemetry it has the newest sample
// of each unit; other things are read by their ids.
type StreamEvent struct {
	Kind       string       `json:"kind"`
	CustomerID string       `json:"customer_id"`
	SiteID     string       `json:"site_id"`
	AssetID    string       `json:"asset_id,omitempty"`
	ID         string       `json:"id,omitempty"`     // of the alert, the finding or the order
	Status     string       `json:"status,omitempty"` // state of the alert, open or closed of the finding, status of the order
	At         Time         `json:"at"`               // when it was changed
	Units      []StreamUnit `json:"units,omitempty"`
}

// StreamUnit is the newest sample of a unit.
type StreamUnit struct {
	AssetID   string   `json:"asset_id"`
	Timestamp Time     `json:"timestamp"`
	Power     *float64 `json:"power"` // kW; null is not measured
}

// ErrTooManyStreams refuses a stream beyond the bounds of the process or of the caller.
var ErrTooManyStreams = newError(http.StatusTooManyRequests, "Too many open streams")

var stream = Route{
	Name: "stream", Method: http.MethodGet, Path: PathStream,
	Summary: "Follow what changes, as server-sent events", Description: "Events of telemetry, alerts, findings, orders and forecasts of the sites asked for. The header Last-Event-ID continues after an event; an event may come twice, and none is left out. " +
		"An event \"reload\" says that events are missing, because the id is older than an hour or the reader too slow; an event \"end\" says that the credential does not allow the stream any more.",
	Errors: []*Error{ErrForbidden, ErrSiteNotFound, ErrTooManyStreams},
}

// FollowChanges streams what changes.
var FollowChanges = define[StreamQuery, StreamEvent](&stream, Operation{Permission: PermissionRead, ReadOnly: true, Target: Target{NoSite: true}, Fields: Fields{
	optional("site_id").about("The sites, separated by commas; without it all that the credential covers.", exampleSite),
	optional("customer_id").about("The customer of the sites.", exampleCustomer),
	optional("kinds").about("The kinds of events, separated by commas: telemetry, alert, finding, order, forecast; without it all.", "alert,order"),
	optional("follow").about("false ends the response after the events since Last-Event-ID; default true.", nil).oneOf("true", "false"),
	rule((*StreamQuery).check),
}})

// Sites are the ids of the sites that the query names; nil if it names none.
func (q *StreamQuery) Sites() []string {
	if q.SiteID == "" {
		return nil
	}
	return strings.Split(q.SiteID, ",")
}

// Selected are the kinds that the query asks for.
func (q *StreamQuery) Selected() []string {
	if q.Kinds == "" {
		return StreamKinds
	}
	return strings.Split(q.Kinds, ",")
}

func (q *StreamQuery) check() error {
	if len(q.Sites()) > MaxStreamSites {
		return InvalidParameter("site_id", "at most 200 sites")
	}
	for _, id := range q.Sites() {
		if id == "" {
			return InvalidParameter("site_id", "an id is empty")
		}
	}
	for _, kind := range q.Selected() {
		if !slices.Contains(StreamKinds, kind) {
			return InvalidParameter("kinds", "each is one of "+strings.Join(StreamKinds, ", "))
		}
	}
	return nil
}
