package backend

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// gatewayOf joins a site as a gateway, and returns a client with its key.
func (h *instance) gatewayOf(customer, site string) *client.Client {
	h.t.Helper()
	invited, err := h.InviteGateway(h.t.Context(), api.GatewaysRequest{CustomerID: customer, SiteID: site, Name: "gateway of " + site})
	if err != nil {
		h.t.Fatal(err)
	}
	joined, err := h.JoinGateway(h.t.Context(), invited.Code)
	if err != nil {
		h.t.Fatal(err)
	}
	c := client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Credential: joined.APIKey, Now: time.Now})
	h.t.Cleanup(c.Close)
	return c
}

// collectorWorld is a service with the sites roof and barn of acme and the site roof of
// another customer.
func collectorWorld(t *testing.T) *instance {
	now := time.Date(2026, 6, 15, 10, 10, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	for _, s := range [][2]string{{"acme", "roof"}, {"acme", "barn"}, {"others", "roof"}} {
		if _, err := h.AddSite(t.Context(), api.Site{CustomerID: s[0], SiteID: s[1], Timezone: "UTC", CapacityKW: 10}); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// powers is a file of a day of hours; n makes it another one.
func powers(n int) string {
	text := "timestamp,asset_id,power_kw\n"
	for i := range 24 {
		text += fmt.Sprintf("2026-06-14T%02d:00:00Z,INV-1,%.3f\n", i, max(0, 6-float64(abs(i-12)))+float64(n)/1000)
	}
	return text
}

func isForbidden(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Status == http.StatusForbidden
}

// TestCollectorFiles: the key of a gateway uploads files for its own site, and reads the
// outcome of those that it sent itself, also after it was replaced, and nothing else.
func TestCollectorFiles(t *testing.T) {
	h, ctx := collectorWorld(t), t.Context()
	g, other := h.gatewayOf("acme", "roof"), h.gatewayOf("acme", "roof")
	send := func(c *client.Client, req api.UploadRequest, n int) (*api.UploadAck, error) {
		req.Kind, req.Filename = api.UploadNowcast, "export.csv"
		return c.UploadToSite(ctx, req, strings.NewReader(powers(n)), nil)
	}
	ack, err := send(g, api.UploadRequest{SiteID: "roof", Source: "exports", DeliveryID: "d1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if u := h.follow(ack.UploadID); u.ProcessingStatus != api.UploadCompleted && u.ProcessingStatus != api.UploadWithWarnings || u.RowsStored != 24 || u.Source != "exports" || u.CustomerID != "acme" {
		t.Errorf("%+v", u)
	}
	if u, err := g.Upload(ctx, ack.UploadID); err != nil || !u.Ended() || u.RowsStored != 24 {
		t.Errorf("its own upload: %+v, %v", u, err)
	}
	r, err := g.RotateGatewayKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g.SetCredential(r.APIKey)
	if _, err := g.Upload(ctx, ack.UploadID); err != nil {
		t.Errorf("with a new key: %v", err)
	}
	if again, err := send(g, api.UploadRequest{SiteID: "roof", Source: "exports", DeliveryID: "d1"}, 1); err != nil || again.UploadID != ack.UploadID {
		t.Errorf("sent again with a new key: %+v, %v", again, err)
	}
	byAdmin, err := h.UploadNowcast(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "roof", Region: "eu", Location: "48,16", Filename: "a.csv"}, strings.NewReader(powers(2)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func() error{
		"an upload of another gateway of the site": func() error { _, err := other.Upload(ctx, ack.UploadID); return err },
		"an upload of an administrator":            func() error { _, err := g.Upload(ctx, byAdmin.UploadID); return err },
		"an upload that is not there":              func() error { _, err := g.Upload(ctx, "upl_none"); return err },
		"the list of uploads":                      func() error { _, err := g.Uploads(ctx, api.ListQuery{SiteID: "roof"}); return err },
		"another site":                             func() error { _, err := send(g, api.UploadRequest{SiteID: "barn"}, 3); return err },
		"another customer": func() error {
			_, err := send(g, api.UploadRequest{CustomerID: "others", SiteID: "roof"}, 3)
			return err
		},
		"a new site":                      func() error { _, err := send(g, api.UploadRequest{CustomerID: "acme", SiteID: "new"}, 3); return err },
		"a new site without its customer": func() error { _, err := send(g, api.UploadRequest{SiteID: "new"}, 3); return err },
		"a mapping": func() error {
			_, err := send(g, api.UploadRequest{SiteID: "roof", Mapping: "time=timestamp"}, 3)
			return err
		},
		"a revert":       func() error { _, err := g.RevertUpload(ctx, ack.UploadID); return err },
		"a cancellation": func() error { _, err := g.CancelUpload(ctx, ack.UploadID); return err },
		"an inspection": func() error {
			_, err := g.Inspect(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "roof"}, strings.NewReader(powers(3)), nil)
			return err
		},
		"an upload that may make sites": func() error {
			_, err := g.UploadNowcast(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "roof", Region: "eu", Location: "48,16"}, strings.NewReader(powers(3)), nil)
			return err
		},
		"an object of the service": func() error {
			_, err := g.Import(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "roof", Region: "eu", Location: "48,16", S3Path: ack.S3Path, Kind: api.UploadNowcast})
			return err
		},
		"an upload in parts": func() error {
			_, err := client.Call(ctx, g, api.CreateUploadSession, api.UploadSessionRequest{CustomerID: "acme", SiteID: "roof", Size: 20 << 20, SHA256: strings.Repeat("a", 64)})
			return err
		},
		"the sites": func() error { _, err := g.Sites(ctx, api.ListQuery{}); return err },
	} {
		if err := call(); !isForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, s := range [][2]string{{"acme", "barn"}, {"others", "roof"}, {"acme", "new"}} {
		if list, err := h.Uploads(ctx, api.ListQuery{CustomerID: s[0], SiteID: s[1]}); err == nil && list.Count > 0 {
			t.Errorf("site %s of %s has uploads: %+v", s[1], s[0], list.Uploads)
		}
	}
	if list := h.uploadsOfSite(t, "acme", "roof"); len(list) != 2 {
		t.Errorf("%d uploads of the site", len(list))
	}
}

func (h *instance) uploadsOfSite(t *testing.T, customer, site string) []api.Upload {
	t.Helper()
	r, err := h.Uploads(t.Context(), api.ListQuery{CustomerID: customer, SiteID: site})
	if err != nil {
		t.Fatal(err)
	}
	return r.Uploads
}

// TestDeliveryIDs: a file that its sender names is one upload, whatever became of it: it
// was refused when it came or by its job, imported or reverted.
func TestDeliveryIDs(t *testing.T) {
	h, ctx := collectorWorld(t), t.Context()
	g, other := h.gatewayOf("acme", "roof"), h.gatewayOf("acme", "roof")
	send := func(c *client.Client, id, content string) (string, error) {
		ack, err := c.UploadToSite(ctx, api.UploadRequest{SiteID: "roof", Source: "exports", DeliveryID: id, Kind: api.UploadNowcast, Filename: "a.csv"}, strings.NewReader(content), nil)
		if err != nil {
			var e *api.Error
			if errors.As(err, &e) {
				if id, ok := e.Details["upload_id"].(string); ok {
					return id, err
				}
			}
			t.Fatal(err)
		}
		return ack.UploadID, nil
	}
	bad, err := send(g, "bad", "to whom it may concern\n")
	if err == nil {
		t.Fatal("no refusal")
	}
	if u, err := g.Upload(ctx, bad); err != nil || u.ProcessingStatus != api.UploadRejected || u.Error == "" {
		t.Errorf("%+v, %v", u, err)
	}
	large := "time,power (kW)\n" + strings.Repeat("2026-06-14 10:00,1\nnothing\n", 12_000) // refused by its job
	accepted, err := send(g, "large", large)
	if err != nil {
		t.Fatal(err)
	}
	refused := h.follow(accepted)
	good, err := send(g, "good", powers(1))
	if err != nil {
		t.Fatal(err)
	}
	h.follow(good)
	if _, err := h.RevertUpload(ctx, good); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for id, want := range map[string]string{"bad": bad, "large": accepted, "good": good} {
			content := map[string]string{"bad": "to whom it may concern\n", "large": large, "good": powers(1)}[id]
			if got, _ := send(g, id, content); got != want {
				t.Errorf("%s again: %s, was %s", id, got, want)
			}
		}
	}
	if list := h.uploadsOfSite(t, "acme", "roof"); len(list) != 3 {
		t.Errorf("%d uploads: %+v; the large one is %s", len(list), list, refused.ProcessingStatus)
	}
	// The name is of its sender and the content.
	if id, _ := send(other, "bad", "to whom it may concern\n"); id == bad {
		t.Error("another sender's file is the same upload")
	}
	if id, _ := send(g, "bad", "dear sirs\n"); id == bad {
		t.Error("another file is the same upload")
	}
	if id, err := send(g, "good again", powers(1)); err != nil || id == good { // the former one was reverted
		t.Errorf("%s, %v", id, err)
	}
}

// TestLiveAndExports: live readings of a minute and an export of quarter hours of the same
// unit are the energy of the unit once, whichever comes first, also when the export names
// the unit by its serial number.
func TestLiveAndExports(t *testing.T) {
	h, ctx := collectorWorld(t), t.Context()
	day := time.Date(2026, 6, 14, 0, 0, 0, 0, time.UTC)
	for site, c := range map[string]struct {
		column    string // of the export with the unit's name
		fileFirst bool
		units     int
	}{"live-first": {"INV-1", false, 1}, "export-first": {"INV-1", true, 1}, "by-serial": {"SN-77", false, 1}} {
		if _, err := h.AddSite(ctx, api.Site{CustomerID: site, SiteID: site, Timezone: "UTC", CapacityKW: 10}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.AddAsset(ctx, api.Asset{CustomerID: site, SiteID: site, AssetID: "INV-1", Name: "INV-1", Type: "solar_inverter", Location: "48,16", Timezone: "UTC", CapacityKW: 10, Components: []api.Component{{OEM: "Sunny", Model: "Ten", Serial: "SN-77"}}}); err != nil {
			t.Fatal(err)
		}
		g := h.gatewayOf(site, site)
		live := func() {
			u := api.UnitPoints{AssetID: "INV-1", Values: map[string][]*float64{}}
			for at := 6 * time.Hour; at < 18*time.Hour; at += time.Minute {
				kw, step := 8.0, 60.0
				u.Timestamps = append(u.Timestamps, day.Add(at).Unix())
				u.Values["power_kw"], u.Values["step_s"] = append(u.Values["power_kw"], &kw), append(u.Values["step_s"], &step)
			}
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			if err := errors.Join(json.NewEncoder(z).Encode(api.PointBatch{Units: []api.UnitPoints{u}}), z.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := g.WriteTelemetry(ctx, api.WriteQuery{SiteID: site}, packed.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		export := func() {
			text := "timestamp,asset_id,power_kw\n"
			for at := 6 * time.Hour; at < 18*time.Hour; at += 15 * time.Minute {
				text += fmt.Sprintf("%s,%s,8\n", day.Add(at).Format(time.RFC3339), c.column)
			}
			ack, err := g.UploadToSite(ctx, api.UploadRequest{SiteID: site, Kind: api.UploadNowcast, Source: "exports", DeliveryID: "d", Filename: "day.csv"}, strings.NewReader(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if u := h.follow(ack.UploadID); u.RowsStored != 48 {
				t.Fatalf("%s: %+v", site, u)
			}
		}
		if c.fileFirst {
			export()
			live()
		} else {
			live()
			export()
		}
		v, err := h.SiteRecords(ctx, api.RecordsQuery{CustomerID: site, SiteID: site, Start: api.At(day), End: api.LastBefore(day.AddDate(0, 0, 1)), Resolution: api.ResolutionDaily})
		if err != nil {
			t.Fatal(err)
		}
		kWh, units := 0.0, len(v.Records)
		for _, unit := range v.Records {
			for _, r := range unit {
				kWh += r.KWh
			}
		}
		if math.Abs(kWh-96) > 0.01 || units != c.units {
			t.Errorf("%s: %.2f kWh of %d units, want 96 of %d", site, kWh, units, c.units)
		}
	}
}
