// Package notify plans notifications of alarms: who receives which message, when, and
// what holds or suppresses it. It reads no clock and no storage: a plan is a function
// of configuration, history and time. [Message] and [Sender] are what the planner and
// the channels share; backend/notify/channel sends, backend/domain/notification keeps
// configuration, incidents and deliveries.
//
// An incident is a group of alarms with one cause. Alarm, acknowledge, shelve,
// suppress, flood and chattering have the meaning of ISA-18.2.
package notify

import (
	"context"
	"errors"
	"time"
)

// Kind is the kind of a message.
type Kind string

// Kinds of messages.
const (
	KindRaised    Kind = "raised"    // first message of an incident
	KindUpdate    Kind = "update"    // further alarms, or a higher priority
	KindEscalated Kind = "escalated" // a later step, or a repetition of the last one
	KindAllClear  Kind = "all_clear" // all alarms of the incident have ended
	KindSummary   Kind = "summary"   // what was held in quiet hours or a flood
	KindReport    Kind = "report"    // daily, weekly or monthly report
	KindTest      Kind = "test"
)

// Link is an address with the text that describes it.
type Link struct {
	Label string `json:"label" limit:"name cut"`
	URL   string `json:"url" limit:"url"`
}

// Money is an amount in a currency (ISO 4217).
type Money struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency" limit:"word"`
}

// Message is a message to one recipient, before a channel gives it its form. Texts are
// plain: a channel escapes them. A nil number is unknown.
type Message struct {
	ID   string `json:"id" limit:"id"` // the same in each attempt: receivers may discard repetitions
	Kind Kind   `json:"kind" limit:"word"`
	// Thread is the incident. Messages of one thread to one recipient are sent in order;
	// a channel may edit its first message, or answer to it. It is empty for summaries,
	// reports and tests.
	Thread string `json:"thread,omitempty" limit:"id"`
	// Reference is the Receipt.Reference of the first message of the thread to this
	// recipient; empty for the first.
	Reference string    `json:"reference,omitempty" limit:"token"`
	At        time.Time `json:"at"` // when it was planned

	AlertIDs   []string `json:"alert_ids,omitempty" limit:"10000 id cut"`
	CustomerID string   `json:"customer_id,omitempty" limit:"id"`
	SiteID     string   `json:"site_id,omitempty" limit:"id"`
	SiteName   string   `json:"site_name,omitempty" limit:"name cut"`
	AssetID    string   `json:"asset_id,omitempty" limit:"id"` // of a single unit
	Family     string   `json:"family,omitempty" limit:"word cut"`
	Priority   string   `json:"priority,omitempty" limit:"word"` // the worst of its alarms: critical, major, moderate, minor, normal

	LostKW      *float64 `json:"lost_kw,omitempty"`       // power at risk
	LostKWh     *float64 `json:"lost_kwh,omitempty"`      // energy that was lost
	MoneyAtRisk *Money   `json:"money_at_risk,omitempty"` // per day, if nothing changes

	Title   string   `json:"title" limit:"line cut"`
	Lines   []string `json:"lines,omitempty" limit:"1000 line cut"`
	Links   []Link   `json:"links,omitempty" limit:"20 cut"`
	Actions []Link   `json:"actions,omitempty" limit:"20 cut"` // such as acknowledge; opening one changes nothing

	ChartPNG []byte `json:"chart_png,omitempty" limit:"2MiB"`
	ChartSVG []byte `json:"chart_svg,omitempty" limit:"2MiB"`
	HTML     string `json:"html,omitempty" limit:"256KiB"` // body of an e-mail instead of Lines; made by the service, already escaped
}

// Kinds of channels.
const (
	ChannelEmail        = "email"
	ChannelWebhook      = "webhook"
	ChannelAlertmanager = "alertmanager"
	ChannelNtfy         = "ntfy"
	ChannelSlack        = "slack"
	ChannelTeams        = "teams"
	ChannelTelegram     = "telegram"
	ChannelMatrix       = "matrix"
	ChannelPagerDuty    = "pagerduty"
	ChannelOpsgenie     = "opsgenie"
	ChannelGotify       = "gotify"
	ChannelPushover     = "pushover"
	ChannelSMS          = "sms"
)

// ChannelKinds returns all kinds of channels, in the order of documents.
func ChannelKinds() []string {
	return []string{ChannelEmail, ChannelWebhook, ChannelAlertmanager, ChannelNtfy, ChannelSlack, ChannelTeams, ChannelTelegram, ChannelMatrix,
		ChannelPagerDuty, ChannelOpsgenie, ChannelGotify, ChannelPushover, ChannelSMS}
}

// Target is where a message goes: a channel with its secrets opened, and the address of
// the recipient within it.
type Target struct {
	ChannelID string
	Kind      string // one of ChannelKinds
	URL       string // of the channel, with its credentials; empty for e-mail through the service's mailer
	Secret    string // signs webhooks (whsec_…); empty for other kinds
	Address   string // of the recipient: e-mail address, telephone number, topic, chat; may be empty
	Name      string // of the recipient, for salutations
	Zone      *time.Location
}

// Receipt is what a channel knows after a message was accepted.
type Receipt struct {
	At        time.Time
	Reference string // by which the channel finds the message again, to edit it or to answer to it; may be empty
	Detail    string // such as "250 2.0.0 Ok: queued"
}

// Sender sends a message by a channel. It must not keep the secrets of the target. An
// error is permanent if it wraps [ErrPermanent]; others are temporary, and may have a
// [RetryAfter].
type Sender interface {
	Send(ctx context.Context, to Target, m Message) (Receipt, error)
}

// ErrPermanent is wrapped by errors that no repetition changes, such as an unknown
// address.
var ErrPermanent = errors.New("permanent")

// permanentError has the text of its cause.
type permanentError struct{ error }

func (e permanentError) Unwrap() []error { return []error{e.error, ErrPermanent} }

// Permanent marks an error as permanent.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// RetryAfter is a temporary error whose receiver asks for a delay.
type RetryAfter struct {
	Err   error
	Delay time.Duration
}

func (e RetryAfter) Error() string { return e.Err.Error() }

func (e RetryAfter) Unwrap() error { return e.Err }
