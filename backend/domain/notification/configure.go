package notification

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
)

// Kinds of items.
const (
	kindChannel  = api.NotificationChannelKind
	kindPerson   = api.NotificationPersonKind
	kindRotation = api.NotificationRotationKind
	kindRoute    = api.NotificationRouteKind
)

// item is one item of a configuration: one of the four.
type item struct {
	Owner        string           `json:"owner" limit:"id"`
	Kind         string           `json:"kind" limit:"word"`
	ID           string           `json:"id" limit:"id"`
	Version      int              `json:"version"` // 1 at first; each change adds one
	UpdatedAt    api.Time         `json:"updated_at"`
	UpdatedBy    string           `json:"updated_by,omitempty" limit:"name cut"`
	Channel      *notify.Channel  `json:"channel,omitempty"`
	Person       *notify.Person   `json:"person,omitempty"`
	Rotation     *notify.Rotation `json:"rotation,omitempty"`
	Route        *notify.Route    `json:"route,omitempty"`
	SealedURL    []byte           `json:"sealed_url,omitempty" limit:"8KiB"`
	SealedSecret []byte           `json:"sealed_secret,omitempty" limit:"8KiB"`
}

var items = store.Table[item]{
	Bucket:  "notify-items",
	Key:     func(v item) []byte { return store.Key(v.Owner, v.Kind, v.ID) },
	Indexes: []store.Index[item]{{Name: "kind", Key: func(v item) []byte { return store.Key(v.Kind, v.Owner) }}},
}

// place binds a secret to its channel and field.
func (v item) place(field string) string {
	return strings.Join([]string{"notify", v.Owner, v.ID, field}, "/")
}

// keepSecrets takes the secrets of the former state of a channel. A channel of another kind
// has others: a URL with its credentials is never sent to another service.
func (v *item) keepSecrets(old item) {
	if v.Channel != nil && old.Channel != nil && v.Channel.Kind == old.Channel.Kind {
		v.SealedURL, v.SealedSecret = old.SealedURL, old.SealedSecret
	}
}

// itemsOf returns the items of an owner.
func itemsOf(tx store.Tx, owner string) (list []item, err error) {
	list, _, err = items.List(tx, store.Query{Prefix: store.Key(owner)})
	return list, record.Wrap(err, "read the configuration of notifications")
}

func configFrom(list []item) (c notify.Config) {
	for _, v := range list {
		switch {
		case v.Channel != nil:
			c.Channels = append(c.Channels, *v.Channel)
		case v.Person != nil:
			c.People = append(c.People, *v.Person)
		case v.Rotation != nil:
			c.Rotations = append(c.Rotations, *v.Rotation)
		case v.Route != nil:
			c.Routes = append(c.Routes, *v.Route)
		}
	}
	return c
}

func configOf(tx store.Tx, owner string) (notify.Config, error) {
	list, err := itemsOf(tx, owner)
	return configFrom(list), err
}

// convert returns a value as another type with the same names in JSON: the wire contract
// and the planner have types of their own, so that neither follows the other by accident.
func convert[U any](v any) (out U) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("notification: convert %T to %T: %v", v, out, err)) // both are types of the program
	}
	return out
}

// Configuration returns the items of an owner, without secrets.
func (s *Service) Configuration(ctx context.Context, scope api.Scope, customerID string) (api.NotificationConfig, error) {
	var out api.NotificationConfig
	owner, err := ownerOf(scope, customerID)
	if err != nil {
		return out, err
	}
	err = s.Records.View(ctx, func(tx store.Tx) error {
		list, err := itemsOf(tx, owner)
		out = wireConfig(list)
		return err
	})
	return out, err
}

func wireConfig(list []item) api.NotificationConfig {
	out := api.NotificationConfig{Channels: []api.NotificationChannel{}, People: []api.NotificationPerson{}, Rotations: []api.NotificationRotation{}, Routes: []api.NotificationRoute{}}
	for _, v := range list {
		switch {
		case v.Channel != nil:
			w := convert[api.NotificationChannel](v.Channel)
			w.HasURL, w.HasSecret = v.SealedURL != nil, v.SealedSecret != nil
			w.Version, w.UpdatedAt, w.UpdatedBy = v.Version, v.UpdatedAt, v.UpdatedBy
			out.Channels = append(out.Channels, w)
		case v.Person != nil:
			w := convert[api.NotificationPerson](v.Person)
			w.Version, w.UpdatedAt, w.UpdatedBy = v.Version, v.UpdatedAt, v.UpdatedBy
			out.People = append(out.People, w)
		case v.Rotation != nil:
			w := convert[api.NotificationRotation](v.Rotation)
			w.Version, w.UpdatedAt, w.UpdatedBy = v.Version, v.UpdatedAt, v.UpdatedBy
			out.Rotations = append(out.Rotations, w)
		case v.Route != nil:
			w := convert[api.NotificationRoute](v.Route)
			w.Version, w.UpdatedAt, w.UpdatedBy = v.Version, v.UpdatedAt, v.UpdatedBy
			out.Routes = append(out.Routes, w)
		}
	}
	return out
}

// given is an item of a request, with its secrets in plain.
type given struct {
	item
	url, secret string
}

func givenItems(owner string, c api.NotificationConfig) (list []given) {
	for _, v := range c.Channels {
		w := convert[notify.Channel](v)
		list = append(list, given{item{Owner: owner, Kind: kindChannel, ID: v.ChannelID, Version: v.Version, Channel: &w}, v.URL, v.Secret})
	}
	for _, v := range c.People {
		w := convert[notify.Person](v)
		list = append(list, given{item: item{Owner: owner, Kind: kindPerson, ID: v.PersonID, Version: v.Version, Person: &w}})
	}
	for _, v := range c.Rotations {
		w := convert[notify.Rotation](v)
		list = append(list, given{item: item{Owner: owner, Kind: kindRotation, ID: v.RotationID, Version: v.Version, Rotation: &w}})
	}
	for _, v := range c.Routes {
		w := convert[notify.Route](v)
		list = append(list, given{item: item{Owner: owner, Kind: kindRoute, ID: v.RouteID, Version: v.Version, Route: &w}})
	}
	return list
}

// invalid is an error of the planner's check as one of the contract.
func invalid(err error) error {
	var e notify.Invalid
	if errors.As(err, &e) {
		return api.InvalidField(e.Kind, fmt.Sprintf("%s %q: %s: %s", e.Kind, e.ID, e.Field, e.Reason))
	}
	return err
}

// Set creates or replaces one item. A version that is not the stored one is a 409.
func (s *Service) Set(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (version int, before, after any, err error) {
	var c api.NotificationConfig
	n := 0
	if r.Channel != nil {
		c.Channels, n = []api.NotificationChannel{*r.Channel}, n+1
	}
	if r.Person != nil {
		c.People, n = []api.NotificationPerson{*r.Person}, n+1
	}
	if r.Rotation != nil {
		c.Rotations, n = []api.NotificationRotation{*r.Rotation}, n+1
	}
	if r.Route != nil {
		c.Routes, n = []api.NotificationRoute{*r.Route}, n+1
	}
	switch {
	case n == 0:
		return 0, nil, nil, api.MissingField("channel")
	case n > 1:
		return 0, nil, nil, api.InvalidField("channel", "a request has one of channel, person, rotation and route")
	}
	owner, err := ownerOf(scope, r.CustomerID)
	if err != nil {
		return 0, nil, nil, err
	}
	if err := s.checkTargets(ctx, owner, givenItems(owner, c), false); err != nil {
		return 0, nil, nil, err
	}
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		g := givenItems(owner, c)[0]
		old, err := items.Get(tx, items.Key(g.item))
		exists := err == nil
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read %s %s: %w", g.Kind, g.ID, err)
		}
		if exists {
			before = plain(old)
		}
		if g.Version != 0 && g.Version != old.Version {
			return versionConflict(g.Kind, g.ID, old.Version)
		}
		v, err := s.store(tx, scope, g, old)
		if err != nil {
			return err
		}
		version, after = v.Version, plain(v)
		return s.check(tx, owner)
	})
	return version, before, after, err
}

func versionConflict(kind, id string, version int) error {
	return api.Conflict("%s %s is at version %d: it was changed meanwhile", notify.Words(kind), id, version)
}

// store writes an item over the old one, whose secrets it keeps unless there are new ones.
func (s *Service) store(tx store.Tx, scope api.Scope, g given, old item) (item, error) {
	v := g.item
	v.Version, v.UpdatedAt, v.UpdatedBy = old.Version+1, api.At(s.Wall()), scope.Actor
	v.keepSecrets(old)
	for _, one := range []struct {
		text, field string
		to          *[]byte
	}{{g.url, "url", &v.SealedURL}, {g.secret, "secret", &v.SealedSecret}} {
		if one.text == "" {
			continue
		}
		sealed, err := s.Sealer.Seal([]byte(one.text), v.place(one.field))
		if err != nil {
			return v, fmt.Errorf("seal the %s of channel %s: %w", one.field, v.ID, err)
		}
		*one.to = sealed
	}
	if err := items.Put(tx, v); err != nil {
		return v, fmt.Errorf("store %s %s: %w", v.Kind, v.ID, err)
	}
	return v, nil
}

// check refuses a configuration that is not valid as a whole.
func (s *Service) check(tx store.Tx, owner string) error {
	c, err := configOf(tx, owner)
	if err != nil {
		return err
	}
	return invalid(c.Check())
}

// checkTargets refuses channels to which no message can be sent, with the secrets that
// they keep, and addresses of people that their channels do not take. whole says that the
// given items are the whole configuration.
func (s *Service) checkTargets(ctx context.Context, owner string, list []given, whole bool) error {
	if s.Checker == nil {
		return nil
	}
	var targets []notify.Target
	kinds := map[string]string{} // of channels
	err := s.Records.View(ctx, func(tx store.Tx) error {
		targets = nil
		stored, err := itemsOf(tx, owner)
		if err != nil {
			return err
		}
		if !whole {
			for _, v := range stored {
				if v.Channel != nil {
					kinds[v.ID] = v.Channel.Kind
				}
			}
		}
		for _, g := range list {
			if g.Channel == nil {
				continue
			}
			kinds[g.ID] = g.Channel.Kind
			t := notify.Target{ChannelID: g.ID, Kind: g.Channel.Kind, Address: g.Channel.Address, URL: g.url, Secret: g.secret}
			if n := slices.IndexFunc(stored, func(v item) bool { return v.Kind == g.Kind && v.ID == g.ID && v.Channel.Kind == t.Kind }); n >= 0 {
				is, err := s.unsealed(stored[n])
				if err != nil {
					return err
				}
				t.URL, t.Secret = cmp.Or(t.URL, is.URL), cmp.Or(t.Secret, is.Secret)
			}
			targets = append(targets, t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range targets {
		if err := s.Checker.Check(ctx, t); err != nil {
			return invalid(err)
		}
	}
	for _, g := range list {
		if g.Person == nil {
			continue
		}
		for _, a := range g.Person.Addresses {
			kind, ok := kinds[a.Channel]
			if !ok {
				continue // Config.Check says so
			}
			if err := s.Checker.CheckAddress(kind, a.Address); err != nil {
				return invalid(notify.Invalid{Kind: kindPerson, ID: g.ID, Field: "addresses", Reason: fmt.Sprintf("channel %q: %v", a.Channel, err)})
			}
		}
	}
	return nil
}

// plain is an item as the audit trail and differences show it: without secrets, version
// and author.
func plain(v item) any {
	switch {
	case v.Channel != nil:
		w := convert[api.NotificationChannel](v.Channel)
		w.HasURL, w.HasSecret = v.SealedURL != nil, v.SealedSecret != nil
		return w
	case v.Person != nil:
		return convert[api.NotificationPerson](v.Person)
	case v.Rotation != nil:
		return convert[api.NotificationRotation](v.Rotation)
	default:
		return convert[api.NotificationRoute](v.Route)
	}
}

// Remove removes an item that no other refers to.
func (s *Service) Remove(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (before any, err error) {
	owner, err := ownerOf(scope, r.CustomerID)
	if err != nil {
		return nil, err
	}
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		key := store.Key(owner, r.Kind, r.ItemID)
		old, err := items.Get(tx, key)
		if err != nil {
			return record.NotFoundAs(err, api.ErrNotificationItemNotFound, r.Kind+" "+r.ItemID)
		}
		if r.Version != 0 && r.Version != old.Version {
			return versionConflict(r.Kind, r.ItemID, old.Version)
		}
		before = plain(old)
		if err := items.Delete(tx, key); err != nil {
			return fmt.Errorf("remove %s %s: %w", r.Kind, r.ItemID, err)
		}
		return s.check(tx, owner)
	})
	return before, err
}

// Apply replaces all items of an owner by those of a configuration, and returns the
// differences. Items that are equal are not written: to apply twice changes nothing.
// Secrets, overrides and absences that are absent stay as they are. A dry run writes nothing.
func (s *Service) Apply(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (changes []api.NotificationChange, err error) {
	owner, err := ownerOf(scope, r.CustomerID)
	if err != nil {
		return nil, err
	}
	wanted := givenItems(owner, *r.Configuration)
	var c []item
	for _, g := range wanted {
		c = append(c, g.item)
	}
	if err := configFrom(c).Check(); err != nil {
		return nil, invalid(err)
	}
	if err := s.checkTargets(ctx, owner, wanted, true); err != nil {
		return nil, err
	}
	work := s.Records.Update
	if r.DryRun {
		work = s.Records.View
	}
	err = work(ctx, func(tx store.Tx) error {
		changes = []api.NotificationChange{}
		stored, err := itemsOf(tx, owner)
		if err != nil {
			return err
		}
		for _, g := range wanted {
			var old item
			if n := slices.IndexFunc(stored, func(v item) bool { return v.Kind == g.Kind && v.ID == g.ID }); n >= 0 {
				old = stored[n]
			}
			if old.Rotation != nil { // those of daily work stay, unless the configuration has some
				if g.Rotation.Overrides == nil {
					g.Rotation.Overrides = old.Rotation.Overrides
				}
				if g.Rotation.Absences == nil {
					g.Rotation.Absences = old.Rotation.Absences
				}
			}
			change, err := s.difference(old, g)
			if err != nil {
				return err
			}
			if change.Change == "" {
				continue
			}
			changes = append(changes, change)
			if !r.DryRun {
				if _, err := s.store(tx, scope, g, old); err != nil {
					return err
				}
			}
		}
		for _, v := range stored {
			if slices.ContainsFunc(wanted, func(g given) bool { return g.Kind == v.Kind && g.ID == v.ID }) {
				continue
			}
			changes = append(changes, api.NotificationChange{Kind: v.Kind, ID: v.ID, Change: "removed", Before: text(plain(v))})
			if !r.DryRun {
				if err := items.Delete(tx, items.Key(v)); err != nil {
					return fmt.Errorf("remove %s %s: %w", v.Kind, v.ID, err)
				}
			}
		}
		return nil
	})
	return changes, err
}

// difference compares an item with the stored one. Secrets differ if they are given and
// are others than those that are stored.
func (s *Service) difference(old item, g given) (api.NotificationChange, error) {
	c := api.NotificationChange{Kind: g.Kind, ID: g.ID, Change: "added", After: text(plain(g.item))}
	if old.Version == 0 {
		for _, one := range []struct{ text, field string }{{g.url, "url"}, {g.secret, "secret"}} {
			if one.text != "" {
				c.After += " with a new " + one.field
			}
		}
		return c, nil
	}
	next := g.item
	next.keepSecrets(old)
	c.Before, c.After, c.Change = text(plain(old)), text(plain(next)), "changed"
	for _, one := range []struct {
		text, field string
		sealed      []byte
	}{{g.url, "url", old.SealedURL}, {g.secret, "secret", old.SealedSecret}} {
		if one.text == "" {
			continue
		}
		if one.sealed == nil {
			c.After += " with a new " + one.field
			continue
		}
		is, err := s.Sealer.Open(one.sealed, old.place(one.field))
		if err != nil {
			return c, fmt.Errorf("open the %s of channel %s: %w", one.field, old.ID, err)
		}
		if string(is) != one.text {
			c.After += " with a new " + one.field
		}
	}
	if c.Before == c.After {
		c.Change = ""
	}
	return c, nil
}

// text is a value as one line of JSON.
func text(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// target returns where messages of a channel go. Its secrets are in plain.
func (s *Service) target(tx store.Tx, owner, channelID, address string) (notify.Target, error) {
	v, err := items.Get(tx, store.Key(owner, kindChannel, channelID))
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return notify.Target{}, notify.Permanent(fmt.Errorf("channel %s was removed", channelID))
		}
		return notify.Target{}, fmt.Errorf("read channel %s: %w", channelID, err)
	}
	t := notify.Target{ChannelID: channelID, Kind: v.Channel.Kind, Address: address, Zone: time.UTC}
	if v.Channel.Disabled {
		return t, notify.Permanent(fmt.Errorf("channel %s is disabled", channelID))
	}
	is, err := s.unsealed(v)
	t.URL, t.Secret = is.URL, is.Secret
	return t, err
}

// unsealed returns the secrets of a channel in plain.
func (s *Service) unsealed(v item) (t notify.Target, err error) {
	for _, one := range []struct {
		field  string
		sealed []byte
		to     *string
	}{{"url", v.SealedURL, &t.URL}, {"secret", v.SealedSecret, &t.Secret}} {
		if one.sealed == nil {
			continue
		}
		b, err := s.Sealer.Open(one.sealed, v.place(one.field))
		if err != nil {
			return t, fmt.Errorf("open the %s of channel %s: %w", one.field, v.ID, err)
		}
		*one.to = string(b)
	}
	return t, nil
}
