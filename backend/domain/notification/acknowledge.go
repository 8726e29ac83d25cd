package notification

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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

// linkLifetime is how long a link acknowledges.
const linkLifetime = 72 * time.Hour

// link is a link that was used. The link itself is signed and stored nowhere.
type link struct {
	DeliveryID string    `json:"delivery_id" limit:"id"`
	SiteID     string    `json:"site_id" limit:"id"`
	UsedAt     time.Time `json:"used_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	By         string    `json:"by" limit:"name cut"`
}

var links = store.Table[link]{
	Bucket:  "notify-links",
	Key:     func(l link) []byte { return store.Key(l.SiteID, l.DeliveryID) },
	Indexes: []store.Index[link]{{Name: "id", Key: func(l link) []byte { return store.Key(l.DeliveryID) }}},
}

// token returns the secret part of the link of a delivery: its id and a signature of 256
// bits.
func (s *Service) token(d delivery) string { return d.DeliveryID + "." + s.signature(d.DeliveryID) }

func (s *Service) signature(id string) string {
	key, err := hkdf.Key(sha256.New, s.Key, nil, "sunloop notification acknowledgement", sha256.Size)
	if err != nil {
		panic(err) // the length is valid
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(id))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// byToken returns the delivery of a link, and the record of its use, if it was used. A
// token that the service did not sign is [api.ErrAcknowledgeLink], without a look at the
// store.
func (s *Service) byToken(tx store.Tx, token string) (d delivery, used *link, err error) {
	id, signature, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(signature), []byte(s.signature(id))) {
		return d, nil, api.ErrAcknowledgeLink
	}
	if d, err = deliveryByID(tx, id); err != nil {
		if errors.Is(err, api.ErrDeliveryNotFound) {
			err = api.ErrAcknowledgeLink
		}
		return d, nil, err
	}
	l, err := links.Get(tx, store.Key(d.SiteID, d.DeliveryID))
	switch {
	case err == nil:
		return d, &l, nil
	case errors.Is(err, store.ErrNotFound):
		return d, nil, nil
	}
	return d, nil, fmt.Errorf("read the link of delivery %s: %w", id, err)
}

// page is what a person sees of a link.
func (s *Service) page(tx store.Tx, d delivery, used *link) (api.AcknowledgePage, error) {
	p := api.AcknowledgePage{State: api.AcknowledgeOpen, Title: d.Message.Title, Lines: d.Message.Lines, Recipient: d.Recipient, DeliveryID: d.DeliveryID,
		IncidentID: d.Message.Thread, CustomerID: d.Message.CustomerID, SiteID: d.SiteID}
	if p.SiteID == noSite {
		p.SiteID = ""
	}
	open, err := s.unacknowledged(tx, d)
	if err != nil {
		return p, err
	}
	p.AlertIDs = open
	switch {
	case used != nil:
		p.State, p.By = api.AcknowledgeUsed, used.By
	case s.Wall().After(d.CreatedAt.Add(linkLifetime)):
		p.State = api.AcknowledgeExpired
	case len(open) == 0:
		p.State = api.AcknowledgeNothing
	}
	return p, nil
}

// unacknowledged returns the alerts of a message that require an acknowledgement, and
// those that have joined its incident for the same recipient's owner.
func (s *Service) unacknowledged(tx store.Tx, d delivery) (ids []string, err error) {
	for _, id := range d.Message.AlertIDs {
		is, err := s.Domain.Alerts.NeedsAcknowledgement(tx, id)
		if err != nil {
			return nil, err
		}
		if is {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// PendingAcknowledgement returns what a link would acknowledge. It changes nothing.
func (s *Service) PendingAcknowledgement(ctx context.Context, token string) (p api.AcknowledgePage, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		d, used, err := s.byToken(tx, token)
		if err != nil {
			return err
		}
		p, err = s.page(tx, d, used)
		return err
	})
	return p, err
}

// AcknowledgeByLink acknowledges the alarms of the link's message, once. The state of the
// page is done, or why nothing was acknowledged.
func (s *Service) AcknowledgeByLink(ctx context.Context, token, comment string) (p api.AcknowledgePage, err error) {
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		d, used, err := s.byToken(tx, token)
		if err != nil {
			return err
		}
		if p, err = s.page(tx, d, used); err != nil || p.State != api.AcknowledgeOpen {
			return err
		}
		config, err := configOf(tx, d.Owner)
		if err != nil {
			return err
		}
		p.By = actorOf(config, d.Recipient)
		reason := "by the link of a message"
		if comment = strings.TrimSpace(comment); comment != "" {
			reason += ": " + comment
		}
		for _, id := range p.AlertIDs {
			if err := s.Domain.Alerts.AcknowledgeIn(tx, id, p.By, reason); err != nil {
				return err
			}
		}
		p.State = api.AcknowledgeDone
		l := link{DeliveryID: d.DeliveryID, SiteID: d.SiteID, UsedAt: s.Wall().UTC(), ExpiresAt: d.CreatedAt.Add(linkLifetime), By: p.By}
		return record.Wrap(links.Put(tx, l), "store the link of delivery "+d.DeliveryID)
	})
	return p, err
}

func recipientID(recipient string) string {
	_, id, _ := strings.Cut(recipient, ":")
	return id
}

// actorOf names the recipient of a message in histories: the account of a person, else
// the name.
func actorOf(c notify.Config, recipient string) string {
	if n := slices.IndexFunc(c.People, func(p notify.Person) bool { return "person:"+p.ID == recipient }); n >= 0 {
		p := c.People[n]
		switch {
		case p.User != "":
			return p.User
		case p.Name != "":
			return p.Name
		}
	}
	return recipient
}
