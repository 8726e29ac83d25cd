package httpapi

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
)

// Uploads accepts files and reports their processing.
type Uploads interface {
	// Upload keeps the file durably and queues its import in one step. The
	// required fields of req are there; the site need not exist yet.
	// A refused file leaves a record, whose upload_id is among the refusal's
	// details.
	Upload(ctx context.Context, scope api.Scope, req api.UploadRequest, file io.Reader) (api.UploadAck, error)
	// Refuse leaves the record of a file that was refused while it was read,
	// and returns the refusal with its upload_id.
	Refuse(ctx context.Context, scope api.Scope, req api.UploadRequest, refusal *api.Error) error
	// Import queues a file that is named by req.S3Path: an object of the
	// service that an upload of the customer put there, or a file in a place
	// that the operator allows; otherwise a 400 with the reason.
	Import(ctx context.Context, scope api.Scope, req api.UploadRequest) (api.UploadAck, error)
	// Find returns api.ErrNotFound for an unknown id.
	Find(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error)
	// Cancel ends an import or the training after it; api.ErrNotFound for an
	// unknown id, 409 where there is nothing to end.
	Cancel(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error)
	// Inspect reads a file as Upload would, and stores nothing. A file that would be
	// refused is no error.
	Inspect(ctx context.Context, scope api.Scope, req api.UploadRequest, file io.Reader) (api.Inspection, error)
	// Revert undoes an import that has ended; api.ErrNotFound for an unknown id, 409
	// where none of its values are stored.
	Revert(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error)
	// CreateSession begins an upload in parts. Session, AddPart, FinishSession and
	// CancelSession answer api.ErrSessionNotFound for an unknown or expired one.
	CreateSession(ctx context.Context, scope api.Scope, r api.UploadSessionRequest) (api.UploadSession, error)
	Session(ctx context.Context, scope api.Scope, id string) (api.UploadSession, error)
	// AddPart stores the part that begins at offset; 409 with the offset to continue at
	// for another one. digest is the SHA-256 of the size bytes of file.
	AddPart(ctx context.Context, scope api.Scope, id string, offset, size int64, digest []byte, file io.Reader) (api.UploadSession, error)
	// FinishSession queues the import of the file; 409 when parts are missing or its
	// checksum differs.
	FinishSession(ctx context.Context, scope api.Scope, id, sum string) (api.UploadAck, error)
	CancelSession(ctx context.Context, scope api.Scope, id string) (api.UploadAck, error)
	// Uploads lists newest first; q.CustomerID and q.SiteID narrow.
	Uploads(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Upload, string, error)
}

func (s *server) uploadHandlers() {
	for e, kind := range map[api.Endpoint[api.UploadRequest, api.UploadAck]]string{api.UploadHistory: api.UploadTrain, api.UploadRecent: api.UploadNowcast} {
		handleForm(s, e, func(f *form) (*api.UploadRequest, error) { return uploadRequest(f, kind) }, s.upload)
		handle(s, e, func(ctx context.Context, c *caller, r *api.UploadRequest) (api.UploadAck, error) {
			r.Kind = kind
			return s.Uploads.Import(ctx, c.scope, *r)
		})
	}
	s.v1UploadHandlers(api.V1UploadHistory, api.UploadTrain, "training")
	s.v1UploadHandlers(api.V1UploadRecent, api.UploadNowcast, "nowcast")
	handleForm(s, api.InspectUpload, func(f *form) (*api.UploadRequest, error) {
		return uploadRequest(f, api.UploadTrain, "customer_id", f.req.CustomerID, "site_id", f.req.SiteID)
	}, func(ctx context.Context, c *caller, f *form, r *api.UploadRequest) (api.InspectResponse, error) {
		if f.refusal != nil {
			return api.InspectResponse{}, f.refusal
		}
		file, err := f.spool.reader()
		if err != nil {
			return api.InspectResponse{}, err
		}
		inspection, err := s.Uploads.Inspect(ctx, c.scope, *r, file)
		return api.InspectResponse{Success: true, Inspection: inspection}, err
	})
	s.sessionHandlers()
	handle(s, api.ListUploads, func(ctx context.Context, c *caller, q *api.UploadsQuery) (api.UploadsResponse, error) {
		list, next, err := s.Uploads.Uploads(ctx, c.scope, api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID, Kind: q.Kind, Filter: api.Filter{Status: q.Status}, Page: q.Page})
		return api.UploadsResponse{Success: true, Uploads: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetUpload, func(ctx context.Context, c *caller, q *api.UploadQuery) (api.UploadResponse, error) {
		u, err := s.Uploads.Find(ctx, c.scope, q.ID)
		return api.UploadResponse{Success: true, Upload: u}, err
	})
	handle(s, api.RevertUpload, func(ctx context.Context, c *caller, r *api.UploadMoveRequest) (api.UploadResponse, error) {
		u, err := s.Uploads.Revert(ctx, c.scope, r.ID)
		return api.UploadResponse{Success: true, Upload: u}, err
	})
	handle(s, api.CancelUpload, func(ctx context.Context, c *caller, r *api.UploadMoveRequest) (api.UploadResponse, error) {
		u, err := s.Uploads.Cancel(ctx, c.scope, r.ID)
		return api.UploadResponse{Success: true, Upload: u}, err
	})
}

// v1UploadHandlers registers a route of /v1/data-ingestion: a file with site_id
// and data_type, which must be that of the path.
func (s *server) v1UploadHandlers(e api.Endpoint[api.V1UploadRequest, api.UploadAck], kind, dataType string) {
	handleForm(s, e, func(f *form) (*api.V1UploadRequest, error) {
		if f.req.DataType != "" && f.req.DataType != dataType {
			return nil, api.InvalidParameter("data_type", "is "+dataType+" for this path")
		}
		r, err := uploadRequest(f, kind, "site_id", f.req.SiteID)
		return (*api.V1UploadRequest)(r), err
	}, func(ctx context.Context, c *caller, f *form, r *api.V1UploadRequest) (api.UploadAck, error) {
		if c.scope.OwnUploads && r.Mapping != "" {
			return api.UploadAck{}, api.ErrMappingOfGateway
		}
		ack, err := s.upload(ctx, c, f, (*api.UploadRequest)(r))
		if err == nil {
			points := max(f.spool.lines-1, 0)
			ack.DataPoints, ack.Validation = &points, &api.UploadValidation{Status: api.UploadQueued}
		}
		return ack, err
	})
}

// uploadRequest checks the fields of a form. required are names and values in
// turn; by default those of /upload_train.
func uploadRequest(f *form, kind string, required ...string) (*api.UploadRequest, error) {
	r := f.req
	r.Kind, r.Filename, r.Bytes = kind, f.filename, f.spool.size
	if required == nil {
		required = []string{"customer_id", r.CustomerID, "site_id", r.SiteID, "region", r.Region, "location", r.Location}
	}
	if err := api.CheckFormLimits(&r); err != nil {
		return nil, err
	}
	if err := missing(api.MissingParameter, required...); err != nil {
		if f.refusal != nil && f.refusal.Status == http.StatusRequestEntityTooLarge {
			return nil, f.refusal // the fields may be in the part that was not read
		}
		return nil, err
	}
	return &r, nil
}

// upload stores the file of a form. A site that exists names its customer.
func (s *server) upload(ctx context.Context, c *caller, f *form, r *api.UploadRequest) (api.UploadAck, error) {
	if r.CustomerID == "" {
		r.CustomerID = c.site.CustomerID
	}
	if f.refusal != nil {
		return api.UploadAck{}, s.Uploads.Refuse(ctx, c.scope, *r, f.refusal)
	}
	file, err := f.spool.reader()
	if err != nil {
		return api.UploadAck{}, err
	}
	return s.Uploads.Upload(ctx, c.scope, *r, file)
}

// sessionHandlers registers the routes of uploads in parts.
func (s *server) sessionHandlers() {
	handle(s, api.CreateUploadSession, func(ctx context.Context, c *caller, r *api.UploadSessionRequest) (api.UploadSessionResponse, error) {
		v, err := s.Uploads.CreateSession(ctx, c.scope, *r)
		return api.UploadSessionResponse{Success: true, Session: v}, err
	})
	handle(s, api.GetUploadSession, func(ctx context.Context, c *caller, q *api.UploadSessionQuery) (api.UploadSessionResponse, error) {
		v, err := s.Uploads.Session(ctx, c.scope, q.ID)
		return api.UploadSessionResponse{Success: true, Session: v}, err
	})
	handle(s, api.FinishUploadSession, func(ctx context.Context, c *caller, r *api.UploadSessionMoveRequest) (api.UploadAck, error) {
		return s.Uploads.FinishSession(ctx, c.scope, r.ID, r.SHA256)
	})
	handle(s, api.CancelUploadSession, func(ctx context.Context, c *caller, r *api.UploadSessionMoveRequest) (api.UploadAck, error) {
		return s.Uploads.CancelSession(ctx, c.scope, r.ID)
	})
	handleForm(s, api.SendUploadPart, func(f *form) (*api.UploadSessionQuery, error) {
		if f.refusal != nil {
			if errors.Is(f.refusal, api.ErrCSVRequired) {
				return nil, api.InvalidParameter("file", "a part has at least one byte")
			}
			return nil, f.refusal
		}
		if err := missing(api.MissingParameter, "offset", f.fields["offset"], "sha256", f.fields["sha256"]); err != nil {
			return nil, err
		}
		var err error
		if f.offset, err = strconv.ParseInt(f.fields["offset"], 10, 64); err != nil || f.offset < 0 {
			return nil, api.InvalidParameter("offset", "a number of bytes")
		}
		if !strings.EqualFold(f.fields["sha256"], hex.EncodeToString(f.spool.digest.Sum(nil))) {
			return nil, api.InvalidParameter("sha256", "it is not that of the part, which was changed on the way: send it again")
		}
		return &api.UploadSessionQuery{ID: f.path("id")}, nil
	}, func(ctx context.Context, c *caller, f *form, r *api.UploadSessionQuery) (api.UploadSessionResponse, error) {
		file, err := f.spool.reader()
		if err != nil {
			return api.UploadSessionResponse{}, err
		}
		v, err := s.Uploads.AddPart(ctx, c.scope, r.ID, f.offset, f.spool.size, f.spool.digest.Sum(nil), file)
		return api.UploadSessionResponse{Success: true, Session: v}, err
	})
}
