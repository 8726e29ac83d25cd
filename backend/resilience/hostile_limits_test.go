package resilience

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/listener"
)

// TestTheDocumentNamesTheLimits holds docs/guarantees.md against the constants.
func TestTheDocumentNamesTheLimits(t *testing.T) {
	text, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	l := listener.Limits{}.Defaults()
	places := admission.Limits{Connections: l.Connections}.Defaults()
	for what, limit := range map[string]string{
		"requests of an API key":                                    fmt.Sprintf("%d accepted in any 60 s", api.RequestsPerMinute),
		"requests of a signed-in person":                            fmt.Sprintf("%d in any 60 s", api.UserRequestsPerMinute),
		"connections open at a time, all listeners":                 fmt.Sprintf("%d (`--max-connections`)", l.Connections),
		"of these, unauthenticated ones that wait for their client": fmt.Sprintf("%d, a quarter |", places.Unauthenticated),
		"of these, from one network (/24, or /64 of IPv6)":          fmt.Sprintf("%d, a sixteenth |", places.Network),
		"connections beyond these, for health checks":               fmt.Sprintf("%d, a sixteenth, at least 16 |", places.Overflow),
		"header, TLS handshake included":                            fmt.Sprintf("%.0f s |", l.Header.Seconds()),
		"header's size, query included":                             fmt.Sprintf("%d KiB |", l.HeaderBytes>>10),
		"a body's stall":                                            fmt.Sprintf("%.0f s, or below %d KiB/s", l.BodyGrace.Seconds(), l.BodyBytesPerSecond>>10),
		"an answer, until it is read":                               fmt.Sprintf("%d min |", l.Write/time.Minute),
		"time between two requests":                                 fmt.Sprintf("%d min |", l.Idle/time.Minute),
		"file of an upload":                                         fmt.Sprintf("%d MiB", api.MaxUploadBytes>>20),
		"JSON of a request":                                         fmt.Sprintf("%d KiB |", api.MaxJSONBytes>>10),
		"JSON of a request that needs no credential":                fmt.Sprintf("%d KiB |", api.MaxPublicJSONBytes>>10),
		"levels, items of a list, values of a JSON body":            fmt.Sprintf("%d, %d (fewer where the field says so), %d |", api.MaxJSONDepth, api.MaxJSONList, api.MaxJSONValues),
		"time of running requests when the service ends":            fmt.Sprintf("%.0f s |", l.Drain.Seconds()),
	} {
		if row := "| " + what + " | " + limit; !strings.Contains(string(text), row) {
			t.Errorf("docs/guarantees.md has no row that begins %q", row)
		}
	}
}
