package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/engine/ingest"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
	"app.sunloop/tui/plain"
)

// ImportCmd imports files and reverts imports.
type ImportCmd struct {
	File   ImportFileCmd   `cmd:"" default:"withargs" help:"Import files: CSV, workbooks, archives, JSON and others."`
	Revert ImportRevertCmd `cmd:"" help:"Undo an import: restore the values that it replaced, and delete the others."`
}

// ImportRevertCmd undoes an import.
type ImportRevertCmd struct {
	Upload string `arg:"" help:"Id of the upload, as import prints it."`
	RemoteFlags
}

// Run undoes the import and says what that changed.
func (c *ImportRevertCmd) Run(ctx context.Context, g *Globals, std streams) error {
	revert := func(ctx context.Context, cl *client.Client) error {
		u, err := cl.RevertUpload(ctx, c.Upload)
		if err != nil {
			return clientError(err)
		}
		fmt.Fprintln(std.out, revertedText(*u))
		return nil
	}
	if c.Remote != "" {
		cl, err := c.client()
		if err != nil {
			return err
		}
		return revert(ctx, cl)
	}
	cfg := g.embedded()
	cfg.Logger = g.headlessLog(std.err).With("command", "import revert")
	service, err := openFolder(cfg)
	if err != nil {
		return err
	}
	return withService(ctx, service, func(ctx context.Context) error {
		return withOwnKey(ctx, service, ownKeyLasts, func(cl *client.Client) error { return revert(ctx, cl) })
	})
}

// revertedText describes what was done with the rows that a reverted upload had stored.
func revertedText(u api.Upload) string {
	text := fmt.Sprintf("%s of site %s: of %s stored, %d were removed and %d have their former values again", u.UploadID, u.SiteID, display.CountOf(u.RowsStored, "row", "rows"), u.RowsRemoved, u.RowsRestored)
	if rest := u.RowsStored - u.RowsRemoved - u.RowsRestored; rest > 0 {
		text += fmt.Sprintf("; %d stay, as other imports stored the same or later values", rest)
	}
	return text
}

// ImportFileCmd imports a file.
type ImportFileCmd struct {
	Files        []string `arg:"" name:"file" help:"Files, folders, patterns such as 'logs/*.csv', or - for the standard input: CSV and other text, workbooks, archives, JSON and others, recognised by their content. Text is read without a limit of size." type:"path"`
	Site         string   `required:"" help:"Site of the data; it is created if needed."`
	TZ           string   `name:"tz" placeholder:"ZONE" help:"Time zone of times without an offset, for example Europe/Berlin, and of a new site."`
	CapacityKW   float64  `name:"capacity-kw" placeholder:"KW" help:"AC capacity of the whole site."`
	Customer     string   `default:"default" help:"Customer of the site."`
	Location     string   `placeholder:"PLACE" help:"Location of the site: a town, for example Graz or \"Durban, ZA\", or 47.07,15.44."`
	Region       string   `default:"local" help:"Region in the storage path."`
	Manufacturer string   `help:"Manufacturer, if the file does not name it."`
	Asset        string   `help:"Name of the unit, if the file does not name it."`
	Nowcast      bool     `help:"Recent data: forecast and detect, but do not train."`
	NoTrain      bool     `help:"Stop once the data are stored; training follows when a service runs."`
	TrainingDays int      `default:"180" help:"Days of data before training starts."`
	MappingFlags
	RemoteFlags

	columns string       // mapping of the flags
	hold    *atomic.Bool // jobs other than imports wait in the embedded service; nil: a remote one
}

// Run imports the file and prints the result.
func (c *ImportFileCmd) Run(ctx context.Context, g *Globals, std streams) error {
	sources, err := expandFiles(c.Files)
	if err != nil {
		return err
	}
	if c.Location != "" {
		found, err := parsePlace(c.Location)
		if err != nil {
			return err
		}
		fmt.Fprintln(std.out, "place:", found.Description)
	}
	m, err := c.mapping()
	if err != nil {
		return err
	}
	c.columns = m.Text()
	if len(m.Entries) == 0 {
		c.columns = ""
	}
	if c.TZ != "" {
		if _, err := time.LoadLocation(c.TZ); err != nil {
			return fmt.Errorf("--tz: there is no time zone %q; they are named as in Europe/Berlin", c.TZ)
		}
	}
	if c.Remote != "" {
		cl, err := c.client()
		if err != nil {
			return err
		}
		return c.sendAll(ctx, cl, sources, std)
	}
	cfg := g.embedded()
	cfg.Logger, cfg.TrainingDays = g.headlessLog(std.err).With("command", "import"), c.TrainingDays
	c.hold = new(atomic.Bool)
	c.hold.Store(true) // until the last file is sent: jobs read all that is stored
	cfg.HoldJobs = c.hold.Load
	cfg.KeyRate = ownKeyRate
	service, err := openFolder(cfg)
	if err != nil {
		return err
	}
	return withService(ctx, service, func(ctx context.Context) error {
		return withOwnKey(ctx, service, ownKeyLasts, func(cl *client.Client) error { return c.sendAll(ctx, cl, sources, std) })
	})
}

// ownKeyRate is the requests a minute of a command on the data folder: the pieces of a
// large file are more than an API key may send.
const ownKeyRate = 6000

// How long the key of a command lives that is killed before it can end it.
const (
	ownKeyLasts = 12 * time.Hour
	forever     = 10 * 365 * 24 * time.Hour // of a console
)

// withOwnKey gives a command on the data folder a client with a key that lives
// as long as the command.
func withOwnKey(ctx context.Context, service *backend.Service, lasts time.Duration, do func(*client.Client) error) error {
	key, record, err := service.Auth().CreateKey(ctx, auth.NewKey{
		Name: commandLine, Role: api.RoleAdmin, Customers: []string{api.Every}, Sites: []string{api.Every},
		CreatedBy: commandLine, ExpiresAt: time.Now().Add(lasts),
	})
	if err != nil {
		return fmt.Errorf("make a key for the command: %w", err)
	}
	err = do(client.New(client.Options{Transport: client.InProcess(service.Handler()), Credential: key, Now: time.Now, MaxRetryWait: commandPatience}))
	_, _, revoked := service.Auth().As(api.Unlimited(commandLine)).RevokeKey(context.WithoutCancel(ctx), record.ID)
	return errors.Join(err, revoked)
}

// sendAll uploads the files, large ones in pieces. The training follows the last.
func (c *ImportFileCmd) sendAll(ctx context.Context, cl *client.Client, sources []source, std streams) error {
	m, err := c.mapping()
	if err != nil {
		return err
	}
	o := ingest.Options{CapacityKW: c.CapacityKW, Now: time.Now(), Asset: c.Asset, Mapping: m}
	if c.TZ != "" {
		if o.Zone, err = time.LoadLocation(c.TZ); err != nil {
			return err
		}
	}
	var done *api.Upload // the newest
	var failed []string
	units := map[string]string{}
	byValues := unitsByValues(sources, o, std.out)
	for i, s := range sources {
		file := *c
		file.Asset = cmp.Or(c.Asset, byValues[s.path])
		o := o
		o.Asset = file.Asset
		err := file.sendLarge(ctx, cl, s, i == len(sources)-1, std, &done)
		if errors.Is(err, errNotLarge) {
			err = s.pieces(std, func(data []byte) (*ingest.Result, error) { return ingest.Read(bytes.NewReader(data), o) },
				func(data []byte, name string, first *ingest.Result, last bool) error {
					columns := c.columns
					if first != nil {
						columns = first.Mapping.Text()
						if c.columns == "" { // not stated by a person
							columns = api.InferredMapping + "\n" + columns
						}
					}
					u, err := file.send(ctx, cl, data, name, columns, last && i == len(sources)-1, std.out)
					if err != nil {
						return err
					}
					done = u
					printContradictions(std.out, *u, s.name, units)
					return nil
				})
		}
		var lost *serviceLost
		switch {
		case err == nil:
			continue
		case len(sources) == 1 || ctx.Err() != nil || errors.As(err, &lost):
			return err
		}
		fmt.Fprintln(std.err, "sunloop:", err)
		failed = append(failed, s.name)
		if i == len(sources)-1 {
			c.release()
		}
		if i == len(sources)-1 && done != nil && !c.NoTrain { // the last file, which the training follows
			if done, err = follow(ctx, cl, done.UploadID, false, c.pause(), std.out); err != nil {
				return err
			}
			c.printResults(ctx, cl, *done, std.out)
		}
	}
	if len(failed) > 0 {
		fmt.Fprintf(std.err, "sunloop: %d of %s were not imported: %s\n", len(failed), display.CountOf(len(sources), "file", "files"), strings.Join(failed, ", "))
		return exitStatus(1)
	}
	return nil
}

// errNotLarge says that a file is sent in one request, or in pieces.
var errNotLarge = errors.New("not a large file")

// sendLarge sends a large file to a service in parts, which continue after an
// interruption of either side.
func (c *ImportFileCmd) sendLarge(ctx context.Context, cl *client.Client, s source, last bool, std streams, done **api.Upload) error {
	if c.Remote == "" || s.path == "-" {
		return errNotLarge
	}
	info, err := os.Stat(s.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() <= int64(s.whole) {
		return errNotLarge
	}
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	req := c.request(filepath.Base(s.path), c.columns)
	if req.Kind = api.UploadTrain; c.Nowcast {
		req.Kind = api.UploadNowcast
	}
	start, first := time.Now(), int64(-1)
	ack, err := cl.UploadLarge(ctx, client.LargeUpload{Request: req, File: f, Size: info.Size(), Progress: func(sent int64, again error) {
		switch {
		case again != nil:
			fmt.Fprintf(std.err, "%s: %v; trying again\n", s.name, clientError(again))
		case first < 0:
			if first = sent; sent > 0 {
				fmt.Fprintf(std.err, "%s: continues at %s\n", s.name, display.Bytes(sent))
			}
		default:
			fmt.Fprintln(std.err, progressFrom(s.name, first, sent, info.Size(), time.Since(start)))
		}
	}})
	if err != nil {
		return notSent(s.name, err)
	}
	u, err := c.followed(ctx, cl, ack, s.name, last, std.out)
	if err == nil {
		*done = u
	}
	return err
}

// serviceLost is an error of the service rather than of the file: the files that
// follow would fail in the same way.
type serviceLost struct{ error }

func (e *serviceLost) Unwrap() error { return e.error }

// notSent is the error of a file that the service did not accept.
func notSent(name string, err error) error {
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden || refusal.RetryAfter > 0 || refusal.Status >= http.StatusInternalServerError {
		return &serviceLost{fmt.Errorf("%s: %w", name, clientError(err))}
	}
	reason, ok := refusal.Details["reason"].(string)
	if text := []string{"", ".csv", ".txt", ".tsv"}; ok && errors.Is(refusal, api.ErrInvalidCSV) && !slices.Contains(text, strings.ToLower(filepath.Ext(name))) {
		return fmt.Errorf("%s: %s", name, reason)
	}
	return fmt.Errorf("%s: %w", name, clientError(err))
}

// printContradictions warns where a file replaces values of units that another file of
// the same command had: files of different units that do not name them. units are the
// names of the files by the units that they had.
func printContradictions(out io.Writer, u api.Upload, file string, units map[string]string) {
	for _, id := range u.AssetIDs {
		if before := units[id]; before != "" && before != file && u.RowsReplaced > 0 {
			fmt.Fprintf(out, "!  %s of %s contradicted rows of %s and replaced values of unit %s. If the files are of different units: "+
				"sunloop import revert %s, then import each file with --asset NAME, or all of them as one zip, which names units by the files\n", display.CountOf(u.RowsReplaced, "row", "rows"), file, before, id, u.UploadID)
			break
		}
	}
	for _, id := range u.AssetIDs {
		units[id] = file
	}
}

// send uploads a file and follows it until its data are stored, or the last one to
// its end.
func (c *ImportFileCmd) send(ctx context.Context, cl *client.Client, data []byte, name, columns string, last bool, out io.Writer) (*api.Upload, error) {
	req := c.request(name, columns)
	upload := cl.UploadTrain
	if c.Nowcast {
		upload = cl.UploadNowcast
	}
	if last {
		c.release()
	}
	ack, err := upload(ctx, req, bytes.NewReader(data), nil)
	for busy := (*api.Error)(nil); errors.As(err, &busy) && errors.Is(busy, api.ErrTooManyRequests) && busy.RetryAfter > 0; {
		// A file of many pieces has more requests than a minute allows.
		if err := clock.Sleep(ctx, time.Duration(busy.RetryAfter)*time.Second); err != nil {
			return nil, err
		}
		busy = nil
		ack, err = upload(ctx, req, bytes.NewReader(data), nil)
	}
	if err != nil {
		return nil, notSent(name, err)
	}
	return c.followed(ctx, cl, ack, name, last, out)
}

// release lets the jobs of the embedded service run that follow an import, unless the
// command ends before them.
func (c *ImportFileCmd) release() {
	if c.hold != nil && !c.NoTrain {
		c.hold.Store(false)
	}
}

// request is the request of a file.
func (c *ImportFileCmd) request(name, columns string) api.UploadRequest {
	location := c.Location
	if location == "" {
		location = "unknown"
	}
	return api.UploadRequest{
		CustomerID: c.Customer, SiteID: c.Site, Region: c.Region, Location: location, Manufacturer: c.Manufacturer,
		Timezone: c.TZ, CapacityKW: c.CapacityKW, AssetID: c.Asset, Filename: name, Mapping: columns,
	}
}

// followed follows an acknowledged file until its data are stored, or the last one to its
// end, and prints the result.
func (c *ImportFileCmd) followed(ctx context.Context, cl *client.Client, ack *api.UploadAck, name string, last bool, out io.Writer) (*api.Upload, error) {
	if message := ack.Message; c.NoTrain && c.Remote != "" {
		fmt.Fprintln(out, "File uploaded as", ack.UploadID+". This command ends once its data are stored; the service may train with them later.")
	} else if c.NoTrain {
		fmt.Fprintln(out, "File uploaded as", ack.UploadID+". This command ends once its data are stored; nothing is trained.")
	} else {
		fmt.Fprintln(out, message, "Upload:", ack.UploadID)
	}
	u, err := follow(ctx, cl, ack.UploadID, c.NoTrain || !last, c.pause(), out)
	if err != nil {
		return nil, &serviceLost{err}
	}
	if u.ProcessingStatus == api.UploadRejected || u.ProcessingStatus == api.UploadFailed {
		return nil, fmt.Errorf("%s: %s", name, u.Error)
	}
	printUpload(out, *u)
	if c.TZ == "" && u.Timezone == "UTC" {
		fmt.Fprintln(out, "!  no --tz: times that carry no zone are read as UTC, and the site's days are UTC's")
	}
	if last && !c.NoTrain && u.Ended() {
		c.printResults(ctx, cl, *u, out)
	}
	return u, nil
}

// printResults says what the data of the files show once the site is trained.
func (c *ImportFileCmd) printResults(ctx context.Context, cl *client.Client, u api.Upload, out io.Writer) {
	c.printHistory(ctx, cl, u, out)
	printForecast(ctx, cl, c.Customer, c.Site, out)
}

// pause is the time between two requests about an upload: those to a service are within
// the 60 a minute of an API key.
func (c *ImportFileCmd) pause() time.Duration {
	if c.hold != nil {
		return 100 * time.Millisecond
	}
	return 1100 * time.Millisecond
}

// follow polls an upload until it has ended, or its data are stored.
func follow(ctx context.Context, cl *client.Client, id string, stored bool, pause time.Duration, out io.Writer) (*api.Upload, error) {
	stage := ""
	for {
		u, err := cl.Upload(ctx, id)
		if err != nil {
			var refusal *api.Error
			if !errors.As(err, &refusal) || refusal.RetryAfter == 0 {
				return nil, fmt.Errorf("follow upload %s: %w", id, clientError(err))
			}
			if err := clock.Sleep(ctx, time.Duration(refusal.RetryAfter)*time.Second); err != nil {
				return nil, err
			}
			continue
		}
		if now := u.ProcessingStatus + " " + u.Stage; now != stage && !u.Ended() {
			stage = now
			fmt.Fprintln(out, strings.TrimSpace(now))
		}
		if u.Ended() || stored && u.RowsStored > 0 {
			return u, nil
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// printUpload says what was imported, and what was inferred.
func printUpload(out io.Writer, u api.Upload) {
	fmt.Fprintf(out, "%s: %s stored (%d read, %d missing, %d replaced), %s to %s\n", u.Filename, display.CountOf(u.RowsStored, "row", "rows"), u.RowsRead, u.RowsMissing, u.RowsReplaced, u.FirstRecord, u.LastRecord)
	if len(u.AssetIDs) > 0 {
		fmt.Fprintf(out, "units: %s\n", strings.Join(u.AssetIDs, ", "))
	}
	for _, reason := range slices.Sorted(maps.Keys(u.RowsSkipped)) {
		fmt.Fprintf(out, "skipped: %s, %s\n", display.CountOf(u.RowsSkipped[reason], "row", "rows"), reason)
	}
	var columns []ingest.Column
	for _, c := range u.Columns {
		columns = append(columns, ingest.Column{Number: c.Number, Title: c.Title, Role: c.Role, Unit: c.Unit, Asset: c.Asset, Reason: c.Reason})
	}
	printColumns(out, columns)
	for _, d := range u.Decisions {
		fmt.Fprintln(out, "-", d)
	}
	for _, w := range u.Warnings {
		fmt.Fprintln(out, "! ", w)
	}
}

// printHistory says what the detector found in the time of the file's data.
func (c *ImportFileCmd) printHistory(ctx context.Context, cl *client.Client, u api.Upload, out io.Writer) {
	r, err := cl.History(ctx, api.ListQuery{CustomerID: c.Customer, SiteID: c.Site, From: u.FirstRecord, To: api.At(u.LastRecord.Add(time.Second))})
	if err != nil {
		fmt.Fprintf(out, "no summary of the history: %v\n", clientError(err))
		return
	}
	zone, err := time.LoadLocation(u.Timezone)
	if err != nil {
		zone = time.UTC
	}
	fmt.Fprintf(out, "what this history shows, %s to %s:\n", plain.When(u.FirstRecord, zone), plain.When(u.LastRecord, zone))
	printHistoryLines(ctx, cl, api.SiteRef{CustomerID: c.Customer, SiteID: c.Site}, r.History, zone, out)
}

// printHistoryLines prints what a history shows; if it has no finding, also what detection
// could evaluate.
func printHistoryLines(ctx context.Context, cl *client.Client, of api.SiteRef, h api.History, zone *time.Location, out io.Writer) {
	lines := plain.History(h, zone)
	if h.Count == 0 {
		r, err := cl.Detections(ctx, api.ListQuery{CustomerID: of.CustomerID, SiteID: of.SiteID, Page: api.Page{Limit: 1}})
		if err != nil {
			lines = append(lines, fmt.Sprintf("what detection could evaluate is unknown: %v", clientError(err)))
		} else {
			lines = append(lines, plain.Evaluation(r.Detections)...)
		}
	}
	for _, line := range lines {
		fmt.Fprintln(out, "  "+line)
	}
}

// printForecast says what the site's model expects.
func printForecast(ctx context.Context, cl *client.Client, customer, site string, out io.Writer) {
	f, err := cl.Forecast(ctx, api.ForecastQuery{CustomerID: customer, SiteID: site, HorizonHours: 48})
	if err != nil {
		fmt.Fprintf(out, "no forecast: %v\n", clientError(err))
		return
	}
	var kwh float64
	for _, v := range f.Forecasts[:min(24, len(f.Forecasts))] {
		kwh += v.PredictedPowerKW * float64(f.StepMinutes) / 60
	}
	fmt.Fprintf(out, "forecast: %s (P50) in the 24 hours from %s; model %s, accuracy %s in its backtest\n",
		display.Energy(kwh), f.Forecasts[0].Timestamp, f.Metadata.ModelVersion, display.Percent(f.Metadata.ModelAccuracy))
}

// readFile reads a file, unpacking gzip, up to what an upload takes.
func readFile(path string) (data []byte, name string, err error) {
	file := newSource(path)
	name = file.name
	r, _, err := file.open(nil)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	data, err = io.ReadAll(io.LimitReader(r, api.MaxUploadBytes+1))
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) == 0 {
		return nil, "", fmt.Errorf("%s: the file is empty", name)
	}
	if len(data) > api.MaxUploadBytes {
		return nil, "", fmt.Errorf("%s: %s", path, api.ErrFileTooLarge.Message)
	}
	return data, name, nil
}
