package gateway

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestSearcher: a search of the console finds, shows and adds devices, one at a time, and
// asks only addresses of the plant that are not being read.
func TestSearcher(t *testing.T) {
	plant, address := startPlant(t)
	host := strings.TrimPrefix(address, "tcp://")
	file := filepath.Join(t.TempDir(), "sources.toml")
	if err := os.WriteFile(file, []byte("[site]\nid = \"roof\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewSearcher(t.Context(), file, time.Now, slog.New(slog.DiscardHandler))
	s.Timeout = 100 * time.Millisecond
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for target, why := range map[string]string{
		"192.0.2.10": "only private addresses", "169.254.169.254": "only private addresses", "example.com": "only private addresses", "tcp://8.8.8.8:502": "only private addresses",
		"rtu:///etc/passwd": "must be a serial port", "rtu:///dev/../etc/passwd": "must be a serial port", "10.0.0.0/8": "at most 256", "nonsense/": "must be an address",
	} {
		_, err := s.Start(&c, &api.GatewaysRequest{Targets: []string{target}})
		var refused *api.Error
		if !errors.As(err, &refused) || refused.Details["field"] != "targets" || !strings.Contains(refused.Details["reason"].(string), why) {
			t.Errorf("%s: %v, want %q", target, err, why)
		}
	}
	if _, err := s.Start(&c, &api.GatewaysRequest{Targets: []string{host}, Units: "1-x"}); err == nil {
		t.Error("wrong unit ids are taken")
	}
	if st := s.State(); st.State != "" || st.Devices == nil {
		t.Errorf("%+v", st)
	}
	s.state.State = api.DiscoveryRunning
	if _, err := s.Start(&c, &api.GatewaysRequest{Targets: []string{host}}); err == nil {
		t.Error("two searches at a time")
	}
	s.state.State = ""
	if _, err := s.Start(&c, &api.GatewaysRequest{Targets: []string{host}, Units: "1,126"}); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	st := s.State()
	if st.State != api.DiscoveryEnded || st.Searched != 1 || st.Addresses != 1 || st.Count == 0 || st.Devices[0].AssetID != "I1" || st.Devices[0].RatingKW != 10 || !st.Devices[0].Readable || st.Devices[0].Added {
		t.Fatalf("%+v", st)
	}
	if _, err := s.Add([]string{"I9"}); !errors.Is(err, api.ErrSourceNotFound) {
		t.Errorf("a device that was not found is added: %v", err)
	}
	if st, err = s.Add([]string{"I1"}); err != nil || st.NewDevices != 1 || !st.Devices[0].Added {
		t.Fatalf("%+v, %v", st, err)
	}
	select {
	case <-s.Changed():
	default:
		t.Error("the file is not taken up")
	}
	if c, err = Load(file); err != nil || len(c.Sources) != 1 || len(c.Sources[0].Devices) != 1 || c.Sources[0].Devices[0].Asset != "I1" {
		t.Fatalf("%+v, %v", c, err)
	}
	// Its address is being read now: a second connection would disturb the device.
	if _, err := s.Start(&c, &api.GatewaysRequest{Targets: []string{host}}); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if st := s.State(); st.Count != 0 || len(st.Missed) != 1 || !strings.Contains(st.Missed[0], "are being read") {
		t.Errorf("%+v", st)
	}
	// A search that is stopped ends.
	c.Sources = nil
	if _, err := s.Start(&c, &api.GatewaysRequest{Targets: []string{host}, Units: "1-200"}); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Stop(); err != nil || st.State != api.DiscoveryStopped {
		t.Errorf("%+v, %v", st, err)
	}
	if plant.writes != 0 {
		t.Errorf("%d writes", plant.writes)
	}
}
