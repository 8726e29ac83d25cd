package tui

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/app"
)

// session is who is signed in, and the sign-in over the screen.
type session struct {
	user   *api.User   // nil when not known
	owner  string      // id of the person whose work is on screen
	signIn *app.SignIn // over everything else; nil for none
	// certificate asks about the certificate of the service, over the sign-in; nil for none.
	// Meanwhile nothing is asked of the service.
	certificate *app.Certificate
}

func newSession(o Options) session {
	s := session{user: o.User}
	if s.user == nil {
		s.user = userOf(o.Client.Credential())
	}
	if s.user != nil {
		s.owner = s.user.UserID
	}
	return s
}

// userOf returns the user that a stored token names, unverified: it is for the status
// line and for the actions that are offered, and the service checks the token. It
// returns nil if the text is not a token.
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

// askSignIn shows the sign-in over the screen, which is kept.
func (m *Model) askSignIn(reason string) {
	m.show(app.NewSignIn(m.o.Source, reason).Hint(m.o.SignInHint))
}

// show shows a sign-in over the screen, unless there is one.
func (m *Model) show(d *app.SignIn) {
	if m.session.signIn != nil {
		return
	}
	m.nav.pending = "" // keys typed ahead were meant for the former screen
	m.session.signIn = d
	m.frame.dirty = true
}

// session processes a response about the sign-in.
func (m *Model) signInAnswered(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case setupMsg:
		if m.refusedCertificate(msg.err) {
			return nil
		}
		if msg.needed {
			m.show(app.NewSetup(m.o.Source, msg.token))
		} else {
			m.askSignIn("")
		}
		if msg.err != nil {
			m.session.signIn.Answer(nil, msg.err)
		}
	case signedMsg:
		if m.session.signIn == nil {
			return nil
		}
		m.refusedCertificate(msg.err)
		if msg.err == nil {
			m.session.user = msg.answer.User
			if msg.answer.Token != "" {
				m.keepSession()
			}
		}
		if m.session.signIn.Answer(msg.answer, msg.err) {
			m.signedIn()
		}
	}
	return m.poll()
}

// certificateMsg is the result of accepting a certificate.
type certificateMsg struct{ err error }

// refusedCertificate asks about a certificate if an error is about one that can be
// accepted, or that differs from the accepted one. It reports whether it is.
func (m *Model) refusedCertificate(err error) bool {
	var refused *client.CertificateError
	if m.o.AcceptCertificate == nil || !errors.As(err, &refused) {
		return false
	}
	if m.session.certificate == nil {
		m.nav.pending = ""
		m.session.certificate = app.NewCertificate(*refused, m.o.CertificatesFile)
		m.dialogs.guard.begin(m.o.Now()) // it opens unasked
		m.frame.dirty = true
	}
	return true
}

// answerCertificate accepts the certificate that is asked about, or leaves.
func (m *Model) answerCertificate(r view.AnswerCertificate) tea.Cmd {
	d := m.session.certificate
	switch {
	case d == nil:
		return nil
	case !r.Accept:
		return tea.Quit
	}
	return m.run(func(context.Context) tea.Msg { return certificateMsg{m.o.AcceptCertificate(d.Fingerprint())} })
}

// certificateAccepted asks the service again that is trusted now.
func (m *Model) certificateAccepted(err error) tea.Cmd {
	m.frame.dirty = true
	switch d := m.session.certificate; {
	case d == nil:
		return nil
	case err != nil:
		d.Failed(err)
		return nil
	}
	m.session.certificate = nil
	m.data.Renew()
	m.notify("The certificate of "+m.o.Source+" is accepted.", themes.Accent)
	if m.session.signIn == nil && m.o.Client.Credential() == "" {
		return m.askSetup()
	}
	return m.poll()
}

// signedIn restores the screen if the same user has signed in again.
func (m *Model) signedIn() {
	m.session.signIn = nil
	m.data.Renew()
	if m.session.user != nil && m.session.owner != "" && m.session.owner != m.session.user.UserID {
		m.forget()
	}
	if m.session.user != nil && m.session.owner != m.session.user.UserID {
		m.session.owner = m.session.user.UserID
		m.returnToPlace()
	}
	if m.session.user != nil {
		m.notify("Signed in as "+m.session.user.Username+", "+m.session.user.RoleName+".", themes.Accent)
	}
}

func (m *Model) keepSession() {
	if m.o.KeepSession == nil {
		return
	}
	if err := m.o.KeepSession(m.o.Client.Credential()); err != nil {
		m.o.Log.Warn("session not saved", "error", err)
		m.notify("Session not saved: "+err.Error(), themes.Warning)
	}
}

// signOut ends the session, here and at the service.
func (m *Model) signOut() tea.Cmd {
	m.askSignIn("You signed out.")
	cmd := m.run(func(ctx context.Context) tea.Msg {
		if err := m.o.Client.Logout(ctx); err != nil {
			return noticeMsg{"Signed out locally; the service did not confirm: " + state.Sentence(err), themes.Warning}
		}
		return noticeMsg{"Signed out.", themes.Dim}
	})
	cmd = tea.Batch(m.keepPlace(), cmd)
	m.session.user, m.session.owner = nil, ""
	m.forget()
	if m.o.KeepSession != nil {
		if err := m.o.KeepSession(""); err != nil {
			m.o.Log.Warn("session not deleted", "error", err)
		}
	}
	return cmd
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

// may reports whether the user has an administrator's permission, as far as the
// console knows: by the permissions of the sign-in, with a stored token by its role.
// For a credential without this information the service decides.
func (s *session) may(p api.Permission) bool {
	u := s.user
	switch {
	case u == nil:
		return true
	case u.ApplicationPermissions != nil:
		return slices.Contains(u.ApplicationPermissions, string(p))
	}
	return u.RoleID == api.RoleAdmin
}

// forget drops all data, the place and the dialogs of the user who was signed in.
func (m *Model) forget() {
	m.data.Close()
	m.nav.reset()
	m.dialogs.stack = nil
	m.notes.announced, m.data.watched = nil, nil
	m.places = places{stored: m.places.stored, lists: map[string]view.Memory{}}
}
