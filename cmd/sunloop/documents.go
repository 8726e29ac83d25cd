package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"app.sunloop/cmd/sunloop/gen"
	"app.sunloop/themes"
	"app.sunloop/tui/settings"
)

// describeProgram returns the command line as pages and scripts show it. Paths of this
// machine are replaced by those of any person, so that the result is the same
// everywhere.
func describeProgram() (gen.Program, error) {
	var c cli
	parser, err := kong.New(&c, kong.Name("sunloop"), kong.Description(description), kong.Vars{"version": version, "data": "~/.local/share/sunloop"})
	if err != nil {
		return gen.Program{}, err
	}
	return gen.Program{App: parser.Model, Version: version, Date: date, Values: flagValues, Sections: manual}, nil
}

// flagValues returns the values of flags that the parser takes as text.
func flagValues(f *kong.Flag) []string {
	switch f.Name {
	case settings.Theme:
		names := []string{"auto"}
		for _, t := range themes.Builtin() {
			names = append(names, t.Name)
		}
		return names
	case settings.Preset:
		return []string{"auto", "balanced", "watch", "diagnose", "plan", "work"}
	}
	if s, ok := settings.Find(f.Name); ok && s.Kind == settings.Choice {
		return s.Choices
	}
	return nil
}

// manual are the sections of the page sunloop(1) that no flag implies.
var manual = []gen.Section{
	{Title: "ENVIRONMENT", Terms: [][2]string{
		{"SUNLOOP_CONFIG", "Configuration file."},
		{"SUNLOOP_TOKEN", "API key or token for --remote."},
		{"NO_COLOR, COLORTERM, TERM", "Colours of the terminal."},
		{"PGPASSWORD, PGPASSFILE", "Password of the database of --store."},
		{"AWS_*", "Credentials and region of the bucket of --objects, as the AWS command line reads them."},
	}, Paragraphs: []string{"Flags take precedence over the environment, and the environment over the configuration file. The page of each command names the variables of its flags."}},
	{Title: "FILES", Terms: [][2]string{
		{"~/.config/sunloop/config.toml", "Settings: top-level keys by the name of the flag, and a table for each command."},
		{"~/.config/sunloop/themes/", "Colour themes."},
		{"~/.local/share/sunloop/", "Data folder: records and telemetry, uploaded files and models, the key that encrypts secrets."},
	}},
	{Title: "EXIT STATUS", Terms: [][2]string{
		{"0", "Success. For status, alerts, findings, orders, forecast and kpi: nothing critical is open."},
		{"1", "The command failed. For the six commands above: something critical is open."},
		{"2", "The command line or the configuration is wrong."},
		{"3", "The six commands above: the service is unreachable or refused the request."},
		{"130", "Interrupted."},
	}},
	{Title: "EXAMPLES", Terms: [][2]string{
		{"sunloop demo", "Open the console on a simulated fleet."},
		{"sunloop inspect export.csv --tz Europe/Vienna", "Show what an import would read."},
		{"sunloop import export.csv --site roof --tz Europe/Vienna --capacity-kw 54.6", "Import a file, train and forecast."},
		{"sunloop serve --listen :8443 --tls self", "Serve the API over TLS."},
		{"sunloop --remote https://ops.example.com", "Open the console on a service."},
	}},
}

// CompletionCmd prints a completion script.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: ${enum}."`
}

// Help shows how the scripts are loaded.
func (CompletionCmd) Help() string {
	return "To load it in a session: source <(sunloop completion bash), source <(sunloop completion zsh), or sunloop completion fish | source. Packages install the scripts where the shells find them."
}

// Run prints the script.
func (c CompletionCmd) Run(std streams) error {
	p, err := describeProgram()
	if err != nil {
		return err
	}
	script, ok := p.Completion(c.Shell)
	if !ok {
		return fmt.Errorf("completion: unknown shell %q; want %s", c.Shell, strings.Join(gen.Shells, ", "))
	}
	_, err = std.out.Write(script)
	return err
}

// ManCmd prints or writes manual pages.
type ManCmd struct {
	Command []string `arg:"" optional:"" help:"Command whose page is printed, for example admin backup (the page of sunloop)."`
	Dir     string   `placeholder:"DIR" type:"path" help:"Write the pages of all commands into this folder."`
}

// Help shows how a page is read.
func (ManCmd) Help() string { return "To read a page: sunloop man serve | man -l -" }

// Run prints one page, or writes all of them.
func (c ManCmd) Run(std streams) error {
	p, err := describeProgram()
	if err != nil {
		return err
	}
	if c.Dir != "" {
		if len(c.Command) > 0 {
			return fmt.Errorf("man: --dir writes the pages of all commands; leave %s out", strings.Join(c.Command, " "))
		}
		return p.WritePages(c.Dir)
	}
	n, ok := p.Find(c.Command...)
	if !ok {
		return fmt.Errorf("man: unknown command %q", strings.Join(c.Command, " "))
	}
	_, err = std.out.Write(p.Page(n))
	return err
}

// Marks in docs/configuration.md, around a table.
const (
	settingsBegin = "<!-- %s: made by `make generate` from the flags -->\n"
	settingsEnd   = "<!-- end of %s -->\n"
)

// settingsTables are the tables of docs/configuration.md: the name of each
// there, the command whose flags it lists, and a second command that must have
// these flags too. Flags of an earlier table are left out.
var settingsTables = []struct{ name, command, also string }{
	{"common", "", ""}, {"service", "serve", "console"}, {"console", "console", ""}, {"serve", "serve", ""}, {"ssh", "ssh", ""}, {"demo", "demo", ""}, {"import", "import", ""},
}

// writeSettings rewrites the tables in a document.
func writeSettings(path string) error {
	p, err := describeProgram()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range settingsTables {
		n, ok := p.Find(strings.Fields(t.command)...)
		also, ok2 := p.Find(strings.Fields(t.also)...)
		if !ok || !ok2 {
			return fmt.Errorf("settings %s: unknown command %q or %q", t.name, t.command, t.also)
		}
		text := p.Flags(n, func(f *kong.Flag) bool {
			if t.also != "" && !slices.ContainsFunc(also.Flags, func(other *kong.Flag) bool { return other.Name == f.Name }) {
				return true
			}
			key := f.Name + "\x00" + f.Help
			known := seen[key]
			seen[key] = true
			return known
		})
		if err := replaceBetween(path, fmt.Sprintf(settingsBegin, t.name), fmt.Sprintf(settingsEnd, t.name), text); err != nil {
			return err
		}
	}
	return replaceBetween(path, fmt.Sprintf(settingsBegin, "commands"), fmt.Sprintf(settingsEnd, "commands"), p.CommandTable())
}

// VersionCmd prints the version.
type VersionCmd struct{}

// Run prints the version, the commit that it was built from with its date, and
// the toolchain and platform.
func (VersionCmd) Run(std streams) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "sunloop %s", version)
	if commit != "" {
		fmt.Fprintf(&b, " (commit %s", commit)
		if date != "" {
			fmt.Fprintf(&b, ", %s", date)
		}
		b.WriteString(")")
	}
	fmt.Fprintf(&b, " %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	_, err := std.out.Write(b.Bytes())
	return err
}
