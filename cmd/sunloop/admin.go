package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

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
		Set       UserSetCmd       `cmd:"" help:"Change a user's role, customers or sites."`
		Password  UserPasswordCmd  `cmd:"" help:"Give a user a new password."`
		ResetTotp UserResetTOTPCmd `cmd:"" name:"reset-totp" help:"Let a user set up a new authenticator."`
		Unlink    UserUnlinkCmd    `cmd:"" help:"Forget who a user is at an identity provider; the next sign-in by one links anew."`
		SSHKey    SSHKeyCmd        `cmd:"" name:"ssh-key" help:"Public keys for the console over SSH."`
		Disable   UserDisableCmd   `cmd:"" help:"Keep a user out."`
		Enable    UserEnableCmd    `cmd:"" help:"Let a user in again."`
		Delete    UserDeleteCmd    `cmd:"" help:"Remove a user for good."`
	} `cmd:"" help:"Users."`
	Key struct {
		Create KeyCreateCmd `cmd:"" help:"Make an API key; it is shown once."`
		List   KeyListCmd   `cmd:"" help:"List the API keys."`
		Rotate KeyRotateCmd `cmd:"" help:"Make a key in the place of another, which opens for a while yet."`
		Revoke KeyRevokeCmd `cmd:"" help:"End an API key for good."`
	} `cmd:"" help:"API keys."`
	SigningKey struct {
		List   SigningKeyListCmd   `cmd:"" help:"List the keys whose tokens are good."`
		Rotate SigningKeyRotateCmd `cmd:"" help:"Sign with a new key; tokens of the old one stay good until they end."`
	} `cmd:"" help:"Keys that sign users' tokens."`
	Job struct {
		List   JobListCmd   `cmd:"" help:"How the queue stands, and the jobs that were given up, the latest first."`
		Revive JobReviveCmd `cmd:"" help:"Let a job that was given up run again, with all its attempts."`
	} `cmd:"" help:"Jobs that were given up."`
	Audit   AuditCmd   `cmd:"" help:"Who changed what, newest first."`
	Backup  BackupCmd  `cmd:"" help:"Put the data folder, or the database of replicas with their key, into one file, also while they serve."`
	Restore RestoreCmd `cmd:"" help:"Make a data folder, which must be new or empty, from a backup; or fill an empty database from that of one."`
	Compact CompactCmd `cmd:"" help:"Give the disk back what the database's file has no more use for; at rest only."`
	Migrate MigrateCmd `cmd:"" help:"Move the data folder into an empty database and bucket, for replicas to serve from."`
	Check   CheckCmd   `cmd:"" help:"Verify the data folder of a service that is not running, or the database and objects of replicas that may run; nothing in them changes."`
}

// MigrateCmd moves a data folder into a database and a bucket, that of --objects.
type MigrateCmd struct {
	From       string `placeholder:"DIR" help:"The data folder of a service that is not running; nothing in it changes (--data)." type:"path"`
	To         string `required:"" placeholder:"URL" env:"SUNLOOP_STORE" help:"The empty database, as in postgres://sunloop@db.example.org/sunloop. Its password belongs into PGPASSWORD, a password file (PGPASSFILE) or this variable, as others see a command line."`
	VerifyOnly bool   `help:"Only compare what is there with the data folder."`
	JSON       bool   `name:"json" help:"As JSON."`
}

// beside opens the data folder of a service that is not running.
func beside(g *Globals, do func(*backend.Service) error) error {
	service, err := openFolder(g.embedded())
	if err != nil {
		return err
	}
	return errors.Join(do(service), service.Close())
}

// commandLine is the actor of what is done here, in the audit trail.
const commandLine = "command line"

// administer does one thing as the operator of the machine, and leaves its
// record in the audit trail, also of a refusal.
func administer(ctx context.Context, g *Globals, route, action string, do func(m auth.Administrator, r *api.AuditRecord) error) error {
	return administerService(ctx, g, route, action, func(_ *backend.Service, m auth.Administrator, r *api.AuditRecord) error { return do(m, r) })
}

// administerService is administer for what reads more of the service.
func administerService(ctx context.Context, g *Globals, route, action string, do func(s *backend.Service, m auth.Administrator, r *api.AuditRecord) error) error {
	return beside(g, func(s *backend.Service) error {
		r := api.AuditRecord{Actor: commandLine, ActorID: commandLine, Route: route, Action: action, Status: http.StatusOK}
		err := do(s, s.Auth().As(api.Unlimited(commandLine)), &r)
		var refused *api.Error
		switch {
		case errors.As(err, &refused):
			r.Status, r.Error = refused.Status, refused.Message
		case err != nil:
			return err
		}
		return errors.Join(inWords(err), s.Trail().Append(ctx, r))
	})
}

// siteKeys returns the keys by which a user or an API key for the customers
// (none: all) is granted the sites with the ids.
func siteKeys(ctx context.Context, s *backend.Service, customers, ids []string) ([]string, error) {
	if len(customers) == 0 {
		customers = []string{api.Every}
	}
	keys := slices.Clone(ids)
	for i, id := range ids {
		all, err := s.Domain().Sites.SitesNamed(ctx, id)
		if err != nil {
			return nil, err
		}
		if keys[i], err = api.Unlimited(commandLine).GrantedSite(id, all, customers); errors.Is(err, api.ErrAmbiguousSite) {
			return nil, wrong("--sites %s: several customers have a site of this id; name one with --customers (%s)", id, strings.Join(customersOf(all), ", "))
		} else if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// customersOf returns the customers of sites, in order.
func customersOf(sites []api.Site) []string {
	var all []string
	for _, site := range sites {
		all = append(all, site.CustomerID)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// siteIDs returns the ids of sites of which a user or an API key has the keys.
func siteIDs(keys []string) string {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = api.PublicSiteID(key)
	}
	return strings.Join(ids, ", ")
}

// UserAddCmd makes a user.
type UserAddCmd struct {
	Name      string   `arg:"" help:"The user's name."`
	Role      string   `default:"role_operator" enum:"role_admin,role_operator,role_technician,role_analyst" help:"One of ${enum}."`
	Customers []string `help:"Customers whose data the user sees; * for all."`
	Sites     []string `help:"Sites of these that alone the user sees; none given: all."`
	Group     string   `help:"The user's group in systems outside, which read it as group_id of tokens."`
	Skin      string   `help:"Likewise, how they look to the user: skin_id."`
}

// Run makes the user.
func (c *UserAddCmd) Run(ctx context.Context, g *Globals, std streams) error {
	password, err := askPassword(std, "Password for "+c.Name+": ")
	if err != nil {
		return err
	}
	return administerService(ctx, g, "users", api.ActionAdd, func(s *backend.Service, m auth.Administrator, r *api.AuditRecord) error {
		sites, err := siteKeys(ctx, s, c.Customers, c.Sites)
		if err != nil {
			return err
		}
		u, err := m.AddUser(ctx, auth.NewUser{Username: c.Name, Password: password, Role: c.Role, Customers: c.Customers, Sites: sites, GroupID: c.Group, SkinID: c.Skin})
		if err != nil {
			return err
		}
		noteUser(r, u)
		r.After = u.Record()
		whose := "for no customer yet: sunloop admin user set --customers says whose data a user sees"
		if len(u.Customers) > 0 {
			whose = "for customers " + strings.Join(u.Customers, ", ")
		}
		fmt.Fprintf(std.out, "%s is made with %s, %s\n", u.Username, auth.RoleName(u.Role), whose)
		return nil
	})
}

func noteUser(r *api.AuditRecord, u auth.User) {
	r.TargetIDs, r.CustomerIDs = map[string]string{"user_id": u.ID}, u.Customers
}

// UserListCmd lists users.
type UserListCmd struct{}

// Run lists the users.
func (UserListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return beside(g, func(s *backend.Service) error {
		users, _, err := s.Auth().As(api.Unlimited(commandLine)).Users(ctx, "", api.Page{})
		for _, u := range users {
			state := "active"
			if !u.Active {
				state = "disabled"
			}
			factor := "no authenticator yet"
			switch {
			case u.Issuer != "":
				factor = "signs in by " + u.Issuer
			case u.Enrolled:
				factor = fmt.Sprintf("authenticator, %d recovery codes left", u.RecoveryCodes)
			}
			sees := "customers " + strings.Join(u.Customers, ", ")
			if u.Sites[0] != api.Every {
				sees += "; sites " + siteIDs(u.Sites)
			}
			fmt.Fprintf(std.out, "%-20s %-16s %-9s %s; %s\n", u.Username, u.Role, state, factor, sees)
		}
		return err
	})
}

// changeUser changes a user and says that it is done.
func changeUser(ctx context.Context, g *Globals, std streams, name, action string, c auth.UserChange, done string) error {
	return administerService(ctx, g, "users", action, func(s *backend.Service, m auth.Administrator, r *api.AuditRecord) error {
		var err error
		if c.Sites, err = siteKeys(ctx, s, c.Customers, c.Sites); err != nil {
			return err
		}
		before, after, err := m.ChangeUser(ctx, auth.UserRef{Username: name}, c)
		if err != nil {
			return err
		}
		noteUser(r, after)
		r.Before, r.After = before.Record(), after.Record()
		fmt.Fprintln(std.out, name, done)
		return nil
	})
}

// UserSetCmd changes what a user may do and see.
type UserSetCmd struct {
	Name      string   `arg:"" help:"The user's name."`
	Role      string   `default:"" enum:",role_admin,role_operator,role_technician,role_analyst" help:"role_admin, role_operator, role_technician or role_analyst."`
	Customers []string `help:"Customers whose data the user sees, in place of the former; * for all."`
	Sites     []string `help:"Sites of these that alone the user sees, in place of the former; * for all."`
	Group     *string  `help:"The user's group in systems outside; empty takes it away."`
	Skin      *string  `help:"Likewise, how they look to the user."`
}

// Run changes the user.
func (c *UserSetCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Role == "" && c.Customers == nil && c.Sites == nil && c.Group == nil && c.Skin == nil {
		return errors.New("say what becomes another: --role, --customers, --sites, --group or --skin")
	}
	return changeUser(ctx, g, std, c.Name, api.ActionSet, auth.UserChange{Role: c.Role, Customers: c.Customers, Sites: c.Sites, GroupID: c.Group, SkinID: c.Skin}, "is changed")
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
	return changeUser(ctx, g, std, c.Name, api.ActionResetPassword, auth.UserChange{Password: &password}, "has a new password; sessions are ended")
}

// UserResetTOTPCmd forgets an authenticator.
type UserResetTOTPCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run forgets the authenticator.
func (c *UserResetTOTPCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return changeUser(ctx, g, std, c.Name, api.ActionResetMFA, auth.UserChange{ResetTOTP: true}, "sets up an authenticator at the next sign-in")
}

// UserUnlinkCmd forgets who a user is at an identity provider.
type UserUnlinkCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run forgets the link.
func (c *UserUnlinkCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return changeUser(ctx, g, std, c.Name, api.ActionUnlink, auth.UserChange{Unlink: true}, "is linked anew at the next sign-in by an identity provider; sessions are ended")
}

// UserDisableCmd keeps a user out.
type UserDisableCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run keeps the user out.
func (c *UserDisableCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return changeUser(ctx, g, std, c.Name, api.ActionSet, auth.UserChange{Active: new(false)}, "is kept out")
}

// UserEnableCmd lets a user in.
type UserEnableCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run lets the user in.
func (c *UserEnableCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return changeUser(ctx, g, std, c.Name, api.ActionSet, auth.UserChange{Active: new(true)}, "may sign in")
}

// UserDeleteCmd removes a user.
type UserDeleteCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run removes the user.
func (c *UserDeleteCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return administer(ctx, g, "users", api.ActionDelete, func(m auth.Administrator, r *api.AuditRecord) error {
		u, err := m.DeleteUser(ctx, auth.UserRef{Username: c.Name})
		if err != nil {
			return err
		}
		noteUser(r, u)
		r.Before = u.Record()
		fmt.Fprintln(std.out, c.Name, "is removed; sessions are ended")
		return nil
	})
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
