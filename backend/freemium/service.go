package freemium

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"app.sunloop/backend/mail"
	"app.sunloop/backend/store"
)

// Sender delivers messages. An error that wraps [mail.ErrRefused] is final.
type Sender interface {
	Send(ctx context.Context, m mail.Message) error
}

// Options of the service. All but Log are required.
type Options struct {
	Records store.Records
	Key     []byte // of the hashes of addresses and codes
	Mail    Sender
	Now     func() time.Time // the real clock
	Log     *slog.Logger     // nil: silent
}

// Service is safe for concurrent use.
type Service struct {
	records store.Records
	mail    Sender
	now     func() time.Time
	log     *slog.Logger
	hasher  hasher
	busy    chan struct{} // running forecasts
}

// atATime bounds the concurrent forecasts of this process: each uses both cores
// for a second. The order is determined by the records.
const atATime = 2

// New returns the service.
func New(o Options) (*Service, error) {
	if o.Records == nil || o.Mail == nil || o.Now == nil || len(o.Key) == 0 {
		return nil, errors.New("freemium requires records, mail, a clock and a key")
	}
	s := &Service{records: o.Records, mail: o.Mail, now: o.Now, log: o.Log, hasher: hasher(o.Key), busy: make(chan struct{}, atATime)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		codes,
		sent,
		customers,
	}
}
