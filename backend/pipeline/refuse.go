package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/ingest"
)

// refused is a file's refusal in the contract's words, with the sentence that
// names line and reason.
func refused(r *ingest.Refusal) *api.Error {
	e := api.ErrInvalidCSV.With("reason", r.Error()).With("kind", string(r.Kind))
	if r.Line > 0 {
		e = e.With("line", r.Line)
	}
	return e
}

// refuse leaves a record of an upload that is refused, and answers the refusal
// with the record's id. An error that is no refusal is answered as it is: the
// caller may try again.
func (p *Pipeline) refuse(ctx context.Context, u ops.Upload, err error) error {
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Status >= http.StatusInternalServerError {
		return err
	}
	u.ErrorKind, u.Error, u.ErrorLine = refusalOf(refusal)
	u.ObjectKey, u.S3Path = "", ""
	err = p.Records.Update(store.Aside(ctx), func(tx store.Tx) error {
		if err := p.Ops.AddRefused(tx, u); err != nil {
			return err
		}
		return p.noteRejected(tx, u)
	})
	if err != nil {
		return fmt.Errorf("record the refusal %q: %w", refusal.Message, err)
	}
	p.Observe.upload(u.Kind, UploadRefused)
	return refusal.With("upload_id", u.UploadID)
}

// Kinds of refusals beside those of [ingest.Refusal].
const (
	kindEmpty    = "empty_file"
	kindPath     = "s3_path"
	kindConflict = "conflict"
)

// refusalOf is what a record says of a refusal.
func refusalOf(e *api.Error) (kind, sentence string, line int) {
	kind, _ = e.Details["kind"].(string)
	line, _ = e.Details["line"].(int)
	sentence = e.Message
	if reason, ok := e.Details["reason"].(string); ok {
		if sentence += ": " + reason; e.Message == api.ErrInvalidCSV.Message {
			sentence = reason
		}
	}
	switch {
	case kind != "":
	case e.Status == http.StatusRequestEntityTooLarge:
		kind = string(ingest.TooLarge)
	case e.Is(api.ErrCSVRequired):
		kind = kindEmpty
	case e.Is(api.ErrInvalidCSV):
		kind = string(ingest.NotCSV)
	case e.Status == http.StatusConflict:
		kind = kindConflict
	case e.Details["field"] == "s3_path":
		kind = kindPath
	}
	return kind, sentence, line
}

func (p *Pipeline) noteRejected(tx store.Tx, u ops.Upload) error {
	return p.Ops.Note(tx, ops.Note{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseObserve, Title: "File rejected",
		Description: name(u) + ": " + u.Error, Actor: u.Actor})
}

// reject ends an upload of which nothing is stored: its object goes too, unless
// another upload has it. The site's other uploads may have waited for it.
func (p *Pipeline) reject(ctx context.Context, u ops.Upload, r *ingest.Refusal) error {
	key := u.ObjectKey
	err := p.Records.Update(ctx, func(tx store.Tx) error {
		u, err := p.Ops.MoveUpload(tx, u.UploadID, api.UploadRejected, func(u *ops.Upload) {
			u.Error, u.ErrorKind, u.ErrorLine = r.Error(), string(r.Kind), r.Line
			u.Stage, u.Progress = "", 1
			u.ObjectKey, u.S3Path = "", ""
		})
		if err != nil {
			return err
		}
		if err := p.dropping(tx, "", key); err != nil {
			return err
		}
		if err := p.noteRejected(tx, u); err != nil {
			return err
		}
		return p.releaseOthers(tx, u)
	})
	if err == nil {
		p.takeBack(ctx, "", key)
	}
	return err
}
