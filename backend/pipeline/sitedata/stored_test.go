package sitedata

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/rhythm"
)

// day0 is the time of these tests.
var day0 = time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)

// TestJobsAsStored fixes the kinds, keys, payloads and attempts of jobs: a queue
// that a former version filled must be worked on.
func TestJobsAsStored(t *testing.T) {
	p := &Data{Config: Config{Wall: func() time.Time { return day0 }}}
	site, upload := Payload{SiteID: "South"}, Payload{UploadID: "upl_1"}
	for _, want := range []struct {
		kind     string
		body     Payload
		unique   string
		payload  string
		attempts int
	}{
		{"ingest", upload, "upl_1", `{"upload_id":"upl_1"}`, 50},
		{"train", site, "South", `{"site_id":"South"}`, 30},
		{"forecast", site, "South", `{"site_id":"South"}`, 5},
		{"detect", site, "South", `{"site_id":"South"}`, 5},
		{"maintain", Payload{}, "all", `{}`, 5},
		{"interpolate", site, "South", `{"site_id":"South"}`, 30},
		{"snapshot", site, "South", `{"site_id":"South"}`, 5},
		{"site", site, "South", `{"site_id":"South"}`, 1000},
	} {
		j := p.NewJob(want.kind, want.body)
		if j.Kind != want.kind || j.Unique != want.unique || string(j.Payload) != want.payload || j.MaxAttempts != want.attempts || !j.RunAt.Equal(day0) || j.SkipIfPending {
			t.Errorf("%s: %+v", want.kind, j)
		}
	}
	if kinds := strings.Join(JobKinds(), " "); kinds != "ingest train forecast detect maintain interpolate snapshot site manual" {
		t.Errorf("kinds: %s", kinds)
	}
}

// TestRecordsAsStored fixes the buckets and fields of this package's records.
func TestRecordsAsStored(t *testing.T) {
	var buckets []string
	for _, table := range Tables() {
		buckets = append(buckets, table.Buckets()...)
	}
	if got := strings.Join(buckets, " "); got != "calibrations tracks unit-rhythms object-intents progress" {
		t.Errorf("buckets: %s", got)
	}
	at := func(n int) time.Time { return day0.AddDate(0, 0, n) }
	for _, want := range []struct {
		record any
		stored string
	}{
		{&State{"South", "acme", 1, at(1), true, "energy", 2, at(2), at(3), true, true, at(4), 3, at(5), DayBand{0.9, 1.1, at(13)}, at(6), 4, at(7), SnapshotInputs{at(8), at(9), at(10)}, at(11), at(12),
			rhythm.Record{Last: at(14), Newest: at(15), Days: []rhythm.Day{{Number: 20619, Hours: 64, Arrivals: 1}}, Gaps: []int{900}, Long: []int{86400}, Old: 2, OldLast: at(16)}, at(17), at(18)},
			`{"site_id":"South","customer_id":"acme","data":1,"last_data":"2026-06-16T10:00:00Z","live":true,"energy_kind":"energy","trained":2,"trained_end":"2026-06-17T10:00:00Z","tried_end":"2026-06-18T10:00:00Z","has_model":true,"young":true,"forecast_at":"2026-06-19T10:00:00Z","forecast_data":3,"scored_to":"2026-06-20T10:00:00Z","day_band":{"low":0.9,"high":1.1,"to":"2026-06-28T10:00:00Z"},"detect_at":"2026-06-21T10:00:00Z","detect_data":4,"deep_at":"2026-06-22T10:00:00Z","snapshots":{"at":"2026-06-23T10:00:00Z","detect_at":"2026-06-24T10:00:00Z","forecast_at":"2026-06-25T10:00:00Z"},"history_from":"2026-06-26T10:00:00Z","history_to":"2026-06-27T10:00:00Z","rhythm":{"last":"2026-06-29T10:00:00Z","newest":"2026-06-30T10:00:00Z","days":[{"n":20619,"h":64,"a":1}],"gaps":[900],"long":[86400],"old":2,"old_last":"2026-07-01T10:00:00Z"},"silent_since":"2026-07-02T10:00:00Z","silent_at":"2026-07-03T10:00:00Z"}`},
		{&Calibration{"South", "h", at(1), []byte("s")}, `{"site_id":"South","hash":"h","to":"2026-06-16T10:00:00Z","state":"cw=="}`},
		{&intent{"South", "life", at(1), true}, `{"site":"South","life":"life","at":"2026-06-16T10:00:00Z","dropping":true}`},
		{&Mark{"storing", 0.5}, `{"stage":"storing","share":0.5}`},
	} {
		b, err := json.Marshal(want.record)
		if err != nil || string(b) != want.stored {
			t.Errorf("%T: %s, %v", want.record, b, err)
		}
		back := reflect.New(reflect.TypeOf(want.record).Elem()).Interface()
		if err := json.Unmarshal(b, back); err != nil || !reflect.DeepEqual(back, want.record) {
			t.Errorf("%T: %+v, %v", want.record, back, err)
		}
	}
}
