package golden

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/picture"
	simulated "app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/admin"
	"app.sunloop/tui/view/alarm"
	"app.sunloop/tui/view/analysis"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/plant"
)

// officeDialogs returns the forms of units, users, files and the audit trail.
func officeDialogs() map[string]view.Dialog {
	return map[string]view.Dialog{
		"audit-ask":     admin.NewAuditForm(state.AuditQuestion{Actor: "anna", From: api.At(stage.Noon.AddDate(0, 0, -7))}, nil, time.UTC, nil),
		"upload-cancel": plant.NewUploadCancel(simulated.New().Uploads(stage.Noon)[1]),
		"site-change":   plant.NewSiteChange(simulated.New().Site()), "contract": analysis.NewContract(simulated.New().Site()),
		"search-form": plant.NewSearchForm(api.GatewaysRequest{SiteID: "Sibaya"}), "gateway-invite": plant.NewInvite(api.GatewaysRequest{SiteID: "Sibaya"}), "gateway-revoke": plant.NewGatewayRevoke(simulated.New().Gateways(stage.Noon)[0]),
		"asset-add": plant.NewAssetForm(simulated.New().Site()), "asset-change": plant.NewAssetChange(simulated.New().Equipment(stage.Noon)[1]),
		"component-install": plant.NewComponentForm(simulated.New().Equipment(stage.Noon)[2], nil, "2026-11-28"), "component-replace": plant.NewComponentForm(simulated.New().Equipment(stage.Noon)[2], &simulated.New().Equipment(stage.Noon)[2].Components[1], "2026-11-28"),
		"component-remove": plant.NewComponentRemoval(simulated.New().Equipment(stage.Noon)[2], simulated.New().Equipment(stage.Noon)[2].Components[1]),
		"user-add":         admin.NewUserForm("acme", false), "user-add-limited": admin.NewUserForm("acme", true), "user-change": admin.NewUserChange(userRecords()[0]), "user-disable": admin.NewBlock(userRecords()[0]), "user-password": admin.NewPasswordForm(userRecords()[0]),
		"user-factor": admin.NewFactorReset(userRecords()[0]), "user-delete": admin.NewUserDelete(userRecords()[1]), "user-key": admin.NewSSHKeyForm(userRecords()[0]), "user-unlock": admin.NewUnlock(userRecords()[2]),
		"alarms-shelve": alarm.NewShelve(simulated.New().Alerts(stage.Noon)[:1]),
	}
}

// officeScreens returns the screens that belong to no one pane.
func officeScreens() map[string]view.View {
	search := plant.NewSources()
	search.Do(keymap.Right, view.Context{Site: &state.Site{}})
	brokers := plant.NewSources()
	for range 3 {
		brokers.Do(keymap.Right, view.Context{Site: &state.Site{}})
	}
	return map[string]view.View{"sources": plant.NewSources(), "sources-search": search, "sources-brokers": brokers, "users": admin.NewUsers(), "fleet": plant.NewFleet(), "shift": operations.NewShift(), "assets": plant.NewAssets(), "components": plant.NewComponents("INV-03"), "log": admin.NewLog(logLines), "log-service": logOfService()}
}

// logLines are some as slog writes them, and one of another form.
func logLines() []string {
	return []string{
		`time=2026-11-28T11:20:00.000+02:00 level=INFO msg="service reachable" source=embedded`, `time=2026-11-28T11:21:30.000+02:00 level=WARN msg="a request failed" query=forecast error="no model"`,
		`time=2026-11-28T11:21:31.000+02:00 level=DEBUG msg=tick`, "something else", `time=2026-11-28T11:29:00.000+02:00 level=ERROR msg="a command of the console panicked" panic="index out of range"`,
	}
}

// logOfService returns the log with the service's lines.
func logOfService() *admin.Log {
	l := admin.NewLog(logLines)
	l.Do(keymap.OtherLog, view.Context{})
	return l
}

// officeView has what these screens show.
func officeView(t testing.TB, ascii bool) view.Context {
	v, p := stage.ScreenContext(t, ascii), simulated.New()
	v.Site.Assets.Set(p.Equipment(stage.Noon), stage.Noon)
	v.Site.Findings.Set(p.Findings(stage.Noon), stage.Noon)
	v.Site.Shift.Set(p.Shift(stage.Noon), stage.Noon)
	v.Site.Activities.Set(p.Activities(stage.Noon), stage.Noon)
	v.Site.Sources.Set(p.Sources(stage.Noon), stage.Noon)
	v.Site.Discovery.Set(p.Discovery(stage.Noon), stage.Noon)
	v.Admin.Users.Set(userRecords(), stage.Noon)
	v.Admin.Fleet.Set(p.Fleet(stage.Noon), stage.Noon)
	midnight := p.Midnight(stage.Noon)
	day := state.Day{Start: midnight, End: midnight.AddDate(0, 0, 1)}
	v.Admin.FleetUnits.Set(state.FleetUnits{Site: p.Site().Ref(), Assets: p.Assets(), Day: day.With(p.Records(day.Start, day.End, stage.Noon)),
		Alerts: p.Alerts(stage.Noon), Findings: p.Findings(stage.Noon), Forecast: p.Forecast(stage.Noon)}, stage.Noon)
	v.Admin.Log.Set([]api.LogEntry{
		{Sequence: 12, Timestamp: api.At(stage.Noon.Add(-time.Minute)), Level: api.LogWarn, Message: "a webhook was not taken", Details: "subscription=sub_01J answer=503"},
		{Sequence: 11, Timestamp: api.At(stage.Noon.Add(-time.Hour)), Level: api.LogInfo, Message: "trained", Details: "site=Sibaya took=41s"},
	}, stage.Noon)
	return v
}

func TestOffice(t *testing.T) {
	for name, s := range officeScreens() {
		for _, size := range stage.Sizes {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.W, size.H), stage.ScreenText(officeView(t, false), s, size.W, size.H))
		}
	}
	for name, d := range officeDialogs() {
		for _, size := range stage.Sizes {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.W, size.H), stage.DialogText(officeView(t, false), d, size.W, size.H))
		}
	}
}

// In ASCII nothing else is drawn, and no size breaks a line.
func TestOfficeInASCII(t *testing.T) {
	for _, size := range append(stage.Sizes, struct{ W, H int }{60, 20}, struct{ W, H int }{20, 5}) {
		texts := map[string]string{}
		for name, s := range officeScreens() {
			texts[name] = stage.ScreenText(officeView(t, true), s, size.W, size.H)
		}
		for name, d := range officeDialogs() {
			texts[name] = stage.DialogText(officeView(t, true), d, size.W, size.H)
		}
		for name, text := range texts {
			if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); i >= 0 {
				t.Errorf("%s at %d×%d: not ASCII: %.30q", name, size.W, size.H, text[i:])
			}
			for y, line := range strings.Split(text, "\n") {
				if terminal.Width(line) > size.W {
					t.Errorf("%s at %d×%d: line %d is wider", name, size.W, size.H, y)
				}
			}
		}
	}
}

// userRecords returns a user of each state, by name.
func userRecords() []api.UserRecord {
	at := func(days int) api.Time { return api.At(stage.Noon.AddDate(0, 0, days)) }
	return []api.UserRecord{
		{UserID: "usr_01JA", Username: "anna", RoleID: api.RoleAdmin, CustomerIDs: []string{api.Every}, SiteIDs: []string{api.Every}, Active: true, MFAEnrolled: true, RecoveryCodes: 7, CreatedAt: at(-300), LastLoginAt: api.At(stage.Noon.Add(-2 * time.Hour)),
			SSHPublicKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE00 anna@gateway"}},
		{UserID: "usr_01JB", Username: "bob", RoleID: api.RoleOperator, CustomerIDs: []string{"acme"}, SiteIDs: []string{"Sibaya"}, Active: false, CreatedAt: at(-200), LastLoginAt: at(-90)},
		{UserID: "usr_01JC", Username: "carla", RoleID: api.RoleTechnician, CustomerIDs: []string{"acme", "north"}, SiteIDs: []string{api.Every}, Active: true, MFAEnrolled: true, RecoveryCodes: 2, CreatedAt: at(-100), LastLoginAt: at(-1), LockedUntil: api.At(stage.Noon.Add(11 * time.Minute))},
		{UserID: "usr_01JD", Username: "dora", RoleID: api.RoleAnalyst, CustomerIDs: []string{"acme"}, SiteIDs: []string{api.Every}, Active: true, Issuer: "https://login.example.com", CreatedAt: at(-2)},
	}
}
