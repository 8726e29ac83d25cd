package channel_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/mail"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/notify/channel"
	"app.sunloop/backend/webhook"
)

// patience is how long a test waits for another program.
const patience = 60 * time.Second

// find returns the path of a program, or skips the test.
func find(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", strings.Join(names, ", "))
	return ""
}

// run starts a program and ends it with the test. It returns the lines of its log.
func run(t *testing.T, path string, args ...string) *bufio.Scanner {
	t.Helper()
	cmd := exec.Command(path, args...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		r.Close()
	})
	return bufio.NewScanner(r)
}

// discard reads the log of a program until it ends, so that it does not block.
func discard(log *bufio.Scanner) {
	go func() {
		for log.Scan() { //nolint:revive // nothing to do
		}
	}()
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen within %s", what, patience)
		}
	}
}

// TestAlertmanager: a real Alertmanager notifies its receiver of an incident, of its
// higher severity, and of its end.
func TestAlertmanager(t *testing.T) {
	path := find(t, "prometheus-alertmanager", "alertmanager")
	type notification struct {
		Alerts []struct {
			Status              string
			Labels, Annotations map[string]string
		}
	}
	received := make(chan notification, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n notification
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		received <- n
	}))
	defer receiver.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "alertmanager.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `route:
  receiver: test
  group_by: [alertname, incident, severity]
  group_wait: 10ms
  group_interval: 50ms
receivers:
  - name: test
    webhook_configs:
      - url: %s
        send_resolved: true
`, receiver.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	log := run(t, path, "--config.file="+config, "--storage.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--cluster.listen-address=")
	host, listening := "", regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)
	for log.Scan() {
		if m := listening.FindStringSubmatch(log.Text()); m != nil {
			host = m[1]
			break
		}
	}
	if host == "" {
		t.Fatal("Alertmanager does not listen")
	}
	discard(log)
	guard, err := webhook.NewGuard(host)
	if err != nil {
		t.Fatal(err)
	}
	c := channel.New(channel.Config{Guard: guard, Now: time.Now})
	defer c.Close()
	to := notify.Target{Kind: notify.ChannelAlertmanager, URL: "http://" + host}
	wait := func(status, severity, summary string) {
		t.Helper()
		for timeout := time.After(patience); ; {
			select {
			case n := <-received:
				for _, a := range n.Alerts {
					if a.Status == status && a.Labels["severity"] == severity && a.Annotations["summary"] == summary && a.Labels["incident"] == "inc_7F" && a.Labels["family"] == "inverter_outage" && a.Labels["site"] == "south" {
						return
					}
				}
			case <-timeout:
				t.Fatalf("no notification of %s, %s, %s", status, severity, summary)
			}
		}
	}
	first := raised()
	first.Priority, first.At = "major", time.Now()
	receipt, err := c.Send(t.Context(), to, first)
	if err != nil {
		t.Fatal(err)
	}
	wait("firing", "major", first.Title)
	worse := follows(first, notify.KindUpdate, "ntf_02", "critical", "Critical: 5 inverters stopped", receipt.Reference)
	worse.At, worse.Family = time.Now(), "site_outage_grid"
	if _, err := c.Send(t.Context(), to, worse); err != nil {
		t.Fatal(err)
	}
	wait("firing", "critical", worse.Title)
	end := follows(worse, notify.KindAllClear, "ntf_03", "critical", "All clear", receipt.Reference)
	end.At = time.Now()
	if _, err := c.Send(t.Context(), to, end); err != nil {
		t.Fatal(err)
	}
	wait("resolved", "critical", end.Title)
	var active []any
	eventually(t, "the end of all alerts", func() bool {
		resp, err := http.Get("http://" + host + "/api/v2/alerts")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&active); err != nil {
			t.Fatal(err)
		}
		return len(active) == 0
	})
	http.DefaultClient.CloseIdleConnections()
	if _, err := c.Test(t.Context(), to, "ntf_04"); err != nil {
		t.Errorf("test message: %v", err)
	}
	to.URL += "/nowhere"
	if _, err := c.Send(t.Context(), to, first); !errors.Is(err, notify.ErrPermanent) {
		t.Errorf("wrong path: %v", err)
	}
}

// exim starts Debian's mail server, and returns its address and the file into which it
// delivers.
func exim(t *testing.T) (server mail.Server, inbox string) {
	t.Helper()
	path := find(t, "exim4")
	if os.Geteuid() != 0 {
		t.Skip("exim4 accepts a configuration of a test from root only")
	}
	owner, err := user.Lookup("Debian-exim")
	if err != nil {
		t.Skip("there is no user Debian-exim")
	}
	dir, err := os.MkdirTemp("", "exim")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	for _, sub := range []string{"", "spool", "mail"} {
		name := filepath.Join(dir, sub)
		if err := errors.Join(os.MkdirAll(name, 0o750), os.Chown(name, uid, gid)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	inbox = filepath.Join(dir, "mail", "inbox")
	config := filepath.Join(dir, "exim.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, `primary_hostname = mail.example.org
spool_directory = %[1]s/spool
log_file_path = %[1]s/spool/%%slog
local_interfaces = 127.0.0.1
daemon_smtp_ports = %[2]d
tls_advertise_hosts =
host_lookup =
rfc1413_hosts =
acl_smtp_rcpt = recipients
acl_smtp_data = content
begin acl
recipients:
  deny local_parts = unknown
       message = no such user
  defer local_parts = later
       message = try again later
  accept
content:
  deny condition = ${if >{$max_received_linelength}{998}}
       message = line too long
  deny !verify = header_syntax
  accept
begin routers
all:
  driver = accept
  transport = file
begin transports
file:
  driver = appendfile
  file = %[1]s/mail/inbox
  user = Debian-exim
`, dir, port), 0o644); err != nil {
		t.Fatal(err)
	}
	log := run(t, path, "-bdf", "-C", config)
	discard(log)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	eventually(t, "the start of exim", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
	return mail.Server{Host: "127.0.0.1", Port: port, TLS: mail.Plain, From: "Sunloop <alarms@plant.example>"}, inbox
}

// TestExim: Debian's mail server accepts and delivers a message with HTML and a picture
// and the one that follows it; it refuses an unknown recipient for good and another one
// for now.
func TestExim(t *testing.T) {
	server, inbox := exim(t)
	smtp, err := mail.NewSMTP(server)
	if err != nil {
		t.Fatal(err)
	}
	c := channel.New(channel.Config{Guard: &webhook.Guard{}, Mailer: smtp, Now: func() time.Time { return now }})
	to := notify.Target{Kind: notify.ChannelEmail, Address: "ana@example.org", Name: "Jürgen Ångström"}
	first := raised()
	first.ChartPNG = bytes.Repeat([]byte("picture\x00\xff\r\n.\r\n"), 500)
	first.Lines = append(first.Lines, ".", strings.Repeat("a very long line — ", 100))
	receipt, err := c.Send(t.Context(), to, first)
	if err != nil {
		t.Fatal(err)
	}
	second := follows(first, notify.KindAllClear, "ntf_02", "critical", "All clear: "+strings.Repeat("Süd & Nord, ", 20), receipt.Reference)
	if again, err := c.Send(t.Context(), to, second); err != nil || again.Reference != receipt.Reference {
		t.Fatalf("%+v, %v", again, err)
	}
	var box []byte
	eventually(t, "the delivery", func() bool {
		box, _ = os.ReadFile(inbox)
		return bytes.Count(box, []byte("\nSubject:")) == 2 && bytes.HasSuffix(bytes.TrimRight(box, "\n"), []byte("--"))
	})
	messages := regexp.MustCompile(`(?m)^From \S+ .*\n`).Split(string(box), -1)[1:]
	slices.SortFunc(messages, func(a, b string) int {
		return strings.Compare(strconv.FormatBool(strings.Contains(a, "\nReferences:")), strconv.FormatBool(strings.Contains(b, "\nReferences:")))
	})
	for i, m := range []notify.Message{first, second} {
		checkDelivered(t, messages[i], to, m)
	}
	for address, final := range map[string]bool{"unknown@example.org": true, "later@example.org": false} {
		to.Address = address
		_, err := c.Send(t.Context(), to, first)
		if err == nil || errors.Is(err, notify.ErrPermanent) != final {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// checkDelivered reads a message as a mail program does.
func checkDelivered(t *testing.T, text string, to notify.Target, m notify.Message) {
	t.Helper()
	want, err := channel.Mail(to, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 998 || strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
			t.Errorf("line of %d bytes, or with bytes beyond ASCII: %.80q", len(line), line)
		}
	}
	got, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	decode := func(name string) string {
		s, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get(name))
		if err != nil {
			t.Error(err)
		}
		return s
	}
	if s := decode("Subject"); s != want.Subject {
		t.Errorf("subject %q, want %q", s, want.Subject)
	}
	if id := got.Header.Get("Message-Id"); id != "<"+m.ID+"@plant.example>" {
		t.Errorf("message ID %s", id)
	}
	thread := ""
	if m.Reference != "" {
		thread = "<" + m.Reference + "@plant.example>"
	}
	if got.Header.Get("References") != thread || got.Header.Get("In-Reply-To") != thread {
		t.Errorf("references %q, in reply to %q, want %q", got.Header.Get("References"), got.Header.Get("In-Reply-To"), thread)
	}
	parts := map[string][]byte{}
	read(t, got.Header.Get("Content-Type"), got.Header.Get("Content-Transfer-Encoding"), got.Body, parts)
	clean := func(b []byte) string { return strings.TrimRight(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n") }
	if clean(parts["text/plain"]) != clean([]byte(want.Text)) {
		t.Errorf("text:\n%s\nwant:\n%s", parts["text/plain"], want.Text)
	}
	if clean(parts["text/html"]) != clean([]byte(want.HTML)) {
		t.Errorf("HTML:\n%s\nwant:\n%s", parts["text/html"], want.HTML)
	}
	if !bytes.Equal(parts["image/png <chart.png@sunloop>"], m.ChartPNG) || !bytes.Contains(parts["text/html"], []byte(`src="cid:chart.png@sunloop"`)) {
		t.Errorf("picture of %d bytes, want %d", len(parts["image/png <chart.png@sunloop>"]), len(m.ChartPNG))
	}
}

// read collects the parts of a message by their type, and Content-ID if they have one.
func read(t *testing.T, contentType, encoding string, body io.Reader, parts map[string][]byte) {
	t.Helper()
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		if encoding == "base64" {
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		b, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		parts[kind] = b
		return
	}
	for r := multipart.NewReader(body, parameters["boundary"]); ; {
		p, err := r.NextPart() // decodes quoted-printable
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		kind := p.Header.Get("Content-Type")
		if id := p.Header.Get("Content-Id"); id != "" {
			base, _, err := mime.ParseMediaType(kind)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, p))
			if err != nil {
				t.Fatal(err)
			}
			parts[base+" "+id] = b
			continue
		}
		read(t, kind, p.Header.Get("Content-Transfer-Encoding"), p, parts)
	}
}

// TestMailGolden compares the texts of messages with golden files.
func TestMailGolden(t *testing.T) {
	to := notify.Target{Kind: notify.ChannelEmail, Address: "ana@example.org", Name: "Ana <Lima>"}
	first := raised()
	first.ChartPNG = []byte("picture")
	report := notify.Message{ID: "r/1", Kind: notify.KindReport, At: now, Title: "Yesterday", Lines: []string{"412 kWh"}, HTML: "<table><tr><td>412 kWh</td></tr></table>"}
	for name, m := range map[string]notify.Message{
		"mail-raised":    first,
		"mail-all-clear": follows(first, notify.KindAllClear, "ntf_03", "critical", "All clear: Süd <1> & Nord", "ntf_01J0"),
		"mail-report":    report,
		"mail-test":      channel.NewTestMessage("ntf_05", now),
	} {
		got, err := channel.Mail(to, m)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", fmt.Sprintf("Subject: %s\nID: %s\nThread: %s\n\n%s", got.Subject, got.ID, got.Thread, got.Text))
		golden(t, name+".html", got.HTML)
	}
}
