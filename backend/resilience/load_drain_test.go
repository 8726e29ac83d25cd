package resilience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
)

// goer asks without pause over connections that are kept until the door is
// closed.
type goer struct {
	url, key string
	http     http.Client
}

// ask is one request; reused says that it went over a connection that had been
// used before.
func (g *goer) ask(ctx context.Context, method, path, contentType string, body io.Reader) (status int, answer string, reused bool, err error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
	q, err := http.NewRequestWithContext(ctx, method, g.url+path, body)
	if err != nil {
		return 0, "", false, err
	}
	q.Header.Set("Authorization", "Bearer "+g.key)
	if contentType != "" {
		q.Header.Set("Content-Type", contentType)
	}
	resp, err := g.http.Do(q)
	if err != nil {
		return 0, "", reused, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), reused, err
}

// uploadForm is the form of an upload of three rows.
func uploadForm(site string) string {
	part := func(name, value string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	return part("customer_id", fleetCustomer) + part("site_id", site) + part("region", "eu") + part("location", "Vienna") +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n" +
		"timestamp,power_kw\n2026-04-14T06:00:00Z,1\n2026-04-14T07:00:00Z,2\n2026-04-14T08:00:00Z,3\n\r\n--b--\r\n"
}

const formType = "multipart/form-data; boundary=b"

// TestEndUnderLoad ends a service by SIGTERM while 200 requests a second come,
// uploads among them, and while an upload is half way: it says that it is not
// ready while it still answers, no request that it took fails, and the next
// process works off what was acknowledged.
func TestEndUnderLoad(t *testing.T) {
	t.Parallel() // it waits more than it works
	const goers, every = 20, 100 * time.Millisecond
	f := makeFleet(t, 1, 10, 3, 2*goers+1)
	p := servetest.Start(t, f.dir, "--no-mfa", "--end-delay", "1s")
	root := rootOf(f)
	var answered, uploads, overKept atomic.Int64
	var ids sync.Map
	var wait sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range goers {
		wait.Go(func() {
			g := &goer{url: p.URL, key: f.keys[n], http: http.Client{Transport: &http.Transport{}}}
			defer g.http.CloseIdleConnections()
			for i := n; ; i++ {
				g.key = f.keys[n*2+i/40%2] // sixty a minute are taken of each
				method, path, kind, body := http.MethodGet, api.PathLatest+"?site_id="+fleetSite(0), "", ""
				if i%10 == 0 {
					method, path, kind, body = http.MethodPost, api.PathUploadTrain, formType, uploadForm(fmt.Sprint("drain-", n))
				}
				status, answer, reused, err := g.ask(ctx, method, path, kind, strings.NewReader(body))
				switch {
				case errors.Is(err, syscall.ECONNREFUSED):
					return // the door is closed
				case err != nil && !reused && p.Cmd.ProcessState == nil && closedDoor(p.URL):
					return // it was in the queue, and was not taken from it any more
				case err != nil || status != http.StatusOK:
					t.Errorf("request %d of %d (reused connection: %t): %d %s, %v", i, n, reused, status, answer, err)
					return
				case method == http.MethodPost:
					uploads.Add(1)
					if _, after, ok := strings.Cut(answer, `"upload_id":"`); ok {
						id, _, _ := strings.Cut(after, `"`)
						ids.Store(id, true)
					}
				}
				answered.Add(1)
				if reused {
					overKept.Add(1)
				}
				time.Sleep(every)
			}
		})
	}
	// An upload whose body comes in two halves, one on each side of the word.
	half, rest := io.Pipe()
	slow := make(chan error, 1)
	form := uploadForm("slow")
	go func() {
		g := &goer{url: p.URL, key: root, http: http.Client{Transport: &http.Transport{}}}
		status, answer, _, err := g.ask(ctx, http.MethodPost, api.PathUploadTrain, formType, half)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, answer)
		}
		slow <- err
	}()
	if _, err := io.WriteString(rest, form[:len(form)/2]); err != nil {
		t.Fatal(err)
	}
	for answered.Load() < 100 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	if err := p.Term(); err != nil {
		t.Fatal(err)
	}
	g := &goer{url: p.URL, key: root, http: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	for {
		status, _, _, err := g.ask(ctx, http.MethodGet, api.PathReady, "", nil)
		if err != nil {
			t.Errorf("the door was closed before the service said that it is not ready: %v", err)
			break
		}
		if status == http.StatusServiceUnavailable {
			if status, _, _, err := g.ask(ctx, http.MethodGet, api.PathHealth, "", nil); status != http.StatusOK {
				t.Errorf("not ready, it answers nothing: %d, %v", status, err)
			}
			break
		}
	}
	wait.Wait() // every goer has found the door closed
	if _, err := io.WriteString(rest, form[len(form)/2:]); err != nil {
		t.Error(err)
	}
	_ = rest.Close()
	if err := <-slow; err != nil {
		t.Errorf("the upload that was half way: %v", err)
	}
	<-p.Ended
	if status := p.Cmd.ProcessState.ExitCode(); status != 0 {
		t.Errorf("exit status %d:\n%s", status, p.Log())
	}
	t.Logf("%d answers, %d of them to uploads, %d over connections that were kept", answered.Load(), uploads.Load(), overKept.Load())
	if uploads.Load() == 0 || overKept.Load() == 0 {
		t.Error("no upload, or no connection that was kept")
	}

	next := servetest.Start(t, f.dir, "--no-mfa")
	c := next.Client(root)
	defer c.Close()
	waitFor := time.Now().Add(5 * time.Minute)
	for id := range ids.Range {
		for {
			u, err := c.Upload(t.Context(), id.(string))
			if err != nil {
				var refused *api.Error
				if errors.As(err, &refused) && refused.RetryAfter > 0 {
					time.Sleep(time.Duration(refused.RetryAfter) * time.Second)
					continue
				}
				t.Fatalf("an acknowledged upload: %v", err)
			}
			if u.ProcessingStatus == api.UploadCompleted {
				break
			}
			if u.ProcessingStatus == api.UploadFailed || u.ProcessingStatus == api.UploadRejected || time.Now().After(waitFor) {
				t.Fatalf("upload %s is %s: %s", id, u.ProcessingStatus, u.Error)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// rootOf is a key that no goer uses.
func rootOf(f *fleet) string { return f.keys[len(f.keys)-1] }

// closedDoor reports whether the port is closed.
func closedDoor(url string) bool {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// TestSecondSignalEndsImmediately: a service that waits for a request is ended by a
// second SIGTERM.
func TestSecondSignalEndsImmediately(t *testing.T) {
	t.Parallel() // it waits more than it works
	f := makeFleet(t, 1, 1, 1, 1)
	p := servetest.Start(t, f.dir, "--no-mfa")
	c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", api.PathUploadTrain, f.keys[0], formType)
	if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 100"))); err != nil {
		t.Fatal(err) // the service has begun to read
	}
	if err := p.Term(); err != nil {
		t.Fatal(err)
	}
	for !closedDoor(p.URL) {
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case <-p.Ended:
		t.Fatalf("it did not wait for the request: %v", p.Err)
	default:
	}
	if err := p.Term(); err != nil {
		t.Fatal(err)
	}
	<-p.Ended
	var status syscall.WaitStatus
	status, _ = p.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v", p.Err)
	}
	servetest.Start(t, f.dir, "--no-mfa") // the folder is good
}
