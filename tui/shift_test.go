package tui

import (
	"context"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/plant"
)

// A shift is handed over by keys, against the service itself: the person who leaves writes
// a note and signs, the next one reads both, and the first one sees that.
func TestShiftByKeys(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		anna := startOffice(t, size[0], size[1], api.RoleOperator, api.Every)
		anna.plantSite()
		anna.press("g", "c")
		anna.shows("Shift", "Last 24 hours")
		anna.press("c", "enter")
		anna.shows("Note for the shift", "What must the next person know?")
		anna.press("Fuse 7 is loose", "enter")
		anna.pass(2)
		anna.shows("Fuse 7 is loose", "note")
		anna.press("H", "ctrl+u", "INV-01 waits for parts", "enter")
		anna.pass(2)
		anna.shows("INV-01 waits for parts", "hand-over")

		if _, err := anna.service.Auth().CreateUser(context.Background(), auth.NewUser{Username: "ben", Password: "correct horse", Role: api.RoleOperator, Customers: []string{api.Every}}); err != nil {
			t.Fatal(err)
		}
		c := client.New(client.Options{Transport: client.InProcess(anna.service.Handler())})
		signedIn, err := c.Login(context.Background(), "ben", "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		ben := start(t, size[0], size[1], func(o *Options, _ *plant.Service) { o.Client, o.User = c, signedIn.User })
		ben.pass(3)
		ben.press("g", "c")
		ben.pass(2)
		ben.shows("anna handed the shift over", "Press m when you have read it.", "INV-01 waits for parts", "Fuse 7 is loose")
		ben.press("m")
		ben.shows("Marked as seen.")
		ben.pass(12)
		ben.shows("Since you last looked", "INV-01 waits for parts") // the last hand-over stays

		anna.press("r")
		anna.pass(12)
		anna.press("/", "waits", "enter")
		anna.shows("read", "ben")
	}
}
