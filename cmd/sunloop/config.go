package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"

	"app.sunloop/backend/auth"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/tui/settings"
)

// Globals are flags that every command has. Each may also stand in the
// configuration file or in the environment.
type Globals struct {
	ConfigFile string `name:"config" placeholder:"FILE" help:"Configuration file (default: config.toml in the configuration folder)." type:"path"`
	Data       string `placeholder:"DIR" default:"${data}" env:"SUNLOOP_DATA" help:"Data folder of the embedded service (${default}); the demo keeps its data only if this is set." type:"path"`
	StoreFlags
	LogLevel string `default:"info" enum:"debug,info,warn,error" env:"SUNLOOP_LOG_LEVEL" help:"Log level: ${enum}."`

	file    configFile
	command string          // that runs
	given   map[string]bool // flags that stand on the command line
}

// configFile is the path of the configuration file, there or not.
func (g *Globals) configFile() string {
	if g.ConfigFile != "" {
		return g.ConfigFile
	}
	path, _ := configPath(nil)
	return path
}

// configFile answers flags from a TOML file: top-level keys by the flag's
// name, keys of a [command] table for that command alone.
type configFile struct {
	path   string
	values map[string]any
	// Keys are the user's own bindings, by action.
	Keys map[string][]string
	// Presets are the user's own arrangements of the panes, by name.
	Presets map[string]string
	// Providers are the issuers whose tokens people sign in with.
	Providers []auth.Provider
}

// load reads path; a missing default file is no error.
func (f *configFile) load(path string, explicit bool) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !explicit {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if err := toml.Unmarshal(b, &f.values); err != nil {
		var d *toml.DecodeError
		if errors.As(err, &d) {
			row, col := d.Position()
			return fmt.Errorf("%s line %d column %d: %s", path, row, col, strings.TrimPrefix(d.Error(), "toml: "))
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	f.path = path
	if tables, ok := f.values[providerTable]; ok {
		if f.Providers, err = readProviders(tables); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	var keys struct {
		Keys    map[string]any    `toml:"keys"`
		Presets map[string]string `toml:"presets"`
	}
	if err := toml.Unmarshal(b, &keys); err != nil {
		return fmt.Errorf("%s: keys and presets: %w", path, err)
	}
	f.Presets = keys.Presets
	f.Keys = map[string][]string{}
	for action, v := range keys.Keys {
		switch v := v.(type) {
		case string:
			f.Keys[action] = []string{v}
		case []any:
			for _, k := range v {
				s, ok := k.(string)
				if !ok {
					return fmt.Errorf("%s: keys: %s: %v is not a key's name", path, action, k)
				}
				f.Keys[action] = append(f.Keys[action], s)
			}
		default:
			return fmt.Errorf("%s: keys: %s must be a key's name or a list of them", path, action)
		}
	}
	return nil
}

// Validate refuses keys of the file that no flag has.
func (f *configFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, flag := range app.Flags {
		known[flag.Name] = true
	}
	commands := map[string]map[string]bool{}
	for _, c := range app.Children {
		flags := map[string]bool{}
		for _, flag := range c.Flags {
			flags[flag.Name] = true
			known[flag.Name] = true
		}
		commands[c.Name] = flags
	}
	for key, v := range f.values {
		if key == "keys" || key == presetTable || key == providerTable { // checked where they are used; providers are read
			continue
		}
		if table, ok := v.(map[string]any); ok && commands[key] != nil {
			for k := range table {
				if !commands[key][k] {
					return fmt.Errorf("%s: [%s] has no setting %q", f.path, key, k)
				}
			}
			continue
		}
		if !known[key] {
			return fmt.Errorf("%s: there is no setting %q", f.path, key)
		}
	}
	return nil
}

// presetTable holds arrangements of the panes.
const presetTable = "presets"

// Resolve finds a flag's value in the file.
func (f *configFile) Resolve(k *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	command := ""
	if parent.Node() != nil && parent.Node().Type == kong.CommandNode {
		command = parent.Node().Name
		if group := parent.Node().Parent; group != nil && group.Type == kong.CommandNode && group.DefaultCmd == parent.Node() {
			command = group.Name // as in "import FILE"
		}
	}
	if v, ok := f.of(command, flag.Name); ok {
		return value(v, flag), nil
	}
	return nil, nil
}

// of is what the file says of a flag of a command: in the command's table, for
// how the console looks in that of the console, or outside of tables.
func (f *configFile) of(command, name string) (any, bool) {
	tables := []string{command}
	if _, ok := settings.Find(name); ok {
		tables = append(tables, consoleTable)
	}
	for _, t := range tables {
		if table, ok := f.values[t].(map[string]any); ok {
			if v, ok := table[name]; ok {
				return v, true
			}
		}
	}
	v, ok := f.values[name]
	if _, table := v.(map[string]any); table {
		return nil, false
	}
	return v, ok
}

// value converts v for kong: a list for a flag of texts stays a list,
// whatever its texts contain.
func value(v any, flag *kong.Flag) any {
	list, ok := v.([]any)
	if !ok || !flag.IsSlice() || flag.Target.Type().Elem().Kind() != reflect.String {
		return flat(v)
	}
	texts := make([]any, len(list))
	for i, e := range list {
		texts[i] = fmt.Sprint(e)
	}
	return texts
}

// flat turns TOML's lists into what kong parses.
func flat(v any) any {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = fmt.Sprint(e)
	}
	return strings.Join(parts, ",")
}

// configPath is the file that the command line, the environment or the
// platform names, and whether it was named by a person.
func configPath(args []string) (path string, explicit bool) {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			return v, true
		}
		if a == "--config" && i+1 < len(args) {
			return args[i+1], true
		}
	}
	if p := os.Getenv("SUNLOOP_CONFIG"); p != "" {
		return p, true
	}
	return filepath.Join(configDir(), "config.toml"), false
}

// configDir holds config.toml and the user's own themes.
func configDir() string {
	if dir, err := os.UserConfigDir(); err == nil {
		return filepath.Join(dir, "sunloop")
	}
	return "sunloop-config"
}

// defaultDataDir is where the embedded service keeps its data.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "sunloop")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "sunloop")
	}
	return "sunloop-data"
}

// ConfigCmd shows and applies configuration.
type ConfigCmd struct {
	Show  ConfigShowCmd  `cmd:"" default:"withargs" help:"Print the configuration and its sources."`
	Apply ConfigApplyCmd `cmd:"" help:"Apply channels, people, rotations and routes of notifications from a file."`
}

// ConfigShowCmd shows the configuration.
type ConfigShowCmd struct {
	Explain bool   `help:"Show the source of each setting."`
	Into    string `hidden:"" placeholder:"FILE" type:"path" help:"Rewrite the tables of settings in a document, between their marks."`
}

// Run lists the settings of all commands and their values.
func (c ConfigShowCmd) Run(k *kong.Kong, g *Globals, std streams) error {
	if c.Into != "" {
		return writeSettings(c.Into)
	}
	fmt.Fprintf(std.out, "# configuration file: %s", g.configFile())
	if g.file.path == "" {
		fmt.Fprint(std.out, " (not there)")
	}
	fmt.Fprintln(std.out)
	show := func(section string, flags []*kong.Flag) {
		for _, f := range flags {
			if f.Name == "help" || f.Hidden {
				continue
			}
			source, value := "default", f.Default
			if table, ok := g.file.values[section].(map[string]any); ok && table[f.Name] != nil {
				source, value = "file, ["+section+"]", fmt.Sprint(flat(table[f.Name]))
			} else if v, ok := g.file.of(section, f.Name); ok {
				source, value = "file", fmt.Sprint(flat(v))
			}
			for _, env := range f.Envs {
				if v := os.Getenv(env); v != "" {
					source, value = env, v
				}
			}
			if slices.Contains([]string{"token", "api-key", "password", "weather-key", "smtp-password", "heartbeat"}, f.Name) && value != "" {
				value = "[redacted]"
			}
			if f.Name == "store" && value != "" && postgres.CheckURL(value) != nil {
				value = "[redacted]" // the position of the password is unknown
			}
			value = withoutPassword(value)
			fmt.Fprintf(std.out, "%-14s = %q", f.Name, value)
			if c.Explain {
				fmt.Fprintf(std.out, "  # %s; %s", source, f.Help)
			}
			fmt.Fprintln(std.out)
		}
	}
	show("", k.Model.Flags)
	for _, cmd := range k.Model.Children {
		if len(cmd.Flags) > 0 && !cmd.Hidden {
			fmt.Fprintf(std.out, "\n[%s]\n", cmd.Name)
			show(cmd.Name, cmd.Flags)
		}
	}
	return showProviders(std.out, g.file.values[providerTable])
}
