//go:build !gateway

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"app.sunloop/backend/migrate"
	"app.sunloop/backend/store"
	"app.sunloop/internal/display"
)

// Run migrates the folder, or continues an interrupted migration; the exit
// status is 1 if the target differs from the folder in the end.
func (c *MigrateCmd) Run(ctx context.Context, g *Globals, std streams) error {
	o := migrate.Options{From: c.From, To: c.To, Objects: g.Objects, VerifyOnly: c.VerifyOnly, Now: time.Now, Log: g.headlessLog(std.err).With("command", "migrate")}
	if o.From == "" {
		o.From = g.Data
	}
	f, ok := fileOf(std.err)
	if ok && term.IsTerminal(int(f.Fd())) {
		o.Progress = progressLine(f)
	}
	report, err := migrate.Run(ctx, o)
	if o.Progress != nil {
		fmt.Fprint(f, "\r\033[K")
	}
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("%w; stop it first", err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(std.out).Encode(report)
	} else {
		err = c.print(std.out, o, report)
	}
	if err == nil && len(report.Differences) > 0 {
		return exitStatus(1)
	}
	return err
}

// progressEvery is how often the line of progress changes.
const progressEvery = 200 * time.Millisecond

// progressLine shows on a terminal how far a migration has come.
func progressLine(f *os.File) func(migrate.Progress) {
	var step string
	var begin, shown time.Time
	return func(p migrate.Progress) {
		now := time.Now()
		if p.Step != step {
			step, begin = p.Step, now
		} else if now.Sub(shown) < progressEvery {
			return
		}
		shown = now
		fmt.Fprintf(f, "\r%s: %d of %s, %s\033[K", p.Step, p.Rows, display.Bytes(p.Bytes), rate(p.Bytes, now.Sub(begin).Seconds()))
	}
}

// rate is bytes in a second.
func rate(n int64, seconds float64) string {
	if seconds < 0.001 {
		return "–"
	}
	return display.ByteRate(float64(n) / seconds)
}

// print prints the report, and what is to be done next.
func (c *MigrateCmd) print(out io.Writer, o migrate.Options, r *migrate.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tparts\trows\tsize\tcopied\tin\trows/s\t\tcompared in\t\t")
	for _, s := range r.Steps {
		parts, perSecond := "–", "–"
		if s.Name != migrate.Objects {
			parts = fmt.Sprint(s.Parts)
		}
		if s.CopySeconds >= 0.001 {
			perSecond = fmt.Sprintf("%.0f", float64(s.CopiedRows)/s.CopySeconds)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%.1f s\t%s\t%s\t%.1f s\t%s\t\n", s.Name, parts, s.Rows, display.Bytes(s.Bytes), s.CopiedRows, s.CopySeconds, perSecond,
			rate(s.CopiedBytes, s.CopySeconds), s.VerifySeconds, rate(s.Bytes, s.VerifySeconds))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, d := range r.Differences {
		fmt.Fprintln(out, d)
	}
	switch {
	case len(r.Differences) > 0 && (c.VerifyOnly || r.Complete):
		fmt.Fprintln(out, "The target differs from the data folder.")
	case len(r.Differences) > 0:
		fmt.Fprintln(out, "The target differs from the data folder, and services refuse to open it. Recreate the database, empty the storage of objects, and migrate again.")
	case c.VerifyOnly:
		fmt.Fprintln(out, "The target has the same content as the data folder.")
	default:
		c.next(out, o)
	}
	return nil
}

// next prints what else replicas require.
func (c *MigrateCmd) next(out io.Writer, o migrate.Options) {
	from := o.From
	fmt.Fprintln(out, "The target has the same content as the data folder.")
	fmt.Fprintf(out, "Copy %s to each replica: stored secrets cannot be decrypted without it.\n", filepath.Join(from, "sunloop.key"))
	var more []string
	for _, name := range []string{"tls", "ssh"} {
		if info, err := os.Stat(filepath.Join(from, name)); err == nil && info.IsDir() {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		fmt.Fprintf(out, "Copy the folder %s of it to their data folders too: clients have accepted its fingerprints.\n", strings.Join(more, " and the folder "))
	}
	if o.Objects == "" {
		fmt.Fprintf(out, "The objects stay in %s, which only one replica can use; several need --objects.\n", filepath.Join(from, "objects"))
	}
}
