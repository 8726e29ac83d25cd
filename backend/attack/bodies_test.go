package attack

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// parallel is how many bodies are sent at a time.
const parallel = 64

// body is a request body of an attack.
type body struct {
	name, path, contentType string
	bytes                   []byte
	status                  []int // that the service may return, in addition to 503; 0: it may close the connection
}

// within is a JSON object whose field holds as many copies of an element as fit
// into a size.
func within(size int, head, element, tail string) []byte {
	n := (size - len(head) - len(tail)) / (len(element) + 1)
	return []byte(head + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + tail)
}

// upload is a form with a file of a size and the fields of all uploads.
func upload(t testing.TB, size int) (contentType string, form []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range map[string]string{"customer_id": "acme", "site_id": "South", "region": "eu", "location": "Vienna"} {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", "a.csv")
	if err != nil {
		t.Fatal(err)
	}
	file := bytes.Repeat([]byte("2026-01-01T00:00:00Z,1\n"), size/23)
	copy(file, "timestamp,power (kW)  \n")
	if _, err := part.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

// flood sends each body from parallel clients at a time and checks the statuses. It
// returns the number of responses by status, of the last body.
func (v *target) flood(t *testing.T, credential string, bodies []body) (seen map[int]int) {
	t.Helper()
	for _, b := range bodies {
		var mu sync.Mutex
		seen = map[int]int{}
		for range size(1, 4) {
			var wait sync.WaitGroup
			for range parallel {
				wait.Go(func() {
					status, _ := v.post(t, b.path, credential, b.contentType, bytes.NewReader(b.bytes))
					mu.Lock()
					seen[status]++
					mu.Unlock()
				})
			}
			wait.Wait()
		}
		for status := range seen {
			if status != http.StatusServiceUnavailable && !slices.Contains(b.status, status) {
				t.Errorf("%s: statuses %v, want %v or 503", b.name, seen, b.status)
			}
		}
		u, _ := v.Usage()
		t.Logf("%s: statuses %v, peak %.0f MB", b.name, seen, float64(u.PeakRSSBytes)/1e6)
	}
	return seen
}

const typeJSON = "application/json"

func TestBodiesWithoutCredential(t *testing.T) {
	v := serve(t)
	formType, form := upload(t, api.MaxUploadBytes-1<<20)
	tooLarge := []int{http.StatusRequestEntityTooLarge}
	header := "--b\r\nContent-Disposition: form-data; name=\"file\"; x=\"" + strings.Repeat("x", 8<<20) + "\"\r\n\r\n\r\n--b--\r\n"
	v.flood(t, "", []body{
		{"10 MiB of objects to sign in", api.PathLogin, typeJSON, within(10<<20, `{"username":[`, "{}", "]}"), tooLarge},
		{"16 KiB of objects to sign in", api.PathLogin, typeJSON, within(api.MaxPublicJSONBytes, `{"username":[`, "{}", "]}"), []int{http.StatusBadRequest}},
		{"16 KiB of nested lists", api.PathVerifyMFA, typeJSON, bytes.Repeat([]byte("["), api.MaxPublicJSONBytes), []int{http.StatusBadRequest}},
		{"a 9 MiB file without an account", api.PathFreemiumForecast, formType, form, []int{http.StatusBadRequest}},
		{"a form with a header of 8 MiB", api.PathFreemiumForecast, "multipart/form-data; boundary=b", []byte(header), []int{http.StatusBadRequest}},
	})
	unauthorized := []int{http.StatusUnauthorized}
	v.flood(t, "x", []body{
		{"10 MiB of components, invalid key", api.PathAssets, typeJSON, within(10<<20, `{"action":"add","components":[`, "{}", "]}"), unauthorized},
		{"a 9 MiB file, invalid key", api.PathUploadTrain, formType, form, unauthorized},
	})
	v.peak(t, "worst bodies without a credential", fmt.Sprintf("%d in parallel, 7 kinds, up to 10 MiB", parallel), 75)
}

func TestBodiesWithCredential(t *testing.T) {
	v := serve(t)
	v.site(t, "acme", "South")
	formType, form := upload(t, api.MaxUploadBytes-1<<20)
	rounds, keys := size(1, 4), 0
	for range rounds { // a caller has a share of the memory: several take more
		refused := []int{http.StatusBadRequest, http.StatusTooManyRequests}
		for _, b := range []body{
			{"a 9 MiB file", api.PathUploadTrain, formType, form, []int{http.StatusOK, http.StatusBadRequest, http.StatusTooManyRequests}},
			{"10 MiB of components", api.PathAssets, typeJSON, within(10<<20, `{"action":"add","components":[`, "{}", "]}"), []int{http.StatusRequestEntityTooLarge}},
			{"256 KiB of components", api.PathAssets, typeJSON, within(api.MaxJSONBytes, `{"action":"add","components":[`, "{}", "]}"), refused},
			{"10,000 values", api.PathAssets, typeJSON, fmt.Appendf(nil, `{"action":"list","components":[%[1]s],"former_components":[%[1]s]}`, strings.TrimSuffix(strings.Repeat("{},", 4990), ",")), refused},
			{"256 KiB of one text", api.PathAssets, typeJSON, []byte(`{"action":"list","name":"` + strings.Repeat("x", api.MaxJSONBytes-100) + `"}`), refused},
		} {
			// Each kind has its own key, so that the rate of accepted requests
			// does not keep its bodies from being read.
			keys++
			seen := v.flood(t, v.key(t, api.RoleOperator, "acme"), []body{b})
			if len(seen) == 1 && seen[http.StatusTooManyRequests] > 0 {
				t.Errorf("%s: no body was read", b.name)
			}
		}
	}
	v.peak(t, "worst bodies with valid credentials", fmt.Sprintf("%d in parallel, 5 kinds, %d keys", parallel, keys), 355)
}

// TestUnfinishedBodies holds bodies that never end and measures what they hold.
func TestUnfinishedBodies(t *testing.T) {
	const boundMB = 8
	for _, c := range []struct {
		name, head, sent string
	}{
		{"sign-in", fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", api.PathLogin, api.MaxPublicJSONBytes), strings.Repeat(" ", api.MaxPublicJSONBytes-1)},
		{"sign-in of 10 MiB in chunks", fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", api.PathLogin, 10<<20), strings.Repeat(" ", 10<<20-1)},
		{"invalid key", fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: %d\r\n\r\n", api.PathAssets, 10<<20), strings.Repeat(" ", 10<<20-1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := serve(t)
			if !v.healthy(t) {
				t.Fatal("no answer to a health check")
			}
			time.Sleep(time.Second) // what the start has left is collected
			before, ok := v.Usage()
			if !ok {
				t.Skip("the resident memory is known on Linux only")
			}
			open := make([]net.Conn, size(100, 300))
			for i := range open {
				open[i] = v.dial(t)
			}
			var wait sync.WaitGroup
			for _, c2 := range open {
				wait.Go(func() { _, _ = io.WriteString(c2, c.head+c.sent) }) // the service may not read all of it
			}
			wait.Wait()
			healthy := v.healthy(t)
			after, _ := v.Usage()
			mb := float64(after.RSSBytes-before.RSSBytes) / 1e6
			report(t, row{"unfinished bodies: " + c.name, fmt.Sprintf("%d connections", len(open)), fmt.Sprintf("at most %d MB more", boundMB*len(open)/100),
				fmt.Sprintf("%.1f MB", mb), healthy && mb <= float64(boundMB*len(open)/100)})
		})
	}
}
