//go:build !windows

package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui"
	"app.sunloop/tui/layout"
)

// demoCommand is the demo with the defaults of its flags and a fixed look.
func demoCommand(b *testing.B) *DemoCmd {
	b.Helper()
	c, _ := parsed(b, "", "demo", "--theme", themes.ControlRoom, "--color", "true")
	return &c.Demo
}

// BenchmarkDemo starts the demo as a user does and reports the time to the
// first frame, and until every site has its history, its model, a forecast and
// no running import.
func BenchmarkDemo(b *testing.B) {
	var first, ready time.Duration
	for b.Loop() {
		start := time.Now()
		c := demoCommand(b)
		g := &Globals{LogLevel: "error"}
		dir, err := os.MkdirTemp(b.TempDir(), "demo")
		if err != nil {
			b.Fatal(err)
		}
		err = c.open(b.Context(), g, streams{os.Stdin, io.Discard, io.Discard}, dir, func(ctx context.Context, d *demo) error {
			o, err := c.look(g, os.Getenv, false)
			if err != nil {
				return err
			}
			o.Client, o.User, o.Site = client.New(d.client), d.login.User, api.SiteRef{SiteID: d.fleet.Sites[0].ID}
			o.Log, o.LogLines = slog.New(slog.DiscardHandler), func() []string { return nil }
			var picture strings.Builder
			if err := tui.Snapshot(ctx, o, layout.Size{Columns: 120, Rows: 36}, nil, func() {}, &picture); err != nil {
				return err
			}
			first += time.Since(start)
			for _, s := range d.fleet.Sites {
				if err := awaitForecast(ctx, client.New(d.client), s.ID); err != nil {
					return err
				}
			}
			ready += time.Since(start)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(first.Seconds()/float64(b.N), "first-frame-s")
	b.ReportMetric(ready.Seconds()/float64(b.N), "ready-s")
}
