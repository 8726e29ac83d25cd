package e2e

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/tui"
	"app.sunloop/tui/terminal"
)

// secretOf returns the secret for an authenticator, as the enrolment shows it in
// groups of four.
func secretOf(t *testing.T, screen string) string {
	t.Helper()
	groups := regexp.MustCompile(`\b[A-Z2-7]{4}\b`).FindAllString(screen, -1)
	if len(groups) < 4 {
		t.Fatalf("no secret is shown:\n%s", screen)
	}
	return strings.Join(groups, "")
}

// code returns the authenticator's, of the period that is given from now.
func code(t *testing.T, secret string, periods int) string {
	t.Helper()
	c, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(periods)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A first start on an empty folder: the first administrator with a second
// factor, a file, and what was found in it.
func TestFirstRun(t *testing.T) {
	p := open(t)
	one := sit(t, p, 80, 24, nil)
	one.sees("Create the first administrator")
	one.press("anna", "tab", "correct horse", "tab", "correct horse", "enter")
	secret := secretOf(t, one.sees("Code"))
	one.press("000000", "enter")
	one.sees("Invalid TOTP code.")
	one.press("ctrl+u", code(t, secret, 0), "enter")
	one.sees("Recovery codes")
	one.press("enter")
	one.sees("No sites yet.", "Press U")
	one.press("U")
	one.sees("Import a file", "Capacity kW")
	one.press(production(t), "tab", "ctrl+u", "Durban", "tab", "ctrl+u", "Africa/Johannesburg", "tab", "ctrl+u", "100", "tab", "ctrl+u", "-29.86,31.02", "enter")
	one.sees("Import durban.csv", "replaces  nothing that is stored", "enter import")
	one.press("enter")
	one.sees("state   done", "enter close")
	one.press("enter")
	one.losesSight("Import durban.csv")
	one.sees("Durban", "INV-1", "INV-2 inverter outage")
}

// A user with an authenticator: a wrong password and a wrong code show the
// service's errors and lose nothing.
func TestSignIn(t *testing.T) {
	p, _ := imported(t)
	if _, err := p.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ben", Password: "battery staple", Role: api.RoleOperator, Customers: []string{"acme"}}); err != nil {
		t.Fatal(err)
	}
	one := sit(t, p, 120, 36, nil)
	one.sees("Sign in", "Password")
	one.press("ben", "tab", "wrong", "enter")
	one.sees("Invalid credentials.")
	one.press("ctrl+u", "battery staple", "enter")
	secret := secretOf(t, one.sees("Code")) // enrolment, as the service asks everybody for a second factor
	one.press(code(t, secret, 0), "enter")
	one.sees("Recovery codes")
	one.press("enter")
	one.sees("Durban", "ben")

	// The next time the code is asked for, and the one that was used does not count again.
	again := sit(t, p, 120, 36, nil)
	again.sees("Sign in", "Password")
	again.press("ben", "tab", "battery staple", "enter")
	again.sees("Second factor")
	again.press(code(t, secret, 0), "enter")
	again.sees("Invalid TOTP code.")
	again.press("ctrl+u", code(t, secret, 1), "enter")
	again.sees("Durban", "ben")
}

// From an alarm to an order with a technician, by keyboard, in at most eight
// keys with the defaults.
func TestAlarmToOrder(t *testing.T) {
	p, key := imported(t)
	one := sit(t, p, 120, 36, func(o *tui.Options) {
		o.Client.SetCredential(key)
		o.User = &api.User{UserID: "u1", Username: "anna", RoleID: api.RoleOperator, RoleName: "Operator"}
	})
	one.sees("feeds in", "INV-2  inverter outage")
	keys := one.press("down") // the worst unit, with its alarm
	keys += one.press("o")
	one.sees("Work order for INV-2", "Begin", "anna")
	keys += one.press("enter")
	one.sees("order pending", "pending", "anna")
	if keys > 8 {
		t.Errorf("%d keys", keys)
	}
	c := client.New(client.Options{Transport: p, Credential: key})
	defer c.Close()
	r, err := c.Orders(t.Context(), api.ListQuery{CustomerID: "acme", SiteID: "Durban"}, api.OrderRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Orders) != 1 || r.Orders[0].AssetID != "INV-2" || r.Orders[0].AssignedTechnician != "anna" || r.Orders[0].SummaryID == "" {
		t.Errorf("the service holds %+v", r.Orders)
	}
}

// The service becomes unavailable and available again: the last data stay,
// marked, and the user need not act.
func TestServiceLostAndBack(t *testing.T) {
	p, key := imported(t)
	one := sit(t, p, 120, 36, func(o *tui.Options) { o.Client.SetCredential(key) })
	one.sees("feeds in", "INV-2  inverter outage")
	one.press("down")
	p.gone.Store(true)
	one.press("r")
	one.sees("no answer for", "INV-2", "Durban")
	one.press("2")
	one.sees("Evidence")
	p.gone.Store(false)
	one.press("r")
	one.losesSight("no answer for")
	one.sees("INV-2")
}

// A session that ends brings the sign-in over the work and gives the work back.
func TestSessionEnds(t *testing.T) {
	p, _ := imported(t)
	ben, err := p.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ben", Password: "battery staple", Role: api.RoleOperator, Customers: []string{"acme"}})
	if err != nil {
		t.Fatal(err)
	}
	one := sit(t, p, 120, 36, nil)
	one.sees("Sign in")
	one.press("ben", "tab", "battery staple", "enter")
	secret := secretOf(t, one.sees("Code"))
	one.press(code(t, secret, 0), "enter")
	one.sees("Recovery codes")
	one.press("enter")
	one.sees("feeds in", "INV-2  inverter outage")
	one.press("down", "2", "z")
	one.sees("Evidence")
	admin := client.New(client.Options{Transport: p, Credential: p.key(t, api.RoleAdmin)})
	defer admin.Close()
	if _, err := admin.ResetPassword(t.Context(), ben.ID, "correct horse battery"); err != nil {
		t.Fatal(err)
	}
	one.press("r")
	one.sees("Sign in again to continue.")
	time.Sleep(500 * time.Millisecond) // what is typed at once was meant for what stood there before
	one.press("ben", "tab", "correct horse battery", "enter")
	one.sees("Second factor")
	one.press(code(t, secret, 1), "enter")
	one.losesSight("Sign in")
	one.sees("Evidence", "INV-2")
}

// A window that is dragged about: no frame is lost, cut or torn, and in the end
// the screen is what it would be had nothing happened.
func TestResizeStorm(t *testing.T) {
	p, key := imported(t)
	quiet := func(o *tui.Options) { o.Client.SetCredential(key) }
	one := sit(t, p, 120, 36, quiet)
	one.sees("Durban", "INV-2")
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		one.resizes(1+r.IntN(220), 1+r.IntN(70))
		if r.IntN(4) == 0 {
			one.press([]string{"down", "tab", "z", "?", "esc"}[r.IntN(5)])
		}
	}
	one.resizes(120, 36)
	one.press("esc", "esc", "esc", "esc", "esc", "esc", "1")
	one.sees("Durban", "INV-2", "1 Observe", "of peers")
	calm := sit(t, p, 120, 36, quiet)
	calm.sees("Durban", "INV-2", "1 Observe", "of peers") // the day is there, too
	// Ages may differ by a step; the frames must not.
	frame := func(screen string) []string {
		var edges []string
		for line := range strings.Lines(screen) {
			line = strings.TrimRight(line, "\n")
			if terminal.Width(line) > 120 {
				t.Errorf("a line of %d cells", terminal.Width(line))
			}
			edges = append(edges, strings.TrimRight(strings.Map(func(c rune) rune {
				if strings.ContainsRune("┌┐└┘│", c) {
					return c
				}
				return ' '
			}, line), " "))
		}
		return edges
	}
	one.waits("the frame of\n"+calm.line.screen()+"\n", func(screen string) bool { return slices.Equal(frame(screen), frame(calm.line.screen())) })
}
