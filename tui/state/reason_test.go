package state

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"app.sunloop/backend/client"
)

// TestReasonOfACertificateThatIsNotTrusted says what to do, not only what is
// wrong, and nothing that a terminal would take for a command.
func TestReasonOfACertificateThatIsNotTrusted(t *testing.T) {
	why := errors.New("x509: certificate signed by \x1b[31munknown authority")
	err := fmt.Errorf("ask /forecast: %w", &url.Error{Op: "Get", URL: "https://ops.example.com", Err: &client.CertificateError{Service: "https://ops.example.com", Fingerprint: "3f9c", Err: why}})
	got := Reason(err)
	for _, words := range []string{"https://ops.example.com", "unknown authority", "3f9c", "--tls-fingerprint", "--tls-ca"} {
		if !strings.Contains(got, words) {
			t.Errorf("%q does not say %q", got, words)
		}
	}
	if strings.ContainsRune(got, '\x1b') {
		t.Errorf("%q", got)
	}
}
