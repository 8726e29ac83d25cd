package tui

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// changes is the stream that announces what changes at the site on screen. While it works,
// the planner asks for what it announces only after a change, and else once a minute; without
// it, as often as the views want.
type changes struct {
	site   api.SiteRef    // that is followed
	stream *client.Stream // nil: none is open
	cancel context.CancelFunc
	last   string    // id of the last event, to continue after it
	next   time.Time // of the next attempt
	number int       // of the attempt, so that late messages are dropped
	busy   bool      // an attempt or a read is in progress
}

// changeMsg is an opened stream, an event, or the end of a stream.
type changeMsg struct {
	number int
	opened *client.Stream
	event  client.Event
	err    error
}

// Times of streams.
const (
	streamSilence = 45 * time.Second // after which a stream without a heartbeat is dead
	streamPause   = 30 * time.Second // before another attempt
	streamRefused = 10 * time.Minute // the same if the service has no streams for the console
)

// follow opens the stream of the site on screen, if it is not open.
func (m *Model) follow(now time.Time) tea.Cmd {
	c := &m.changes
	if !m.o.Stream || m.session.signIn != nil || m.session.certificate != nil || m.o.Client.Credential() == "" || m.data.Site == nil {
		m.unfollow()
		return nil
	}
	if site := m.data.Site.Site.Ref(); c.site != site {
		m.unfollow()
		c.site, c.last, c.next = site, "", time.Time{}
	}
	if c.busy || now.Before(c.next) {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	c.number++
	c.busy, c.cancel = true, cancel
	number, last, q := c.number, c.last, api.StreamQuery{SiteID: c.site.SiteID, CustomerID: c.site.CustomerID}
	return func() tea.Msg {
		s, err := m.o.Client.Changes(ctx, q, last)
		return changeMsg{number: number, opened: s, err: err}
	}
}

// unfollow ends the stream: polling continues as without one.
func (m *Model) unfollow() {
	c := &m.changes
	if c.cancel != nil {
		c.cancel()
	}
	if c.stream != nil {
		_ = c.stream.Close()
	}
	c.stream, c.cancel, c.busy = nil, nil, false
	c.number++
	m.data.Planner.Announced = time.Time{}
}

// changed processes a message of a stream.
func (m *Model) changed(msg changeMsg, now time.Time) tea.Cmd {
	c := &m.changes
	if msg.number != c.number {
		if msg.opened != nil {
			_ = msg.opened.Close()
		}
		return nil
	}
	if msg.err != nil {
		m.unfollow()
		c.next = now.Add(streamPause)
		if refusal := (*api.Error)(nil); errors.As(msg.err, &refusal) && refusal.Status < 500 {
			c.next = now.Add(streamRefused)
		}
		return nil
	}
	var asked tea.Cmd
	if msg.opened != nil {
		c.stream = msg.opened
		m.data.Planner.Invalidate(m.visibleQueries()...) // what changed before is not announced
		asked = m.poll()
	}
	m.data.Planner.Announced = now.Add(streamSilence)
	if msg.event.ID != "" {
		c.last = msg.event.ID
	}
	switch kind := msg.event.Kind; kind {
	case "":
	case api.StreamReload:
		m.data.Planner.Invalidate(m.visibleQueries()...)
		asked = m.poll()
	default:
		m.data.Planner.Changed(kind)
		asked = m.poll()
	}
	stream, number := c.stream, c.number
	return tea.Batch(asked, m.listen(func() tea.Msg {
		e, err := stream.Next()
		return changeMsg{number: number, event: e, err: err}
	}))
}
