package channel

import (
	"context"
	"time"

	"app.sunloop/backend/notify"
)

// Close drops idle connections.
func (c *Channels) Close() { c.client.CloseIdleConnections() }

// Test sends a test message and returns its receipt.
func (c *Channels) Test(ctx context.Context, to notify.Target, id string) (notify.Receipt, error) {
	return c.Send(ctx, to, NewTestMessage(id, c.now()))
}

// NewTestMessage is the message by which a channel is tested.
func NewTestMessage(id string, now time.Time) notify.Message {
	return notify.Message{ID: id, Kind: notify.KindTest, At: now, Priority: "normal", Title: "Sunloop: test message",
		Lines: []string{"This message tests a notification channel of Sunloop. No action is needed."}}
}
