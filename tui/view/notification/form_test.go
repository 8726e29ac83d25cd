package notification

import (
	"reflect"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// What is written as text is read as the same, and wrong text gets a reason.
func TestTexts(t *testing.T) {
	c := plant.New().Notifications(stage.Noon)
	for _, r := range c.Routes {
		if got, err := parseSteps(stepsText(r.Steps), c); err != nil || !reflect.DeepEqual(got, r.Steps) {
			t.Errorf("steps %q: %v, %v", stepsText(r.Steps), got, err)
		}
		if got, err := parseHours(hoursText(r.Hours)); err != nil || !reflect.DeepEqual(got, r.Hours) {
			t.Errorf("hours %q: %v, %v", hoursText(r.Hours), got, err)
		}
	}
	for _, p := range c.People {
		if got, err := parseAddresses(addressesText(p.Addresses)); err != nil || !reflect.DeepEqual(got, p.Addresses) {
			t.Errorf("addresses %q: %v, %v", addressesText(p.Addresses), got, err)
		}
		if got, err := parseHours(hoursText(p.WorkingHours)); err != nil || !reflect.DeepEqual(got, p.WorkingHours) {
			t.Errorf("hours %q: %v, %v", hoursText(p.WorkingHours), got, err)
		}
	}
	steps, err := parseSteps("anna; 15 solar, push", c)
	want := []api.NotificationStep{{To: []string{"person:anna"}}, {AfterMinutes: 15, To: []string{"rotation:solar", "channel:push"}}}
	if err != nil || !reflect.DeepEqual(steps, want) {
		t.Errorf("steps without kinds: %v, %v", steps, err)
	}
	hours, err := parseHours("sat,sun 10:00-12:00; MON-wed, fri 08:00-09:00")
	if err != nil || len(hours) != 2 || len(hours[1].Days) != 4 {
		t.Errorf("hours: %v, %v", hours, err)
	}
	for _, bad := range []string{"08:00", "mo 08:00-09:00", "mon tue 08:00-09:00", "fri-mon 08:00-09:00"} {
		if got, err := parseHours(bad); err == nil {
			t.Errorf("hours %q are read as %v", bad, got)
		}
	}
	for _, bad := range []string{"30", "anna ben", "-5 anna"} {
		if got, err := parseSteps(bad, c); err == nil {
			t.Errorf("steps %q are read as %v", bad, got)
		}
	}
	if got, err := parseAddresses("mail anna ben"); err == nil {
		t.Errorf("addresses are read as %v", got)
	}
}

// A form is sent when it is complete; what is wrong is said at its field.
func TestForms(t *testing.T) {
	c := plant.New().Notifications(stage.Noon)
	for _, tt := range []struct {
		kind string
		keys []string
		sent bool
		text string
	}{
		{api.NotificationRouteKind, []string{"enter"}, false, "Which id?"},
		{api.NotificationRouteKind, []string{"all", "enter"}, false, "There is a route all already: select it and press E to change it."},
		{api.NotificationRouteKind, []string{"night", "enter"}, false, "Who is notified?"},
		{api.NotificationRouteKind, []string{"night", "shift+tab", "shift+tab", "shift+tab", "shift+tab", "anna", "enter"}, true, ""},
		{api.NotificationRotationKind, []string{"r", "enter"}, false, "Who is on call?"},
		{api.NotificationPersonKind, []string{"carla", "enter"}, false, "By which channel is the person reached?"},
		{api.NotificationChannelKind, []string{"chat", "enter"}, true, ""},
	} {
		d := newItemForm(tt.kind, "acme", c, "")
		r := stage.Press(d, tt.keys...)
		if _, sent := r.(view.Call); sent != tt.sent {
			t.Errorf("%s %v: it leads to %#v", tt.kind, tt.keys, r)
		}
		v := stage.ScreenContext(t, false)
		if text := stage.DialogText(v, d, 120, 36); tt.text != "" && !contains(text, tt.text) {
			t.Errorf("%s %v: %q is not there:\n%s", tt.kind, tt.keys, tt.text, text)
		}
	}
	v := stage.ScreenContext(t, false)
	who := NewWhoForm(v, "acme", state.NotifyQuestion{})
	if all, ok := stage.Press(who, "enter").(view.Batch); !ok || len(all) != 2 {
		t.Errorf("the simulation does not open")
	}
}

// contains reports whether a drawn text has words, wherever lines break.
func contains(text, words string) bool {
	squeeze := strings.NewReplacer(" ", "", "\n", "", "│", "")
	return strings.Contains(squeeze.Replace(text), squeeze.Replace(words))
}
