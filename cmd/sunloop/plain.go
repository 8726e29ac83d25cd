package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/term"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/plain"
)

// plainLook is the least time between two looks of the line mode.
const plainLook = 10 * time.Second

// lines is the console in lines of text, over a client that is signed in.
func (c *ConsoleFlags) lines(ctx context.Context, std streams, cl *client.Client, source string) error {
	err := plain.Watch(ctx, plain.Options{Client: cl, Site: api.SiteRef{CustomerID: c.Customer, SiteID: c.Site}, Source: source, Out: std.out, Look: plainLook, Power: c.PlainPower, Now: time.Now})
	if err != nil {
		return untold(err)
	}
	return nil
}

// plain is the console in lines of text.
func (c *ConsoleCmd) plain(ctx context.Context, std streams, service *backend.Service) error {
	if c.Token != "" {
		o := client.Options{Transport: client.InProcess(service.Handler()), Credential: c.Token, Now: time.Now}
		return c.lines(ctx, std, client.New(o), "embedded")
	}
	return withOwnKey(ctx, service, forever, func(cl *client.Client) error { return c.lines(ctx, std, cl, "embedded") })
}

// plainRemote is the console in lines of text over a service elsewhere: with
// the token of the command line, the kept session, or after a sign-in.
func (c *ConsoleCmd) plainRemote(ctx context.Context, std streams, o client.Options) error {
	u, err := checkRemote(c.Remote)
	if err != nil {
		return err
	}
	store, service, keep := c.sessionStore(c.Remote)()
	if keep {
		o.Credential = store.token(service)
		o.StoredToken = func() string { return store.token(service) }
		o.OnToken = func(token string) { _ = store.keep(service, token) } // without it one signs in again
	}
	cl := client.New(o)
	defer cl.Close()
	if cl.Credential() == "" {
		if !term.IsTerminal(int(std.in.Fd())) {
			return errors.New("--plain with --remote requires an API key or a token when it cannot prompt for a password: --token, or SUNLOOP_TOKEN in the environment")
		}
		if err := signIn(ctx, cl, std); err != nil {
			return err
		}
		if keep {
			if err := store.keep(service, cl.Credential()); err != nil {
				return fmt.Errorf("store session: %w", err)
			}
		}
	}
	return c.lines(ctx, std, cl, u.Host)
}

// signIn asks for name, password and code at the terminal, in lines.
func signIn(ctx context.Context, cl *client.Client, std streams) error {
	name, err := askLine(ctx, std, "User: ")
	if err != nil {
		return err
	}
	password, err := asked(ctx, std, func() (string, error) { return askPassword(std, "Password: ") })
	if err != nil {
		return err
	}
	r, err := cl.Login(ctx, name, password)
	if err != nil {
		return clientError(err)
	}
	if r.MFAEnrollment {
		if uri, err := url.Parse(r.ProvisioningURI); err == nil {
			fmt.Fprintf(std.err, "This account needs an authenticator. Add this secret to yours: %s\n", uri.Query().Get("secret"))
		}
	}
	if r.MFARequired {
		code, err := askLine(ctx, std, "Code of the authenticator: ")
		if err != nil {
			return err
		}
		if r, err = cl.VerifyMFA(ctx, r.MFAToken, code); err != nil {
			return clientError(err)
		}
	}
	if len(r.RecoveryCodes) > 0 {
		fmt.Fprintf(std.err, "Recovery codes, shown only now: %s\n", strings.Join(r.RecoveryCodes, ", "))
	}
	return nil
}

// askLine asks for a line that may be seen.
func askLine(ctx context.Context, std streams, prompt string) (string, error) {
	fmt.Fprint(std.err, prompt)
	return asked(ctx, std, func() (string, error) {
		var line []byte
		for b := make([]byte, 1); ; { // byte by byte: what follows is another's to read
			n, err := std.in.Read(b)
			if err != nil {
				return "", fmt.Errorf("read %s%w", strings.ToLower(prompt), err)
			}
			if n == 1 && b[0] == '\n' {
				return strings.TrimSpace(string(line)), nil
			}
			line = append(line, b[:n]...)
		}
	})
}

// asked waits for input of the user, or for ctx: then the terminal is restored.
func asked(ctx context.Context, std streams, read func() (string, error)) (string, error) {
	fd := int(std.in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("look at the terminal: %w", err)
	}
	type answer struct {
		text string
		err  error
	}
	typed := make(chan answer, 1)
	go func() { // a read from a terminal cannot be ended: on ctx it is left to the end of the process
		text, err := read()
		typed <- answer{text, err}
	}()
	select {
	case a := <-typed:
		return a.text, a.err
	case <-ctx.Done():
		fmt.Fprintln(std.err)
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}
