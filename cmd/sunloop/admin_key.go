package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/internal/display"
)

// KeyCreateCmd creates an API key.
type KeyCreateCmd struct {
	Name      string        `arg:"" help:"Purpose of the key."`
	Role      string        `default:"role_operator" enum:"role_admin,role_operator,role_technician,role_analyst,role_collector" help:"Role: ${enum} (${default})."`
	Sites     []string      `help:"Sites that the key has access to, * for all (all sites of the customers)."`
	Customers []string      `help:"Customers that the key has access to, * for all (those of the sites)."`
	Expires   time.Duration `placeholder:"DURATION" help:"Lifetime of the key, for example 2160h (unlimited)."`
	Rate      *int          `placeholder:"NUMBER" help:"Accepted requests a minute, 0 for no limit (60; of role_collector no limit)."`
}

// Run creates the key and prints it.
func (c *KeyCreateCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if len(c.Sites) == 0 && len(c.Customers) == 0 {
		return wrong("no access given: give --customers or --sites, * for all")
	}
	if c.Expires < 0 {
		return wrong("--expires %s: must be more than 0", c.Expires)
	}
	n := auth.NewKey{Name: c.Name, Role: c.Role, Customers: c.Customers, CreatedBy: commandLine, ExpiresAt: in(c.Expires), Rate: c.Rate}
	return administerService(ctx, g, "keys", api.ActionCreate, func(s *backend.Service, m auth.Administrator, r *api.AuditRecord) (err error) {
		if n.Sites, err = siteKeys(ctx, s, std, c.Customers, c.Sites); err != nil {
			return err
		}
		plain, key, err := m.CreateKey(ctx, n)
		if err != nil {
			return err
		}
		noteKey(r, key)
		r.After = key.Record()
		fmt.Fprintf(std.out, "%s\nAPI key %s created. The key is shown only once: store it safely.\n", plain, key.ID)
		return nil
	})
}

// in is the end of a life that begins now, zero for none.
func in(life time.Duration) time.Time {
	if life <= 0 {
		return time.Time{}
	}
	return time.Now().Add(life)
}

func noteKey(r *api.AuditRecord, k auth.APIKey) {
	r.TargetIDs, r.CustomerIDs = map[string]string{"api_key_id": k.ID}, k.Customers
}

// KeyListCmd lists API keys.
type KeyListCmd struct{}

// Run lists the keys.
func (KeyListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return readDataFolder(g, func(s *backend.Service) error {
		keys, _, err := s.Auth().As(api.Unlimited(commandLine)).Keys(ctx, auth.KeyFilter{}, api.Page{})
		for _, k := range keys {
			state := k.State
			if state == api.KeyGood {
				state = "valid"
			}
			switch {
			case k.State == api.KeyRevoked:
				state += " " + api.At(k.RevokedAt).String()
			case k.State == api.KeyExpired:
				state += " " + api.At(k.ExpiresAt).String()
			case !k.ExpiresAt.IsZero():
				state += " until " + api.At(k.ExpiresAt).String()
			}
			if k.Replaces != "" {
				state += "; replaces " + k.Replaces
			}
			fmt.Fprintf(std.out, "%s  %-20s %-16s %s; sites %s; customers %s; %s; %s\n", k.ID, k.Name, k.Role, state, siteIDs(k.Sites), strings.Join(k.Customers, ", "), rateText(k.Rate), usageText(k.Usage))
		}
		return err
	})
}

func rateText(r auth.Rate) string {
	switch r.Class {
	case api.RateNone:
		return "no rate limit"
	case api.RateCustom:
		return display.CountOf(r.Minutes, "request", "requests") + " a minute"
	}
	return display.CountOf(api.RequestsPerMinute, "request", "requests") + " a minute (default)"
}

func usageText(u auth.Usage) string {
	if u.LastUsedAt.IsZero() {
		return "never used"
	}
	text := fmt.Sprintf("%s, %d refused", display.CountOf(u.Requests, "request", "requests"), u.Refused)
	if u.Points > 0 {
		text += ", " + display.CountOf(u.Points, "point", "points")
	}
	return text + ", last used " + api.At(u.LastUsedAt).String()
}

// KeyRotateCmd replaces a key.
type KeyRotateCmd struct {
	ID      string        `arg:"" help:"Key id, from admin key list."`
	Overlap time.Duration `default:"24h" placeholder:"DURATION" help:"Time for which the old key stays valid (${default})."`
	Expires time.Duration `placeholder:"DURATION" help:"Lifetime of the new key (that of the old key)."`
}

// Run creates the new key and prints it.
func (c *KeyRotateCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Overlap < 0 || c.Overlap > api.MaxOverlap {
		return wrong("--overlap %s: must be from 0 to %s", c.Overlap, api.MaxOverlap)
	}
	if c.Expires < 0 {
		return wrong("--expires %s: must be more than 0", c.Expires)
	}
	return administer(ctx, g, "keys", api.ActionRotate, func(m auth.Administrator, r *api.AuditRecord) error {
		done, err := m.RotateKey(ctx, c.ID, auth.Rotation{Overlap: c.Overlap, ExpiresAt: in(c.Expires), By: commandLine})
		if err != nil {
			return &subject{"API key " + c.ID, err}
		}
		noteKey(r, done.Key)
		r.Before, r.After = done.Before.Record(), done.After.Record()
		fmt.Fprintf(std.out, "%s\nAPI key %s created; it replaces %s, which stays valid until %s. The key is shown only once: store it safely.\n", done.Plain, done.Key.ID, c.ID, api.At(done.After.ExpiresAt))
		return nil
	})
}

// KeyRevokeCmd ends a key.
type KeyRevokeCmd struct {
	ID string `arg:"" help:"Key id, from admin key list."`
}

// Run ends the key.
func (c *KeyRevokeCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return administer(ctx, g, "keys", api.ActionRevoke, func(m auth.Administrator, r *api.AuditRecord) error {
		before, after, err := m.RevokeKey(ctx, c.ID)
		if err != nil {
			return &subject{"API key " + c.ID, err}
		}
		noteKey(r, after)
		r.Before, r.After = before.Record(), after.Record()
		fmt.Fprintf(std.out, "API key %s revoked.\n", c.ID)
		return nil
	})
}

// SigningKeyListCmd lists the keys of tokens.
type SigningKeyListCmd struct{}

// Run lists the keys.
func (SigningKeyListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return readDataFolder(g, func(s *backend.Service) error {
		keys, err := s.Auth().SigningKeys(ctx)
		for _, k := range keys {
			state := "active"
			if !k.RetiresAt.IsZero() {
				state = "rotated, valid until " + api.At(k.RetiresAt).String()
			}
			fmt.Fprintf(std.out, "%s  created %s, %s\n", k.ID, api.At(k.CreatedAt), state)
		}
		return err
	})
}

// SigningKeyRotateCmd rotates the key of tokens.
type SigningKeyRotateCmd struct{}

// Run creates the new key.
func (SigningKeyRotateCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return administer(ctx, g, "signing-keys", api.ActionRotate, func(m auth.Administrator, _ *api.AuditRecord) error {
		if err := m.RotateSigningKey(ctx); err != nil {
			return err
		}
		fmt.Fprintln(std.out, "Signing key rotated; tokens of the old key stay valid until they expire.")
		return nil
	})
}
