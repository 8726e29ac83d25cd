//go:build !windows

package sshd

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/charmbracelet/ssh"
	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend/api"
	"app.sunloop/tui/state"
)

// askWait bounds the service requests of a sign-in.
const askWait = 30 * time.Second

// loginKey finds the sign-in among the permissions of a connection.
type loginKey struct{}

// admitted returns the permissions of a user who signed in.
func admitted(r *api.LoginResponse) *gossh.Permissions {
	return &gossh.Permissions{ExtraData: map[any]any{loginKey{}: r}}
}

// loginOf returns the sign-in that opened the connection.
func loginOf(p *gossh.Permissions) (*api.LoginResponse, bool) {
	if p == nil {
		return nil, false
	}
	r, ok := p.ExtraData[loginKey{}].(*api.LoginResponse)
	return r, ok
}

// opensConsole reports whether a sign-in opens a console: with a token, or to set up
// the authenticator there.
func opensConsole(r *api.LoginResponse) bool { return !r.MFARequired || r.MFAEnrollment }

// serverConfig returns the sign-in of one connection. The library's own callbacks
// cannot express that a key or a password is only one of two factors.
func (s *Server) serverConfig(ctx ssh.Context) *gossh.ServerConfig {
	c := connectionOf(ctx)
	offered := algorithms()
	config := &gossh.ServerConfig{
		Config:                  gossh.Config{KeyExchanges: offered.KeyExchanges, Ciphers: offered.Ciphers, MACs: offered.MACs},
		PublicKeyAuthAlgorithms: offered.PublicKeyAuths,
		PreAuthConnCallback:     func(gossh.ServerPreAuthConn) { c.within(s.Limits.SignIn) },
		PasswordCallback:        c.byPassword,
		AuthLogCallback: func(conn gossh.ConnMetadata, method string, err error) {
			var half *gossh.PartialSuccessError
			switch {
			case err == nil:
				c.begun(conn)
			case !errors.As(err, &half) && method != "none":
				s.Log.Debug("SSH sign-in refused", "user", conn.User(), "address", c.address(), "method", method, "error", err)
			}
		},
	}
	if s.Keys != nil {
		config.PublicKeyCallback = c.knowsKey
		config.VerifiedPublicKeyCallback = c.byKey
	}
	return config
}

// errDenied is the text of a denied sign-in without another text.
var errDenied = errors.New("permission denied")

// knowsKey reports whether a key may be tried. It does not verify that the client
// holds it.
func (c *connection) knowsKey(conn gossh.ConnMetadata, key gossh.PublicKey) (*gossh.Permissions, error) {
	ctx, cancel := context.WithTimeout(c.ctx, askWait)
	defer cancel()
	defer c.place.Begin(true)()
	ok, err := c.server.Keys.Has(ctx, conn.User(), key.Marshal())
	if err != nil {
		c.server.Log.Error("look up public key", "error", err)
	}
	if !ok || err != nil {
		return nil, errDenied
	}
	return &gossh.Permissions{}, nil
}

// byKey signs in who has signed with a key.
func (c *connection) byKey(conn gossh.ConnMetadata, key gossh.PublicKey, _ *gossh.Permissions, _ string) (*gossh.Permissions, error) {
	ctx, cancel := context.WithTimeout(c.ctx, askWait)
	defer cancel()
	defer c.place.Begin(true)()
	r, err := c.server.Keys.Login(ctx, conn.User(), key.Marshal(), c.address())
	if err != nil {
		return nil, inBanner(err)
	}
	if r.Token != "" {
		c.service().SetCredential(r.Token)
	}
	return c.then(&r)
}

// byPassword signs in by the method of that name.
func (c *connection) byPassword(conn gossh.ConnMetadata, password []byte) (*gossh.Permissions, error) {
	ctx, cancel := context.WithTimeout(c.ctx, askWait)
	defer cancel()
	defer c.place.Begin(true)()
	r, err := c.service().Login(ctx, conn.User(), string(password))
	if err != nil {
		return nil, inBanner(err)
	}
	return c.then(r)
}

// then continues after the first factor: with the console, or the second factor.
func (c *connection) then(r *api.LoginResponse) (*gossh.Permissions, error) {
	if opensConsole(r) {
		return admitted(r), nil
	}
	return nil, &gossh.PartialSuccessError{Next: gossh.ServerAuthCallbacks{
		KeyboardInteractiveCallback: func(_ gossh.ConnMetadata, ask gossh.KeyboardInteractiveChallenge) (*gossh.Permissions, error) {
			r, err := c.secondFactor(r, ask)
			if err != nil {
				return nil, err
			}
			return admitted(r), nil
		},
	}}
}

// byQuestions asks for password and code.
func (s *Server) byQuestions(sctx ssh.Context, ask gossh.KeyboardInteractiveChallenge) bool {
	c := connectionOf(sctx)
	password, ok := answer(ask, "", "Password: ", false)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(c.ctx, askWait)
	defer cancel()
	done := c.place.Begin(true)
	r, err := c.service().Login(ctx, sctx.User(), password)
	done()
	if err != nil {
		show(ask, words(err))
		return false
	}
	if !opensConsole(r) {
		if r, err = c.secondFactor(r, ask); err != nil {
			return false
		}
	}
	sctx.Permissions().Permissions = admitted(r)
	return true
}

// secondFactor asks for the code until it is right or the service accepts no
// more.
func (c *connection) secondFactor(r *api.LoginResponse, ask gossh.KeyboardInteractiveChallenge) (*api.LoginResponse, error) {
	wrong := ""
	for range api.ChallengeTries {
		code, ok := answer(ask, wrong, "Code of the authenticator, or a recovery code: ", true)
		if !ok {
			return nil, errDenied
		}
		ctx, cancel := context.WithTimeout(c.ctx, askWait)
		end := c.place.Begin(true)
		done, err := c.service().VerifyMFA(ctx, r.MFAToken, code)
		end()
		cancel()
		refusal := (*api.Error)(nil)
		switch {
		case err == nil:
			return done, nil
		case errors.Is(err, api.ErrInvalidTOTP), errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest:
			wrong = state.Sentence(err)
		default:
			show(ask, state.Sentence(err))
			return nil, err
		}
	}
	show(ask, wrong)
	return nil, errDenied
}

// answer asks one question and returns the answer.
func answer(ask gossh.KeyboardInteractiveChallenge, words, question string, echo bool) (string, bool) {
	answers, err := ask("", words, []string{question}, []bool{echo})
	if err != nil || len(answers) != 1 {
		return "", false
	}
	return answers[0], true
}

// show shows text without a question. If the client has disconnected, the next read
// fails.
func show(ask gossh.KeyboardInteractiveChallenge, words string) {
	if words != "" {
		_, _ = ask("", words, nil, nil)
	}
}

// words returns the text for a rejected password, empty if the client's own
// text is sufficient.
func words(err error) string {
	if errors.Is(err, api.ErrInvalidCredential) {
		return ""
	}
	return state.Sentence(err)
}

// inBanner returns an error that lets the client show the reason of the refusal
// without a question.
func inBanner(err error) error {
	w := words(err)
	if w == "" {
		return errDenied
	}
	return &gossh.BannerError{Err: errDenied, Message: w + "\n"}
}
