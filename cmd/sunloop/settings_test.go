package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"app.sunloop/tui"
	"app.sunloop/tui/settings"
)

// parsed is a command line over a configuration file.
func parsed(t testing.TB, file string, args ...string) (*cli, *kong.Context) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	var c cli
	if err := c.file.load(path, true); err != nil {
		t.Fatal(err)
	}
	parser, err := kong.New(&c, kong.Resolvers(&c.file), kong.Vars{"version": "test", "data": t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	k, err := parser.Parse(append(args, "--config", path))
	if err != nil {
		t.Fatal(err)
	}
	c.command, c.given = k.Selected().Name, givenFlags(k)
	return &c, k
}

// The demo takes the flags that let it read files elsewhere and post to a lab.
func TestDemoReaches(t *testing.T) {
	c, _ := parsed(t, "", "demo", "--import-from", "file:///srv/exports", "--webhook-allow", "127.0.0.1")
	if d := c.Demo; !slices.Equal(d.ImportFrom, []string{"file:///srv/exports"}) || !slices.Equal(d.WebhookAllow, []string{"127.0.0.1"}) {
		t.Errorf("import from %q, webhooks to %q", d.ImportFrom, d.WebhookAllow)
	}
}

// Every setting is a flag with the same default, for the console and the demo.
func TestSettingsAreFlags(t *testing.T) {
	c, _ := parsed(t, "", "console")
	values := c.Console.values()
	for _, s := range settings.All() {
		if got, ok := values[s.Name]; !ok || got != s.Default {
			t.Errorf("%s is %q as a flag, %q as a setting", s.Name, got, s.Default)
		}
	}
	if len(values) != len(settings.All()) {
		t.Errorf("%d flags for %d settings", len(values), len(settings.All()))
	}
}

func TestSourcesOfSettings(t *testing.T) {
	env := func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }
	file := "fps = 7\n[console]\ngraph = 'block'\nsplit = '60x40'\n[demo]\nsplit = '70x30'\n"
	c, _ := parsed(t, file, "demo", "--theme", "mono")
	got, err := c.Demo.sources(&c.Globals, env)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]settings.Source{
		settings.Theme:    {Value: "mono", From: "--theme", Fixed: true},
		settings.Color:    {Value: "auto", From: "NO_COLOR in the environment", Fixed: true},
		settings.Graph:    {Value: "block", From: settings.FromFile},
		settings.FPS:      {Value: "7", From: settings.FromFile},
		settings.Split:    {Value: "70x30", From: settings.FromFile},
		settings.QuadFrom: {Value: "160x40"},
	} {
		if got[name] != want {
			t.Errorf("%s: %+v, want %+v", name, got[name], want)
		}
	}
	c, _ = parsed(t, "[console]\nsplit = 'wide'\n", "console")
	if _, err := c.Console.sources(&c.Globals, os.Getenv); err == nil || !strings.Contains(err.Error(), "config.toml: split: split is two numbers") {
		t.Errorf("a bad value: %v", err)
	}
}

// A choice is written where it was set, the rest of the file stays, and no
// other user may read it.
func TestChoicesInTheFile(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles.toml"), filepath.Join(dir, "config.toml")
	if err := os.WriteFile(real, []byte("# mine\n[console]\ngraph = \"block\" # at home\n\n[demo]\nsplit = \"60x40\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	var o tui.Options
	keptConfig{link, "demo"}.into(&o)
	for _, err := range []error{
		o.KeepSetting(settings.Graph, "ascii"), o.KeepSetting(settings.Split, "30x40"), o.KeepSetting(settings.Mouse, "false"), o.KeepSetting(settings.Theme, "mono"),
		o.KeepSetting(settings.Theme, ""), o.KeepKeys("zoom", []string{"f", "g z"}), o.KeepKeys("sort", []string{"w"}), o.KeepKeys("sort", nil),
		o.KeepPreset("night", "Act 40x30 zoom"), o.KeepPreset("day", "Act 40x30"), o.KeepPreset("day", ""),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	want := "# mine\n[console]\ngraph = 'ascii' # at home\nmouse = false\n\n[demo]\nsplit = '30x40'\n\n[keys]\nzoom = ['f', 'g z']\n\n[presets]\nnight = 'Act 40x30 zoom'\n"
	if string(b) != want {
		t.Errorf("the file is\n%s\nwant\n%s", b, want)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link became a file")
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if err := os.WriteFile(real, []byte("broken ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.KeepSetting(settings.Mouse, "true"); err == nil {
		t.Error("a broken file was written over")
	}
}
