package api

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestCheck tries the rules of declared operations on requests.
func TestCheck(t *testing.T) {
	few := 3
	for _, c := range []struct {
		name    string
		op      *Operation
		request any
		given   string // a field that the body has
		want    *Error // nil: none
	}{
		{"the first missing field", Login.Operation, &LoginRequest{}, "", MissingField("username")},
		{"the next missing field", Login.Operation, &LoginRequest{Username: "ana"}, "", MissingField("password")},
		{"all fields", Login.Operation, &LoginRequest{Username: "ana", Password: "x"}, "", nil},
		{"spaces for a text", AssignOrder.Operation, &OrderRequest{OrderID: "o", AssignedTechnician: " "}, "", MissingField("assigned_technician")},
		{"an unknown word", HoldOrder.Operation, &OrderRequest{OrderID: "o", HoldReason: "boredom"}, "", InvalidField("hold_reason", "")},
		{"a word in capitals", HoldOrder.Operation, &OrderRequest{OrderID: "o", HoldReason: "WEATHER"}, "", nil},
		{"no alternative", ListOrders.Operation, &OrderRequest{}, "", MissingField("asset_id")},
		{"an alternative", ListOrders.Operation, &OrderRequest{SiteID: "s"}, "", nil},
		{"another error for a missing field", Subscribe.Operation, &TrackRequest{OrderID: "o"}, "", ErrInvalidCallback},
		{"required unless another is there", ResolveIssue.Operation, &IssuesRequest{IssueID: "i"}, "", MissingField("reason")},
		{"another is there", ResolveIssue.Operation, &IssuesRequest{IssueID: "i", CustomerID: "c"}, "", nil},
		{"below the range", ShelveAlert.Operation, &AlertsRequest{AlertID: "a", Reason: "storm", Minutes: 1}, "", InvalidField("minutes", "")},
		{"a pointer within the range", RotateKey.Operation, &KeysRequest{APIKeyID: "k", OverlapHours: &few}, "", nil},
		{"a number that is absent", AddAsset.Operation, &AssetsRequest{Asset: Asset{AssetID: "a", Name: "n", Type: "t"}}, "", MissingField("capacity_kw")},
		{"a number that is zero", AddAsset.Operation, &AssetsRequest{Asset: Asset{AssetID: "a", Name: "n", Type: "t", Location: "roof"}}, "capacity_kw", InvalidField("capacity_kw", "")},
		{"a rule of several fields", CreateSchedule.Operation, &ScheduleRequest{AssetID: "a", MaintenanceType: MaintenancePreventive, ScheduledDate: Unix(1), Priority: PriorityLow,
			Reason: "r", EveryDays: 1, EveryMonths: 1}, "", InvalidField("every_months", "")},
	} {
		err := c.op.Check(c.request, func(name string) bool { return name == c.given })
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	r := &OrderRequest{CustomerID: ""}
	var e *Error
	if err := CreateOrder.Check(r, nil); !errors.As(err, &e) || !reflect.DeepEqual(e.Details["missing"], []string{"asset_id", "schedule_id", "bom_id", "assigned_technician", "estimated_duration_hours", "priority"}) {
		t.Errorf("all missing fields of an order: %v", err)
	}
	page := &AlertsRequest{}
	if err := ListAlerts.Check(page, nil); err != nil || page.Limit != DefaultLimit {
		t.Errorf("a list without a limit: %v, limit %d", err, page.Limit)
	}
	hold := &OrderRequest{OrderID: "o", HoldReason: "Weather"}
	if err := HoldOrder.Check(hold, nil); err != nil || hold.HoldReason != HoldWeather {
		t.Errorf("the spelling of a word: %v, %q", err, hold.HoldReason)
	}
}

// TestQuery encodes requests and reads them back.
func TestQuery(t *testing.T) {
	sent := RecordsQuery{AssetID: "INV 1", SiteID: "Sibaya", CustomerID: "c", Start: At(time.Unix(0, 0)), End: At(time.Unix(60, 0)), Resolution: ResolutionDaily, Limit: 7}
	path, query := ListRecords.EncodeQuery(&sent)
	if want := "asset_id=INV+1&customer_id=c&end=1970-01-01T00%3A01%3A00Z&limit=7&resolution=daily&site_id=Sibaya&start=1970-01-01T00%3A00%3A00Z"; path != PathInverter || query.Encode() != want {
		t.Errorf("%s?%s, want %s", path, query.Encode(), want)
	}
	var got RecordsQuery
	if err := ListRecords.DecodeQuery(&got, query.Get, nil); err != nil || got != sent {
		t.Errorf("%+v, %v, want %+v", got, err, sent)
	}
	path, query = GetKPIs.EncodeQuery(&KPIRequest{SiteID: "a/b", From: "2026-04-01"})
	if path != "/sites/a%2Fb/kpis" || query.Encode() != "from=2026-04-01" {
		t.Errorf("%s?%s", path, query.Encode())
	}
	path, query = CancelUpload.EncodeQuery(&UploadMoveRequest{ID: "upl_1", Action: ActionCancel})
	if path != "/uploads/upl_1" || len(query) > 0 {
		t.Errorf("%s?%s", path, query.Encode())
	}
	for text, want := range map[string]*Error{
		"":                     MissingParameter("site_id"),
		"site_id=s":            MissingParameter("start"),
		"site_id=s&start=soon": InvalidParameter("start", ""),
		"site_id=s&start=2026-01-02&end=2026-01-01":                   InvalidParameter("end", ""),
		"site_id=s&start=2026-01-01&end=2026-01-02&resolution=weekly": InvalidParameter("resolution", ""),
		"site_id=s&start=2026-01-01&end=2026-01-02&limit=0":           InvalidParameter("limit", ""),
	} {
		query, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := ListSiteRecords.DecodeQuery(new(RecordsQuery), query.Get, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// TestDeclarations looks at what declarations may get wrong and the compiler does
// not see.
func TestDeclarations(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Routes() {
		if names[r.Name] || r.Summary == "" || r.Description == "" || !strings.HasPrefix(r.Path, "/") || len(r.Operations) == 0 {
			t.Errorf("the route %q: there twice, without texts, path or operations", r.Name)
		}
		names[r.Name] = true
		actions := map[string]bool{}
		for _, o := range r.Operations {
			if actions[o.Action] {
				t.Errorf("%s is declared twice", o.Name())
			}
			actions[o.Action] = true
			if o.Request != r.Operations[0].Request {
				t.Errorf("%s reads %s, another operation of the route %s", o.Name(), o.Request, r.Operations[0].Request)
			}
			if o.Cacheable && o.Idempotent || r.Credential != CredentialNone && o.Permission == PermissionNone && r.Credential != CredentialUser {
				t.Errorf("%s: cacheable %v, idempotent %v, permission %q", o.Name(), o.Cacheable, o.Idempotent, o.Permission)
			}
		}
	}
}

// TestWrongDeclarationsPanic requires of a declaration that its names are fields.
func TestWrongDeclarationsPanic(t *testing.T) {
	for name, declare := range map[string]func(){
		"an unknown field": func() { define[LoginRequest, Done](&Route{Path: "/x"}, Operation{Fields: Fields{required("user")}}) },
		"an unknown alternative": func() {
			define[LoginRequest, Done](&Route{Path: "/x"}, Operation{Fields: Fields{required("username").or("user")}})
		},
		"a rule of another type": func() {
			define[LoginRequest, Done](&Route{Path: "/x"}, Operation{Fields: Fields{rule(checkPartsUsed)}})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			declare()
		}()
	}
}
