package tui

import (
	"io"
	"net/http"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/plant"
)

// TestConsoleFollowsChanges counts the requests of a console with a stream and without one: it
// asks less often while nothing changes, at once after a change, and as before when the stream
// has ended.
func TestConsoleFollowsChanges(t *testing.T) {
	asked, opened, last := 0, 0, ""
	var events *io.PipeWriter
	open := func(stream bool) (d *world, deliver func(text string)) {
		var next tea.Cmd
		d = start(t, 120, 36, func(o *Options, service *plant.Service) {
			inner := client.InProcess(http.HandlerFunc(service.ServeHTTP))
			o.Stream = stream
			o.Client = client.New(client.Options{Credential: "token", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path != api.PathStream {
					if r.URL.Path != api.PathUploads { // the plant has a file in progress, of which no event comes
						asked++
					}
					return inner.RoundTrip(r)
				}
				opened++
				last = r.Header.Get(api.HeaderLastEventID)
				var body *io.PipeReader
				body, events = io.Pipe()
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {api.MediaEvents}}, Body: body}, nil
			})})
		})
		d.m.listen = func(wait tea.Cmd) tea.Cmd { next = wait; return nil }
		return d, func(text string) {
			if text == "" {
				_ = events.Close()
			} else {
				go func() { _, _ = io.WriteString(events, text) }()
			}
			d.send(next())
		}
	}
	minutes := func(d *world, deliver func(string)) int {
		before := asked
		for range 5 * 4 {
			d.pass(15)
			if deliver != nil {
				deliver(":\n\n")
			}
		}
		return asked - before
	}
	plain, _ := open(false)
	plain.pass(30)
	polled := minutes(plain, nil)

	d, deliver := open(true)
	d.pass(30)
	if opened != 1 {
		t.Fatalf("%d streams are open", opened)
	}
	deliver(":\n\n")
	d.pass(5)
	deliver(":\n\n")
	quiet := minutes(d, deliver)
	if quiet*2 > polled {
		t.Errorf("%d requests with a stream, %d without", quiet, polled)
	}
	before := asked
	deliver("id: 1764446400123\nevent: telemetry\ndata: {\"kind\":\"telemetry\"}\n\n")
	if asked == before {
		t.Error("a change is not asked for")
	}
	deliver("") // the service ends
	if again := minutes(d, nil); again*10 < polled*9 {
		t.Errorf("%d requests after the end of the stream, %d by polling", again, polled)
	}
	if opened < 2 || last != "1764446400123" {
		t.Errorf("%d streams, the last one after %q", opened, last)
	}
	d.pass(int(streamPause / time.Second))
}
