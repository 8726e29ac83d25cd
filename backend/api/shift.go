package api

// ActionSeen marks what happened at a site as seen by the caller.
const ActionSeen = "seen"

// ActionNote adds a note to the shift.
const ActionNote = "note"

// ActionHandOver ends the shift with a signed entry.
const ActionHandOver = "hand-over"

// Kinds of entries of the shift log.
const (
	ShiftNote     = "note"
	ShiftHandOver = "hand-over"
)

// ErrShiftEntryNotFound refuses an entry_id that is not there.
var ErrShiftEntryNotFound = UnknownID("Shift entry not found")

// ShiftEntry is an entry of a site's shift log: a note, or a hand-over to the next
// person. It is never changed, except that those who read it are added.
type ShiftEntry struct {
	EntryID     string        `json:"entry_id" limit:"id"`
	SiteID      string        `json:"site_id" limit:"id"`
	Kind        string        `json:"kind" limit:"word"`
	Text        string        `json:"text" limit:"text"`
	SignedBy    string        `json:"signed_by" limit:"name cut"` // user or API key whose request made it
	At          Time          `json:"at"`
	Since       Time          `json:"since,omitzero"`                 // of a hand-over: the former one
	ReadBy      []ShiftReader `json:"read_by,omitempty" limit:"1000"` // in the order of reading, without the signer
	UpdatedAtMS int64         `json:"updated_at_ms,omitempty"`        // when it was made or read last, in milliseconds since 1970; absent: not known
}

// ShiftReader is a person who read an entry.
type ShiftReader struct {
	Name string `json:"name" limit:"name cut"`
	At   Time   `json:"at"`
}

// ShiftRequest is the body of POST /terminal/shift: action list, note, hand-over or
// seen.
type ShiftRequest struct {
	Action     string `json:"action" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"` // needed where customers have sites of one id
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	Text       string `json:"text,omitempty" limit:"text"`   // note, hand-over
	Until      Time   `json:"until,omitzero"`                // seen: what was on screen ends here; absent: now
	EntryID    string `json:"entry_id,omitempty" limit:"id"` // seen: also this entry is read
	Page
}

// ShiftResponse answers /terminal/shift. A list has the newest entry first.
type ShiftResponse struct {
	Success    bool         `json:"success"`
	Message    string       `json:"message,omitempty"`
	SeenAt     Time         `json:"seen_at,omitzero"` // until when the caller has seen what happened at the site; absent: never
	Entry      *ShiftEntry  `json:"entry,omitempty"`
	Entries    []ShiftEntry `json:"entries,omitzero"` // list: there even when empty
	Count      int          `json:"count"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

var shifts = Route{
	Name: "shift", Path: PathShift,
	Summary: "Hand a shift over to the next person",
	Description: "The shift log of a site has notes and signed hand-overs, and who read them. Each user has a time until which the user has seen what happened at the site: " +
		"list returns it as seen_at, and seen changes it and marks the entries until then as read.",
	Example: ShiftRequest{Action: ActionHandOver, SiteID: exampleSite, Text: "INV-03 is down since 07:00. Thandi has the parts and begins tomorrow at 06:00."},
	Errors:  []*Error{ErrInvalidAction, MissingField("site_id"), MissingField("text"), ErrShiftEntryNotFound, InvalidField("until", "must not be in the future")},
}

// The shift log of a site.
var (
	ListShift = define[ShiftRequest, ShiftResponse](&shifts, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("site_id"), since(), pageLimit()}})
	AddShiftNote = define[ShiftRequest, ShiftResponse](&shifts, Operation{Action: ActionNote, Permission: PermissionOrders, Idempotent: true,
		Fields: Fields{required("site_id"), required("text").text()}})
	HandOver = define[ShiftRequest, ShiftResponse](&shifts, Operation{Action: ActionHandOver, Permission: PermissionOrders, Idempotent: true,
		Fields: Fields{required("site_id"), required("text").text()}})
	MarkSeen = define[ShiftRequest, ShiftResponse](&shifts, Operation{Action: ActionSeen, Permission: PermissionRead, Target: Target{AnyState: true},
		Fields: Fields{required("site_id")}})
)
