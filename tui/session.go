package tui

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
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
			m.signedIn()
		}
	}
	return m.poll()
}

// signedIn gives the work back, to the person whose work it was.
func (m *Model) signedIn() {
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
	m.hand, m.trail, m.dialogs, m.screens, m.filter, m.zoom, m.focus = view.Selection{}, nil, nil, nil, nil, false, layout.Observe
	m.alarmed, m.watched = map[string]bool{}, map[string]bool{}
	m.place, m.memories, m.recent = Place{}, map[string]view.Memory{}, nil
	for _, p := range m.panes {
		for _, list := range p.Lists().All {
			list.Restore(view.Memory{})
		}
	}
}

// sendSignIn sends a name and a password.
func (m *Model) sendSignIn(r view.SignIn) tea.Cmd {
	return m.run(func(ctx context.Context) tea.Msg {
		if r.Setup {
			answer, err := m.o.Client.Setup(ctx, r.Username, r.Password, r.SetupToken)
			return signedMsg{answer, err}
		}
		answer, err := m.o.Client.Login(ctx, r.Username, r.Password)
		return signedMsg{answer, err}
	})
}

// verifyCode answers a second-factor challenge.
func (m *Model) verifyCode(r view.VerifyCode) tea.Cmd {
	return m.run(func(ctx context.Context) tea.Msg {
		answer, err := m.o.Client.VerifyMFA(ctx, r.MFAToken, r.Code)
		return signedMsg{answer, err}
	})
}

// upload sends a file; the uploads list shows what becomes of it.
func (m *Model) upload(u view.Upload) tea.Cmd {
	req := u.Metadata
	customer := req.CustomerID
	if customer == "" && m.user != nil && len(m.user.CustomerIDs) > 0 && m.user.CustomerIDs[0] != api.Every {
		customer = m.user.CustomerIDs[0]
	}
	if customer == "" {
		customer = "default"
	}
	req.CustomerID, req.Region, req.Location, req.Filename = customer, "local", cmp.Or(req.Location, "unknown"), filepath.Base(u.Path)
	if m.o.Away { // whose path it is, is known; whose file, is not
		m.say("Not sent: "+awayFiles+".", themes.Warning)
		return nil
	}
	m.paths[req.Filename] = u.Path
	return m.runFor(5*requestTimeout, func(ctx context.Context) tea.Msg {
		f, err := os.Open(u.Path)
		if err != nil {
			return uploadMsg{file: u.Path, from: u.From, err: err}
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return uploadMsg{file: u.Path, from: u.From, err: errNoFile}
		}
		ack, err := m.o.Client.UploadTrain(ctx, req, f, func(sent int64) { u.From.Sent(sent, info.Size()) })
		return uploadMsg{file: req.Filename, site: api.SiteRef{CustomerID: req.CustomerID, SiteID: req.SiteID}, from: u.From, ack: ack, err: err}
	})
}

// dropped opens the form of an import with a path that was pasted or dropped on
// the terminal.
func (m *Model) dropped(text string) view.Request {
	if !screen.IsPath(text) {
		return view.Notify{Text: "What was pasted is no path of a file.", Role: themes.Dim}
	}
	if e, ok := m.o.Keys.Entry(keymap.Upload); ok && m.disabled(e) != "" {
		return view.Run{Action: keymap.Upload} // which says why not
	}
	d := screen.NewUpload(m.siteRecord())
	d.SetFile(text)
	return view.OpenDialog{Dialog: d}
}

// errNoFile says that a path names something that cannot be imported.
var errNoFile = errors.New("it is no file, but a folder or a device")

// uploaded shows how the sending ended: in the form that sent the file, while it
// is open, else in the last line.
func (m *Model) uploaded(msg uploadMsg) {
	var err error
	if msg.err != nil {
		err = errors.New(msg.file + ": " + state.Reason(msg.err) + ".")
	}
	open := m.deliver(msg.from, err)
	switch {
	case err == nil:
		m.watched[msg.ack.UploadID] = true
		m.wanted = msg.site
		m.say(msg.file+" is taken; Act (4) and g u show how far it is.", themes.Accent)
		m.store.Planner.Forget(state.QueryUploads, state.QuerySites)
	case !open:
		m.say(err.Error(), themes.Warning)
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
