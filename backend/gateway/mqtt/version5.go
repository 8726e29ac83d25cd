package mqtt

import (
	"context"
	"fmt"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
)

// maxUnread is how many messages the broker sends before they are acknowledged.
const maxUnread = 100

// refusals are reason codes of a broker that does not accept a connection.
var refusals = map[byte]refusal{
	packets.ConnackUnsupportedProtocolVersion: {words: "it does not speak MQTT 5", version: true},
	packets.ConnackInvalidClientID:            {words: "the client id is not accepted"},
	packets.ConnackBadUsernameOrPassword:      {words: "wrong user or password"},
	packets.ConnackNotAuthorized:              {words: "not authorized"},
	packets.ConnackServerUnavailable:          {words: "it is not available"},
	packets.ConnackServerBusy:                 {words: "it is busy"},
	packets.ConnackBanned:                     {words: "banned"},
	packets.ConnackBadAuthenticationMethod:    {words: "another method of authentication is required"},
	packets.ConnackQuotaExceeded:              {words: "its quota is exceeded"},
	packets.ConnackConnectionRateExceeded:     {words: "too many connections"},
}

// session5 is a session of MQTT 5.
type session5 struct {
	client *paho.Client
	broken chan error
}

// open5 opens a session of MQTT 5 on a connection.
func (c *Client) open5(ctx context.Context, s *settings, in *stream) (session, error) {
	out := &session5{broken: make(chan error, 1)}
	out.client = paho.NewClient(paho.ClientConfig{
		Conn: in,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
			c.receive(r.Packet.Topic, r.Packet.Payload, r.Packet.Retain)
			return true, nil
		}},
		OnClientError: out.end,
		OnServerDisconnect: func(d *paho.Disconnect) {
			out.end(fmt.Errorf("the broker ended it with reason %#x", d.ReasonCode))
		},
	})
	size, unread := uint32(maxMessage+4096), uint16(maxUnread)
	p := &paho.Connect{ClientID: c.config.ClientID, CleanStart: true, KeepAlive: uint16(keepAlive.Seconds()),
		Properties: &paho.ConnectProperties{MaximumPacketSize: &size, ReceiveMaximum: &unread}}
	if c.config.User != "" {
		p.UsernameFlag, p.Username = true, c.config.User
	}
	if len(s.password) > 0 {
		p.PasswordFlag, p.Password = true, s.password
	}
	if w := c.config.will(); w != nil {
		p.WillMessage = &paho.WillMessage{Topic: w.Topic, Payload: w.Payload, Retain: w.Retain, QoS: 1}
		p.WillProperties = &paho.WillProperties{}
	}
	answer, err := out.client.Connect(ctx, p)
	switch {
	case err == nil:
		return out, nil
	case answer == nil || answer.ReasonCode == 0:
		return nil, err
	}
	refused, ok := refusals[answer.ReasonCode]
	if !ok {
		refused.words = fmt.Sprintf("reason %#x", answer.ReasonCode)
	}
	return nil, &refused
}

// end notes why the connection broke; a second reason is of no interest.
func (s *session5) end(err error) {
	select {
	case s.broken <- err:
	default:
	}
}

func (s *session5) lost() <-chan error { return s.broken }

func (s *session5) subscribe(ctx context.Context, filters []string) error {
	var list []paho.SubscribeOptions
	for _, f := range filters {
		list = append(list, paho.SubscribeOptions{Topic: f, QoS: 1})
	}
	answer, err := s.client.Subscribe(ctx, &paho.Subscribe{Subscriptions: list})
	if err != nil && answer != nil {
		for i, code := range answer.Reasons {
			if code >= 0x80 && i < len(filters) {
				return fmt.Errorf("%w: %s, reason %#x", errSubscription, filters[i], code)
			}
		}
	}
	return err
}

func (s *session5) publish(ctx context.Context, m Message) error {
	_, err := s.client.Publish(ctx, &paho.Publish{Topic: m.Topic, Payload: m.Payload, Retain: m.Retain, QoS: m.qos()})
	return err
}

func (s *session5) close() {
	_ = s.client.Disconnect(&paho.Disconnect{ReasonCode: packets.DisconnectDisconnectWithWillMessage}) // the connection may be lost
}
