package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"strings"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
)

// now is the clock of the plants in the examples.
var now = time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)

// service runs a service in a separate folder and returns a client of it,
// with an API key. Over a network it would be
//
//	client.New(client.Options{BaseURL: "https://ops.example.com", Credential: key, MaxRetryWait: time.Minute})
func service() (c *client.Client, stop func()) {
	dir, err := os.MkdirTemp("", "sunloop-example-")
	check(err)
	s, err := backend.New(backend.Config{DataDir: dir, Now: func() time.Time { return now }, Wall: time.Now, Tick: 10 * time.Millisecond, Settle: time.Millisecond, KeyRate: 100_000})
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	key, _, err := s.Auth().CreateKey(context.Background(), auth.NewKey{Name: "example", Role: api.RoleOperator, Customers: []string{"acme"}})
	check(err)
	c = client.New(client.Options{Transport: client.InProcess(s.Handler()), Credential: key})
	return c, func() {
		c.Close()
		check(errors.Join(s.Close(), <-ended, os.RemoveAll(dir)))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// production is a portal's file of hours up to now, of two inverters of which the
// second is down in the last days.
func production(days, still int) string {
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw\n")
	for h := range days * 24 {
		at := now.Add(time.Duration(h-days*24) * time.Hour)
		sun := max(0, math.Sin(float64(at.Hour()-4)/12*math.Pi))
		cloud := 0.7 + 0.3*math.Sin(float64(at.YearDay()*7))
		power := 45 * sun * cloud
		fmt.Fprintf(&b, "%s,INV-1,%.2f\n", at.Format(time.RFC3339), power)
		if h/24 >= days-still {
			power = 0
		}
		fmt.Fprintf(&b, "%s,INV-2,%.2f\n", at.Format(time.RFC3339), power)
	}
	return b.String()
}

// upload sends a file and waits until all that follows from it is done.
func upload(ctx context.Context, c *client.Client, csv string) *api.Upload {
	ack, err := c.UploadTrain(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "Durban", Region: "af", Location: "-29.86,31.02", CapacityKW: 100, Timezone: "UTC"}, strings.NewReader(csv), nil)
	check(err)
	for {
		u, err := c.Upload(ctx, ack.UploadID)
		check(err)
		if u.Ended() {
			return u
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// From a file to a forecast: half a year of production is uploaded, the site's
// model is trained, and the next two days are forecast.
func Example() {
	ctx := context.Background()
	c, stop := service()
	defer stop()

	u := upload(ctx, c, production(190, 0))
	fmt.Println(u.ProcessingStatus, u.RowsStored)

	f, err := c.Forecast(ctx, api.ForecastQuery{CustomerID: "acme", SiteID: "Durban", HorizonHours: 48})
	check(err)
	ordered := true
	for _, p := range f.Forecasts {
		ordered = ordered && p.ConfidenceInterval.Lower <= p.PredictedPowerKW && p.PredictedPowerKW <= p.ConfidenceInterval.Upper
	}
	fmt.Println(len(f.Forecasts), "hours, each within its interval:", ordered)
	// Output:
	// completed 9120
	// 48 hours, each within its interval: true
}

// From a fault to its acknowledgement: a finding comes with its cause and its
// cost; acknowledging its issue acknowledges its alert.
func ExampleClient_Findings() {
	ctx := context.Background()
	c, stop := service()
	defer stop()
	upload(ctx, c, production(90, 6))

	found, err := c.Findings(ctx, api.ListQuery{CustomerID: "acme"})
	check(err)
	for _, f := range found.MLEnhancedActivities {
		fmt.Println(f.AssetID, f.FaultFamily, f.SeverityLabel)
	}
	issues, err := c.Issues(ctx, api.ListQuery{CustomerID: "acme"})
	check(err)
	taken, err := c.AcknowledgeIssue(ctx, issues.Issues[0].IssueID, "Thandi drives there")
	check(err)
	fmt.Println(taken.Issue.Status)
	alerts, err := c.Alerts(ctx, api.ListQuery{SiteID: "Durban"}, "")
	check(err)
	fmt.Println(alerts.Alerts[0].AlertType, alerts.Alerts[0].State)
	// Output:
	// INV-2 inverter_outage critical
	// In Progress
	// inverter_outage ack
}

// Error responses are *api.Error: they have the status, the message of the
// contract and the request's id, and may be distinguished by errors.Is.
func ExampleClient_Forecast_refused() {
	ctx := context.Background()
	c, stop := service()
	defer stop()

	_, err := c.Forecast(ctx, api.ForecastQuery{CustomerID: "acme"})
	fmt.Println(errors.Is(err, api.ErrNoModel))
	var refused *api.Error
	if _, err = c.Inverter(ctx, api.RecordsQuery{AssetID: "INV-1"}); errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Message, refused.RequestID != "")
	}
	// Output:
	// true
	// 400 Missing required parameter: site_id true
}

// A creating call with a key of the caller's choice may be sent twice: what it
// makes is made once.
func ExampleWithIdempotencyKey() {
	c, stop := service()
	defer stop()
	ctx := client.WithIdempotencyKey(context.Background(), "asset-7-of-the-import")
	_, err := c.SetSite(context.Background(), api.Site{SiteID: "Durban", CustomerID: "acme", Timezone: "Africa/Johannesburg"})
	check(err)

	for range 2 {
		made, err := c.AddAsset(ctx, api.Asset{AssetID: "INV-7", SiteID: "Durban", CustomerID: "acme", Name: "Inverter 7", Type: "inverter", CapacityKW: 50, Location: "roof"})
		check(err)
		fmt.Println(made.Message)
	}
	_, err = c.AddAsset(context.Background(), api.Asset{AssetID: "INV-7", SiteID: "Durban", CustomerID: "acme", Name: "Inverter 7", Type: "inverter", CapacityKW: 50, Location: "roof"})
	fmt.Println(err)
	// Output:
	// Asset added
	// Asset added
	// Asset INV-7 exists already (HTTP 409)
}

// A read that is asked for again is answered with 304 while nothing changed, and
// gives the very value that it gave before.
func ExampleObserve() {
	ctx := context.Background()
	c, stop := service()
	defer stop()

	var reply client.Reply
	first, err := c.Sites(client.Observe(ctx, &reply), api.ListQuery{})
	check(err)
	fmt.Println(reply.Status, reply.Remaining > 0)
	again, err := c.Sites(client.Observe(ctx, &reply), api.ListQuery{})
	check(err)
	fmt.Println(reply.Status, reply.NotModified, first == again)
	// Output:
	// 200 true
	// 304 true true
}
