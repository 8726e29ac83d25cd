package openapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/openapi"
	"github.com/getkin/kin-openapi/openapi3"
)

// TestValid reads the document with a library of others, which checks it
// against OpenAPI 3.1, its examples included.
func TestValid(t *testing.T) {
	d, err := openapi3.NewLoader().LoadFromData(openapi.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if !d.IsOpenAPI31OrLater() {
		t.Errorf("version %s", d.OpenAPI)
	}
	if err := d.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
}

// TestEveryRoute holds the document against the table of routes.
func TestEveryRoute(t *testing.T) {
	d := openapi.Build()
	placeholder := regexp.MustCompile(`\{(\w+)\}`)
	n := 0
	for _, r := range api.Routes() {
		item, ok := d.Paths.Find(r.Path)
		if !ok {
			t.Errorf("%s is not in the document", r.Path)
			continue
		}
		op := map[string]*openapi.Operation{"GET": item.Get, "POST": item.Post}[r.Method]
		if op == nil {
			t.Errorf("%s %s is not in the document", r.Method, r.Path)
			continue
		}
		n++
		if op.Summary == "" || op.Description == "" || !slices.Equal(op.Tags, []string{string(r.Host)}) {
			t.Errorf("%s: summary %q, description %q, tags %v", r.Name, op.Summary, op.Description, op.Tags)
		}
		if (len(op.Security) > 0) != (r.Credential != api.CredentialNone) {
			t.Errorf("%s: security %v with credential %s", r.Name, op.Security, r.Credential)
		}
		for _, found := range placeholder.FindAllStringSubmatch(r.Path, -1) {
			if !slices.ContainsFunc(op.Parameters, func(p *openapi.Parameter) bool { return p.In == "path" && p.Name == found[1] && p.Required }) {
				t.Errorf("%s has no parameter %s", r.Name, found[1])
			}
		}
		good, _ := op.Responses.Find("200")
		if good == nil || len(good.Content) == 0 || good.Content[0].Value.Schema == nil {
			t.Errorf("%s has no type of answer", r.Name)
		}
		checkActions(t, r, op)
	}
	for _, p := range d.Paths {
		for _, op := range []*openapi.Operation{p.Value.Get, p.Value.Post} {
			if op != nil {
				n--
			}
		}
	}
	if n != 0 {
		t.Errorf("the document has %d operations more than the table of routes", -n)
	}
}

// checkActions requires the actions of the table in the body, all of them and
// no others, and fields for their requirements.
func checkActions(t *testing.T, r *api.Route, op *openapi.Operation) {
	t.Helper()
	var want []string
	for _, o := range r.Operations {
		if o.Action != "" {
			want = append(want, o.Action)
		}
	}
	if op.RequestBody == nil {
		if len(want) > 0 {
			t.Errorf("%s selects by action and has no body", r.Name)
		}
		return
	}
	for _, m := range op.RequestBody.Content {
		s := m.Value.Schema
		var got []string
		if action, ok := s.Properties.Find("action"); ok {
			got = action.Enum
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: actions %v, want %v", r.Name, got, want)
		}
		for _, one := range append(slices.Clone(s.OneOf), s) {
			for _, name := range one.Required {
				if _, ok := s.Properties.Find(name); !ok {
					t.Errorf("%s needs %s, which is no field of its body", r.Name, name)
				}
			}
		}
	}
}

// TestFieldsOfTypes looks at what the reflection makes of the kinds of field.
func TestFieldsOfTypes(t *testing.T) {
	all := openapi.Build().Components.Schemas
	record := all["Record"]
	if want := []string{"asset_id", "site_id", "timestamp", "power", "kWh", "inverter_state", "run_state"}; !slices.Equal(record.Required, want) {
		t.Errorf("a record must have %v, want %v", record.Required, want)
	}
	if power, _ := record.Properties.Find("power"); power.Type != "number" || power.Description != "kW" {
		t.Errorf("power is %+v", power)
	}
	if at, _ := record.Properties.Find("timestamp"); at.Format != "date-time" || !regexp.MustCompile(at.Pattern).MatchString(api.Unix(0).String()) {
		t.Errorf("timestamp is %+v", at)
	}
	if first, _ := all["DataPeriod"].Properties.Find("first_record"); fmt.Sprint(first.Type) != "[string null]" {
		t.Errorf("first_record is %v, null without data", first.Type)
	}
	if summary := all["SiteSummaryResponse"]; !slices.Contains(summary.Required, "total_kWh_today") {
		t.Errorf("embedded fields are not at the top level: %v", summary.Required)
	}
	if change := all["SiteChange"]; change == nil || len(change.Required) > 0 || len(change.Properties) != len(all["Site"].Properties) {
		t.Errorf("a change of a site is %+v", change)
	}
	serial, _ := all["ComponentInput"].Properties.Find("serial")
	name, _ := all["SiteChange"].Properties.Find("name")
	answered, _ := all["Site"].Properties.Find("name")
	if serial.MaxLength != 200 || name.MaxLength != 200 || answered.MaxLength != 0 {
		t.Errorf("limits: serial %+v, name %+v, name of an answer %+v", serial, name, answered)
	}
	if sites, _ := all["GeneratedForecast"].Properties.Find("sites"); sites.Items.Ref != "#/components/schemas/GeneratedForecast" {
		t.Errorf("a type that holds itself: %+v", sites)
	}
}

// branches are the alternatives of the body of a route, by action.
func branches(t *testing.T, d *openapi.Document, r *api.Route) (body *openapi.Schema, list map[string]*openapi.Schema) {
	t.Helper()
	p, _ := d.Paths.Find(r.Path)
	content, ok := p.Post.RequestBody.Content.Find("application/json")
	if !ok {
		t.Fatalf("%s has no JSON body", r.Name)
	}
	list = map[string]*openapi.Schema{}
	for _, m := range content.Schema.Discriminator.Mapping {
		list[m.Name] = d.Components.Schemas[strings.TrimPrefix(m.Value, "#/components/schemas/")]
	}
	return content.Schema, list
}

// TestActionsAreDisjoint: the body of a route with several actions is one of as many typed
// components. Each has its own action, which only the default one may leave out, so that no
// body fits two of them.
func TestActionsAreDisjoint(t *testing.T) {
	d := openapi.Build()
	n := 0
	for _, r := range api.Routes() {
		if len(r.Operations) < 2 || r.Operations[0].Action == "" && r.Operations[0].AliasOf == nil {
			continue
		}
		actions := map[string]bool{}
		for _, o := range r.Operations {
			if o.Action != "" {
				actions[o.Action] = true
			}
		}
		if len(actions) < 2 {
			continue
		}
		n++
		body, list := branches(t, d, r)
		if body.Discriminator.PropertyName != "action" || len(list) != len(actions) || len(body.OneOf) != len(actions) {
			t.Errorf("%s: %d branches for %d actions, selected by %s", r.Name, len(list), len(actions), body.Discriminator.PropertyName)
		}
		without := 0
		for action, one := range list {
			if !actions[action] || one == nil {
				t.Errorf("%s: %s is %+v", r.Name, action, one)
				continue
			}
			if p, _ := one.Properties.Find("action"); p == nil || p.Const != action || p.Type != "string" || one.Type != "object" {
				t.Errorf("%s: the action of %s is %+v", r.Name, action, p)
			}
			if !slices.Contains(one.Required, "action") {
				without++
			}
			if len(one.Properties) != len(body.Properties) {
				t.Errorf("%s: %s has %d fields of %d", r.Name, action, len(one.Properties), len(body.Properties))
			}
		}
		if without > 1 {
			t.Errorf("%s: %d actions may be left out", r.Name, without)
		}
	}
	if n < 20 {
		t.Errorf("%d routes have several actions", n)
	}
}

// TestSubscribeNeedsAnOrder requires in the document what the handler asks for: the
// order by either name, and the callback.
func TestSubscribeNeedsAnOrder(t *testing.T) {
	d := openapi.Build()
	for _, r := range api.Routes() {
		if r.Path != api.PathTrack {
			continue
		}
		_, list := branches(t, d, r)
		one := list[api.ActionSubscribe]
		var either []string
		for _, s := range one.AnyOf {
			either = append(either, s.Required...)
		}
		if !slices.Contains(one.Required, "callback_url") || !slices.Equal(either, []string{"order_id", "job_id"}) {
			t.Errorf("subscribe requires %v and one of %v", one.Required, either)
		}
		return
	}
	t.Error("there is no route of subscriptions")
}

// TestOrdered keeps the order of members, and writes what JSON needs escaped.
func TestOrdered(t *testing.T) {
	b, err := json.Marshal(openapi.Ordered[int]{{"z", 1}, {`a"`, 2}})
	if err != nil || string(b) != `{"z":1,"a\"":2}` {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := json.Marshal(openapi.Ordered[any]{{"f", func() {}}}); err == nil {
		t.Error("a function was written as JSON")
	}
}

// TestPage has each operation and type once, refers to nothing that is not
// there, and holds no script.
func TestPage(t *testing.T) {
	p := openapi.Page()
	html := string(p.HTML)
	for _, r := range api.Routes() {
		if n := strings.Count(html, `id="`+r.Name+`"`); n != 1 {
			t.Errorf("%s is there %d times", r.Name, n)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]] {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if !ids[m[1]] {
			t.Errorf("a link goes to %s, which is not there", m[1])
		}
	}
	for _, bad := range []string{"<script", " src=", "@import", "http://", "https://", " style=", "ZgotmplZ"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !strings.Contains(html, `curl -s &#34;$SUNLOOP/telemetry/inverter?asset_id=INV-1000000054495190&amp;end=2025-10-02T00%3A00%3A00Z&amp;site_id=Sibaya&amp;start=2025-10-01T00%3A00%3A00Z&#34;`) {
		t.Error("the example of /telemetry/inverter is not as it should be")
	}
	if !strings.HasPrefix(p.Policy, "default-src 'none'; style-src 'sha256-") {
		t.Errorf("policy %s", p.Policy)
	}
}
