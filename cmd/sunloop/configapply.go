package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	"app.sunloop/backend/api"
	"github.com/pelletier/go-toml/v2"
)

// ConfigApplyCmd applies the configuration of notifications from a file.
type ConfigApplyCmd struct {
	NotifyFlags
	File   string `arg:"" type:"existingfile" help:"File with channels, people, rotations and routes (TOML)."`
	DryRun bool   `help:"Print the differences without applying them."`
}

// Run applies the file, and prints what it changed.
func (c *ConfigApplyCmd) Run(ctx context.Context, g *Globals, std streams) error {
	b, err := os.ReadFile(c.File)
	if err != nil {
		return &failure{statusUsage, err}
	}
	config, err := readNotifications(b, os.LookupEnv)
	if err != nil {
		return &failure{statusUsage, fmt.Errorf("%s: %w", c.File, err)}
	}
	return c.call(ctx, g, std, api.ApplyNotificationConfig, api.NotificationsRequest{Configuration: &config, DryRun: c.DryRun}, func(r *api.NotificationsResponse) error {
		for _, v := range r.Changes {
			switch v.Change {
			case "added":
				fmt.Fprintf(std.out, "+ %s %s %s\n", v.Kind, v.ID, v.After)
			case "removed":
				fmt.Fprintf(std.out, "- %s %s %s\n", v.Kind, v.ID, v.Before)
			default:
				fmt.Fprintf(std.out, "- %s %s %s\n+ %s %s %s\n", v.Kind, v.ID, v.Before, v.Kind, v.ID, v.After)
			}
		}
		result := count(len(r.Changes), "change", "changes")
		if c.DryRun {
			result += ", not applied: dry run"
		}
		fmt.Fprintln(std.out, result)
		return nil
	})
}

// variable is a value from the environment, for secrets that the file does not contain.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// readNotifications reads the file's TOML, whose names are those of the API. ${NAME} in
// the URL and the secret of a channel is the variable of the environment.
func readNotifications(b []byte, env func(string) (string, bool)) (config api.NotificationConfig, err error) {
	var values map[string]any
	if err := toml.Unmarshal(b, &values); err != nil {
		return config, fmt.Errorf("read TOML: %w", err)
	}
	if b, err = json.Marshal(values); err != nil {
		return config, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&config); err != nil {
		return config, fmt.Errorf("read configuration: %w", err)
	}
	for n := range config.Channels {
		v := &config.Channels[n]
		for _, text := range []*string{&v.URL, &v.Secret} {
			*text = variable.ReplaceAllStringFunc(*text, func(s string) string {
				name := s[2 : len(s)-1]
				value, ok := env(name)
				if !ok && err == nil {
					err = fmt.Errorf("channel %q: variable %s is not set", v.ChannelID, name)
				}
				return value
			})
		}
	}
	return config, err
}
