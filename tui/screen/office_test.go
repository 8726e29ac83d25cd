package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// officeDialogs are the forms of units, users, files and the audit trail.
func officeDialogs() map[string]view.Dialog {
	return map[string]view.Dialog{
		"audit-ask": NewAuditForm(state.AuditQuestion{Actor: "anna", From: api.At(noon.AddDate(0, 0, -7))}, nil, time.UTC, nil),
		"picker":    shownFolder(), "upload-cancel": NewUploadCancel(plant.New().Uploads(noon)[1]),
		"asset-add": NewAssetForm(plant.New().Site()), "asset-change": NewAssetChange(plant.New().Equipment(noon)[1]),
		"component-install": NewComponentForm(plant.New().Equipment(noon)[2], nil, "2026-11-28"), "component-replace": NewComponentForm(plant.New().Equipment(noon)[2], &plant.New().Equipment(noon)[2].Components[1], "2026-11-28"),
		"component-remove": NewComponentRemoval(plant.New().Equipment(noon)[2], plant.New().Equipment(noon)[2].Components[1]),
		"user-add":         NewUserForm("acme", false), "user-add-limited": NewUserForm("acme", true), "user-change": NewUserChange(userRecords()[0]), "user-disable": NewBlock(userRecords()[0]), "user-password": NewPasswordForm(userRecords()[0]),
		"user-factor": NewFactorReset(userRecords()[0]), "user-delete": NewUserDelete(userRecords()[1]), "user-key": NewSSHKeyForm(userRecords()[0]), "user-unlock": NewUnlock(userRecords()[2]),
		"alarms-shelve": NewShelve(plant.New().Alerts(noon)[:1]),
	}
}

// officeScreens are the screens that belong to no one pane.
func officeScreens() map[string]view.View {
	return map[string]view.View{"users": NewUsers(), "fleet": NewFleet(), "assets": NewAssets(), "components": NewComponents("INV-03"), "log": NewLog(logLines), "log-service": logOfService()}
}

// logLines are some as slog writes them, and one of another form.
func logLines() []string {
	return []string{
		`time=2026-11-28T11:20:00.000+02:00 level=INFO msg="the service answers again" source=embedded`, `time=2026-11-28T11:21:30.000+02:00 level=WARN msg="a request failed" query=forecast error="no model"`,
		`time=2026-11-28T11:21:31.000+02:00 level=DEBUG msg=tick`, "something else", `time=2026-11-28T11:29:00.000+02:00 level=ERROR msg="a command of the console panicked" panic="index out of range"`,
	}
}

// logOfService is the log with the service's lines.
func logOfService() *Log {
	l := NewLog(logLines)
	l.service = true
	return l
}

// shownFolder is the choice of a file in a folder that was read.
func shownFolder() *FilePicker {
	d := PickFile("", nil).(view.Batch)[0].(view.OpenDialog).Dialog.(*FilePicker)
	d.coming = &listing{folder: "/data/exports", entries: []entry{
		{name: "2025", folder: true, modified: noon.AddDate(0, -3, 0)},
		{name: "sibaya-2026-11.csv", size: 812_000, modified: noon.Add(-time.Hour)}, {name: "all-years.csv", size: 44_000_000, modified: noon.AddDate(0, 0, -2)}, {name: "notes.txt", size: 512, modified: noon.AddDate(0, -1, 0)},
	}}
	d.Answer(nil)
	return d
}

// officeView has what these screens show.
func officeView(t testing.TB, ascii bool) view.Context {
	v, p := contextOf(t, ascii), plant.New()
	v.Site.Assets.Good(p.Equipment(noon), noon)
	v.Site.Findings.Good(p.Findings(noon), noon)
	v.Admin.Users.Good(userRecords(), noon)
	v.Admin.Fleet.Good(p.Fleet(noon), noon)
	v.Admin.Log.Good([]api.LogEntry{
		{Sequence: 12, Timestamp: api.At(noon.Add(-time.Minute)), Level: api.LogWarn, Message: "a webhook was not taken", Details: "subscription=sub_01J answer=503"},
		{Sequence: 11, Timestamp: api.At(noon.Add(-time.Hour)), Level: api.LogInfo, Message: "trained", Details: "site=Sibaya took=41s"},
	}, noon)
	return v
}

func TestOffice(t *testing.T) {
	for name, s := range officeScreens() {
		for _, size := range sizes {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.w, size.h), furtherText(officeView(t, false), s, size.w, size.h))
		}
	}
	for name, d := range officeDialogs() {
		for _, size := range sizes {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.w, size.h), screenText(officeView(t, false), d, size.w, size.h))
		}
	}
}

// In ASCII nothing else is drawn, and no size breaks a line.
func TestOfficeInASCII(t *testing.T) {
	for _, size := range append(sizes, struct{ w, h int }{60, 20}, struct{ w, h int }{20, 5}) {
		texts := map[string]string{}
		for name, s := range officeScreens() {
			texts[name] = furtherText(officeView(t, true), s, size.w, size.h)
		}
		for name, d := range officeDialogs() {
			texts[name] = screenText(officeView(t, true), d, size.w, size.h)
		}
		for name, text := range texts {
			if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); i >= 0 {
				t.Errorf("%s at %d×%d: not ASCII: %.30q", name, size.w, size.h, text[i:])
			}
			for y, line := range strings.Split(text, "\n") {
				if terminal.Width(line) > size.w {
					t.Errorf("%s at %d×%d: line %d is wider", name, size.w, size.h, y)
				}
			}
		}
	}
}

// userRecords are a user of each state, by name.
func userRecords() []api.UserRecord {
	at := func(days int) api.Time { return api.At(noon.AddDate(0, 0, days)) }
	return []api.UserRecord{
		{UserID: "usr_01JA", Username: "anna", RoleID: api.RoleAdmin, CustomerIDs: []string{api.Every}, SiteIDs: []string{api.Every}, Active: true, MFAEnrolled: true, RecoveryCodes: 7, CreatedAt: at(-300), LastLoginAt: api.At(noon.Add(-2 * time.Hour)),
			SSHPublicKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE00 anna@gateway"}},
		{UserID: "usr_01JB", Username: "bob", RoleID: api.RoleOperator, CustomerIDs: []string{"acme"}, SiteIDs: []string{"Sibaya"}, Active: false, CreatedAt: at(-200), LastLoginAt: at(-90)},
		{UserID: "usr_01JC", Username: "carla", RoleID: api.RoleTechnician, CustomerIDs: []string{"acme", "north"}, SiteIDs: []string{api.Every}, Active: true, MFAEnrolled: true, RecoveryCodes: 2, CreatedAt: at(-100), LastLoginAt: at(-1), LockedUntil: api.At(noon.Add(11 * time.Minute))},
		{UserID: "usr_01JD", Username: "dora", RoleID: api.RoleAnalyst, CustomerIDs: []string{"acme"}, SiteIDs: []string{api.Every}, Active: true, Issuer: "https://login.example.com", CreatedAt: at(-2)},
	}
}
