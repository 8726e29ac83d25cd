package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
)

// LargeUpload is a file that is sent in parts. An upload that was interrupted, also by
// the end of the program, continues when it is begun again by the same caller.
type LargeUpload struct {
	Request  api.UploadRequest // with kind and file name
	File     io.ReaderAt
	Size     int64
	Part     int64         // bytes of a part; 0: 8 MiB
	Patience time.Duration // how long the service may fail without a part being stored; 0: 5 minutes
	// Progress is called after each part with the bytes that are stored, and before
	// another try with its cause; it may be nil.
	Progress func(sent int64, again error)
}

const (
	usualPart     = 8 << 20
	usualPatience = 5 * time.Minute
	maxRetryPause = 30 * time.Second
)

// UploadLarge sends a file in parts and returns the acknowledgement of its upload.
func (c *Client) UploadLarge(ctx context.Context, u LargeUpload) (*api.UploadAck, error) {
	if u.File == nil || u.Size <= 0 {
		return nil, errors.New("the file is empty")
	}
	if u.Part <= 0 {
		u.Part = usualPart
	}
	if u.Patience <= 0 {
		u.Patience = usualPatience
	}
	if u.Progress == nil {
		u.Progress = func(int64, error) {}
	}
	whole := sha256.New()
	if _, err := io.Copy(whole, io.NewSectionReader(u.File, 0, u.Size)); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	sum := hex.EncodeToString(whole.Sum(nil))
	r := u.Request
	create := api.UploadSessionRequest{CustomerID: r.CustomerID, SiteID: r.SiteID, Size: u.Size, SHA256: sum, Kind: r.Kind, Filename: r.Filename, Region: r.Region,
		Location: r.Location, Manufacturer: r.Manufacturer, Timezone: r.Timezone, CapacityKW: r.CapacityKW, AssetID: r.AssetID, Mapping: r.Mapping}
	t := tries{client: c, upload: u, until: c.now().Add(u.Patience)}
	var session api.UploadSession
	err := t.do(ctx, func() error {
		v, err := Call(ctx, c, api.CreateUploadSession, create)
		if err == nil {
			session = v.Session
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	u.Progress(session.Offset, nil)
	if session.MaxPart <= 0 {
		return nil, errors.New("the service does not state the size of a part")
	}
	buf := make([]byte, min(max(u.Part, session.MinPart), session.MaxPart))
	for session.Offset < u.Size {
		begin := session.Offset
		part := buf[:min(int64(len(buf)), u.Size-begin)]
		if _, err := u.File.ReadAt(part, session.Offset); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the file: %w", err)
		}
		err := t.do(ctx, func() error {
			v, err := c.SendPart(ctx, session.SessionID, session.Offset, part)
			if err == nil {
				session = v.Session
				return nil
			}
			var refusal *api.Error
			if errors.As(err, &refusal) && refusal.Status == http.StatusConflict && refusal.Details["offset"] != nil {
				// A part was stored whose acknowledgement was lost.
				now, lost := Call(ctx, c, api.GetUploadSession, api.UploadSessionQuery{ID: session.SessionID})
				if lost == nil && now.Session.Offset != session.Offset {
					session = now.Session
					return nil
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if session.Offset == begin {
			return nil, fmt.Errorf("the service acknowledged the part at byte %d without storing it", begin)
		}
		t.until = c.now().Add(u.Patience)
		u.Progress(session.Offset, nil)
	}
	var ack *api.UploadAck
	err = t.do(ctx, func() error {
		v, err := Call(ctx, c, api.FinishUploadSession, api.UploadSessionMoveRequest{ID: session.SessionID, SHA256: sum})
		ack = v
		return err
	})
	return ack, err
}

// tries repeats calls while the service cannot be reached or cannot answer.
type tries struct {
	client *Client
	upload LargeUpload
	until  time.Time
}

func (t *tries) do(ctx context.Context, call func() error) error {
	pause := time.Second
	for {
		err := call()
		if err == nil || !mayRetry(err) || ctx.Err() != nil || t.client.now().After(t.until) {
			return err
		}
		t.upload.Progress(-1, err)
		wait := pause
		var refusal *api.Error
		if errors.As(err, &refusal) && refusal.RetryAfter > 0 {
			wait = time.Duration(refusal.RetryAfter) * time.Second
		}
		if err := t.client.wait(ctx, wait); err != nil {
			return err
		}
		pause = min(2*pause, maxRetryPause)
	}
}

// mayRetry reports whether a call may succeed later: the service was not reached, is
// restarting, or asks to be asked later.
func mayRetry(err error) bool {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return true
	}
	switch refusal.Status {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusInternalServerError:
		return true
	case http.StatusBadRequest: // a body that broke off, or was changed on the way
		return strings.Contains(refusal.Message, "broke off") || refusal.Details["field"] == "sha256"
	}
	return false
}

// SendPart sends the part of an upload session that begins at an offset.
func (c *Client) SendPart(ctx context.Context, sessionID string, offset int64, part []byte) (*api.UploadSessionResponse, error) {
	sum := sha256.Sum256(part)
	e := api.SendUploadPart
	path := strings.ReplaceAll(e.Route.Path, "{id}", sessionID)
	return postFormTo[api.UploadSessionResponse](ctx, c, e.Route, path, []string{"offset", strconv.FormatInt(offset, 10), "sha256", hex.EncodeToString(sum[:])}, "part", bytes.NewReader(part), nil)
}
