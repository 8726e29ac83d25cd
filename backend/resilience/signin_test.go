package resilience

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

const goodPassword = "correct horse battery staple"

// account makes a user, who enrols an authenticator, signs in with a recovery
// code, renews the token and signs out; every third is deleted.
func (w *crowd) account(ctx context.Context, c visitor) error {
	n := w.next("user")
	name := fmt.Sprint("user", n)
	var made *api.UsersResponse
	if err := w.book.write(ctx, "user", func(ctx context.Context) (err error) {
		made, err = c.AddUser(ctx, api.UsersRequest{Username: name, Password: goodPassword, RoleID: api.RoleAnalyst, CustomerIDs: []string{tenant}})
		return err
	}); err != nil {
		return err
	}
	there := func(ctx context.Context, c visitor, _ bool) error { _, err := c.User(ctx, made.UserID); return err }
	w.book.keep("user "+name, there)

	person := c.as("") // the same service, without the key
	defer person.Close()
	var challenge, in *api.LoginResponse
	sign := func(what string, do func(context.Context) (*api.LoginResponse, error)) (r *api.LoginResponse, err error) {
		err = w.book.write(ctx, what, func(ctx context.Context) error { r, err = do(ctx); return err })
		return r, err
	}
	login := func(ctx context.Context) (*api.LoginResponse, error) { return person.Login(ctx, name, goodPassword) }
	challenge, err := sign("sign-in", login)
	if err != nil {
		return err
	}
	factor, err := otp.NewKeyFromURL(challenge.ProvisioningURI)
	if err != nil {
		return err
	}
	code, err := totp.GenerateCode(factor.Secret(), time.Now())
	if err != nil {
		return err
	}
	if in, err = sign("enrol", func(ctx context.Context) (*api.LoginResponse, error) {
		return person.VerifyMFA(ctx, challenge.MFAToken, code)
	}); err != nil {
		return err
	}
	w.keepUsed(name, "one-time code", code)
	recovery := in.RecoveryCodes[0]
	if challenge, err = sign("sign-in", login); err != nil {
		return err
	}
	if in, err = sign("recover", func(ctx context.Context) (*api.LoginResponse, error) {
		return person.VerifyMFA(ctx, challenge.MFAToken, recovery)
	}); err != nil {
		return err
	}
	w.keepUsed(name, "recovery code", recovery)

	former := in.Token
	var renewed *api.RefreshResponse
	if err := w.book.write(ctx, "refresh", func(ctx context.Context) (err error) { renewed, err = person.Refresh(ctx); return err }); err != nil {
		return err
	}
	w.keepToken(name, "former token", former, false)
	w.keepToken(name, "token", renewed.Token, true)
	w.book.keep(name+" token", nothing)
	if err := w.book.write(ctx, "sign-out", person.Logout); err != nil {
		return err
	}
	w.keepToken(name, "token", renewed.Token, false)
	if n%3 != 0 {
		return nil
	}
	w.book.keep("user "+name, nothing)
	if err := w.book.write(ctx, "delete user", func(ctx context.Context) error { _, err := c.DeleteUser(ctx, made.UserID); return err }); err != nil {
		return err
	}
	w.book.keep("user "+name, func(ctx context.Context, c visitor, atEnd bool) error { return refused(there(ctx, c, atEnd)) })
	return nil
}

// nothing is asserted during a change that may be stored or not.
func nothing(context.Context, visitor, bool) error { return nil }

// keepUsed promises that a code does not open a second time. It is tried once:
// wrong codes lock an account.
func (w *crowd) keepUsed(name, what, code string) {
	tried := false
	w.book.keep(name+" "+what, func(ctx context.Context, c visitor, _ bool) error {
		if tried {
			return nil
		}
		tried = true
		person := c.as("")
		challenge, err := person.Login(ctx, name, goodPassword)
		if status, _ := refusal(err); status == http.StatusUnauthorized {
			return nil // the user is deleted
		} else if err != nil {
			return err
		}
		_, err = person.VerifyMFA(ctx, challenge.MFAToken, code)
		return refused(err)
	})
}

// keepToken promises that a token opens, or does not.
func (w *crowd) keepToken(name, what, token string, opens bool) {
	w.book.keep(name+" "+what, func(ctx context.Context, c visitor, _ bool) error {
		_, err := c.as(token).Sites(ctx, api.ListQuery{CustomerID: tenant})
		if opens {
			return err
		}
		return refused(err)
	})
}

// message returns the message to an address, in whichever outbox it is; empty if none exists.
func (w *crowd) message(email string) string {
	for _, dir := range w.dirs {
		names, err := filepath.Glob(filepath.Join(dir, "outbox", "*.eml"))
		if err != nil {
			return ""
		}
		for _, name := range names {
			if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), email) {
				return string(b)
			}
		}
	}
	return ""
}

var codeInMessage = regexp.MustCompile(`(?m)^ +(\d{6})`)

// forecastWithout asks for a forecast without an account: a message with a code,
// and the forecast for it. The code is good once.
func (w *crowd) forecastWithout(ctx context.Context, c visitor) error {
	n := w.next("letter")
	email := fmt.Sprintf("reader%d@example.org", n)
	anybody := c.as("")
	if err := w.book.write(ctx, "code", func(ctx context.Context) error { _, err := anybody.FreemiumVerify(ctx, email); return err }); err != nil {
		return err
	}
	message := func() string { return w.message(email) }
	w.book.keep("message to "+email, func(context.Context, visitor, bool) error {
		if message() == "" {
			return fmt.Errorf("none")
		}
		return nil
	})
	code := codeInMessage.FindStringSubmatch(message())
	if code == nil {
		return fmt.Errorf("no code in the message to %s", email)
	}
	ask := func(ctx context.Context, c *client.Client) error {
		_, _, _, csv := file(3 * n)
		_, err := c.FreemiumForecast(ctx, api.FreemiumRequest{Email: email, VerificationCode: code[1], SiteName: "Roof", Location: "48.2,16.4", CapacityKW: 50, TOUAccepted: true, Filename: "roof.csv"}, strings.NewReader(csv), nil)
		return err
	}
	if err := w.book.write(ctx, "forecast without account", func(ctx context.Context) error { return ask(ctx, anybody) }); err != nil {
		return err
	}
	w.book.keep("code of "+email, func(ctx context.Context, c visitor, _ bool) error { return refused(ask(ctx, c.as(""))) })
	return nil
}
