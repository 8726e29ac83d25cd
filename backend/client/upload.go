package client

import (
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
)

// Progress is told how many bytes of the file are sent.
type Progress func(sent int64)

// UploadTrain sends a file of production history. progress may be nil.
func (c *Client) UploadTrain(ctx context.Context, req api.UploadRequest, file io.Reader, progress Progress) (*api.UploadAck, error) {
	return c.upload(ctx, api.PathUploadTrain, req, file, progress)
}

// UploadNowcast sends a file of recent production.
func (c *Client) UploadNowcast(ctx context.Context, req api.UploadRequest, file io.Reader, progress Progress) (*api.UploadAck, error) {
	return c.upload(ctx, api.PathUploadNowcast, req, file, progress)
}

// Import names a file that the service reads itself: req.S3Path is an object
// of the service or a file in a place that its operator allows; req.Kind is
// the kind of upload.
func (c *Client) Import(ctx context.Context, req api.UploadRequest) (*api.UploadAck, error) {
	path := api.PathUploadTrain
	if req.Kind == api.UploadNowcast {
		path = api.PathUploadNowcast
	}
	return post[api.UploadAck](ctx, c, path, req, request{})
}

// Upload is the state of an upload.
func (c *Client) Upload(ctx context.Context, uploadID string) (*api.Upload, error) {
	r, err := get[api.UploadResponse](ctx, c, strings.Replace(api.PathUpload, "{id}", pathSegment(uploadID), 1), nil)
	if err != nil {
		return nil, err
	}
	return &r.Upload, nil
}

// Uploads lists newest first; q.CustomerID and q.SiteID narrow.
func (c *Client) Uploads(ctx context.Context, q api.ListQuery) (*api.UploadsResponse, error) {
	v := values{"customer_id", q.CustomerID, "site_id", q.SiteID, "kind", q.Kind, "limit", number(q.Limit), "cursor", q.Cursor}
	return get[api.UploadsResponse](ctx, c, api.PathUploads, v.query())
}

// upload streams the form: no more of the file is held than a buffer.
func (c *Client) upload(ctx context.Context, path string, req api.UploadRequest, file io.Reader, progress Progress) (*api.UploadAck, error) {
	pr, pw := io.Pipe()
	form := multipart.NewWriter(pw)
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = pw.CloseWithError(writeForm(form, req, file, progress))
	}()
	ack, err := call[api.UploadAck](ctx, c, request{method: http.MethodPost, path: path, stream: pr, contentType: form.FormDataContentType()})
	// The service may answer before it has read all; the writer must not stay
	// behind with the caller's file.
	_ = pr.CloseWithError(io.ErrClosedPipe)
	<-written
	return ack, err
}

func writeForm(form *multipart.Writer, req api.UploadRequest, file io.Reader, progress Progress) error {
	capacity := ""
	if req.CapacityKW > 0 {
		capacity = strconv.FormatFloat(req.CapacityKW, 'f', -1, 64)
	}
	fields := values{
		"customer_id", req.CustomerID, "site_id", req.SiteID, "region", req.Region, "location", req.Location,
		"manufacturer", req.Manufacturer, "timezone", req.Timezone, "capacity_kw", capacity, "asset_id", req.AssetID,
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			continue
		}
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			return err
		}
	}
	name := req.Filename
	if name == "" {
		name = "data.csv"
	}
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		return err
	}
	if progress != nil {
		part = &counted{w: part, told: progress}
	}
	// Without the file's own WriteTo, which may write it in one piece: no
	// progress, and no end when the service has answered already.
	if _, err := io.Copy(part, struct{ io.Reader }{file}); err != nil {
		return fmt.Errorf("send %s: %w", name, err)
	}
	return form.Close()
}

// counted tells how many bytes went through it.
type counted struct {
	w    io.Writer
	n    int64
	told Progress
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.told(c.n)
	return n, err
}
