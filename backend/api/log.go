package api

// PathLog is what the service has logged of late, and PermissionLog what
// reading it needs. It is for administrators of all customers and sites: a line
// may be about any.
const (
	PathLog = "/terminal/log"

	PermissionLog Permission = "log.read"
)

// Levels of the service's log, the least first.
const (
	LogDebug = "DEBUG"
	LogInfo  = "INFO"
	LogWarn  = "WARN"
	LogError = "ERROR"
)

// LogLevels are all of them, the least first.
func LogLevels() []string { return []string{LogDebug, LogInfo, LogWarn, LogError} }

// LogRequest is the body of POST /terminal/log (extension).
type LogRequest struct {
	Action string `json:"action,omitempty" limit:"word"`
	Level  string `json:"level,omitempty" limit:"word"` // the least; empty: all that is kept
	Page
}

// LogResponse lists what is kept of the service's log, newest first.
type LogResponse struct {
	Success    bool       `json:"success"`
	Lines      []LogEntry `json:"lines"`
	Count      int        `json:"count"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// LogEntry is one event that the service logged.
type LogEntry struct {
	Sequence  int64  `json:"sequence"` // rises by one with each
	Timestamp Time   `json:"timestamp"`
	Level     string `json:"level"`
	Message   string `json:"message"`
	Details   string `json:"details,omitempty"` // name=value, with spaces between
}

var logEntries = Route{
	Name: "log", Path: PathLog,
	Summary: "Get the latest log events of the service", Description: "Newest first; some thousand events are kept in memory. Only for administrators of all customers and sites.",
	Example: LogRequest{Action: ActionList, Level: LogWarn},
	Errors:  []*Error{ErrInvalidAction, ErrForbidden, InvalidField("level", "it is one of DEBUG, INFO, WARN, ERROR")},
}

// ListLog lists the newest log entries of the service.
var ListLog = define[LogRequest, LogResponse](&logEntries, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionLog, Cacheable: true, Tolerated: []string{"customer_id"},
	Fields: Fields{pageLimit(), optional("level").oneOf(LogLevels()...)}})
