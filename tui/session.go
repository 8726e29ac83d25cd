package tui

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/state"
)

// askSignIn brings the sign-in over the screen; what is under it stays.
func (m *Model) askSignIn(reason string, needsAdmin bool) {
	if m.signIn != nil {
		return
	}
	m.pending = "" // what was typed ahead belongs to the former screen
	m.signIn = screen.NewSignIn(m.o.Source, reason, needsAdmin)
	m.dirty = true
}

// session takes an answer about signing in.
func (m *Model) session(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case setupMsg:
		m.askSignIn("", msg.needed)
		if msg.err != nil {
			m.signIn.Answer(nil, msg.err)
		}
	case signedMsg:
		if m.signIn == nil {
			return nil
		}
		if msg.err == nil {
			m.user = msg.answer.User
			if msg.answer.Token != "" {
				m.keepSession()
			}
		}
		if m.signIn.Answer(msg.answer, msg.err) {
			return m.signedIn()
		}
	}
	return nil
}

// signedIn gives the work back.
func (m *Model) signedIn() tea.Cmd {
	m.signIn = nil
	m.store.Planner.Reset()
	if m.user != nil {
		m.say("Signed in as "+m.user.Username+", "+m.user.RoleName+".", themes.Accent)
	}
	return m.poll()
}

func (m *Model) keepSession() {
	if m.o.KeepSession == nil {
		return
	}
	if err := m.o.KeepSession(m.o.Client.Credential()); err != nil {
		m.o.Log.Warn("keep the session", "error", err)
		m.say("The session could not be kept: "+err.Error(), themes.Warning)
	}
}

// signOut ends the session, here and at the service.
func (m *Model) signOut() tea.Cmd {
	m.askSignIn("You signed out.", false)
	cmd := m.run(func(ctx context.Context) tea.Msg {
		if err := m.o.Client.Logout(ctx); err != nil {
			return noticeMsg{"The service did not confirm the sign-out: " + sentence(err), themes.Warning}
		}
		return noticeMsg{"Signed out.", themes.Dim}
	})
	m.user = nil
	if m.o.KeepSession != nil {
		if err := m.o.KeepSession(""); err != nil {
			m.o.Log.Warn("forget the session", "error", err)
		}
	}
	return cmd
}

// request does what a dialog asked for.
func (m *Model) request(do any) tea.Cmd {
	switch do := do.(type) {
	case screen.RunAction:
		return m.act(do.Action)
	case screen.ShowTheme:
		m.showTheme(do.Name, do.Keep)
	case screen.OpenSite:
		for _, s := range m.store.Sites.Data {
			if s.SiteID == do.SiteID {
				m.openSite(s)
				return m.poll()
			}
		}
	case screen.TakeInHand:
		m.hand = do.Hand
	case screen.StartUpload:
		return m.upload(do)
	case screen.SignIn:
		return m.run(func(ctx context.Context) tea.Msg {
			send := m.o.Client.Login
			if do.Setup {
				send = m.o.Client.Setup
			}
			r, err := send(ctx, do.Username, do.Password)
			return signedMsg{r, err}
		})
	case screen.Verify:
		return m.run(func(ctx context.Context) tea.Msg {
			r, err := m.o.Client.VerifyMFA(ctx, do.MFAToken, do.Code)
			return signedMsg{r, err}
		})
	case screen.SignedIn:
		return m.signedIn()
	case screen.Quit:
		return tea.Quit
	}
	return nil
}

// upload sends a file; the uploads list shows what becomes of it.
func (m *Model) upload(do screen.StartUpload) tea.Cmd {
	m.say("Sending "+filepath.Base(do.Path)+" …", themes.Dim)
	customer := do.CustomerID
	if customer == "" && m.user != nil && len(m.user.CustomerIDs) > 0 && m.user.CustomerIDs[0] != api.Every {
		customer = m.user.CustomerIDs[0]
	}
	if customer == "" {
		customer = "default"
	}
	location := do.Location
	if location == "" {
		location = "unknown"
	}
	req := api.UploadRequest{
		CustomerID: customer, SiteID: do.SiteID, Region: "local", Location: location, Manufacturer: do.Manufacturer,
		Timezone: do.Timezone, CapacityKW: do.CapacityKW, AssetID: do.AssetID, Filename: filepath.Base(do.Path),
	}
	return m.runFor(5*requestTimeout, func(ctx context.Context) tea.Msg {
		f, err := os.Open(do.Path)
		if err != nil {
			return uploadMsg{file: do.Path, err: err}
		}
		defer f.Close()
		ack, err := m.o.Client.UploadTrain(ctx, req, f, nil)
		return uploadMsg{file: filepath.Base(do.Path), ack: ack, err: err}
	})
}

// uploaded tells how the sending went.
func (m *Model) uploaded(msg uploadMsg) {
	if msg.err != nil {
		words := sentence(msg.err)
		if os.IsNotExist(msg.err) {
			words = "there is no such file."
		} else if os.IsPermission(msg.err) {
			words = "this user may not read it."
		}
		m.say(msg.file+": "+words, themes.Warning)
		return
	}
	m.say(msg.file+" is taken: "+msg.ack.ProcessingStatus+". Press g u to follow it.", themes.Accent)
	m.store.Planner.Forget(state.QueryUploads, state.QuerySites)
}

// detected tells what a run of the detector found.
func (m *Model) detected(msg detectMsg) {
	switch {
	case msg.err != nil:
		m.say(msg.asset+": "+sentence(msg.err), themes.Warning)
	case msg.found == 0:
		m.say(msg.asset+": detection found nothing abnormal.", themes.Dim)
	default:
		m.say(msg.asset+": detection found "+strconv.Itoa(msg.found)+plural(msg.found, " anomaly", " anomalies")+".", themes.Accent)
	}
	m.store.Planner.Forget(state.QueryFindings, state.QueryActivities)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// showTheme draws with the theme of that name, and keeps it if asked.
func (m *Model) showTheme(name string, keep bool) {
	t, ok := themes.Find(m.o.Themes, name)
	if !ok {
		return
	}
	m.useTheme(t)
	if keep && m.o.KeepTheme != nil {
		if err := m.o.KeepTheme(name); err != nil {
			m.say("The choice could not be kept: "+err.Error(), themes.Warning)
		}
	}
}

// csvName is a file name for an export: what, where and when.
func csvName(pane, site, stamp string) string {
	clean := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r == '-', r == '_':
				return r
			}
			return '-'
		}, s)
	}
	return "sunloop-" + clean(site) + "-" + clean(strings.ToLower(pane)) + "-" + clean(stamp) + ".csv"
}
