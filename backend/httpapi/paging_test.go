package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// countedRecords counts the values that are read of a bucket.
type countedRecords struct {
	store.Records
	bucket string
	values int
}

func (r *countedRecords) View(ctx context.Context, fn func(store.Tx) error) error {
	return r.Records.View(ctx, func(tx store.Tx) error { return fn(countedTx{tx, r}) })
}

type countedTx struct {
	store.Tx
	of *countedRecords
}

func (t countedTx) Get(bucket string, key []byte) ([]byte, error) {
	if bucket == t.of.bucket {
		t.of.values++
	}
	return t.Tx.Get(bucket, key)
}

func (t countedTx) Scan(bucket string, from, to []byte, reverse bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range t.Tx.Scan(bucket, from, to, reverse) {
			if bucket == t.of.bucket {
				t.of.values++
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// storeAlerts stores n open alerts of each device of a site, one a minute, with an
// index that lists them.
func (w *world) storeAlerts(n int, devices ...string) {
	w.t.Helper()
	states := []string{api.AlertAcknowledged, api.AlertUnacknowledged, api.AlertSuppressed, api.AlertReturned}
	err := w.store.Update(context.Background(), func(tx store.Tx) error {
		for d, device := range devices {
			for i := range n {
				a := alert.Alert{CustomerID: ownCustomer}
				a.SiteID, a.TerminalDeviceID, a.AlertID = ownSite, device, fmt.Sprintf("alt_%d_%05d", d, i)
				a.Timestamp = api.At(w.clock.now().Add(time.Duration(i-n) * time.Minute))
				a.State, a.AlertSeverity, a.Metadata = states[i%len(states)], api.AlertSeverities()[i%3], &api.AlertMetadata{}
				a.History = []api.AlertMove{}
				value, err := json.Marshal(struct {
					api.Alert
					CustomerID string `json:"customer_id"`
				}{a.Alert, a.CustomerID})
				if err != nil {
					return err
				}
				key := store.Key(a.SiteID, a.TerminalDeviceID, a.Timestamp.String(), a.AlertID)
				if err := tx.Put("alerts", key, value); err != nil {
					return err
				}
				if err := tx.Put("alerts/open", slices.Concat(store.Key(a.SiteID), key), key); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestAlertsAreReadByKey reads of a site's alerts only those that the answer has.
func TestAlertsAreReadByKey(t *testing.T) {
	var counted *countedRecords
	w := newWorld(t, func(d *httpapiDeps) {
		d.KeyRate = 1000
		counted = &countedRecords{Records: d.Records, bucket: "alerts"}
		d.Alerts = domain.New(counted, nil, d.Now).Alerts
	})
	w.storeAlerts(2000, terminal, "TERM-2")
	at := func(minutes int) string {
		return w.clock.now().Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
	}
	all := "&start=1970-01-01&end=9999-12-31"
	for name, c := range map[string]struct {
		url      string
		alerts   int // in the answer
		values   int // of alerts that are read at most
		contains string
	}{
		"span of a device":      {url: alertsURL + "&start=" + at(-20) + "&end=" + at(-11), alerts: 10, values: 20},
		"limit of a device":     {url: alertsURL + all + "&limit=5", alerts: 5, values: 20, contains: `"cursor"`},
		"limit of a site":       {url: api.PathSiteAlerts + "?site_id=" + ownSite + all + "&limit=5", alerts: 5, values: 20, contains: `"cursor"`},
		"span of a site":        {url: api.PathSiteAlerts + "?site_id=" + ownSite + "&start=" + at(-20) + "&end=" + at(-11), alerts: 20, values: 40},
		"period of a site":      {url: api.PathAlertPeriod + "?site_id=" + ownSite, values: 10, contains: `"first_record":"` + at(-2000) + `","last_record":"` + at(-1) + `"`},
		"period of a device":    {url: api.PathAlertPeriod + "?site_id=" + ownSite + "&terminal_device_id=TERM-2", values: 10, contains: `"first_record":"` + at(-2000)},
		"a page of a site":      {url: api.PathSiteAlerts + "?site_id=" + ownSite + all + "&limit=1000", alerts: 1000, values: 1100, contains: `"cursor"`},
		"the default of a site": {url: api.PathSiteAlerts + "?site_id=" + ownSite + all, alerts: 100, values: 200, contains: `"cursor"`},
	} {
		t.Run(name, func(t *testing.T) {
			counted.values = 0
			a := w.as("own", http.MethodGet, c.url, "")
			if a.Code != http.StatusOK || !strings.Contains(a.Body.String(), c.contains) || !json.Valid(a.Body.Bytes()) {
				t.Fatalf("HTTP %d %.300s", a.Code, a.Body)
			}
			if n := strings.Count(a.Body.String(), `"alert_id"`); n != c.alerts {
				t.Errorf("the answer has %d alerts, want %d", n, c.alerts)
			}
			if counted.values > c.values {
				t.Errorf("%d alerts were read for it, want at most %d", counted.values, c.values)
			}
		})
	}
}

// TestPagesOfLists reads lists page by page, which gives the same items in the same
// order as one page does.
func TestPagesOfLists(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 10000 })
	w.storeAlerts(30, terminal, "TERM-2")
	for i := range 25 {
		unit := fmt.Sprintf(`{"action":"add","customer_id":%q,"site_id":%q,"asset_id":"INV-%d","name":"n","type":"t","capacity_kw":1,"location":"l"}`, ownCustomer, []string{ownSite, secondSite}[i%2], 100-i)
		issue := fmt.Sprintf(`{"action":"create","site":%q,"site_id":%q,"component":"fan %d","issue_type":"noise","description":"loud","priority":"high"}`, ownSite, ownSite, i)
		site := fmt.Sprintf(`{"action":"set","site":{"site_id":"extra-%d","customer_id":%q,"name":"%d"}}`, i, ownCustomer, (i*7)%25)
		for path, body := range map[string]string{api.PathAssets: unit, api.PathIssues: issue, "/terminal/sites": site} {
			if a := w.as("admin", http.MethodPost, path, body); a.Code/100 != 2 {
				t.Fatalf("%s: HTTP %d %.300s", path, a.Code, a.Body)
			}
		}
		w.clock.add(time.Millisecond * time.Duration(i%3)) // several in a millisecond
	}
	for _, c := range []struct{ path, body, id, items string }{
		{api.PathAlerts, `"site_id":"` + ownSite + `"`, "alert_id", "alerts"},
		{api.PathAlerts, `"site_id":"` + ownSite + `","state":"ack"`, "alert_id", "alerts"},
		{api.PathActivities, `"customer_id":"` + ownCustomer + `"`, "title description asset_id", "activities"},
		{api.PathActivities, `"site_id":"` + ownSite + `"`, "title description asset_id", "activities"},
		{api.PathActivities, ``, "title description asset_id", "activities"},
		{api.PathAssets, `"customer_id":"` + ownCustomer + `"`, "asset_id", "assets"},
		{api.PathIssues, `"site_id":"` + ownSite + `"`, "issue_id", "issues"},
		{"/terminal/sites", `"customer_id":"` + ownCustomer + `"`, "site_id", "sites"},
	} {
		page := func(limit int, cursor string) (ids []string, next string) {
			body := fmt.Sprintf(`{"action":"list","limit":%d,"cursor":%q,%s}`, limit, cursor, c.body)
			a := w.as("customer", http.MethodPost, c.path, strings.Replace(body, ",}", "}", 1))
			var answer map[string]json.RawMessage
			var items []map[string]any
			if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil || a.Code != http.StatusOK {
				t.Fatalf("%s %s: HTTP %d %.300s", c.path, body, a.Code, a.Body)
			}
			if err := json.Unmarshal(answer[c.items], &items); err != nil {
				t.Fatalf("%s: %v in %.300s", c.path, err, a.Body)
			}
			_ = json.Unmarshal(answer["next_cursor"], &next)
			for _, item := range items {
				id := ""
				for _, f := range strings.Fields(c.id) {
					id += fmt.Sprint(item[f]) + " "
				}
				ids = append(ids, id)
			}
			return ids, next
		}
		want, next := page(1000, "")
		if len(want) < 10 || next != "" {
			t.Errorf("%s {%s}: one page has %d items and the cursor %q", c.path, c.body, len(want), next)
		}
		for _, limit := range []int{1, 7} {
			var got []string
			for cursor, n := "", 0; n <= len(want); n++ {
				ids, next := page(limit, cursor)
				if len(ids) > limit {
					t.Errorf("%s {%s}: a page of %d has %d items", c.path, c.body, limit, len(ids))
				}
				got = append(got, ids...)
				if cursor = next; cursor == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s {%s}: pages of %d have\n%q, want\n%q", c.path, c.body, limit, got, want)
			}
		}
		_, cursor := page(1, "")
		for _, wrong := range []string{cursor[:len(cursor)/4], "x", "3", "AAAA" + cursor} {
			body := fmt.Sprintf(`{"action":"list","cursor":%q}`, wrong)
			if a := w.as("customer", http.MethodPost, c.path, strings.Replace(body, "{", "{"+c.body+strings.Repeat(",", min(1, len(c.body))), 1)); a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), "cursor") {
				t.Errorf("%s with cursor %q: HTTP %d %.200s", c.path, wrong, a.Code, a.Body)
			}
		}
	}
}

// TestActivitiesOfManySites reads of each site no more activities than a page has.
func TestActivitiesOfManySites(t *testing.T) {
	var counted *countedRecords
	w := newWorld(t, func(d *httpapiDeps) {
		d.KeyRate = 1000
		counted = &countedRecords{Records: d.Records, bucket: "activities"}
		d.Activities = domain.New(counted, nil, d.Now).Sites
	})
	w.key("both", auth.NewKey{Sites: []string{ownSite, secondSite}})
	err := w.store.Update(context.Background(), func(tx store.Tx) error {
		for _, site := range []string{ownSite, secondSite} {
			for i := range 2000 {
				at := w.clock.now().Add(time.Duration(i-2000) * time.Second)
				n := activity.Record{ID: record.NewID("act", at), CustomerID: ownCustomer, SiteID: site, Phase: api.PhaseAct, Title: fmt.Sprint(i), At: at}
				value, err := json.Marshal(n)
				if err != nil {
					return err
				}
				if err := tx.Put("activities", store.Key(site, n.ID), value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	counted.values = 0
	a := w.as("both", http.MethodPost, api.PathActivities, `{"action":"list","limit":14}`)
	if n := strings.Count(a.Body.String(), `"title":"199`); a.Code != http.StatusOK || n != 10 {
		t.Errorf("HTTP %d with %d of the 10 newest activities in addition to the four of the plants: %.300s", a.Code, n, a.Body)
	}
	if counted.values > 80 {
		t.Errorf("%d activities were read for a page of 14 of two sites", counted.values)
	}
}
