package channel

import (
	"context"
	"errors"
	"time"

	"app.sunloop/backend/notify"
)

// Close drops idle connections.
func (c *Channels) Close() { c.client.CloseIdleConnections() }

// Check validates the URL of a channel before it is stored. The error states what is
// wrong and contains nothing of the URL.
func (c *Channels) Check(ctx context.Context, kind, address string) error {
	if kind == notify.ChannelEmail {
		if address != "" {
			return errors.New("e-mail is sent by the mail server of the service: it has no URL")
		}
		return nil
	}
	_, err := c.open(ctx, notify.Target{Kind: kind, URL: address})
	return err
}

// Test sends a test message and returns its receipt.
func (c *Channels) Test(ctx context.Context, to notify.Target, id string) (notify.Receipt, error) {
	return c.Send(ctx, to, NewTestMessage(id, c.now()))
}

// NewTestMessage is the message by which a channel is tested.
func NewTestMessage(id string, now time.Time) notify.Message {
	return notify.Message{ID: id, Kind: notify.KindTest, At: now, Priority: "normal", Title: "Sunloop: test message",
		Lines: []string{"This message tests a notification channel of Sunloop. No action is needed."}}
}
