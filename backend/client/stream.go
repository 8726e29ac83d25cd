package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"app.sunloop/backend/api"
)

// maxEventBytes bounds one line of a stream: the newest samples of 10,000 units.
const maxEventBytes = 4 << 20

// Event is an event of a stream.
type Event struct {
	ID   string          // to continue after it; see [Client.Changes]
	Kind string          // of [api.StreamKinds], [api.StreamReload] or [api.StreamEnd]; empty: a heartbeat
	Data api.StreamEvent // of a change
}

// Stream is an open stream of changes.
type Stream struct {
	body  io.ReadCloser
	lines *bufio.Scanner
}

// Changes opens a stream of what changes, after the event with the id last, or from now on
// if that is empty. It lasts until ctx ends or it is closed.
func (c *Client) Changes(ctx context.Context, q api.StreamQuery, last string) (*Stream, error) {
	c.renew(ctx)
	path, query := api.FollowChanges.EncodeQuery(&q)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.http.BaseURL+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	r.Header.Set("Accept", api.MediaEvents)
	if agent := c.http.Header.Get("User-Agent"); agent != "" {
		r.Header.Set("User-Agent", agent)
	}
	if credential := c.Credential(); credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	if last != "" {
		r.Header.Set(api.HeaderLastEventID, last)
	}
	answer, err := c.http.GetClient().Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	if media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";"); answer.StatusCode != http.StatusOK || media != api.MediaEvents {
		defer func() { _ = answer.Body.Close() }()
		e := &api.Error{Status: answer.StatusCode, Message: http.StatusText(answer.StatusCode)}
		var body api.ErrorBody
		if b, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10)); err == nil && json.Unmarshal(b, &body) == nil && body.Error != "" {
			e.Message, e.Code, e.RequestID = body.Error, body.Code, body.RequestID
		}
		return nil, e
	}
	s := &Stream{body: answer.Body, lines: bufio.NewScanner(answer.Body)}
	s.lines.Buffer(make([]byte, 4<<10), maxEventBytes)
	return s, nil
}

// Next waits for the next event. The error is [io.EOF] if the service has ended the stream.
func (s *Stream) Next() (e Event, err error) {
	for s.lines.Scan() {
		line := s.lines.Text()
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if e.Kind != "" {
				return e, nil
			}
			e = Event{}
		case name == "":
			return Event{}, nil // a comment
		case name == "id":
			e.ID = value
		case name == "event":
			e.Kind = value
		case name == "data":
			if err := json.Unmarshal([]byte(value), &e.Data); err != nil {
				return e, fmt.Errorf("read an event: %w", err)
			}
		}
	}
	if err := s.lines.Err(); err != nil {
		return e, fmt.Errorf("read a stream: %w", err)
	}
	return e, io.EOF
}

// Close ends the stream.
func (s *Stream) Close() error {
	if err := s.body.Close(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("close a stream: %w", err)
	}
	return nil
}
