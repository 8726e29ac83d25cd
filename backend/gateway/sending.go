package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/gateway/drop"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/internal/display"
)

// sendingIntake keeps the files that it takes in, to be sent to another service. A file is
// kept before its delivery is stored, and is to be sent if the delivery was stored: the
// delivery has the id under which the file is sent.
type sendingIntake struct {
	drop.Intake
	files *spool.Files
	now   func() time.Time
	log   *slog.Logger

	mu sync.Mutex // of settle
}

// Known settles what a process left that ended before it knew whether a file is stored.
func (s *sendingIntake) Known(ctx context.Context, source string, files []upload.Delivery) (map[int]upload.Delivery, error) {
	if err := s.settleSource(ctx, source); err != nil {
		return nil, err
	}
	return s.Intake.Known(ctx, source, files)
}

// settle settles the pending files of all sources.
func (s *sendingIntake) settle(ctx context.Context) error {
	sources := map[string]bool{}
	for _, f := range s.files.Pending() {
		sources[f.Source] = true
	}
	for source := range sources {
		if err := s.settleSource(ctx, source); err != nil {
			return err
		}
	}
	return nil
}

// settleSource confirms or removes the pending files of a source, which takes in nothing
// meanwhile.
func (s *sendingIntake) settleSource(ctx context.Context, source string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files.Pending() {
		if f.Source != source {
			continue
		}
		stored, err := s.SentAs(ctx, f.Source, f.Name, f.ID)
		if err != nil {
			return err
		}
		if stored {
			err = s.files.Confirm(f.ID)
		} else {
			err = s.files.Remove(f.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Deliver keeps a file while it is read.
func (s *sendingIntake) Deliver(ctx context.Context, req api.UploadRequest, d upload.Delivery, again bool, file io.Reader) (out upload.Delivery, err error) {
	d.SendID = rand.Text()
	draft, err := s.files.Create(spool.File{ID: d.SendID, Source: d.Source, Name: d.Name, Filename: req.Filename, Kind: req.Kind, AssetID: req.AssetID, Timezone: req.Timezone, At: s.now().UTC()})
	if err != nil {
		return d, fmt.Errorf("%w; it is imported when it can be kept for sending", err)
	}
	defer func() {
		if bad := draft.Close(); bad != nil && err == nil {
			s.log.Warn("deleting the draft of a file to send failed", "error", bad.Error())
		}
	}()
	if file == nil {
		err = draft.Refuse(tooLarge(req.Bytes))
	} else {
		file = &keptReader{file: file, draft: draft}
	}
	if err != nil {
		return d, err
	}
	out, err = s.Intake.Deliver(ctx, req, d, again, file)
	if err := s.settleSource(ctx, d.Source); err != nil && ctx.Err() == nil { // tried again before the next file
		s.log.Warn("confirming pending files failed", "error", err.Error())
	}
	return out, err
}

func tooLarge(size int64) string {
	return fmt.Sprintf("too large to be sent: %s, at most %s; sunloop import accepts larger files", display.Bytes(size), display.Bytes(int64(api.MaxUploadBytes)))
}

// keptReader keeps what is read. At the end of the file it returns the error of keeping it
// instead of io.EOF.
type keptReader struct {
	file  io.Reader
	draft *spool.Draft
	ended bool
}

func (r *keptReader) Read(b []byte) (int, error) {
	n, err := r.file.Read(b)
	if r.ended {
		return n, err
	}
	if _, bad := r.draft.Write(b[:n]); bad != nil {
		return n, fmt.Errorf("keep a file: %w", bad)
	}
	switch {
	case r.draft.Size() > api.MaxUploadBytes: // the rest is not read
		r.ended = true
		if bad := r.draft.Refuse(tooLarge(r.draft.Size())); bad != nil {
			return n, bad
		}
	case errors.Is(err, io.EOF):
		r.ended = true
		if bad := r.draft.Keep(); bad != nil {
			return n, bad
		}
	}
	return n, err
}
