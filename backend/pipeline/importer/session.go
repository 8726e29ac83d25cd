package importer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/internal/display"
)

// sessionLives is how long a session stays without another part, and how long a
// finished one answers a repeated finish.
const sessionLives = 24 * time.Hour

// Limits of the unfinished sessions of all callers together.
const (
	maxSessions     = 64
	sessionFiles    = 8       // times the largest file: the bytes of all sessions
	sessionReserve  = 1 << 28 // bytes of the disk that sessions leave free
	sessionDiskCopy = 2       // times the size of a file: its parts, and the object that they become
)

// MaxLargeUpload returns the size of the largest file in parts, in bytes.
func (im *Importer) MaxLargeUpload() int64 {
	if im.LargestFile > 0 {
		return im.LargestFile
	}
	return api.DefaultLargeUpload
}

// CreateSession begins an upload in parts. A caller that has begun to send the same file
// with the same fields gets that session, and continues it.
func (im *Importer) CreateSession(ctx context.Context, scope api.Scope, r api.UploadSessionRequest) (api.UploadSession, error) {
	most := im.MaxLargeUpload()
	switch {
	case r.Size <= 0:
		return api.UploadSession{}, api.InvalidField("size", "a number of bytes more than 0")
	case r.Size > most:
		return api.UploadSession{}, api.UploadTooLarge(most)
	}
	sum, err := checkSum(r.SHA256)
	if err != nil {
		return api.UploadSession{}, err
	}
	req := r.Upload()
	if err := im.checkRequest(ctx, scope, &req); err != nil {
		return api.UploadSession{}, err
	}
	free, known := int64(0), false
	if im.Free != nil {
		free, known = im.Free()
	}
	state, err := sha256.New().(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return api.UploadSession{}, fmt.Errorf("begin the checksum: %w", err)
	}
	now := im.Wall()
	fresh := upload.Session{SessionID: record.NewID("ups", im.Now()), CustomerID: req.CustomerID, SiteID: req.SiteID, Actor: scope.Actor, ActorID: scope.ActorID, Request: req,
		Size: r.Size, SHA256: sum, Digest: state, ExpiresAt: now.Add(sessionLives).UTC()}
	var v upload.Session
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		v = fresh
		if err := site.CheckWritable(tx, api.Scope{Writes: true}, v.SiteID); err != nil {
			return err
		}
		own, all, reserved, needed := 0, 0, v.Size, sessionDiskCopy*v.Size
		same := false
		err := upload.OpenSessions(tx, now, func(o upload.Session) {
			if v.SHA256 != "" && o.SHA256 == v.SHA256 && o.ActorID == v.ActorID && o.Actor == v.Actor && o.SiteID == v.SiteID && o.Size == v.Size && o.Request == v.Request {
				v, same = o, true
			}
			if all++; o.ActorID == v.ActorID && o.Actor == v.Actor {
				own++
			}
			reserved += o.Size
			needed += sessionDiskCopy*o.Size - o.Offset
		})
		switch {
		case err != nil || same:
			return err
		case own >= api.MaxUploadSessions:
			return api.TooMany("The caller", api.MaxUploadSessions, "unfinished uploads in parts: finish or cancel one")
		case all >= maxSessions:
			return api.SessionsFull(display.CountOf(maxSessions, "upload", "uploads"))
		case reserved > sessionFiles*most:
			return api.SessionsFull(display.Bytes(sessionFiles*most) + " of all their files")
		case known && needed+sessionReserve > free:
			return api.ErrNoSpace.With("reason", fmt.Sprintf("the unfinished uploads and this one need %s, and %s are free: ask the operator for disk space, or split the file", display.Bytes(needed+sessionReserve), display.Bytes(free)))
		}
		return upload.PutSession(tx, v)
	})
	return im.sessionOf(v), err
}

// checkSum checks a SHA-256 in hex; empty is none.
func checkSum(text string) (string, error) {
	text = strings.ToLower(text)
	if b, err := hex.DecodeString(text); err != nil || len(b) != sha256.Size && len(b) != 0 {
		return "", api.InvalidField("sha256", "64 hexadecimal digits")
	}
	return text, nil
}

func (im *Importer) sessionOf(v upload.Session) api.UploadSession {
	return api.UploadSession{SessionID: v.SessionID, CustomerID: v.CustomerID, SiteID: v.SiteID, Filename: v.Request.Filename, Size: v.Size, Offset: v.Offset,
		MaxPart: api.MaxUploadPart, MinPart: api.MinUploadPart, ExpiresAt: api.At(v.ExpiresAt), UploadID: v.UploadID}
}

// Session returns an upload in parts.
func (im *Importer) Session(ctx context.Context, scope api.Scope, id string) (api.UploadSession, error) {
	v, err := im.Domain.Uploads.Session(ctx, scope, id, im.Wall())
	if err != nil {
		return api.UploadSession{}, err
	}
	return im.sessionOf(v), nil
}

// AddPart stores the part of a session that begins at offset. digest is the SHA-256 of
// its bytes, which the caller has compared. Of parts that are sent at the same time one
// is stored.
func (im *Importer) AddPart(ctx context.Context, scope api.Scope, id string, offset, size int64, digest []byte, file io.Reader) (api.UploadSession, error) {
	v, err := im.Domain.Uploads.Session(ctx, scope, id, im.Wall())
	if err != nil {
		return api.UploadSession{}, err
	}
	part := upload.SessionPart{SiteID: v.SiteID, SessionID: v.SessionID, Offset: offset, Bytes: size, SHA256: hex.EncodeToString(digest)}
	switch {
	case v.UploadID != "":
		return im.sessionOf(v), api.Conflict("Upload session %s is finished", id).With("upload_id", v.UploadID)
	case offset != v.Offset:
		if stored, err := im.isStored(ctx, v, part); err != nil || stored {
			return im.sessionOf(v), err
		}
		return im.sessionOf(v), wrongOffset(v)
	case offset+size > v.Size:
		return im.sessionOf(v), api.InvalidParameter("file", fmt.Sprintf("the upload has %d bytes, and this part ends at %d", v.Size, offset+size))
	case size < api.MinUploadPart && offset+size < v.Size:
		return im.sessionOf(v), api.InvalidParameter("file", fmt.Sprintf("a part that is not the last has at least %d bytes", api.MinUploadPart))
	}
	state, err := resumeSum(v.Digest)
	if err != nil {
		return im.sessionOf(v), err
	}
	part.ObjectKey = objects.Key("parts", v.SessionID, fmt.Sprintf("%015d", offset), rand.Text())
	if _, err := im.AnnounceObjects(ctx, "", part.ObjectKey); err != nil {
		return im.sessionOf(v), err
	}
	if err := im.Objects.Put(ctx, part.ObjectKey, io.TeeReader(file, state)); err != nil {
		im.DropObjects(ctx, "", part.ObjectKey)
		return im.sessionOf(v), fmt.Errorf("store a part: %w", err)
	}
	var now upload.Session
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		if now, err = upload.SessionIn(tx, id); errors.Is(err, store.ErrNotFound) {
			return api.ErrSessionNotFound
		} else if err != nil {
			return err
		}
		if now.Offset != offset || now.UploadID != "" {
			return wrongOffset(now)
		}
		if err := site.CheckWritable(tx, api.Scope{Writes: true}, v.SiteID); err != nil {
			return err
		}
		if now.Digest, err = state.(encoding.BinaryMarshaler).MarshalBinary(); err != nil {
			return fmt.Errorf("store the checksum: %w", err)
		}
		now.Offset, now.ExpiresAt = offset+size, im.Wall().Add(sessionLives).UTC()
		return errors.Join(upload.AddPart(tx, part), upload.PutSession(tx, now), im.ConfirmObjects(tx, part.ObjectKey))
	})
	if err != nil {
		im.DropObjects(ctx, "", part.ObjectKey)
		return im.sessionOf(v), err
	}
	return im.sessionOf(now), nil
}

// wrongOffset refuses a part that does not follow the stored ones.
func wrongOffset(v upload.Session) *api.Error {
	return api.Conflict("The next part begins at byte %d", v.Offset).With("offset", v.Offset)
}

// isStored reports whether a part is stored already, whose acknowledgement was lost.
func (im *Importer) isStored(ctx context.Context, v upload.Session, part upload.SessionPart) (is bool, err error) {
	err = im.Records.View(ctx, func(tx store.Tx) error {
		there, ok, err := upload.PartAt(tx, v, part.Offset)
		is = ok && there.SHA256 == part.SHA256 && there.Bytes == part.Bytes
		return err
	})
	return is, err
}

func resumeSum(state []byte) (hash.Hash, error) {
	h := sha256.New()
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		return nil, fmt.Errorf("read the checksum of an upload: %w", err)
	}
	return h, nil
}

// FinishSession compares the checksum of the whole file and enqueues its import. A file
// that differs is deleted. A finished session is acknowledged again.
func (im *Importer) FinishSession(ctx context.Context, scope api.Scope, id, sum string) (api.UploadAck, error) {
	if _, err := checkSum(sum); err != nil {
		return api.UploadAck{}, err
	}
	sum = strings.ToLower(sum)
	v, err := im.Domain.Uploads.Session(ctx, scope, id, im.Wall())
	if err != nil {
		return api.UploadAck{}, err
	}
	u := im.newUpload(scope, v.Request)
	var stored upload.Upload
	var keys []string
	message := ackMessages[u.Kind]
	var differs error
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		keys, differs = nil, nil
		now, err := upload.SessionIn(tx, id)
		if errors.Is(err, store.ErrNotFound) {
			return api.ErrSessionNotFound
		}
		if err != nil {
			return err
		}
		if now.UploadID != "" {
			stored, err = im.Domain.Uploads.GetIn(tx, now.UploadID)
			if errors.Is(err, store.ErrNotFound) {
				err = api.ErrSessionNotFound
			}
			return err
		}
		if now.Offset < now.Size {
			return api.Conflict("Upload session %s has %d of %d bytes", id, now.Offset, now.Size).With("offset", now.Offset)
		}
		state, err := resumeSum(now.Digest)
		if err != nil {
			return err
		}
		u.Hash = hex.EncodeToString(state.Sum(nil))
		if now.SHA256 != "" && now.SHA256 != u.Hash || sum != "" && sum != u.Hash {
			differs = api.Conflict("The file differs from its checksum: upload it again").With("sha256", u.Hash)
			keys, err = upload.DeleteSession(tx, now)
			return errors.Join(err, im.MarkForDeletion(tx, "", keys...))
		}
		if err := site.CheckWritable(tx, api.Scope{Writes: true}, u.SiteID); err != nil {
			return err
		}
		u.Bytes, u.SessionID, u.Stage, u.Accepted = now.Size, now.SessionID, sitedata.StageValidating, im.Wall().UTC()
		var fresh bool
		if stored, fresh, err = im.Domain.Uploads.Add(tx, u, im.NewJob(sitedata.JobIngest, sitedata.Payload{UploadID: u.UploadID})); err != nil {
			return err
		}
		if !fresh {
			message = ackRepeated
			if keys, err = upload.DeleteParts(tx, now); err != nil {
				return err
			}
			if err := im.MarkForDeletion(tx, "", keys...); err != nil {
				return err
			}
		}
		now.UploadID, now.ExpiresAt = stored.UploadID, im.Wall().Add(sessionLives).UTC()
		return upload.PutSession(tx, now)
	})
	if err != nil {
		return api.UploadAck{}, err
	}
	im.DeleteMarked(ctx, "", keys...)
	if differs != nil {
		return api.UploadAck{}, differs
	}
	ack := im.ack(stored, message)
	im.acknowledged(u.Kind, ack)
	return ack, nil
}

// CancelSession deletes an upload in parts that is not finished.
func (im *Importer) CancelSession(ctx context.Context, scope api.Scope, id string) (api.UploadAck, error) {
	if _, err := im.Domain.Uploads.Session(ctx, scope, id, im.Wall()); err != nil {
		return api.UploadAck{}, err
	}
	var keys []string
	err := im.Records.Update(ctx, func(tx store.Tx) error {
		now, err := upload.SessionIn(tx, id)
		if errors.Is(err, store.ErrNotFound) {
			return api.ErrSessionNotFound
		}
		if err != nil {
			return err
		}
		if now.UploadID != "" {
			return api.Conflict("Upload session %s is finished: cancel upload %s", id, now.UploadID).With("upload_id", now.UploadID)
		}
		if keys, err = upload.DeleteSession(tx, now); err != nil {
			return err
		}
		return im.MarkForDeletion(tx, "", keys...)
	})
	if err != nil {
		return api.UploadAck{}, err
	}
	im.DeleteMarked(ctx, "", keys...)
	return api.UploadAck{Status: api.StatusSuccess, Message: "Upload cancelled", ProcessingStatus: api.UploadFailed}, nil
}

// DropSessions deletes the sessions that have expired, or all of a site if that is not
// empty.
func (im *Importer) DropSessions(ctx context.Context, siteID string) error {
	for {
		var keys []string
		n := 0
		err := im.Records.Update(ctx, func(tx store.Tx) error {
			list, err := upload.ExpiredSessions(tx, siteID, im.Wall(), 20)
			if err != nil {
				return err
			}
			keys, n = nil, 0
			for _, v := range list {
				some, err := im.dropSession(tx, v)
				if err != nil {
					return err
				}
				keys, n = append(keys, some...), n+1
			}
			return im.MarkForDeletion(tx, "", keys...)
		})
		if err != nil || n == 0 {
			return err
		}
		im.DeleteMarked(ctx, "", keys...)
	}
}

// dropSession deletes a session, unless an import that is not finished needs its parts:
// then it stays for another while.
func (im *Importer) dropSession(tx store.Tx, v upload.Session) (keys []string, err error) {
	if v.UploadID != "" {
		u, err := im.Domain.Uploads.GetIn(tx, v.UploadID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err == nil && !u.Ended() && u.ObjectKey == "" {
			v.ExpiresAt = im.Wall().Add(sessionLives).UTC()
			return nil, upload.PutSession(tx, v)
		}
	}
	return upload.DeleteSession(tx, v)
}

// assemble joins the parts of an upload's session to its object. After a crash it begins
// again.
func (im *Importer) assemble(ctx context.Context, u upload.Upload) (upload.Upload, error) {
	if u.SessionID == "" || u.ObjectKey != "" {
		return u, nil
	}
	var v upload.Session
	var parts []upload.SessionPart
	err := im.Records.View(ctx, func(tx store.Tx) (err error) {
		if v, err = upload.SessionIn(tx, u.SessionID); err == nil {
			parts, err = upload.Parts(tx, v)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return u, sitedata.NewPermanent(err)
	}
	if err != nil {
		return u, err
	}
	var sum hash.Hash
	var file *partsReader
	req := u.Request.Of(u.CustomerID, u.SiteID)
	req.Kind = u.Kind
	key, err := im.putObject(ctx, api.Scope{ActorID: v.ActorID}, req, func() io.Reader {
		file.close()
		sum, file = sha256.New(), &partsReader{openPart: func(p upload.SessionPart) (io.ReadCloser, error) {
			return im.Objects.Open(ctx, p.ObjectKey)
		}, parts: parts, progress: func(n int64) {
			im.Progress.SetUpload(u.UploadID, sitedata.StageValidating, 0.5*float64(n)/float64(max(u.Bytes, 1)))
		}}
		return io.TeeReader(file, sum)
	})
	file.close()
	if err != nil {
		return u, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != u.Hash {
		im.DropObjects(ctx, "", key)
		return u, sitedata.NewPermanent(fmt.Errorf("join the parts of upload %s: %w", u.UploadID, store.ErrDamaged))
	}
	var keys []string
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		var err error
		if keys, err = upload.DeleteParts(tx, v); err != nil {
			return err
		}
		if err := errors.Join(im.ConfirmObjects(tx, key), im.MarkForDeletion(tx, "", keys...)); err != nil {
			return err
		}
		now, err := im.Domain.Uploads.GetIn(tx, u.UploadID)
		if err != nil {
			return err
		}
		u, err = im.Domain.Uploads.SetStatus(tx, u.UploadID, now.ProcessingStatus, func(n *upload.Upload) {
			n.ObjectKey, n.S3Path = key, im.Objects.URI(key)
		})
		return err
	})
	if err != nil {
		im.DropObjects(ctx, "", key)
		return u, err
	}
	im.DeleteMarked(ctx, "", keys...)
	return u, nil
}

// partsReader reads objects one after the other.
type partsReader struct {
	openPart func(p upload.SessionPart) (io.ReadCloser, error)
	parts    []upload.SessionPart
	progress func(n int64)
	open     io.ReadCloser
	n        int64
}

func (r *partsReader) Read(p []byte) (int, error) {
	for {
		if r.open == nil {
			if len(r.parts) == 0 {
				return 0, io.EOF
			}
			var err error
			if r.open, err = r.openPart(r.parts[0]); err != nil {
				return 0, err
			}
			r.parts = r.parts[1:]
		}
		n, err := r.open.Read(p)
		r.n += int64(n)
		if errors.Is(err, io.EOF) {
			err = r.open.Close()
			r.open = nil
			r.progress(r.n)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (r *partsReader) close() {
	if r != nil && r.open != nil {
		_ = r.open.Close()
		r.open = nil
	}
}
