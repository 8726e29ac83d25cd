package tui

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// userOf is whom a kept token was made for, as it says itself: for the status
// line and for what is offered. The service checks. Nil for what is no token.
func userOf(token string) *api.User {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var u api.User
	if json.Unmarshal(b, &u) != nil || u.UserID == "" {
		return nil
	}
	u.Username, u.RoleName = terminal.Printable(u.Username), state.RoleName(u.RoleID)
	return &u
}

// may says whether a person has an administrator's permission, as far as the
// console knows: by the permissions of the sign-in, with a kept token by its
// role. Of a credential that says nothing, the service knows.
func may(u *api.User, p api.Permission) bool {
	switch {
	case u == nil:
		return true
	case u.ApplicationPermissions != nil:
		return slices.Contains(u.ApplicationPermissions, string(p))
	}
	return u.RoleID == api.RoleAdmin
}

// askSignIn brings the sign-in over the screen; what is under it stays.
func (m *Model) askSignIn(reason string) { m.show(screen.NewSignIn(m.o.Source, reason)) }

// show brings a sign-in over the screen, unless one is there.
func (m *Model) show(d *screen.SignInDialog) {
	if m.signIn != nil {
		return
	}
	m.pending = "" // what was typed ahead belongs to the former screen
	m.signIn = d
	m.dirty = true
}

// session takes an answer about signing in.
func (m *Model) session(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case setupMsg:
		if msg.needed {
			m.show(screen.NewSetup(m.o.Source, msg.token))
		} else {
			m.askSignIn("")
		}
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

// signedIn gives the work back, to the person whose work it was.
func (m *Model) signedIn() tea.Cmd {
	m.signIn = nil
	m.store.Renew()
	if m.user != nil && m.owner != "" && m.owner != m.user.UserID {
		m.forget()
	}
	if m.user != nil && m.owner != m.user.UserID {
		m.owner = m.user.UserID
		m.returnToPlace()
	}
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
	m.askSignIn("You signed out.")
	cmd := m.run(func(ctx context.Context) tea.Msg {
		if err := m.o.Client.Logout(ctx); err != nil {
			return noticeMsg{"The service did not confirm the sign-out: " + state.Sentence(err), themes.Warning}
		}
		return noticeMsg{"Signed out.", themes.Dim}
	})
	cmd = tea.Batch(m.keepPlace(), cmd)
	m.user, m.owner = nil, ""
	m.forget()
	if m.o.KeepSession != nil {
		if err := m.o.KeepSession(""); err != nil {
			m.o.Log.Warn("forget the session", "error", err)
		}
	}
	return cmd
}

// forget drops everything that was somebody's: data, place and dialogs.
func (m *Model) forget() {
	m.store.Close()
	m.hand, m.trail, m.dialogs, m.screens, m.filter, m.zoom, m.focus = pane.Hand{}, nil, nil, nil, nil, false, layout.Observe
	m.alarmed, m.watched = map[string]bool{}, map[string]bool{}
	m.place, m.memories, m.recent = Place{}, map[string]pane.Memory{}, nil
	for _, p := range m.panes {
		if l, ok := p.(interface{ Lists() pane.Lists }); ok {
			for _, list := range l.Lists().All {
				list.Restore(pane.Memory{})
			}
		}
	}
}

// request does what a dialog asked for.
func (m *Model) request(do any) tea.Cmd {
	switch do := do.(type) {
	case screen.RunAction:
		return m.act(do.Action)
	case screen.ShowTheme:
		return m.showTheme(do.Name, do.Keep)
	case screen.Chosen:
		return m.chosen(do)
	case screen.OpenSetting:
		return m.openScreen(m.openSetting(do.Name))
	case screen.SetSetting:
		return m.set(do)
	case screen.BindKeys:
		return m.bind(do)
	case screen.UsePreset:
		return m.usePreset(do.Name)
	case screen.SeePreset:
		return m.seePreset(do.Value)
	case screen.KeepPreset:
		return m.keepPreset(do)
	case screen.Say:
		m.say(do.Words, themes.Dim)
	case screen.OpenSite:
		for _, s := range m.store.Sites.Data {
			if s.Ref() == do.Site {
				m.openSite(s)
				return m.poll()
			}
		}
	case screen.TakeInHand:
		return m.intend(pane.Intent{Hand: &do.Hand, Focus: do.Focus})
	case screen.StartUpload:
		return m.upload(do)
	case screen.Send:
		return m.send(do)
	case screen.SaveText:
		path, err := m.writeExport(do.What, "", "log", []byte(do.Text))
		if err != nil {
			m.say("Not written: "+err.Error(), themes.Warning)
		} else {
			m.say(fmt.Sprintf("%d lines are in %s", strings.Count(do.Text, "\n"), path), themes.Accent)
		}
	case screen.OpenDialog:
		m.dialogs = append(m.dialogs, do.Dialog)
		if d, ok := do.Dialog.(interface{ Start() screen.Send }); ok {
			return m.send(d.Start())
		}
		return m.poll()
	case screen.Opening:
		m.dialogs = append(m.dialogs, do.Dialog)
		return m.send(do.Defaults)
	case screen.OpenScreen:
		return m.openScreen(do)
	case screen.SignIn:
		return m.run(func(ctx context.Context) tea.Msg {
			if do.Setup {
				r, err := m.o.Client.Setup(ctx, do.Username, do.Password, do.Token)
				return signedMsg{r, err}
			}
			r, err := m.o.Client.Login(ctx, do.Username, do.Password)
			return signedMsg{r, err}
		})
	case screen.Verify:
		return m.run(func(ctx context.Context) tea.Msg {
			r, err := m.o.Client.VerifyMFA(ctx, do.MFAToken, do.Code)
			return signedMsg{r, err}
		})
	case screen.SignedIn:
		return m.signedIn()
	case screen.CopyText:
		return m.copyText(do.Text, "Copied.", "") // a secret maybe: never into a file
	}
	return nil
}

// openScreen puts a further screen in the place of the panes.
func (m *Model) openScreen(o screen.OpenScreen) tea.Cmd {
	if !o.Over {
		m.screens = nil
	}
	for _, s := range m.screens {
		m.memorize(s.Title(), s)
	}
	m.recall(o.Screen.Title(), o.Screen)
	m.screens, m.filter = append(m.screens, o.Screen), nil
	return m.poll()
}

// upload sends a file; the uploads list shows what becomes of it.
func (m *Model) upload(do screen.StartUpload) tea.Cmd {
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
	if m.o.Away { // whose path it is, is known; whose file, is not
		m.say("Not sent: "+awayFiles+".", themes.Warning)
		return nil
	}
	m.paths[req.Filename] = do.Path
	var form *screen.UploadDialog
	if n := len(m.dialogs); n > 0 {
		form, _ = m.dialogs[n-1].(*screen.UploadDialog)
	}
	return m.runFor(5*requestTimeout, func(ctx context.Context) tea.Msg {
		f, err := os.Open(do.Path)
		if err != nil {
			return uploadMsg{file: do.Path, form: form, err: err}
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return uploadMsg{file: do.Path, form: form, err: errNoFile}
		}
		told := func(sent int64) {
			if form != nil {
				form.Told(sent, info.Size())
			}
		}
		ack, err := m.o.Client.UploadTrain(ctx, req, f, told)
		return uploadMsg{file: filepath.Base(do.Path), site: api.SiteRef{CustomerID: req.CustomerID, SiteID: req.SiteID}, form: form, ack: ack, err: err}
	})
}

// drop opens the form of an import with a path that was pasted or dropped on
// the terminal.
func (m *Model) drop(text string) tea.Cmd {
	if !screen.IsPath(text) {
		m.say("What was pasted is no path of a file.", themes.Dim)
		return nil
	}
	before := len(m.dialogs)
	cmd := m.act(keymap.Upload)
	if len(m.dialogs) > before {
		if d, ok := m.dialogs[before].(*screen.UploadDialog); ok {
			d.SetFile(text)
		}
	}
	return cmd
}

// errNoFile says that a path names something that cannot be imported.
var errNoFile = errors.New("it is no file, but a folder or a device")

// uploaded tells how the sending went: in the form that sent it, while it is
// there, else in the last line.
func (m *Model) uploaded(msg uploadMsg) {
	m.dirty = true
	wrong := ""
	if msg.err != nil {
		wrong = msg.file + ": " + state.Reason(msg.err) + "."
	}
	at := slices.IndexFunc(m.dialogs, func(d screen.Dialog) bool { return d == screen.Dialog(msg.form) })
	if msg.form != nil && at >= 0 && msg.form.Answer(wrong) {
		m.dialogs = slices.Delete(m.dialogs, at, at+1)
		at = -1
	}
	switch {
	case wrong == "":
		m.watched[msg.ack.UploadID] = true
		m.wanted = msg.site
		m.say(msg.file+" is taken; Act (4) and g u show how far it is.", themes.Accent)
		m.store.Planner.Forget(state.QueryUploads, state.QuerySites)
	case at < 0:
		m.say(wrong, themes.Warning)
	}
}

// tellUploads tells the end of the files that this console sent.
func (m *Model) tellUploads() {
	for _, u := range m.store.Site.Uploads.Data {
		if !m.watched[u.UploadID] || !u.Ended() {
			continue
		}
		delete(m.watched, u.UploadID)
		switch {
		case u.Error != "":
			m.say(pane.FileName(u)+": "+u.Error, themes.Warning)
		default:
			m.say(fmt.Sprintf("%s is imported: %d rows. g u shows what was inferred.", pane.FileName(u), u.RowsStored), themes.Accent)
		}
	}
}

// detected tells what a run of the detector found.
func (m *Model) detected(msg detectMsg) {
	switch {
	case msg.err != nil:
		m.say(msg.asset+": "+state.Sentence(msg.err), themes.Warning)
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
func (m *Model) showTheme(name string, keep bool) tea.Cmd {
	if keep && !m.sources.Of(settings.Theme).Fixed {
		return m.set(screen.SetSetting{Name: settings.Theme, Value: name})
	}
	m.applyTheme(name)
	if keep {
		m.say("This theme counts until you leave: "+m.sources.Of(settings.Theme).From+" sets another.", themes.Dim)
	}
	return nil
}
