package mqtt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	old "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"
)

// session311 is a session of MQTT 3.1.1.
type session311 struct {
	client old.Client
	will   *Message
	broken chan error
}

// lastWords is the time that the will and the end of a session may take.
const lastWords = 2 * time.Second

// open311 opens a session of MQTT 3.1.1 on a connection.
func (c *Client) open311(ctx context.Context, s *settings, in *stream) (session, error) {
	out := &session311{will: c.config.will(), broken: make(chan error, 1)}
	o := old.NewClientOptions().AddBroker("tcp://" + s.host).SetProtocolVersion(4).SetClientID(c.config.ClientID).SetCleanSession(true).
		SetAutoReconnect(false).SetConnectRetry(false).SetOrderMatters(true).SetKeepAlive(keepAlive).SetConnectTimeout(connectTimeout).
		SetWriteTimeout(connectTimeout).SetUsername(c.config.User).SetPassword(string(s.password))
	o.SetCustomOpenConnectionFn(func(*url.URL, old.ClientOptions) (net.Conn, error) { return in, nil })
	o.SetDefaultPublishHandler(func(_ old.Client, m old.Message) {
		c.receive(m.Topic(), m.Payload(), m.Retained())
	})
	o.SetConnectionLostHandler(func(_ old.Client, err error) { out.broken <- err }) // called once
	if w := out.will; w != nil {
		o.SetBinaryWill(w.Topic, w.Payload, 1, w.Retain)
	}
	out.client = old.NewClient(o)
	err := wait(ctx, out.client.Connect())
	for code, words := range map[error]string{
		packets.ErrorRefusedBadProtocolVersion:    "it does not speak MQTT 3.1.1",
		packets.ErrorRefusedIDRejected:            "the client id is not accepted",
		packets.ErrorRefusedServerUnavailable:     "it is not available",
		packets.ErrorRefusedBadUsernameOrPassword: "wrong user or password",
		packets.ErrorRefusedNotAuthorised:         "not authorized",
	} {
		if errors.Is(err, code) {
			return nil, &refusal{words: words, version: errors.Is(code, packets.ErrorRefusedBadProtocolVersion)}
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// wait waits for the end of an operation.
func wait(ctx context.Context, t old.Token) error {
	select {
	case <-t.Done():
		return t.Error()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session311) lost() <-chan error { return s.broken }

func (s *session311) subscribe(ctx context.Context, filters []string) error {
	list := map[string]byte{}
	for _, f := range filters {
		list[f] = 1
	}
	t := s.client.SubscribeMultiple(list, nil)
	if err := wait(ctx, t); err != nil {
		return err
	}
	if t, ok := t.(*old.SubscribeToken); ok {
		for filter, code := range t.Result() {
			if code > 2 {
				return fmt.Errorf("%w: %s", errSubscription, filter)
			}
		}
	}
	return nil
}

func (s *session311) publish(ctx context.Context, m Message) error {
	return wait(ctx, s.client.Publish(m.Topic, m.qos(), m.Retain, m.Payload))
}

// close publishes the will itself: 3.1.1 discards it when a session is ended.
func (s *session311) close() {
	if s.will != nil && s.client.IsConnectionOpen() {
		s.client.Publish(s.will.Topic, 1, s.will.Retain, s.will.Payload).WaitTimeout(lastWords)
	}
	s.client.Disconnect(uint(lastWords.Milliseconds()))
}
