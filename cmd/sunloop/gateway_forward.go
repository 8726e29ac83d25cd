package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/admin"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/gateway/forward"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/internal/display"
)

// Names in the data folder of what is sent to another service.
const (
	forwardFile   = "forward.json"
	queueFolder   = "forward" // of the batches that wait; not "spool", which the service clears when it starts
	refusedPoints = "refused-points.jsonl"
	filesFolder   = "forward-files" // of the files that wait
	refusedFiles  = "refused-files.jsonl"
)

// target is the service that a gateway joined, with the gateway's key: the content of
// forward.json.
type target struct {
	URL         string    `json:"url"`
	SiteID      string    `json:"site_id"`
	CustomerID  string    `json:"customer_id"`
	GatewayID   string    `json:"gateway_id"`
	APIKey      string    `json:"api_key"`
	KeyMade     time.Time `json:"key_made_at"`
	Fingerprint string    `json:"tls_fingerprint,omitempty"`
	Authorities string    `json:"tls_ca,omitempty"`          // PEM
	MaxBytes    int64     `json:"spool_max_bytes,omitempty"` // 0: the default
	FilesBytes  int64     `json:"files_max_bytes,omitempty"` // 0: the default
}

// GatewayInviteCmd makes a code for a gateway.
type GatewayInviteCmd struct {
	Name     string        `arg:"" help:"Name of the gateway and its key."`
	Site     string        `required:"" help:"Site of the gateway."`
	Customer string        `help:"Customer of the site, if several have a site of this id."`
	Lifetime time.Duration `default:"1h" placeholder:"DURATION" help:"Time within which the code can be used, at most 168h (${default})."`
	RemoteFlags
}

// Run makes the code and prints it.
func (c *GatewayInviteCmd) Run(ctx context.Context, g *Globals, std streams) error {
	minutes := int(c.Lifetime / time.Minute)
	if minutes < 1 || minutes > api.MaxJoinMinutes {
		return wrong("--lifetime %s: must be from 1m to %s", c.Lifetime, api.MaxJoinMinutes*time.Minute)
	}
	if c.Remote != "" {
		remote, err := c.client()
		if err != nil {
			return err
		}
		r, err := remote.InviteGateway(ctx, api.GatewaysRequest{SiteID: c.Site, CustomerID: c.Customer, Name: c.Name, LifetimeMinutes: &minutes})
		if err != nil {
			return clientError(err)
		}
		return printCode(std.out, r.Code, c.Remote, r.ExpiresAt.Time)
	}
	return administerService(ctx, g, "gateways", api.ActionInvite, func(s *backend.Service, m auth.Administrator, r *api.AuditRecord) error {
		sites, err := s.Domain().Sites.SitesNamed(ctx, c.Site)
		if err != nil {
			return err
		}
		var of []api.Site
		for _, site := range sites {
			if c.Customer == "" || site.CustomerID == c.Customer {
				of = append(of, site)
			}
		}
		switch {
		case len(of) == 0:
			return &subject{"--site " + c.Site, api.ErrSiteNotFound}
		case len(of) > 1:
			return wrong("--site %s: several customers have a site of this id; name one with --customer (%s)", c.Site, strings.Join(customersOf(of), ", "))
		}
		code, expires, err := m.Invite(ctx, auth.Invitation{Name: c.Name, CustomerID: of[0].CustomerID, SiteID: of[0].SiteID, Lifetime: c.Lifetime, By: commandLine})
		if err != nil {
			return err
		}
		r.SiteID, r.CustomerIDs = of[0].SiteID, []string{of[0].CustomerID}
		return printCode(std.out, code, "URL", expires)
	})
}

func printCode(out io.Writer, code, url string, expires time.Time) error {
	_, err := fmt.Fprintf(out, "%s\nThe code can be used once, until %s. On the gateway, run: sunloop gateway join %s\n", code, api.At(expires), url)
	return err
}

// GatewayJoinCmd joins a service.
type GatewayJoinCmd struct {
	URL      string `arg:"" help:"Service, for example https://ops.example.com."`
	Code     string `env:"SUNLOOP_JOIN_CODE" help:"Code of sunloop gateway invite (prompted for)."`
	Replace  bool   `help:"Join even if the gateway is joined to a service; waiting samples and files are sent to the new one."`
	SpoolMiB int64  `name:"spool-mib" default:"1024" placeholder:"MIB" help:"Disk space for waiting samples; when it is full, the oldest are dropped (${default})."`
	FilesMiB int64  `name:"files-mib" default:"256" placeholder:"MIB" help:"Disk space for waiting files; when it is full, the oldest are dropped (${default})."`
	TrustFlags
}

// Run exchanges the code for a key, and stores it.
func (c *GatewayJoinCmd) Run(ctx context.Context, g *Globals, std streams) error {
	u, err := checkRemote(c.URL)
	if err != nil {
		return wrong("%s: invalid URL of a service; example: https://ops.example.com", c.URL)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return wrong("%s: the key would be sent unencrypted; use https", c.URL)
	}
	if c.SpoolMiB < 16 || c.SpoolMiB > 1<<20 {
		return wrong("--spool-mib %d: must be from 16 to %d", c.SpoolMiB, 1<<20)
	}
	if c.FilesMiB < 16 || c.FilesMiB > 1<<20 {
		return wrong("--files-mib %d: must be from 16 to %d", c.FilesMiB, 1<<20)
	}
	path := filepath.Join(g.Data, forwardFile)
	switch former, err := readTarget(path); {
	case err == nil && !c.Replace:
		return fmt.Errorf("the gateway has joined %s; --replace joins another service", former.URL)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	code := c.Code
	if code == "" {
		fmt.Fprint(std.err, "Code: ")
		if code, err = bufio.NewReader(io.LimitReader(std.in, 256)).ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read code: %w", err)
		}
	}
	if code = strings.TrimSpace(code); code == "" {
		return wrong("no code given: create one with sunloop gateway invite on the service")
	}
	t := target{URL: strings.TrimRight(c.URL, "/"), Fingerprint: c.TLSFingerprint, KeyMade: time.Now().UTC(), MaxBytes: c.SpoolMiB << 20, FilesBytes: c.FilesMiB << 20}
	if c.TLSCA != "" {
		b, err := os.ReadFile(c.TLSCA)
		if err != nil {
			return fmt.Errorf("--tls-ca: %w", err)
		}
		t.Authorities = string(b)
	}
	service, err := t.client()
	if err != nil {
		return err
	}
	joined, err := service.JoinGateway(ctx, code)
	if err != nil {
		return clientError(err)
	}
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	t.SiteID, t.CustomerID, t.APIKey, t.GatewayID = joined.SiteID, joined.CustomerID, joined.APIKey, hex.EncodeToString(random)
	if err := t.write(path); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Joined site %s of customer %s as %s, with API key %s.\nRestart the gateway: from then on, its readings are sent to %s.\n", joined.SiteID, joined.CustomerID, joined.Name, joined.APIKeyID, t.URL)
	return nil
}

// readTarget reads a forward.json.
func readTarget(path string) (t target, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(b, &t); err != nil || t.URL == "" || t.APIKey == "" || t.GatewayID == "" || t.SiteID == "" {
		return t, fmt.Errorf("%s is damaged: join the service again with --replace", path)
	}
	return t, nil
}

// write replaces the file in one step, readable by its owner only.
func (t target) write(path string) error {
	b, err := json.MarshalIndent(t, "", "  ") //nolint:gosec // the gateway keeps its key, in a private file
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".forward-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// client calls the service. It does not wait for a busy one: the sender does.
func (t target) client() (*client.Client, error) {
	trust := client.Trust{Fingerprint: t.Fingerprint}
	if t.Authorities != "" {
		trust.Authorities = []byte(t.Authorities)
	}
	tls, err := trust.Config()
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", t.URL, err)
	}
	return client.New(client.Options{BaseURL: t.URL, Credential: t.APIKey, UserAgent: "sunloop-gateway/" + version, TLS: tls}), nil
}

// sender sends what a gateway reads.
type sender struct {
	*forward.Forwarder
	spool *spool.Spool
	files *forward.FileSender
}

// run sends samples and files until ctx ends. Neither waits for the other.
func (s *sender) run(ctx context.Context) {
	var files sync.WaitGroup
	files.Go(func() { s.files.Run(ctx) })
	s.Run(ctx)
	files.Wait()
}

// fileService sends files by a client.
type fileService struct{ *client.Client }

// SendFile uploads a file of a site.
func (s fileService) SendFile(ctx context.Context, req api.UploadRequest, file io.Reader) (*api.UploadAck, error) {
	return s.UploadToSite(ctx, req, file, nil)
}

func (s *sender) close() { _ = s.spool.Close() } // all of it is on stable storage

// openForward opens the spool of a gateway that joined a service; nil if it joined none.
func openForward(folder string, log *slog.Logger) (*sender, error) {
	path := filepath.Join(folder, forwardFile)
	t, err := readTarget(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	service, err := t.client()
	if err != nil {
		return nil, err
	}
	queue, err := spool.Open(filepath.Join(folder, queueFolder), spool.Options{MaxBytes: t.MaxBytes})
	if err != nil {
		return nil, err
	}
	files, err := forward.NewFileSender(forward.FileOptions{Folder: filepath.Join(folder, filesFolder), MaxBytes: t.FilesBytes, Service: fileService{service}, SiteID: t.SiteID, GatewayID: t.GatewayID,
		Refused: filepath.Join(folder, refusedFiles), Now: time.Now, Log: log})
	if err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	var saving sync.Mutex
	f := forward.New(forward.Options{Spool: queue, Service: service, SiteID: t.SiteID, GatewayID: t.GatewayID, Version: version, Refused: filepath.Join(folder, refusedPoints), Now: time.Now, Log: log,
		KeyMade: t.KeyMade, SaveKey: func(key string) error {
			saving.Lock()
			defer saving.Unlock()
			t.APIKey, t.KeyMade = key, time.Now().UTC()
			if err := t.write(path); err != nil {
				return err
			}
			service.SetCredential(key)
			return nil
		}})
	log.Info("sending samples and files", "service", t.URL, "site", t.SiteID, "gateway", t.GatewayID)
	return &sender{f, queue, files}, nil
}

// moveQueue moves batches that a former version kept in the folder that the service clears
// when it starts.
func moveQueue(folder string) error {
	former, queue := filepath.Join(folder, admin.SpoolFolder), filepath.Join(folder, queueFolder)
	list, err := filepath.Glob(filepath.Join(former, "*"+spool.Extension))
	if err != nil || len(list) == 0 {
		return err
	}
	if _, err := os.Stat(queue); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(former, queue)
}

// printForward prints what waits, and what a person has to see.
func printForward(out io.Writer, s *forward.Status, now time.Time) {
	ack := "never"
	if s.LastAck != nil {
		ack = now.Sub(*s.LastAck).Round(time.Second).String() + " ago"
	}
	fmt.Fprintf(out, "\nservice: %s; %s (%s) waiting; stored there up to batch %d of %d; last acknowledgement %s\n", s.State, display.CountOf(s.Batches, "batch", "batches"), display.CountOf(s.Points, "point", "points"), s.Acknowledged, s.LastSequence, ack)
	fmt.Fprintf(out, "spool: %s of %s\n", display.Bytes(s.SpoolBytes), display.Bytes(s.SpoolMax))
	for _, line := range []struct {
		is   bool
		text string
	}{
		{s.Error != "", "last error: " + cmp.Or(s.Error, "-")},
		{s.Full, "the spool is nearly full: when it is full, the oldest samples are dropped"},
		{s.Dropped > 0, display.CountOf(s.Dropped, "point", "points") + " dropped because the spool was full"},
		{s.Damaged > 0, display.CountOf(s.Damaged, "damaged record", "damaged records") + " in the spool"},
		{s.Refused > 0, fmt.Sprintf("%s refused by the service, kept in %s of the data folder", display.CountOf(s.Refused, "point", "points"), refusedPoints)},
		{s.ClockWrong && s.OffsetS != nil, fmt.Sprintf("the clock differs from that of the service by %s; correct it. Times are corrected meanwhile", display.Step(time.Duration(deref(s.OffsetS))*time.Second))},
		{s.Renumbered > 0, "the spool is a copy or an older state: its batches got new numbers"},
	} {
		if line.is {
			fmt.Fprintln(out, line.text)
		}
	}
}

// printSending prints which files wait, and what was not taken.
func printSending(out io.Writer, s *forward.FileStatus) {
	fmt.Fprintf(out, "files: %s; %s waiting (%s of %s), %d sent, %d of them not imported there yet\n", s.State, display.CountOf(s.Waiting, "file", "files"), display.Bytes(s.Bytes), display.Bytes(s.MaxBytes), s.Sent, s.Open)
	for _, line := range []struct {
		is   bool
		text string
	}{
		{s.Error != "", "last error: " + cmp.Or(s.Error, "-")},
		{s.Full, "the disk space for files is nearly full: when it is full, the oldest files are dropped"},
		{s.Damaged > 0, fmt.Sprintf("%s damaged on the disk while waiting: kept in %s of the data folder", display.CountOf(s.Damaged, "file", "files"), filesFolder)},
		{s.Refused > 0, fmt.Sprintf("%s refused since the start: listed in %s of the data folder", display.CountOf(s.Refused, "file", "files"), refusedFiles)},
	} {
		if line.is {
			fmt.Fprintln(out, line.text)
		}
	}
	for _, r := range s.Refusals {
		fmt.Fprintf(out, "  %s %s of %s, refused by the %s: %s\n", r.At.UTC().Format(time.RFC3339), r.File, r.Source, r.By, r.Reason)
	}
}

// deref is a number that may be absent.
func deref(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
