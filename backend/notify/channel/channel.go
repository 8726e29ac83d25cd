// Package channel sends messages: e-mail, signed webhooks, Alertmanager, chats, push
// services, incident managers and SMS gateways.
//
// A channel is a URL with its credentials, and the address of a recipient within it.
// All calls but e-mail go through one HTTP client that connects only to what the
// [webhook.Guard] allows, follows no redirect and has a time limit. An error states
// whether it is permanent, and never contains a URL, a credential or text of the
// receiver that may repeat one.
package channel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/mail"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/webhook"
)

// Mailer sends e-mail.
type Mailer interface {
	Send(ctx context.Context, m mail.Message) error
}

// Config is what channels need.
type Config struct {
	Guard  *webhook.Guard
	Mailer Mailer
	Now    func() time.Time // the real clock
	// Chart draws the day of a site for e-mail about its alarms, as PNG; nil: e-mail of
	// alarms has no picture.
	Chart func(ctx context.Context, siteID string, at time.Time) ([]byte, error)
	// Wrap replaces the transport of all calls by its result; nil: unchanged.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Channels sends messages by all kinds of channels. It is safe for concurrent use.
type Channels struct {
	guard  *webhook.Guard
	mailer Mailer
	now    func() time.Time
	chart  func(ctx context.Context, siteID string, at time.Time) ([]byte, error)
	client *http.Client
}

// New returns the channels.
func New(c Config) *Channels {
	client := webhook.NewClient(c.Guard)
	if c.Wrap != nil {
		client.Transport = c.Wrap(client.Transport)
	}
	return &Channels{guard: c.Guard, mailer: c.Mailer, now: c.Now, chart: c.Chart, client: client}
}

// service is how one kind of channel is reached.
type service struct {
	example    string // of its URL
	credential string // what the password of the URL is; empty: it needs none
	inPath     bool   // the path of the URL is a credential
	address    string // what the address of a recipient is; empty: it has none
	mayOmit    bool   // the address
	send       func(ctx context.Context, c *call, m notify.Message) (notify.Receipt, error)
}

var services map[string]service

func init() {
	services = map[string]service{
		notify.ChannelWebhook:      {example: "https://example.org/hooks/sunloop", inPath: true, send: sendWebhook},
		notify.ChannelAlertmanager: {example: "https://USER:PASSWORD@alertmanager.example.org", send: sendAlertmanager}, //nolint:gosec // an example
		notify.ChannelNtfy:         {example: "https://:TOKEN@ntfy.sh/TOPIC", inPath: true, address: "topic", mayOmit: true, send: sendNtfy},
		notify.ChannelSlack:        {example: "https://hooks.slack.com/services/…, or https://:TOKEN@slack.com", inPath: true, address: "channel", mayOmit: true, send: sendSlack},
		notify.ChannelTeams:        {example: "https://….logic.azure.com/workflows/…", inPath: true, send: sendTeams},
		notify.ChannelTelegram:     {example: "https://:TOKEN@api.telegram.org", credential: "the token of the bot", address: "chat", send: sendTelegram},
		notify.ChannelMatrix:       {example: "https://:TOKEN@matrix.example.org", credential: "the access token", address: "room ID, such as !id:example.org", send: sendMatrix},
		notify.ChannelPagerDuty:    {example: "https://:KEY@events.pagerduty.com", credential: "the integration key", send: sendPagerDuty},
		notify.ChannelOpsgenie:     {example: "https://:KEY@api.opsgenie.com", credential: "the API key", address: "user name or team:NAME", mayOmit: true, send: sendOpsgenie},
		notify.ChannelGotify:       {example: "https://:TOKEN@gotify.example.org", credential: "the token of the application", send: sendGotify},
		notify.ChannelPushover:     {example: "https://:TOKEN@api.pushover.net", credential: "the token of the application", address: "user key", send: sendPushover},
		notify.ChannelSMS:          {example: "https://USER:PASSWORD@gateway.example.org/send?from=Sunloop&to={to}&text={text}", inPath: true, address: "telephone number", send: sendSMS}, //nolint:gosec // an example
	}
}

// CheckAddress validates the address of a recipient.
func (c *Channels) CheckAddress(kind, address string) error { return checkAddress(kind, address) }

func checkAddress(kind, address string) error {
	if kind == notify.ChannelEmail {
		if bare, err := mail.Address(address); err != nil || bare != address {
			return errors.New("it is not a bare e-mail address")
		}
		return nil
	}
	s, ok := services[kind]
	switch {
	case !ok:
		return unknownKind(kind)
	case address == "" && s.address != "" && !s.mayOmit:
		return fmt.Errorf("%s needs an address: %s", kind, s.address)
	case strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("it contains control characters")
	}
	return nil
}

// Check validates a channel before it is stored: its URL, its secret, and the address of
// messages to itself, if it has one. The error is a [notify.Invalid] without an id, which
// contains nothing of the URL and the secret. It may look up the host of the URL; one that
// does not resolve now is accepted.
func (c *Channels) Check(ctx context.Context, to notify.Target) error {
	wrong := func(field string, err error) error {
		return notify.Invalid{Kind: "channel", ID: to.ChannelID, Field: field, Reason: err.Error()}
	}
	if to.Kind == notify.ChannelEmail {
		if to.URL != "" {
			return wrong("url", errors.New("e-mail is sent by the mail server of the service: it has no URL"))
		}
	} else if to.URL == "" {
		s, ok := services[to.Kind]
		if !ok {
			return wrong("kind", unknownKind(to.Kind))
		}
		return wrong("url", errors.New("it is missing, such as "+s.example))
	} else if _, err := c.open(ctx, to); err != nil {
		return wrong("url", err)
	}
	switch {
	case to.Kind == notify.ChannelWebhook && to.Secret == "":
		return wrong("secret", errors.New("it is missing: a webhook is signed with a secret such as whsec_ and 32 bytes in base64"))
	case to.Kind == notify.ChannelWebhook:
		if _, err := webhook.Sign([]string{to.Secret}, "check", c.now(), nil); err != nil {
			return wrong("secret", errors.New("it is not whsec_ and bytes in base64"))
		}
	case to.Secret != "":
		return wrong("secret", errors.New("only a webhook has one; other channels have their credentials in the URL"))
	}
	if to.Address != "" {
		if err := checkAddress(to.Kind, to.Address); err != nil {
			return wrong("address", err)
		}
	}
	return nil
}

func unknownKind(kind string) error {
	return fmt.Errorf("channel kind %.40q is none of %s", kind, strings.Join(notify.ChannelKinds(), ", "))
}

// Send sends one message. An error wraps [notify.ErrPermanent] if no repetition changes
// it.
func (c *Channels) Send(ctx context.Context, to notify.Target, m notify.Message) (notify.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, webhook.TimeOut)
	defer cancel()
	if to.Kind == notify.ChannelEmail {
		return c.sendMail(ctx, to, m)
	}
	call, err := c.open(ctx, to)
	if err != nil {
		return notify.Receipt{}, err
	}
	if err := checkAddress(to.Kind, to.Address); err != nil {
		return notify.Receipt{}, notify.Permanent(fmt.Errorf("address of the recipient: %w", err))
	}
	receipt, err := services[to.Kind].send(ctx, call, m)
	if err != nil {
		return notify.Receipt{}, fmt.Errorf("send by %s: %w", to.Kind, err)
	}
	receipt.At = c.now()
	return receipt, nil
}

// call is one call of a service.
type call struct {
	*Channels
	to       notify.Target
	base     *url.URL // without credentials, query and fragment
	query    string
	fragment string
	user     string
	secret   string   // the password of the URL
	hidden   []string // what no error may contain
}

// open reads the URL of a target and asks the guard. Its errors are permanent.
func (c *Channels) open(ctx context.Context, to notify.Target) (*call, error) {
	s, ok := services[to.Kind]
	if !ok {
		return nil, notify.Permanent(unknownKind(to.Kind))
	}
	u, err := url.Parse(to.URL)
	if err != nil || u.Host == "" || u.Opaque != "" {
		// The words of the parser would contain the URL.
		return nil, notify.Permanent(fmt.Errorf("the URL of the channel is not a URL with a host, such as %s", s.example))
	}
	k := &call{Channels: c, to: to, query: u.RawQuery, fragment: u.Fragment, user: u.User.Username()}
	k.secret, _ = u.User.Password()
	if s.credential != "" && k.secret == "" {
		return nil, notify.Permanent(fmt.Errorf("the URL of the channel lacks %s, as in %s", s.credential, s.example))
	}
	if to.Kind != notify.ChannelSMS && k.fragment != "" {
		return nil, notify.Permanent(errors.New("the URL of the channel has a fragment"))
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = strings.TrimSuffix(u.RawPath, "/")
	k.base = u
	k.hidden = k.credentials()
	if to.Kind == notify.ChannelSMS {
		if err := k.checkSMS(); err != nil {
			return nil, notify.Permanent(err)
		}
	}
	if err := c.guard.Check(ctx, u.String()); err != nil {
		return nil, notify.Permanent(fmt.Errorf("the URL of the channel is refused: %w", err))
	}
	return k, nil
}

// credentials are the parts of the target that no error may contain.
func (k *call) credentials() []string {
	out := []string{k.secret, k.user, k.to.Secret, k.query}
	if services[k.to.Kind].inPath {
		out = append(out, strings.Split(k.base.Path, "/")...)
	}
	if q, err := url.ParseQuery(k.query); err == nil {
		for _, values := range q {
			out = append(out, values...)
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < 3 })
}
