package listener

import (
	"net"
	"reflect"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// FuzzParseAddresses asserts that what was read has a port, names hosts that
// there are, and reads back the same as it is written.
func FuzzParseAddresses(f *testing.F) {
	for _, text := range []string{"127.0.0.1:8080", "telemetry,alerts=:8443 [::1]:1", "main=main=:1", "=:1", ",=:1", ":", "[fe80::1%lo]:80", "a:b:c", " \t ", "main,main=x:0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseAddresses(text)
		if err != nil {
			return
		}
		var words []string
		for _, a := range all {
			if _, port, err := net.SplitHostPort(a.Address); err != nil || port == "" {
				t.Fatalf("%q: %+v", text, a)
			}
			word := a.Address
			if len(a.Hosts) > 0 {
				word = strings.ReplaceAll(hostNames(a.Hosts), " ", "") + "=" + word
			}
			if len(a.Hosts) > len(api.Hosts()) {
				t.Fatalf("%q: %+v", text, a)
			}
			words = append(words, word)
		}
		again, err := ParseAddresses(strings.Join(words, " "))
		if err != nil || !reflect.DeepEqual(all, again) {
			t.Fatalf("%q is %+v, and %q is %+v, %v", text, all, words, again, err)
		}
	})
}
