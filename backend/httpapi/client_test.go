package httpapi_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/httpapi"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"
)

// TestClientDrivesTheService goes the way of a console: set up, enrol, read,
// upload, renew, leave; embedded and over a network.
func TestClientDrivesTheService(t *testing.T) {
	for _, where := range []string{"in process", "network"} {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t, nil)
			var err error
			// As the service by default: with an authenticator for everybody.
			w.deps.Auth, err = auth.New(context.Background(), auth.Options{Records: w.store, Key: auth.Key{1}, Now: w.clock.now, RequireMFA: true, Argon: &cheap})
			if err != nil {
				t.Fatal(err)
			}
			o := client.Options{Now: w.clock.now}
			h := httpapi.New(w.deps)
			if where == "network" {
				s := httptest.NewServer(h)
				defer s.Close()
				o.BaseURL = s.URL
			} else {
				o.Transport = client.InProcess(h)
			}
			drive(t, w, client.New(o))
		})
	}
}

func drive(t *testing.T, w *world, c *client.Client) {
	defer c.Close()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	status, err := c.SetupStatus(ctx)
	must(err)
	if !status.NeedsAdmin {
		t.Error("a fresh service needs no administrator")
	}
	token, err := w.auth.SetupToken(ctx)
	must(err)
	challenge, err := c.Setup(ctx, "admin", password, token)
	must(err)
	key, err := otp.NewKeyFromURL(challenge.ProvisioningURI)
	must(err)
	code, err := totp.GenerateCode(key.Secret(), w.clock.now())
	must(err)
	if _, err := c.VerifyMFA(ctx, challenge.MFAToken, "000000"); !errors.Is(err, api.ErrInvalidTOTP) {
		t.Errorf("wrong code: %v", err)
	}
	r, err := c.VerifyMFA(ctx, challenge.MFAToken, code)
	must(err)
	if len(r.RecoveryCodes) == 0 || r.User.Username != "admin" {
		t.Errorf("answer %+v", r)
	}

	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	sites, err := c.Sites(ctx, api.ListQuery{})
	must(err)
	if sites.Count != 3 {
		t.Errorf("sites %+v", sites)
	}
	q := api.RecordsQuery{SiteID: ownSite, AssetID: ownAsset, Start: api.At(w.clock.now().Add(-48 * time.Hour)), End: api.At(w.clock.now()), Resolution: api.ResolutionHour}
	records, err := c.Inverter(ctx, q)
	must(err)
	if len(records.Records) != 24 {
		t.Errorf("%d hours", len(records.Records))
	}
	var reply client.Reply
	if again, err := c.Inverter(client.Observe(ctx, &reply), q); err != nil || !reply.NotModified || len(again.Records) != 24 {
		t.Errorf("the same query was answered in full again, %v", err)
	}
	ack, err := c.UploadTrain(ctx, api.UploadRequest{CustomerID: ownCustomer, SiteID: ownSite, Region: "r", Location: "l"}, strings.NewReader("timestamp,power\n"), nil)
	must(err)
	up, err := c.Upload(ctx, ack.UploadID)
	must(err)
	if up.ProcessingStatus != api.UploadQueued {
		t.Errorf("upload %+v", up)
	}
	if _, err := c.Asset(ctx, api.AssetRef{AssetID: "INV-0"}); !errors.Is(err, api.ErrAssetNotFound) {
		t.Errorf("unknown asset: %v", err)
	}
	w.judge(true)
	open, err := c.Alerts(ctx, api.ListQuery{SiteID: ownSite}, "")
	must(err)
	if open.Count != 1 || open.Counts.Unacknowledged[api.AlertCritical] != 1 {
		t.Fatalf("alerts %+v", open)
	}
	moved, err := c.MoveAlert(ctx, api.AlertsRequest{Action: api.ActionAcknowledge, AlertID: open.Alerts[0].AlertID})
	must(err)
	if moved.Alert.State != api.AlertAcknowledged || moved.Alert.AcknowledgedBy != "admin" {
		t.Errorf("acknowledged %+v", moved.Alert)
	}
	one, err := c.Alert(ctx, open.Alerts[0].AlertID)
	must(err)
	span, err := c.AlertPeriod(ctx, api.SiteRef{SiteID: ownSite}, "TERM-Sibaya")
	must(err)
	aq := api.AlertsQuery{TerminalDeviceID: "TERM-Sibaya", SiteID: ownSite, Start: *span.FirstRecord, End: api.At(w.clock.now()), Limit: 1}
	page, err := c.TerminalAlerts(ctx, aq)
	must(err)
	if len(page.Alerts) != 1 || page.Alerts[0].Cursor == "" || page.Alerts[0].State != one.Alert.State {
		t.Errorf("of the device %+v", page.Alerts)
	}
	aq.Cursor = page.Alerts[0].Cursor
	page, err = c.TerminalAlerts(ctx, aq)
	must(err)
	aq.Cursor = ""
	all, err := c.SiteAlerts(ctx, aq)
	must(err)
	if len(page.Alerts) != 0 || len(all.Alerts["TERM-Sibaya"]) != 1 {
		t.Errorf("behind the cursor %+v, of the site %+v", page.Alerts, all.Alerts)
	}
	old := c.Credential()
	w.clock.add(20 * time.Hour)
	_, err = c.SiteSummary(ctx, api.SiteRef{SiteID: ownSite})
	must(err)
	if c.Credential() == old {
		t.Error("the token was not renewed in its last quarter")
	}
	must(c.Logout(ctx))
	if _, err := c.Latest(ctx, api.SiteRef{SiteID: ownSite}); !errors.Is(err, api.ErrUnauthorized) {
		t.Errorf("after logout: %v", err)
	}
}
