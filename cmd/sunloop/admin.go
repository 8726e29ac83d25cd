package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
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
		Add       UserAddCmd       `cmd:"" help:"Create a user; the password is prompted for."`
		List      UserListCmd      `cmd:"" help:"List users."`
		Set       UserSetCmd       `cmd:"" help:"Change a user's role, customers or sites."`
		Password  UserPasswordCmd  `cmd:"" help:"Reset a user's password."`
		ResetTotp UserResetTOTPCmd `cmd:"" name:"reset-totp" help:"Reset a user's authenticator."`
		Unlink    UserUnlinkCmd    `cmd:"" help:"Unlink a user from an identity provider; the next sign-in by a provider links again."`
		SSHKey    SSHKeyCmd        `cmd:"" name:"ssh-key" help:"Manage public keys for the console over SSH."`
		Disable   UserDisableCmd   `cmd:"" help:"Block a user."`
		Enable    UserEnableCmd    `cmd:"" help:"Unblock a user."`
		Delete    UserDeleteCmd    `cmd:"" help:"Delete a user."`
	} `cmd:"" help:"Manage users."`
	Key struct {
		Create KeyCreateCmd `cmd:"" help:"Create an API key for --customers or --sites, * for all; it is shown once."`
		List   KeyListCmd   `cmd:"" help:"List API keys."`
		Rotate KeyRotateCmd `cmd:"" help:"Rotate an API key; the old one stays valid for the overlap."`
		Revoke KeyRevokeCmd `cmd:"" help:"Revoke an API key."`
	} `cmd:"" help:"Manage API keys."`
	SigningKey struct {
		List   SigningKeyListCmd   `cmd:"" help:"List the signing keys whose tokens are valid."`
		Rotate SigningKeyRotateCmd `cmd:"" help:"Rotate the signing key; tokens of the old one stay valid until they expire."`
	} `cmd:"" help:"Manage the keys that sign users' tokens."`
	Job struct {
		List  JobListCmd  `cmd:"" help:"Show the state of the queue and the dead jobs, newest first."`
		Retry JobRetryCmd `cmd:"" aliases:"revive" help:"Retry a dead job."`
	} `cmd:"" help:"Manage dead jobs."`
	Audit   AuditCmd   `cmd:"" help:"Show the audit trail, newest first."`
	Backup  BackupCmd  `cmd:"" help:"Back up the data folder, or the database of replicas with their key, to one file, also while they serve."`
	Restore RestoreCmd `cmd:"" help:"Restore a backup to a new or empty data folder, or to an empty database."`
	Compact CompactCmd `cmd:"" help:"Compact the database file; the service must be stopped."`
	Migrate MigrateCmd `cmd:"" help:"Migrate the data folder to an empty database and bucket, for replicas."`
	Check   CheckCmd   `cmd:"" help:"Verify the data folder of a stopped service, or the database and objects of replicas; nothing is changed."`
}

// MigrateCmd moves a data folder into a database and a bucket, that of --objects.
type MigrateCmd struct {
	From       string `placeholder:"DIR" help:"Data folder of a stopped service; it is not changed (--data)." type:"path"`
	To         string `required:"" placeholder:"URL" env:"SUNLOOP_STORE" help:"URL of the empty database [postgres://sunloop@db.example.org/sunloop]. Pass its password by PGPASSWORD, a password file (PGPASSFILE) or this variable: a command line is visible to other users."`
	VerifyOnly bool   `help:"Only compare the target with the data folder."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

// withDataFolder opens the data folder of a stopped service.
func withDataFolder(g *Globals, do func(*backend.Service) error) error {
	service, err := openFolder(g.embedded())
	if err != nil {
		return err
	}
	return errors.Join(do(service), service.Close())
}

// readDataFolder opens the data folder of a stopped service, or the database, to list what
// it has. A folder that does not exist or is empty is an error: it would be created.
func readDataFolder(g *Globals, do func(*backend.Service) error) error {
	if g.Store == "" {
		if files, err := os.ReadDir(g.Data); errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
			return fmt.Errorf("there is no data folder %s; name one with --data", g.Data)
		}
	}
	return withDataFolder(g, do)
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
	return withDataFolder(g, func(s *backend.Service) error {
		r := api.AuditRecord{Actor: commandLine, ActorID: commandLine, Route: route, Action: action, Status: http.StatusOK}
		err := do(s, s.Auth().As(api.Unlimited(commandLine)), &r)
		var refused *api.Error
		switch {
		case errors.As(err, &refused):
			r.Status, r.Error = refused.Status, refused.Message
		case err != nil:
			return err
		}
		return errors.Join(clientError(err), s.Trail().Append(ctx, r))
	})
}

// siteKeys returns the keys by which a user or an API key for the customers
// (none: all) is granted the sites with the ids. It warns of those that do not exist.
func siteKeys(ctx context.Context, s *backend.Service, std streams, customers, ids []string) ([]string, error) {
	if len(customers) == 0 {
		customers = []string{api.Every}
	}
	keys := slices.Clone(ids)
	for i, id := range ids {
		all, err := s.Domain().Sites.SitesNamed(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 && id != api.Every {
			fmt.Fprintf(std.err, "sunloop: warning: there is no site %s; access to it begins when it is created\n", id)
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

// UserAddCmd creates a user.
type UserAddCmd struct {
	Name      string   `arg:"" help:"Username."`
	Role      string   `default:"role_operator" enum:"role_admin,role_operator,role_technician,role_analyst" help:"Role: ${enum} (${default})."`
	Customers []string `help:"Customers that the user has access to; * for all."`
	Sites     []string `help:"Restrict access to these sites of the customers (all)."`
	Group     string   `help:"User's group in external systems, which read it as group_id of tokens."`
	Skin      string   `help:"User's appearance in external systems: skin_id of tokens."`
}

// Run creates the user.
func (c *UserAddCmd) Run(ctx context.Context, g *Globals, std streams) error {
	password, err := askPassword(std, "Password for "+c.Name+": ")
	if err != nil {
		return err
	}
	return administerService(ctx, g, "users", api.ActionAdd, func(s *backend.Service, m auth.Administrator, r *api.AuditRecord) error {
		sites, err := siteKeys(ctx, s, std, c.Customers, c.Sites)
		if err != nil {
			return err
		}
		u, err := m.AddUser(ctx, auth.NewUser{Username: c.Name, Password: password, Role: c.Role, Customers: c.Customers, Sites: sites, GroupID: c.Group, SkinID: c.Skin})
		if err != nil {
			return err
		}
		noteUser(r, u)
		r.After = u.Record()
		access := "no access to customers; grant it with sunloop admin user set " + u.Username + " --customers"
		if len(u.Customers) > 0 {
			access = "customers " + strings.Join(u.Customers, ", ")
		}
		if len(c.Sites) > 0 {
			access += "; sites " + strings.Join(c.Sites, ", ")
		}
		fmt.Fprintf(std.out, "User %s created: %s; %s.\n", u.Username, auth.RoleName(u.Role), access)
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
	return readDataFolder(g, func(s *backend.Service) error {
		users, _, err := s.Auth().As(api.Unlimited(commandLine)).Users(ctx, auth.UserFilter{}, api.Page{})
		for _, u := range users {
			state := "active"
			if !u.Active {
				state = "disabled"
			}
			factor := "no authenticator"
			switch {
			case u.Issuer != "":
				factor = "signs in at " + u.Issuer
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

// changeUser changes a user and prints what was done.
func changeUser(ctx context.Context, g *Globals, std streams, name, action string, c auth.UserChange, done string) error {
	return administerService(ctx, g, "users", action, func(s *backend.Service, m auth.Administrator, r *api.AuditRecord) error {
		var err error
		if c.Sites, err = siteKeys(ctx, s, std, c.Customers, c.Sites); err != nil {
			return err
		}
		before, after, err := m.ChangeUser(ctx, auth.UserRef{Username: name}, c)
		if err != nil {
			return &subject{"user " + name, err}
		}
		noteUser(r, after)
		r.Before, r.After = before.Record(), after.Record()
		fmt.Fprintf(std.out, "User %s %s.\n", name, done)
		return nil
	})
}

// UserSetCmd changes what a user may do and see.
type UserSetCmd struct {
	Name      string   `arg:"" help:"Username."`
	Role      string   `default:"" enum:",role_admin,role_operator,role_technician,role_analyst" help:"Role: role_admin, role_operator, role_technician or role_analyst."`
	Customers []string `help:"Replace the customers that the user has access to; * for all."`
	Sites     []string `help:"Replace the sites that the user has access to; * for all."`
	Group     *string  `help:"User's group in external systems; empty removes it."`
	Skin      *string  `help:"User's appearance in external systems; empty removes it."`
}

// Run changes the user.
func (c *UserSetCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Role == "" && c.Customers == nil && c.Sites == nil && c.Group == nil && c.Skin == nil {
		return wrong("nothing to change: give --role, --customers, --sites, --group or --skin")
	}
	return changeUser(ctx, g, std, c.Name, api.ActionSet, auth.UserChange{Role: c.Role, Customers: c.Customers, Sites: c.Sites, GroupID: c.Group, SkinID: c.Skin}, "changed")
}

// UserPasswordCmd changes a password.
type UserPasswordCmd struct {
	Name string `arg:"" help:"Username."`
}

// Run changes the password.
func (c *UserPasswordCmd) Run(ctx context.Context, g *Globals, std streams) error {
	password, err := askPassword(std, "New password for "+c.Name+": ")
	if err != nil {
		return err
	}
	return changeUser(ctx, g, std, c.Name, api.ActionResetPassword, auth.UserChange{Password: &password}, "has a new password; the sessions of the user ended")
}

// UserResetTOTPCmd removes an authenticator.
type UserResetTOTPCmd struct {
	Name string `arg:"" help:"Username."`
}

// Run removes the authenticator.
func (c *UserResetTOTPCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return changeUser(ctx, g, std, c.Name, api.ActionResetMFA, auth.UserChange{ResetTOTP: true}, "must set up an authenticator at the next sign-in")
}

// UserUnlinkCmd removes the link of a user to an identity provider.
type UserUnlinkCmd struct {
	Name string `arg:"" help:"Username."`
}

// Run removes the link.
func (c *UserUnlinkCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return changeUser(ctx, g, std, c.Name, api.ActionUnlink, auth.UserChange{Unlink: true}, "unlinked: the next sign-in at an identity provider links again; the sessions of the user ended")
}

// UserDisableCmd blocks a user.
type UserDisableCmd struct {
	Name string `arg:"" help:"Username."`
}

// Run blocks the user.
func (c *UserDisableCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return changeUser(ctx, g, std, c.Name, api.ActionSet, auth.UserChange{Active: new(false)}, "blocked")
}

// UserEnableCmd unblocks a user.
type UserEnableCmd struct {
	Name string `arg:"" help:"Username."`
}

// Run unblocks the user.
func (c *UserEnableCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return changeUser(ctx, g, std, c.Name, api.ActionSet, auth.UserChange{Active: new(true)}, "unblocked")
}

// UserDeleteCmd removes a user.
type UserDeleteCmd struct {
	Name string `arg:"" help:"Username."`
}

// Run removes the user.
func (c *UserDeleteCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return administer(ctx, g, "users", api.ActionDelete, func(m auth.Administrator, r *api.AuditRecord) error {
		u, err := m.DeleteUser(ctx, auth.UserRef{Username: c.Name})
		if err != nil {
			return &subject{"user " + c.Name, err}
		}
		noteUser(r, u)
		r.Before = u.Record()
		fmt.Fprintf(std.out, "User %s deleted; the sessions of the user ended.\n", c.Name)
		return nil
	})
}

// askPassword prompts at the terminal without echo, or reads a line from
// standard input if that is no terminal.
func askPassword(std streams, prompt string) (string, error) {
	if term.IsTerminal(int(std.in.Fd())) {
		fmt.Fprint(std.err, prompt)
		b, err := term.ReadPassword(int(std.in.Fd()))
		fmt.Fprintln(std.err)
		if err != nil {
			return "", fmt.Errorf("read password: %w", err)
		}
		return string(b), nil
	}
	line, err := bufio.NewReader(std.in).ReadString('\n')
	if err != nil && !(errors.Is(err, io.EOF) && line != "") {
		return "", fmt.Errorf("read password from standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
