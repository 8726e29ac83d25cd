package compat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// production is a CSV of some days of quarter hours before the plants' now;
// no two are the same.
func production(days int) string {
	file := files.Add(1)
	var b strings.Builder
	b.WriteString("timestamp,power_kw,temperature\n")
	for at := now.AddDate(0, 0, -days); at.Before(now); at = at.Add(15 * time.Minute) {
		power := max(0, 40*(1-float64((at.Hour()-10)*(at.Hour()-10))/25))
		fmt.Fprintf(&b, "%s,%.1f,%.2f\n", at.Format("2006-01-02T15:04:05"), power, 20+float64(file)/100)
	}
	return b.String()
}

var files atomic.Int64 // that production has made

var acknowledged = object(fields{"status": exactly("success"), "message": text, "s3_path": text, "processing_status": exactly("queued"), "upload_id": text})

// uploadParts are those of a form, without those named.
func uploadParts(siteID string, without ...string) []part {
	all := []part{
		{"file", production(3), "production data (1).csv"},
		{"customer_id", customer, ""}, {"site_id", siteID, ""}, {"region", "af-south-1", ""}, {"location", "Durban", ""}, {"manufacturer", "Sungrow Power", ""},
	}
	return slices.DeleteFunc(all, func(p part) bool { return slices.Contains(without, p.name) })
}

func TestUploadsInAnyOrder(t *testing.T) {
	t.Parallel()
	var sent []string
	for i, path := range []string{"/upload_train", "/upload_nowcast"} {
		kind := []string{"historical", "nowcast"}[i]
		for turn := range uploadParts("Compat Roof") { // the file is first, in the middle, last
			parts := uploadParts("Compat Roof")
			order := append(slices.Clone(parts[turn:]), parts[:turn]...)
			if turn%2 == 1 {
				slices.Reverse(order)
			}
			a := postForm(t, []header{bearer, xAPIKey}[turn%2], shared.hosts[api.HostMain], path, order...).is(acknowledged)
			want := `/` + kind + `/[A-Za-z0-9._-]+/customer123/af-south-1/Durban/Sungrow[A-Za-z0-9._-]*/\d{8}T\d{6}Z(-\d+)?_` + kind + `[A-Za-z0-9._-]*\.csv$`
			if wrong := matches(want)("s3_path", a.at("s3_path")); wrong != nil {
				t.Error(wrong)
			}
			sent = append(sent, a.text("upload_id"))
		}
	}
	for _, id := range sent {
		ended(t, id, "completed", "completed_with_warnings")
	}
	read(t, api.HostTelemetry, "/telemetry/data-period", query("site_id", "Compat Roof")).is(object(fields{"first_record": exactly(api.At(now.AddDate(0, 0, -3)).String()), "last_record": instant}))
}

// upload is the state of an imported file.
var upload = object(fields{
	"upload_id": text, "kind": exactly("historical", "nowcast"), "customer_id": text, "site_id": text, "s3_path": text, "bytes": integer,
	"processing_status": exactly("queued", "validating", "processing", "completed", "completed_with_warnings", "failed", "rejected"), "progress": share,
	"rows_read": integer, "rows_stored": integer, "rows_missing": integer, "created_at": instant, "updated_at": instant, "first_record?": instant, "last_record?": instant,
})

// ended waits until an upload has one of the states.
func ended(t *testing.T, id string, states ...any) answer {
	t.Helper()
	for {
		a := get(t, bearer, shared.hosts[api.HostMain], "/uploads/"+id, query()).is(object(fields{"success": exactly(true), "upload": upload}))
		switch state := a.text("upload.processing_status"); state {
		case "queued", "validating", "processing":
			time.Sleep(10 * time.Millisecond)
		default:
			if !slices.Contains(states, any(state)) {
				t.Errorf("upload %s is %s: %s", id, state, a.body)
			}
			return a
		}
	}
}

func TestUploadsOfVersionOne(t *testing.T) {
	t.Parallel()
	file := part{"file", production(2), "data.csv"}
	var sent []string
	for path, kind := range map[string]string{"upload-train": "training", "upload-nowcast": "nowcast"} {
		for _, order := range [][]part{
			{{"customer_id", customer, ""}, {"site_id", "Compat V1", ""}, {"data_type", kind, ""}, file}, // makes the site
			{file, {"site_id", "Compat V1", ""}, {"data_type", kind, ""}}, {{"data_type", kind, ""}, file, {"site_id", "Compat V1", ""}}, {{"site_id", "Compat V1", ""}, file},
		} {
			for i := range order {
				if order[i].name == "file" {
					order[i].value = production(2)
				}
			}
			a := postForm(t, bearer, shared.hosts[api.HostMain], "/v1/data-ingestion/"+path, order...).
				is(both(acknowledged, object(fields{"data_points": exactly(2 * 96.0), "validation": object(fields{"status": text})})))
			if sent = append(sent, a.text("upload_id")); len(sent) == 1 {
				ended(t, sent[0], "completed", "completed_with_warnings") // the site is there from then on
			}
		}
	}
	for _, id := range sent {
		ended(t, id, "completed", "completed_with_warnings")
	}
	wrong := []part{{"site_id", site, ""}, {"data_type", "nowcast", ""}, file}
	postForm(t, bearer, shared.url, "/v1/data-ingestion/upload-train", wrong...).refused(http.StatusBadRequest, "Invalid parameter: data_type")
	postForm(t, bearer, shared.url, "/v1/data-ingestion/upload-train", file).refused(http.StatusBadRequest, "Missing required parameter: site_id")
	postForm(t, bearer, shared.url, "/v1/data-ingestion/upload-train", part{"site_id", site, ""}).refused(http.StatusBadRequest, "CSV file is required")
}

func TestUploadRefusals(t *testing.T) {
	for _, path := range []string{"/upload_train", "/upload_nowcast"} {
		ask := func(parts ...part) answer { return postForm(t, xAPIKey, shared.hosts[api.HostMain], path, parts...) }
		ask(uploadParts(site, "file")...).refused(http.StatusBadRequest, "CSV file is required")
		for _, name := range []string{"customer_id", "site_id", "region", "location"} {
			ask(uploadParts(site, name)...).refused(http.StatusBadRequest, "Missing required parameter: "+name)
		}
		ask(append(uploadParts(site, "file"), part{"file", "", "empty.csv"})...).refused(http.StatusBadRequest, "CSV file is required")
		text := append(uploadParts(site, "file"), part{"file", "Dear operator,\nplease find attached\n", "letter.csv"})
		ask(text...).refused(http.StatusBadRequest, "Invalid CSV format")
		large := append(uploadParts(site, "file"), part{"file", "timestamp,power_kw\n" + strings.Repeat("2026-04-01T00:00:00Z,1.0\n", 440_000), "large.csv"})
		ask(large...).refused(http.StatusRequestEntityTooLarge, "File too large: the limit is 10 MB")
		postForm(t, bare, shared.url, path, uploadParts(site)...).refused(http.StatusUnauthorized, "Unauthorized")
	}
}

// TestRepeatedUpload is acknowledged as the first time, with the state that it
// has by now.
func TestRepeatedUpload(t *testing.T) {
	t.Parallel()
	parts := uploadParts("Compat Again")
	first := postForm(t, bearer, shared.url, "/upload_train", parts...).is(acknowledged)
	ended(t, first.text("upload_id"), "completed", "completed_with_warnings")
	again := postForm(t, bearer, shared.url, "/upload_train", parts...).
		is(object(fields{"status": exactly("success"), "message": text, "s3_path": exactly(first.text("s3_path")), "processing_status": exactly("completed", "completed_with_warnings")}))
	if again.text("upload_id") != first.text("upload_id") {
		t.Errorf("it is another upload: %s", again.body)
	}
}

// TestUploadsByPath name a file that the service has already.
func TestUploadsByPath(t *testing.T) {
	t.Parallel()
	first := postForm(t, bearer, shared.url, "/upload_train", uploadParts("Compat Path")...).is(acknowledged)
	ended(t, first.text("upload_id"), "completed", "completed_with_warnings")
	form := bodyOf("customer_id", customer, "site_id", "Compat Path", "region", "af-south-1", "location", "Durban", "s3_path", first.text("s3_path"))
	a := post(t, xAPIKey, shared.hosts[api.HostMain], "/upload_nowcast", form).is(acknowledged)
	ended(t, a.text("upload_id"), "completed", "completed_with_warnings")
	for _, name := range []string{"customer_id", "site_id", "region", "location", "s3_path"} {
		b := bodyOf("customer_id", customer, "site_id", "Compat Path", "region", "af-south-1", "location", "Durban", "s3_path", first.text("s3_path"))
		delete(b, name)
		post(t, xAPIKey, shared.url, "/upload_nowcast", b).refused(http.StatusBadRequest, "Missing required parameter: "+name)
	}
	read(t, api.HostMain, "/uploads", query("customer_id", customer, "site_id", "Compat Path", "limit", "1000")).
		is(object(fields{"success": exactly(true), "uploads": both(count(2, upload), descending("created_at")), "count": exactly(2.0)}))
}

// TestUploadsShorterThanAnnounced break off, or stop: the client gets an
// error, and its connection is not used again.
func TestUploadsShorterThanAnnounced(t *testing.T) {
	t.Parallel()
	body, kind := formOf(t, uploadParts("Compat Short")...)
	for _, c := range []struct {
		name   string
		length int // announced beyond what is sent
		half   bool
		status int
		words  string
	}{
		{"the line breaks", 1000, true, http.StatusBadRequest, "The request body broke off"},
		{"the client falls silent", 1000, false, http.StatusRequestTimeout, "The request body came too slowly"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cut := body[:len(body)/2]
			head := fmt.Sprintf("POST /upload_train HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", shared.key, kind, len(cut)+c.length)
			sent := raw(t, shared.hosts[api.HostMain], head+string(cut), c.half)
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(sent)), nil)
			if err != nil {
				t.Fatalf("%v in %q", err, sent)
			}
			defer resp.Body.Close()
			var e api.ErrorBody
			if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || resp.StatusCode != c.status || e.Error != c.words || e.Success || e.Status != "error" {
				t.Errorf("HTTP %d %+v, %v", resp.StatusCode, e, err)
			}
		})
	}
	get(t, bearer, shared.url, "/telemetry/data-period", query("site_id", "Compat Short")).refused(http.StatusNotFound, "Site not found")
	// Also of a body in JSON, and with the good key in the other header.
	sent := raw(t, shared.url, fmt.Sprintf("POST /terminal/assets HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"action\":", shared.key), false)
	if !strings.HasPrefix(sent, "HTTP/1.1 408 ") || !strings.Contains(sent, `"error":"The request body came too slowly"`) {
		t.Errorf("%q", sent)
	}
}
