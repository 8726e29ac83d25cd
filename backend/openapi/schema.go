package openapi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
)

// Schema is a JSON Schema of the draft 2020-12, as far as it is needed.
type Schema struct {
	Ref                  string           `json:"$ref,omitempty"`
	Type                 any              `json:"type,omitempty"` // a string, or several
	Format               string           `json:"format,omitempty"`
	ContentMediaType     string           `json:"contentMediaType,omitempty"`
	ContentSchema        *Schema          `json:"contentSchema,omitempty"` // of what the text holds
	Pattern              string           `json:"pattern,omitempty"`
	Description          string           `json:"description,omitempty"`
	Deprecated           bool             `json:"deprecated,omitempty"`
	Enum                 []string         `json:"enum,omitempty"`
	Const                any              `json:"const,omitempty"`
	Default              any              `json:"default,omitempty"`
	Minimum              *float64         `json:"minimum,omitempty"`
	Maximum              *float64         `json:"maximum,omitempty"`
	MaxLength            int              `json:"maxLength,omitempty"`
	MaxItems             int              `json:"maxItems,omitempty"`
	MaxProperties        int              `json:"maxProperties,omitempty"`
	Items                *Schema          `json:"items,omitempty"`
	Properties           Ordered[*Schema] `json:"properties,omitempty"`
	AdditionalProperties *Schema          `json:"additionalProperties,omitempty"`
	Required             []string         `json:"required,omitempty"`
	AnyOf                []*Schema        `json:"anyOf,omitempty"`
	OneOf                []*Schema        `json:"oneOf,omitempty"`
	Discriminator        *Discriminator   `json:"discriminator,omitempty"`
}

// Discriminator names the field whose value selects one of several schemas.
type Discriminator struct {
	PropertyName string          `json:"propertyName"`
	Mapping      Ordered[string] `json:"mapping"`
}

// componentPath is the beginning of a reference to a component.
const componentPath = "#/components/schemas/"

//go:embed comments.json
var commentsJSON []byte

// comments are the doc comments of backend/api: of a type by its name, of a
// field by Type.Field.
var comments = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	if err := json.Unmarshal(commentsJSON, &m); err != nil {
		panic(err) // the file is a part of the program
	}
	return m
})

// timePattern is api.TimeLayout.
const timePattern = `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$`

var (
	timeType = reflect.TypeFor[api.Time]()
	anyType  = reflect.TypeFor[any]()
)

// values are the fields that hold one of some words only.
var values = map[string][]string{
	"Action.priority":          {api.PriorityHigh, api.PriorityMedium, api.PriorityLow},
	"Activity.phase":           {api.PhaseObserve, api.PhaseOrient, api.PhaseDecide, api.PhaseAct},
	"Alert.alert_severity":     api.AlertSeverities(),
	"Alert.state":              api.AlertStates(),
	"AlertsRequest.state":      api.AlertStates(),
	"Finding.severity_label":   {api.SeverityCritical, api.SeverityWarning, api.SeverityNormal},
	"Issue.status":             {api.IssueNew, api.IssueInProgress, api.IssueResolved},
	"Issue.priority":           {api.PriorityHigh, api.PriorityMedium, api.PriorityLow},
	"Model.model_type":         {api.ModelForecasting, api.ModelInterpolation, api.ModelDiagnostics},
	"Model.status":             {api.ModelProduction, api.ModelChallenger, api.ModelArchived},
	"ModelsRequest.model_type": {api.ModelForecasting, api.ModelInterpolation},
	"KeyRecord.state":          api.KeyStates(),
	"LogEntry.level":           api.LogLevels(),
	"LogRequest.level":         api.LogLevels(),

	"MaintenanceTask.priority":    api.PartnerSeverities(),
	"MaintenanceTask.task_type":   api.TaskTypes(),
	"RollupPerformance.pr_status": {api.PROnTarget, api.PRBelowTarget, api.PRUnknown},
	"Signal.severity":             api.PartnerSeverities(),
	"Signal.type":                 api.SignalTypes(),

	"Upload.kind":              {api.UploadTrain, api.UploadNowcast},
	"Upload.processing_status": uploadStates,
	"UploadValidation.status":  uploadStates,
	"UploadAck.status":         {api.StatusSuccess},
	"FreemiumResponse.status":  {api.StatusSuccess},
	"ErrorBody.status":         {"error"},
	"Record.error_type":        {"normal", "warning", "critical", "fault", "offline", "standby", "unknown"},
}

// common are the meanings of fields that need no comment in Go.
var common = map[string]string{
	"action":      "What is to be done.",
	"asset_id":    "The unit.",
	"count":       "The length of the list.",
	"cursor":      "The next_cursor of the part before.",
	"customer_id": "The customer.",
	"message":     "A sentence on what was done.",
	"next_cursor": "Ask for what follows with it; absent at the end.",
	"request_id":  "Names the request in the logs of the service.",
	"site_id":     "The site.",
	"success":     "True on success.",

	"updated_at_ms": "When it was changed last, in milliseconds since 1970.",
	"updated_since": "Only records that were made or changed at this instant or later.",
}

var uploadStates = []string{api.UploadQueued, api.UploadValidating, api.UploadProcessing, api.UploadCompleted, api.UploadWithWarnings, api.UploadFailed, api.UploadRejected, api.UploadReverted}

// schemas makes schemas of Go types; structs become components.
type schemas struct {
	components map[string]*Schema
	request    bool // what is read: times in any form, no field required by its type
}

// of is the schema of a type as encoding/json writes it.
func (s *schemas) of(t reflect.Type) *Schema {
	switch {
	case t == reflect.TypeFor[api.Instant]():
		return &Schema{Type: "string", Description: "An ISO 8601 time with Z, an offset or neither, or a date; to the millisecond."}
	case t == timeType && s.request:
		return &Schema{Type: "string", Description: "An ISO 8601 time with Z, an offset or neither, or a date."}
	case t == timeType:
		return &Schema{Type: "string", Format: "date-time", Pattern: timePattern}
	case t == reflect.TypeFor[api.NullTime]():
		return &Schema{Type: []string{"string", "null"}, Format: "date-time", Pattern: timePattern}
	case t == reflect.TypeFor[api.Date]():
		return &Schema{Type: "string", Format: "date"}
	case t == anyType:
		return &Schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Int:
		return &Schema{Type: "integer"}
	case reflect.Int64:
		return &Schema{Type: "integer", Format: "int64"}
	case reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.Slice:
		items := s.of(t.Elem())
		if kind, plain := items.Type.(string); plain && t.Elem().Kind() == reflect.Pointer {
			items.Type = []string{kind, "null"}
		}
		return &Schema{Type: "array", Items: items}
	case reflect.Map:
		return &Schema{Type: "object", AdditionalProperties: s.of(t.Elem())}
	case reflect.Struct:
		return &Schema{Ref: componentPath + s.component(t)}
	}
	panic("openapi: no schema for " + t.String())
}

// component is the name of a struct among the components. A request type has a
// separate component, which shows the limits: a response may hold longer values
// that were stored before there were limits. A site that is sent may have any part
// of its fields.
func (s *schemas) component(t reflect.Type) string {
	name := t.Name()
	switch {
	case !s.request || strings.HasSuffix(name, "Request"):
	case t == reflect.TypeFor[api.Site]():
		name = "SiteChange"
	default:
		name += "Input"
	}
	if _, ok := s.components[name]; !ok {
		s.components[name] = nil // a type that holds itself ends here
		c := s.object(t)
		if name == "SiteChange" {
			c.Required = nil
			c.Description = "The fields of a site that are to be set; the others stay as they are."
		}
		s.components[name] = c
	}
	return name
}

// object is the schema of a struct itself. What is never left out of JSON is
// required, and null where a pointer may be nil.
func (s *schemas) object(t reflect.Type) *Schema {
	o := &Schema{Type: "object", Description: comments()[t.Name()]}
	s.fields(t, o)
	return o
}

func (s *schemas) fields(t reflect.Type, o *Schema) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(f.Type, o)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			panic("openapi: " + t.Name() + "." + f.Name + " has no name in JSON")
		}
		if _, twice := o.Properties.Find(name); twice {
			continue // the outer field hides the embedded one
		}
		p := s.of(f.Type)
		if c := cmp.Or(comments()[t.Name()+"."+f.Name], common[name]); c != "" {
			p.Description = c
		}
		p.Enum = slices.Clone(values[t.Name()+"."+name])
		if s.request && p.Enum == nil && p.Format == "" {
			p.limit(f.Type, limit.Of(f))
		}
		optional := strings.Contains(options, "omit")
		if !optional {
			o.Required = append(o.Required, name)
		}
		if kind, plain := p.Type.(string); plain && !optional && f.Type.Kind() == reflect.Pointer {
			p.Type = []string{kind, "null"}
		}
		o.Properties = append(o.Properties, Member[*Schema]{name, p})
	}
}

// limit adds the limits that a field of the type declares, see package limit.
func (p *Schema) limit(t reflect.Type, levels []int) {
	if p == nil || len(levels) == 0 {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		p.limit(t.Elem(), levels)
	case reflect.String:
		p.MaxLength = levels[0]
	case reflect.Slice:
		p.MaxItems = levels[0]
		p.Items.limit(t.Elem(), levels[1:])
	case reflect.Map:
		p.MaxProperties = levels[0]
		if t.Key().Kind() == reflect.String {
			levels = levels[1:]
		}
		p.AdditionalProperties.limit(t.Elem(), levels[1:])
	}
}
