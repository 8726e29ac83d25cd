package resilience

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
)

// hostileBound is what the service may take while clients do it harm: the
// program and its caches (100 MiB), and the bodies and decoded values that it
// takes at a time (64 MiB) twice over and more, as the collector lets the heap
// grow to twice what is in use.
const hostileBound = 300 // MiB

// victim is a service under attack, and a regular client of it.
type victim struct {
	*servetest.Process
	f    *fleet
	next atomic.Int64 // key of the good client
}

func newVictim(t *testing.T, days int, flags ...string) *victim {
	f := makeFleet(t, 1, 1, days, 20)
	return &victim{Process: servetest.Start(t, f.dir, append(flags, "--no-mfa")...), f: f}
}

func (v *victim) address() string {
	_, address, _ := strings.Cut(v.URL, "://")
	return address
}

// key is one of the keys, so that no rate comes in the way.
func (v *victim) key() string { return v.f.keys[int(v.next.Add(1))%len(v.f.keys)] }

// serves asserts that a good client is served and that memory is bounded.
func (v *victim) serves(t *testing.T) {
	t.Helper()
	c := v.Client(v.key())
	defer c.Close()
	r, err := c.Latest(t.Context(), api.SiteRef{SiteID: fleetSite(0)})
	if err != nil || len(r.Records) != 1 || r.Records[0].Power != powerKW(0, v.f.steps()-1) {
		t.Errorf("a good client: %+v, %v", r, err)
	}
	if most := v.PeakMiB(); most > hostileBound {
		t.Errorf("%.0f MiB resident, more than %d", most, hostileBound)
	}
}

// post sends a body to a path and answers status and body.
func (v *victim) post(t *testing.T, path, contentType string, body io.Reader, headers ...string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+v.key())
	q.Header.Set("Content-Type", contentType)
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: time.Minute}, Timeout: time.Minute}
	resp, err := c.Do(q)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return resp.StatusCode, string(b)
}

// raw writes text over a connection and reads until the service closes it.
func (v *victim) raw(t *testing.T, text string) string {
	t.Helper()
	c := v.dial(t)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }() // the service may not want all of it
	b, _ := io.ReadAll(c)
	return string(b)
}

// dial is a connection that ends by itself after half a minute.
func (v *victim) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", v.address())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// readsNoJSON are the routes whose POST has no JSON body, or stops before it.
var readsNoJSON = map[string]bool{"refresh": true, "logout": true, "v1-upload-train": true, "v1-upload-nowcast": true, "upload-inspect": true, "upload-part": true, "freemium-forecast": true}

// TestJSONOfAnySize sends to every route that takes a POST what no client
// of good will sends. A new route is in the table, and so in this test.
func TestJSONOfAnySize(t *testing.T) {
	v := newVictim(t, 1)
	nested := `{"action":"list","asset_id":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`
	deeper := strings.Repeat(`{"action":`, 100_000)
	tried := 0
	for _, route := range api.Routes() {
		if route.Method != http.MethodPost {
			continue
		}
		tried++
		path := strings.NewReplacer("{id}", "x", "{site_id}", "x").Replace(route.Path)
		for name, body := range map[string]string{"1,000 levels": nested, "100,000 levels": deeper} {
			if status, answer := v.post(t, path, "application/json", strings.NewReader(body)); status < 200 || status >= 500 || len(answer) > 4<<10 {
				t.Errorf("%s, %s: %d, %d bytes", route.Name, name, status, len(answer))
			}
		}
		large := bytes.Repeat([]byte{' '}, int(max(route.Body.JSON, api.MaxJSONBytes))+1)
		copy(large, `{"action":"list"`)
		status, answer := v.post(t, path, "application/json", bytes.NewReader(large), "Expect", "100-continue")
		if want := http.StatusRequestEntityTooLarge; status != want && !readsNoJSON[route.Name] && route.Raw == nil || status < 400 || status >= 500 {
			t.Errorf("%s, larger than any JSON that is taken: %d %s", route.Name, status, answer)
		}
		if status, answer := v.post(t, path, "application/json", strings.NewReader("\x1f\x8b"), "Content-Encoding", "gzip"); status != http.StatusUnsupportedMediaType && (route.Raw == nil || status != http.StatusBadRequest) {
			t.Errorf("%s, compressed: %d %s", route.Name, status, answer)
		}
	}
	if tried < 30 {
		t.Errorf("%d routes", tried)
	}
	t.Logf("%d routes; resident %.0f MiB at most", tried, v.PeakMiB())
	v.serves(t)
}

// TestHeadersAndFormsOfAnySize is about large parts other than the body.
func TestHeadersAndFormsOfAnySize(t *testing.T) {
	v := newVictim(t, 1)
	get := "GET " + api.PathHealth
	const rest = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	many := strings.Repeat("X-A: b\r\n", 10_000)
	for name, c := range map[string]struct{ text, status string }{
		"a header of 1 MB":         {get + rest + "X-Large: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "431"},
		"10,000 headers":           {get + rest + many + "\r\n", "431"},
		"100,000 query parameters": {get + "?" + strings.Repeat("a=b&", 100_000) + rest + "\r\n", "431"},
		"8,000 query parameters":   {get + "?" + strings.Repeat("a=b&", 7_500) + rest + "\r\n", "431"},
		"3,500 query parameters":   {get + "?" + strings.Repeat("a=b&", 3_500) + rest + "\r\n", "400"},
		"a path of 20 kB":          {"GET /" + strings.Repeat("a/", 10_000) + rest + "\r\n", "401"},
	} {
		if got := v.raw(t, c.text); !strings.HasPrefix(got, "HTTP/1.1 "+c.status+" ") || len(got) > 4<<10 {
			t.Errorf("%s: %.100q, %d bytes", name, got, len(got))
		}
	}
	part := "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n"
	nameless := "--b\r\nX: y\r\n\r\n1\r\n"
	for name, c := range map[string]struct{ form, words string }{
		"100,000 parts":                {strings.Repeat(part, 100_000), "Unknown parameter: x"},
		"100,000 parts without a name": {strings.Repeat(nameless, 100_000), "Too many form fields"},
		"a name of 1 MB":               {"--b\r\nContent-Disposition: form-data; name=\"" + strings.Repeat("n", 1<<20) + "\"\r\n\r\n1\r\n--b--\r\n", "Invalid multipart form"},
		"a header of 11 MB":            {"--b\r\nX: " + strings.Repeat("n", 11<<20) + "\r\n\r\n1\r\n--b--\r\n", ""},
	} {
		for _, path := range []string{api.PathUploadTrain, api.PathV1UploadNowcast} {
			status, answer := v.post(t, path, formType, strings.NewReader(c.form), "Expect", "100-continue")
			if status < 400 || status >= 500 || !strings.Contains(answer, c.words) || len(answer) > 4<<10 {
				t.Errorf("%s to %s: %d %.200s, %d bytes", name, path, status, answer, len(answer))
			}
		}
	}
	v.serves(t)
}

// largestBuffer is how many bytes of a connection the system holds at most,
// for its reader or its writer; 8 MiB where it does not say.
func largestBuffer(t *testing.T, setting string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/ipv4/" + setting)
	if errors.Is(err, fs.ErrNotExist) {
		return 8 << 20
	}
	var least, usual, most int
	if err == nil {
		_, err = fmt.Sscan(string(text), &least, &usual, &most)
	}
	if err != nil {
		t.Fatal(err)
	}
	return most
}

// TestBodiesWithoutEnd are read no further than the largest file and what the
// system's buffers hold.
func TestBodiesWithoutEnd(t *testing.T) {
	v := newVictim(t, 1)
	buffers := largestBuffer(t, "tcp_rmem") + largestBuffer(t, "tcp_wmem") // of both ends of the connection
	part := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"
	for _, c := range []struct{ name, path, head, kind string }{
		{"a file in chunks", api.PathUploadTrain, part, "chunked"},
		{"a file that says 1 GB", api.PathUploadTrain, part, "1073741824"},
		{"JSON in chunks", api.PathDetect, `{"action":"`, "chunked"},
		{"JSON that says 1 GB", api.PathDetect, `{"action":"`, "1073741824"},
	} {
		conn := v.dial(t)
		length := "Content-Length: " + c.kind
		if c.kind == "chunked" {
			length = "Transfer-Encoding: chunked"
		}
		kind := "application/json"
		if c.head == part {
			kind = formType
		}
		block := strings.Repeat("x", 64<<10)
		if c.kind == "chunked" {
			block = fmt.Sprintf("%x\r\n%s\r\n", len(block), block)
			c.head = fmt.Sprintf("%x\r\n%s\r\n", len(c.head), c.head)
		}
		sent := 0
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n%s\r\n\r\n%s", c.path, v.key(), kind, length, c.head)
			for sent < 1<<30 {
				n, err := io.WriteString(conn, block)
				if sent += n; err != nil {
					return
				}
			}
		}()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %+v, %v", c.name, resp, err)
		}
		<-stopped // the service closes it
		_ = conn.Close()
		if sent > 11<<20+buffers {
			t.Errorf("%s: %d bytes were taken", c.name, sent)
		}
	}
	v.serves(t)
}

// TestRequestsBehindARequest: requests in one piece are answered in turn, and
// none is hidden in another's body.
func TestRequestsBehindARequest(t *testing.T) {
	v := newVictim(t, 1)
	ask := "GET " + api.PathHealth + " HTTP/1.1\r\nHost: x\r\n\r\n"
	last := "GET " + api.PathHealth + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	if got := v.raw(t, strings.Repeat(ask, 200)+last); strings.Count(got, "HTTP/1.1 200 OK") != 201 {
		t.Errorf("%d answers to 201 requests", strings.Count(got, "HTTP/1.1 200 OK"))
	}
	head := "POST " + api.PathLogin + " HTTP/1.1\r\nHost: x\r\n"
	for name, text := range map[string]string{
		"two lengths":                 head + "Content-Length: 2\r\nContent-Length: 0\r\n\r\n{}" + ask,
		"two lengths in one":          head + "Content-Length: 2, 0\r\n\r\n{}" + ask,
		"a length below 0":            head + "Content-Length: -2\r\n\r\n{}" + ask,
		"a length with a sign":        head + "Content-Length: +2\r\n\r\n{}" + ask,
		"a length and chunks":         head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + ask,
		"chunks and a length":         head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + ask,
		"chunks twice":                head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + ask,
		"chunks within something":     head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + ask,
		"something like chunks":       head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + ask,
		"chunks with a strange space": head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + ask,
		"chunks of a strange size":    head + "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n" + ask,
		"a bare return":               head + "X: y\rContent-Length: 2\r\n\r\n" + ask,
		"no host":                     "GET " + api.PathHealth + " HTTP/1.1\r\n\r\n" + ask,
		"two hosts":                   "GET " + api.PathHealth + " HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + ask,
	} {
		got := v.raw(t, text)
		if n := strings.Count(got, "HTTP/1.1 "); n != 1 || !strings.HasPrefix(got, "HTTP/1.1 4") && !strings.HasPrefix(got, "HTTP/1.1 501 ") {
			t.Errorf("%s: %d answers: %.300q", name, n, got)
		}
	}
	v.serves(t)
}

// TestSlowReaders ask for a year and read a byte at a time.
func TestSlowReaders(t *testing.T) {
	t.Parallel() // it waits more than it works
	v := newVictim(t, 365)
	rest, _ := v.Usage()
	const readers = 100
	var open []net.Conn
	for range readers {
		c := v.dial(t)
		open = append(open, c)
		_, err := fmt.Fprintf(c, "GET %s?site_id=%s&asset_id=%s&start=%s&end=%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", api.PathInverter, fleetSite(0), fleetUnit(0),
			v.f.first.Format(time.DateOnly), time.Now().Format(time.DateOnly), v.key())
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range open {
		head := make([]byte, 200)
		for i := range head {
			if _, err := io.ReadFull(c, head[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 OK\r\n")) {
			t.Errorf("%.100q", head)
		}
	}
	v.serves(t)
	for _, c := range open {
		_ = c.Close()
	}
	rests(t, v.Process, rest)
	t.Logf("%d readers: resident %.0f MiB at most", readers, v.PeakMiB())
}
