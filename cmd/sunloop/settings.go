package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/alecthomas/kong"

	"app.sunloop/tui"
	"app.sunloop/tui/settings"
)

// consoleTable is the table of the configuration file that holds how the
// console looks, for the demo too.
const consoleTable = "console"

// givenFlags are the names of the flags that stand on the command line.
func givenFlags(k *kong.Context) map[string]bool {
	given := map[string]bool{}
	for _, p := range k.Path {
		if p.Flag != nil && !p.Resolved {
			given[p.Flag.Name] = true
		}
	}
	return given
}

// values are the settings as the flags have them, wherever they come from.
func (c LookFlags) values() map[string]string {
	return map[string]string{
		settings.Theme: c.Theme, settings.Color: c.Color, settings.Graph: c.Graph, settings.Images: c.Images, settings.ASCII: strconv.FormatBool(c.ASCII),
		settings.FPS: strconv.Itoa(c.FPS), settings.Mouse: strconv.FormatBool(c.Mouse), settings.Bell: strconv.FormatBool(c.Bell),
		settings.BellFrom: c.BellFrom, settings.NotifyFrom: c.NotifyFrom, settings.Polling: c.Polling, settings.Remember: strconv.FormatBool(c.Remember),
		settings.Preset: c.Preset, settings.QuadFrom: c.QuadFrom, settings.StripsFrom: c.StripsFrom, settings.Split: c.Split,
	}
}

// sources checks the settings and says where each comes from.
func (c LookFlags) sources(g *Globals, env func(string) string) (settings.Sources, error) {
	all := settings.Sources{}
	for name, value := range c.values() {
		s, _ := settings.Find(name)
		source := settings.Source{Value: value}
		place := "--" + name
		switch _, file := g.file.of(g.command, name); {
		case g.given[name]:
			source.From, source.Fixed = place, true
		case name == settings.Color && value == s.Default && env("NO_COLOR") != "":
			source.From, source.Fixed = "NO_COLOR in the environment", true
		case file:
			source.From, place = settings.FromFile, g.file.path+": "+name
		}
		if err := s.Check(value); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		all[name] = source
	}
	return all, nil
}

// keptConfig is the person's configuration file, into which the console writes
// what is chosen in it.
type keptConfig struct {
	path    string
	command string // that runs: its own table comes before the console's
}

// into gives the console the functions that keep choices.
func (c keptConfig) into(o *tui.Options) {
	o.ConfigFile, o.KeepSetting = c.path, c.setting
	o.KeepKeys = func(action string, keys []string) error {
		if len(keys) == 0 {
			return c.change("keys", action, nil)
		}
		return c.change("keys", action, keys)
	}
	o.KeepPreset = func(name, value string) error {
		if value == "" {
			return c.change(presetTable, name, nil)
		}
		return c.change(presetTable, name, value)
	}
}

// setting writes a setting where it is already set, otherwise into the
// console's table.
func (c keptConfig) setting(name, value string) error {
	table := consoleTable
	var now configFile
	if err := now.load(c.path, false); err != nil {
		return err
	}
	if own, ok := now.values[c.command].(map[string]any); ok && own[name] != nil {
		table = c.command
	}
	if value == "" {
		return c.change(table, name, nil)
	}
	s, _ := settings.Find(name)
	return c.change(table, name, s.Value(value))
}

// change writes one key and leaves the rest of the file as it is. The file is
// replaced whole; where its name is a link, what the link names is.
func (c keptConfig) change(table, key string, value any) error {
	path := c.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	doc, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the configuration: %w", err)
	}
	out, err := setTOML(doc, table, key, value)
	if err != nil {
		return fmt.Errorf("%s: %s.%s: %w", path, table, key, err)
	}
	if err := writePrivate(path, out); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}
