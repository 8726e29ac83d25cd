package widget

import (
	"testing"

	"app.sunloop/backend/api"
)

// TestEventCode writes an arc in words, and every other code as its number.
func TestEventCode(t *testing.T) {
	for code, want := range map[int64]string{
		129: "code 129", -3: "code -3", 1 << 31: "code 2147483648", api.ArcDetected: "arc detected", api.ArcDetected | 129: "arc detected, code 129",
		api.ArcDetected | 1<<16: "code 4295032832", 1 << 40: "code 1099511627776",
	} {
		if got := EventCode(code, "code "); got != want {
			t.Errorf("%d is %q, want %q", code, got, want)
		}
	}
}
