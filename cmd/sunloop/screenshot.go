package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/clock"
	"app.sunloop/themes"
	"app.sunloop/tui"
	"app.sunloop/tui/layout"
)

// ScreenshotCmd draws the demo's real screens into SVG files, and records sessions in
// files of asciinema, for the README and the documents.
type ScreenshotCmd struct {
	ConsoleFlags
	Out   string        `default:"." help:"Folder to write to." type:"path"`
	Seed  uint64        `default:"1" help:"Seed of the fleet, its weather and faults."`
	Play  time.Duration `default:"20s" help:"Time that the demo runs once it has a forecast."`
	Shots []string      `arg:"" help:"NAME=COLSxROWS,THEME[,KEYS]: picture of the screen after the keys, which are separated by spaces. A NAME that ends in .cast is a recording of the keys."`
}

// shot is one picture that is wanted.
type shot struct {
	name, theme string
	size        layout.Size
	keys        []string
}

// recorded reports whether it is a recording.
func (s shot) recorded() bool { return strings.HasSuffix(s.name, ".cast") }

func readShot(text string) (shot, error) {
	name, rest, _ := strings.Cut(text, "=")
	part := append(strings.SplitN(rest, ",", 3), "", "")
	s := shot{name: name, theme: part[1], keys: strings.Fields(part[2])}
	if _, err := fmt.Sscanf(part[0], "%dx%d", &s.size.Columns, &s.size.Rows); err != nil || name == "" {
		return s, fmt.Errorf("a picture is as in orient=120x36,daylight,n 2, not %q", text)
	}
	return s, nil
}

// Run plays the demo and draws the pictures.
func (c *ScreenshotCmd) Run(ctx context.Context, g *Globals, std streams) error {
	var shots []shot
	for _, text := range c.Shots {
		s, err := readShot(text)
		if err != nil {
			return err
		}
		shots = append(shots, s)
	}
	dir, err := os.MkdirTemp("", "sunloop-screenshot-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d := DemoCmd{ConsoleFlags: c.ConsoleFlags, Seed: c.Seed, Speed: 60}
	// In a recording the person at the keys does what the crew would have done already.
	d.alone = !slices.ContainsFunc(shots, func(s shot) bool { return !s.recorded() })
	return d.open(ctx, g, std, dir, func(ctx context.Context, demo *demo) error {
		site := demo.fleet.Sites[0].ID
		if err := awaitForecast(ctx, client.New(demo.client), site); err != nil {
			return err
		}
		if err := clock.Sleep(ctx, c.Play); err != nil {
			return err
		}
		for _, s := range shots {
			o, err := c.look(g, os.Getenv, false)
			if err != nil {
				return err
			}
			theme, ok := themes.Find(o.Themes, s.theme)
			if !ok {
				return fmt.Errorf("there is no theme %q", s.theme)
			}
			o.Theme, o.Profile, o.AutoTheme = theme, themes.TrueColor, false
			o.Client, o.User, o.Source, o.Site = client.New(demo.client), demo.login.User, d.source(), api.SiteRef{SiteID: site}
			o.Log, o.LogLines = slog.New(slog.DiscardHandler), func() []string { return nil }
			if err := c.draw(ctx, o, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// draw draws one picture: the keys are pressed once the console has its data,
// each with a moment for what it asks for.
func (c *ScreenshotCmd) draw(ctx context.Context, o tui.Options, s shot) error {
	var picture strings.Builder
	pause := func() { _ = clock.Sleep(ctx, 3*time.Second) } // an end shows in what comes after
	path := filepath.Join(c.Out, s.name+".svg")
	var err error
	if s.recorded() {
		path = filepath.Join(c.Out, s.name)
		err = tui.Record(ctx, o, s.size, "Sunloop: from an alarm to a completed work order", s.keys, pause, &picture)
	} else {
		err = tui.Snapshot(ctx, o, s.size, s.keys, pause, &picture)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(picture.String()), 0o644)
}

// awaitForecast waits until the site has a forecast and no upload is in progress.
func awaitForecast(ctx context.Context, cl *client.Client, site string) error {
	for {
		uploads, err := cl.Uploads(ctx, api.ListQuery{SiteID: site})
		if err != nil {
			return err
		}
		_, noForecast := cl.ForecastSnapshot(ctx, api.SiteRef{SiteID: site}, 48)
		open := false
		for _, u := range uploads.Uploads {
			open = open || u.Kind == api.UploadTrain && !u.Ended()
		}
		if noForecast == nil && !open && len(uploads.Uploads) > 0 {
			return nil
		}
		if err := clock.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}
