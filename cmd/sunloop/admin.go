package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/term"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// AdminCmd manages users and API keys in the data folder.
type AdminCmd struct {
	User struct {
		Add       UserAddCmd       `cmd:"" help:"Make a user; the password is asked for."`
		List      UserListCmd      `cmd:"" help:"List the users."`
		Password  UserPasswordCmd  `cmd:"" help:"Give a user a new password."`
		ResetTotp UserResetTOTPCmd `cmd:"" name:"reset-totp" help:"Let a user set up a new authenticator."`
		Disable   UserDisableCmd   `cmd:"" help:"Keep a user out."`
		Enable    UserEnableCmd    `cmd:"" help:"Let a user in again."`
	} `cmd:"" help:"Users."`
	Key struct {
		Create KeyCreateCmd `cmd:"" help:"Make an API key; it is shown once."`
		List   KeyListCmd   `cmd:"" help:"List the API keys."`
		Revoke KeyRevokeCmd `cmd:"" help:"End an API key for good."`
	} `cmd:"" help:"API keys."`
	SigningKey struct {
		List   SigningKeyListCmd   `cmd:"" help:"List the keys whose tokens are good."`
		Rotate SigningKeyRotateCmd `cmd:"" help:"Sign with a new key; tokens of the old one stay good until they end."`
	} `cmd:"" help:"Keys that sign users' tokens."`
}

// withAuth opens the accounts of the data folder.
func withAuth(g *Globals, do func(*auth.Service) error) error {
	service, err := backend.New(backend.Config{DataDir: g.Data, Now: time.Now, Wall: time.Now})
	if err != nil {
		return openFailed(g.Data, err)
	}
	return errors.Join(do(service.Auth()), service.Close())
}

// UserAddCmd makes a user.
type UserAddCmd struct {
	Name      string   `arg:"" help:"The user's name."`
	Role      string   `default:"role_operator" enum:"role_admin,role_operator,role_technician,role_analyst" help:"One of ${enum}."`
	Customers []string `help:"Customers whose data the user sees; * for all."`
}

// Run makes the user.
func (c *UserAddCmd) Run(ctx context.Context, g *Globals, std streams) error {
	password, err := askPassword(std, "Password for "+c.Name+": ")
	if err != nil {
		return err
	}
	return withAuth(g, func(s *auth.Service) error {
		u, err := s.CreateUser(ctx, auth.NewUser{Username: c.Name, Password: password, Role: c.Role, Customers: c.Customers})
		if err != nil {
			return inWords(err)
		}
		fmt.Fprintf(std.out, "%s is made with %s, for customers %s\n", u.Username, auth.RoleName(u.Role), strings.Join(u.Customers, ", "))
		return nil
	})
}

// UserListCmd lists users.
type UserListCmd struct{}

// Run lists the users.
func (UserListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return withAuth(g, func(s *auth.Service) error {
		users, err := s.Users(ctx)
		for _, u := range users {
			state := "active"
			if !u.Active {
				state = "disabled"
			}
			factor := "no authenticator yet"
			if u.Enrolled {
				factor = fmt.Sprintf("authenticator, %d recovery codes left", u.RecoveryCodes)
			}
			fmt.Fprintf(std.out, "%-20s %-16s %-9s %s; customers %s\n", u.Username, u.Role, state, factor, strings.Join(u.Customers, ", "))
		}
		return err
	})
}

// UserPasswordCmd changes a password.
type UserPasswordCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run changes the password.
func (c *UserPasswordCmd) Run(ctx context.Context, g *Globals, std streams) error {
	password, err := askPassword(std, "New password for "+c.Name+": ")
	if err != nil {
		return err
	}
	return change(g, std, c.Name+" has a new password; sessions are ended", func(s *auth.Service) error { return s.SetPassword(ctx, c.Name, password) })
}

// UserResetTOTPCmd forgets an authenticator.
type UserResetTOTPCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run forgets the authenticator.
func (c *UserResetTOTPCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return change(g, std, c.Name+" sets up an authenticator at the next sign-in", func(s *auth.Service) error { return s.ResetTOTP(ctx, c.Name) })
}

// UserDisableCmd keeps a user out.
type UserDisableCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run keeps the user out.
func (c *UserDisableCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return change(g, std, c.Name+" is kept out", func(s *auth.Service) error { return s.SetActive(ctx, c.Name, false) })
}

// UserEnableCmd lets a user in.
type UserEnableCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run lets the user in.
func (c *UserEnableCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return change(g, std, c.Name+" may sign in", func(s *auth.Service) error { return s.SetActive(ctx, c.Name, true) })
}

// change does one thing to the accounts and says that it is done.
func change(g *Globals, std streams, done string, do func(*auth.Service) error) error {
	return withAuth(g, func(s *auth.Service) error {
		if err := do(s); err != nil {
			return inWords(err)
		}
		fmt.Fprintln(std.out, done)
		return nil
	})
}

// KeyCreateCmd makes an API key.
type KeyCreateCmd struct {
	Name      string        `arg:"" help:"What the key is for."`
	Role      string        `default:"role_operator" enum:"role_admin,role_operator,role_technician,role_analyst" help:"One of ${enum}."`
	Sites     []string      `help:"Sites that the key opens, * for all; none given: all of the customers."`
	Customers []string      `help:"Customers that the key opens, * for all; none given: those of the sites."`
	Expires   time.Duration `placeholder:"DURATION" help:"Life of the key, as in 2160h; none given: no end."`
}

// Run makes the key and prints it.
func (c *KeyCreateCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if len(c.Sites) == 0 && len(c.Customers) == 0 {
		return errors.New("say what the key opens: --customers or --sites, * for all")
	}
	n := auth.NewKey{Name: c.Name, Role: c.Role, Sites: c.Sites, Customers: c.Customers, CreatedBy: "command line"}
	if c.Expires > 0 {
		n.ExpiresAt = time.Now().Add(c.Expires)
	}
	return withAuth(g, func(s *auth.Service) error {
		plain, key, err := s.CreateKey(ctx, n)
		if err != nil {
			return inWords(err)
		}
		fmt.Fprintf(std.out, "%s\nThis is %s. It is shown only now; keep it safe.\n", plain, key.ID)
		return nil
	})
}

// KeyListCmd lists API keys.
type KeyListCmd struct{}

// Run lists the keys.
func (KeyListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return withAuth(g, func(s *auth.Service) error {
		keys, err := s.Keys(ctx)
		for _, k := range keys {
			state := "good"
			switch {
			case !k.RevokedAt.IsZero():
				state = "revoked " + api.At(k.RevokedAt).String()
			case !k.ExpiresAt.IsZero() && !time.Now().Before(k.ExpiresAt):
				state = "expired " + api.At(k.ExpiresAt).String()
			case !k.ExpiresAt.IsZero():
				state = "good until " + api.At(k.ExpiresAt).String()
			}
			fmt.Fprintf(std.out, "%s  %-20s %-16s %s; sites %s; customers %s\n", k.ID, k.Name, k.Role, state, strings.Join(k.Sites, ", "), strings.Join(k.Customers, ", "))
		}
		return err
	})
}

// KeyRevokeCmd ends a key.
type KeyRevokeCmd struct {
	ID string `arg:"" help:"The key's id, from admin key list."`
}

// Run ends the key.
func (c *KeyRevokeCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return change(g, std, c.ID+" is revoked", func(s *auth.Service) error { return s.RevokeKey(ctx, c.ID) })
}

// SigningKeyListCmd lists the keys of tokens.
type SigningKeyListCmd struct{}

// Run lists the keys.
func (SigningKeyListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return withAuth(g, func(s *auth.Service) error {
		keys, err := s.SigningKeys(ctx)
		for _, k := range keys {
			state := "signs"
			if !k.RetiresAt.IsZero() {
				state = "rotated; gone at " + api.At(k.RetiresAt).String()
			}
			fmt.Fprintf(std.out, "%s  made %s, %s\n", k.ID, api.At(k.CreatedAt), state)
		}
		return err
	})
}

// SigningKeyRotateCmd rotates the key of tokens.
type SigningKeyRotateCmd struct{}

// Run makes the new key.
func (SigningKeyRotateCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return change(g, std, "a new key signs; tokens of the old one stay good until they end", func(s *auth.Service) error { return s.RotateSigningKey(ctx) })
}

// askPassword asks at the terminal without showing what is typed, or reads a
// line where there is none.
func askPassword(std streams, prompt string) (string, error) {
	if term.IsTerminal(int(std.in.Fd())) {
		fmt.Fprint(std.err, prompt)
		b, err := term.ReadPassword(int(std.in.Fd()))
		fmt.Fprintln(std.err)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return string(b), nil
	}
	line, err := bufio.NewReader(std.in).ReadString('\n')
	if err != nil && !(errors.Is(err, io.EOF) && line != "") {
		return "", fmt.Errorf("read the password from standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
