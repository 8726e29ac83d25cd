package attack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/internal/longtest"
)

// TestListsOfLargeRecords stores units with as many and as long components as may
// be, and reads lists of them in parallel with several keys.
func TestListsOfLargeRecords(t *testing.T) {
	longtest.Mark(t)
	v := serve(t)
	v.site(t, "acme", "South")
	long := strings.Repeat("x", 180)
	var parts strings.Builder
	for i := range 200 {
		fmt.Fprintf(&parts, `,{"oem":%q,"model":%q,"kind":%q,"serial":"%s%d"}`, long, long, long, long, i)
	}
	writer := v.key(t, api.RoleOperator, "acme")
	for i := range 40 {
		body := fmt.Sprintf(`{"action":"add","site_id":"South","asset_id":"LARGE-%d","name":"n","type":"t","capacity_kw":1,"location":"l","components":[%s]}`, i, parts.String()[1:])
		if status, answer := v.post(t, api.PathAssets, writer, "application/json", strings.NewReader(body)); status/100 != 2 {
			t.Fatalf("unit %d: status %d %.200s", i, status, answer)
		}
	}
	readers := size(16, 64)
	var mu sync.Mutex
	other := map[int]int{}
	var group sync.WaitGroup
	for range readers {
		key := v.key(t, api.RoleOperator, "acme")
		group.Go(func() {
			for range 4 {
				status, _ := v.post(t, api.PathAssets, key, "application/json", strings.NewReader(`{"action":"list","site_id":"South","limit":1000}`))
				if status != http.StatusOK && status != http.StatusServiceUnavailable {
					mu.Lock()
					other[status]++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if len(other) > 0 {
		t.Errorf("answers other than 200 and 503: %v", other)
	}
	v.peak(t, "memory of lists", fmt.Sprintf("%d keys that list 40 units of 150 kB", readers), 355)
}
