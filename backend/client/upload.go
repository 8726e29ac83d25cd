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

// CancelUpload ends an import that has stored nothing yet, or the training that
// it waits for.
func (c *Client) CancelUpload(ctx context.Context, uploadID string) (*api.Upload, error) {
	path := strings.Replace(api.PathUpload, "{id}", pathSegment(uploadID), 1)
	r, err := post[api.UploadResponse](ctx, c, path, api.UploadMoveRequest{Action: api.ActionCancel}, request{})
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

// upload sends the form of an upload.
func (c *Client) upload(ctx context.Context, path string, req api.UploadRequest, file io.Reader, progress Progress) (*api.UploadAck, error) {
	fields := values{
		"customer_id", req.CustomerID, "site_id", req.SiteID, "region", req.Region, "location", req.Location,
		"manufacturer", req.Manufacturer, "timezone", req.Timezone, "capacity_kw", kilowatts(req.CapacityKW), "asset_id", req.AssetID,
	}
	return postForm[api.UploadAck](ctx, c, request{path: path}, fields, req.Filename, file, progress)
}

// kilowatts is a capacity in a form; one that is not known is left out.
func kilowatts(v float64) string {
	if v <= 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// postForm streams a form with a file behind its fields: no more of the file
// is held than a buffer.
func postForm[T any](ctx context.Context, c *Client, r request, fields values, filename string, file io.Reader, progress Progress) (*T, error) {
	pr, pw := io.Pipe()
	form := multipart.NewWriter(pw)
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = pw.CloseWithError(writeForm(form, fields, filename, file, progress))
	}()
	r.method, r.stream, r.contentType = http.MethodPost, pr, form.FormDataContentType()
	v, err := call[T](ctx, c, r)
	// The service may answer before it has read all; the writer must not stay
	// behind with the caller's file.
	_ = pr.CloseWithError(io.ErrClosedPipe)
	<-written
	return v, err
}

func writeForm(form *multipart.Writer, fields values, filename string, file io.Reader, progress Progress) error {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			continue
		}
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			return err
		}
	}
	if filename == "" {
		filename = "data.csv"
	}
	part, err := form.CreateFormFile("file", filename)
	if err != nil {
		return err
	}
	if progress != nil {
		part = &counted{w: part, told: progress}
	}
	// Without the file's own WriteTo, which may write it in one piece: no
	// progress, and no end when the service has answered already.
	if _, err := io.Copy(part, struct{ io.Reader }{file}); err != nil {
		return fmt.Errorf("send %s: %w", filename, err)
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
