// Command sunloop is the operations console for solar plants, the HTTP service
// behind it and the tools around both. This package only wires: one file a
// command.
package main

import (
	// Must be first by path among what imports lipgloss: see ARCHITECTURE.md, "Terminals that do not respond".
	_ "app.sunloop/cmd/sunloop/background"

	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // zones on machines that have none

	"github.com/alecthomas/kong"
)

// Set by the linker: the version, and the commit with its date (YYYY-MM-DD)
// where they are known.
var (
	version      = "dev"
	commit, date string
)

// description is what the program is, for its help and its manual page.
const description = "Operations console for solar plants: faults, their cost, and the work that repairs them."

// cli is the whole command line.
type cli struct {
	Globals

	Console ConsoleCmd `cmd:"" default:"withargs" help:"Run the console on the local data folder or on a remote service (--remote)."`
	Demo    DemoCmd    `cmd:"" help:"Run the console on a simulated fleet with live telemetry and faults."`
	Serve   ServeCmd   `cmd:"" help:"Run the HTTP service without a console."`
	SSH     SSHCmd     `cmd:"" name:"ssh" help:"Serve the console over SSH."`
	Import  ImportCmd  `cmd:"" help:"Import exports of portals, loggers and meters, train and forecast."`
	Inspect InspectCmd `cmd:"" help:"Show what would be imported from a file, without importing it."`
	Gateway GatewayCmd `cmd:"" help:"Read inverters, meters and weather stations of a plant (SunSpec over Modbus)."`
	Status  StatusCmd  `cmd:"" help:"Print the state and the findings of sites as text or JSON."`

	Alerts       AlertsCmd       `cmd:"" help:"List alarms, most urgent first."`
	Findings     FindingsCmd     `cmd:"" help:"List findings with their start and cost."`
	Orders       OrdersCmd       `cmd:"" help:"List work orders with assignee and delays."`
	Forecast     ForecastCmd     `cmd:"" help:"Print the production forecast as text, chart or JSON."`
	KPI          KPICmd          `cmd:"" name:"kpi" help:"Print the KPIs of a period as text or JSON."`
	Ratings      RatingsCmd      `cmd:"" help:"Print or set the ratings and irradiance sensors of sites, which KPIs need."`
	Availability AvailabilityCmd `cmd:"" help:"Print and change the availability of units by the categories of IEC TS 63019."`
	Notify       NotifyCmd       `cmd:"" help:"Test and explain notifications of alarms, and print who is on call."`

	Sites       SitesCmd       `cmd:"" help:"List, add, rename, archive and remove sites, and change their time zones."`
	Units       UnitsCmd       `cmd:"" help:"Merge units."`
	Backtest    BacktestCmd    `cmd:"" help:"Backtest the forecast on a history in files against simple references."`
	Interpolate InterpolateCmd `cmd:"" help:"Fill the gaps of a file, and show the error of each method on hidden samples."`
	Simulate    SimulateCmd    `cmd:"" help:"Write simulated fleets with known faults: telemetry as CSV, truth as JSON."`
	Score       ScoreCmd       `cmd:"" help:"Score fault detection on fleets with known faults."`
	TLS         TLSCmd         `cmd:"" name:"tls" help:"Print fingerprint and names of the certificate of serve --tls self."`
	Admin       AdminCmd       `cmd:"" help:"Administer users, keys, jobs, backups and data."`
	Keys        KeysCmd        `cmd:"" help:"Print the keys of the console."`
	Config      ConfigCmd      `cmd:"" help:"Print the configuration and its sources, and apply that of notifications."`
	Doctor      DoctorCmd      `cmd:"" help:"Check terminal, configuration, data folder and service."`
	Health      HealthCmd      `cmd:"" help:"Check whether a service works; the exit status is for container supervisors."`
	Completion  CompletionCmd  `cmd:"" help:"Print the completion script for a shell."`
	Man         ManCmd         `cmd:"" help:"Print the manual page of a command."`
	Version     VersionCmd     `cmd:"" help:"Print version, commit and platform."`

	Screenshot ScreenshotCmd `cmd:"" hidden:"" help:"Draw the demo's screen to an SVG file."`
}

// streams are the process's own, or a test's.
type streams struct {
	in       *os.File
	out, err io.Writer
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		signal.Stop(signals) // before cancel: a second signal ends a process that is already shutting down
		cancel()
	}()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run executes one command line and returns the exit status: 0, 1 when the
// command failed, 2 when the command line is wrong, or a command's own.
func run(ctx context.Context, args []string, std streams) int {
	var c cli
	exit := -1
	args = joinNegative(args)
	std.out, std.err = &visible{w: std.out}, &visible{w: std.err}
	parser, err := kong.New(&c,
		kong.Name("sunloop"),
		kong.Description(description),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exit = code }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": version, "data": defaultDataDir()},
		kong.Resolvers(&c.file),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std),
	)
	if err != nil {
		fmt.Fprintln(std.err, "sunloop:", err)
		return 2
	}
	if path, explicit := configPath(args); true {
		err = c.file.load(path, explicit)
	}
	if err != nil {
		fmt.Fprintln(std.err, "sunloop:", err)
		return 2
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	k, err := parser.Parse(args)
	if exit >= 0 { // --help
		return exit
	}
	if err != nil {
		var p *kong.ParseError
		if word, ok := unknownCommand(args, err); ok {
			fmt.Fprintf(std.err, "sunloop: there is no command %q. Try: sunloop %s--help\n", word, similarCommand(parser.Model.Node, word))
		} else if errors.As(err, &p) && p.Context != nil {
			// The parser's suggestions end with a question mark, which a full stop would follow.
			fmt.Fprintf(std.err, "sunloop: %s. Try: sunloop %s--help\n", strings.TrimSuffix(err.Error(), "?"), commandPath(p.Context))
		} else {
			fmt.Fprintln(std.err, "sunloop:", err)
		}
		return 2
	}
	if err := c.checkBuild(); err != nil {
		fmt.Fprintln(std.err, "sunloop:", err)
		return 2
	}
	if err := c.readStoreFile(); err != nil {
		fmt.Fprintln(std.err, "sunloop:", err)
		return 2
	}
	k.Bind(&c.Globals)
	if err := k.Run(&c.Globals); err != nil {
		var s exitStatus
		if errors.As(err, &s) {
			return int(s)
		}
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return 130
		}
		fmt.Fprintln(std.err, "sunloop:", err)
		var f *failure
		if errors.As(err, &f) {
			return f.status
		}
		return 1
	}
	return 0
}

// unknownCommand is the first word where it names no command: the parser takes
// it for an argument of the default one.
func unknownCommand(args []string, err error) (word string, ok bool) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "", false
	}
	return args[0], strings.HasPrefix(err.Error(), "unexpected argument "+args[0])
}

// similarCommand is the command whose last word is the given one, such as admin backup of
// backup, with a trailing space; empty if there is none, or several.
func similarCommand(root *kong.Node, word string) string {
	found := ""
	for _, n := range root.Leaves(true) {
		if n.Name != word && !slices.Contains(n.Aliases, word) {
			continue
		}
		if found != "" {
			return ""
		}
		for ; n.Parent != nil; n = n.Parent {
			found = n.Name + " " + found
		}
	}
	return found
}

// commandPath is the command of a context with a trailing space, empty for none.
func commandPath(k *kong.Context) string {
	if n := k.Selected(); n != nil {
		return strings.TrimPrefix(n.FullPath(), k.Model.Name+" ") + " "
	}
	return ""
}

// exitStatus ends a command that has said everything already.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
