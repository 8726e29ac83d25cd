package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui"
	"app.sunloop/tui/layout"
)

// ScreenshotCmd draws the demo's real screen into an SVG file, for the README.
type ScreenshotCmd struct {
	ConsoleFlags
	Out  string        `required:"" help:"SVG file to write." type:"path"`
	Size string        `default:"160x45" help:"Columns and rows."`
	Seed uint64        `default:"1" help:"Which fleet, weather and faults."`
	Play time.Duration `default:"20s" help:"How long the demo plays once it has a forecast."`
	Keys []string      `help:"Keys to press before the picture."`
}

// Run plays the demo and writes the picture.
func (c *ScreenshotCmd) Run(ctx context.Context, g *Globals, std streams) error {
	var size layout.Size
	if _, err := fmt.Sscanf(c.Size, "%dx%d", &size.Columns, &size.Rows); err != nil {
		return fmt.Errorf("--size is as in 160x45, not %q", c.Size)
	}
	dir, err := os.MkdirTemp("", "sunloop-screenshot-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d := DemoCmd{ConsoleFlags: c.ConsoleFlags, Seed: c.Seed, Speed: 60}
	return d.open(ctx, g, std, dir, func(ctx context.Context, demo *demo) error {
		o, err := c.look(g, false)
		if err != nil {
			return err
		}
		o.Profile, o.AutoTheme = themes.TrueColor, false
		o.Client, o.User, o.Source, o.Site = client.New(demo.client), demo.login.User, d.source(), demo.fleet.Sites[0].ID
		o.Log, o.LogLines = slog.New(slog.DiscardHandler), func() []string { return nil }
		ready, settled := make(chan struct{}), make(chan struct{})
		var waitErr error
		go func() {
			defer close(settled)
			if waitErr = awaitForecast(ctx, client.New(demo.client), o.Site); waitErr == nil {
				waitErr = sleep(ctx, c.Play)
			}
			close(ready)
			_ = sleep(ctx, 3*time.Second)
		}()
		var picture strings.Builder
		err = tui.Snapshot(ctx, o, size, ready, settled, c.Keys, &picture)
		if err = errors.Join(err, waitErr); err != nil {
			return err
		}
		return os.WriteFile(c.Out, []byte(picture.String()), 0o644)
	})
}

// awaitForecast waits until the site has a forecast and nothing is on its way.
func awaitForecast(ctx context.Context, cl *client.Client, site string) error {
	for {
		uploads, err := cl.Uploads(ctx, api.ListQuery{SiteID: site})
		if err != nil {
			return err
		}
		_, noForecast := cl.ForecastSnapshot(ctx, site, 48)
		open := false
		for _, u := range uploads.Uploads {
			open = open || u.Kind == api.UploadTrain && !u.Ended()
		}
		if noForecast == nil && !open && len(uploads.Uploads) > 0 {
			return nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}
