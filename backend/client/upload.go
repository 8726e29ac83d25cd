package client

import (
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"strconv"

	"app.sunloop/backend/api"
)

// Progress is called with the number of bytes of the file that are sent.
type Progress func(sent int64)

// UploadTrain sends a file of production history. progress may be nil.
func (c *Client) UploadTrain(ctx context.Context, req api.UploadRequest, file io.Reader, progress Progress) (*api.UploadAck, error) {
	return c.upload(ctx, api.UploadHistory, req, file, progress)
}

// UploadNowcast sends a file of recent production.
func (c *Client) UploadNowcast(ctx context.Context, req api.UploadRequest, file io.Reader, progress Progress) (*api.UploadAck, error) {
	return c.upload(ctx, api.UploadRecent, req, file, progress)
}

// UploadToSite sends a file of a site that exists, as gateways do; req.Kind is the kind of
// upload. progress may be nil.
func (c *Client) UploadToSite(ctx context.Context, req api.UploadRequest, file io.Reader, progress Progress) (*api.UploadAck, error) {
	e := api.V1UploadHistory
	if req.Kind == api.UploadNowcast {
		e = api.V1UploadRecent
	}
	return postForm(ctx, c, e, uploadForm(req), req.Filename, file, progress)
}

// Import names a file that the service reads itself: req.S3Path is an object
// of the service or a file in a place that its operator allows; req.Kind is
// the kind of upload.
func (c *Client) Import(ctx context.Context, req api.UploadRequest) (*api.UploadAck, error) {
	if req.Kind == api.UploadNowcast {
		return Call(ctx, c, api.UploadRecent, req)
	}
	return Call(ctx, c, api.UploadHistory, req)
}

// Upload is the state of an upload.
func (c *Client) Upload(ctx context.Context, uploadID string) (*api.Upload, error) {
	r, err := Call(ctx, c, api.GetUpload, api.UploadQuery{ID: uploadID})
	if err != nil {
		return nil, err
	}
	return &r.Upload, nil
}

// CancelUpload ends an import that has stored nothing yet, or the training that
// it waits for.
func (c *Client) CancelUpload(ctx context.Context, uploadID string) (*api.Upload, error) {
	r, err := Call(ctx, c, api.CancelUpload, api.UploadMoveRequest{ID: uploadID})
	if err != nil {
		return nil, err
	}
	return &r.Upload, nil
}

// RevertUpload undoes an import that has ended.
func (c *Client) RevertUpload(ctx context.Context, uploadID string) (*api.Upload, error) {
	r, err := Call(ctx, c, api.RevertUpload, api.UploadMoveRequest{ID: uploadID})
	if err != nil {
		return nil, err
	}
	return &r.Upload, nil
}

// Uploads lists newest first; q.CustomerID and q.SiteID narrow.
func (c *Client) Uploads(ctx context.Context, q api.ListQuery) (*api.UploadsResponse, error) {
	return Call(ctx, c, api.ListUploads, api.UploadsQuery{CustomerID: q.CustomerID, SiteID: q.SiteID, Kind: q.Kind, Status: q.Filter.Status, Page: q.Page})
}

// upload sends the form of an upload.
func (c *Client) upload(ctx context.Context, e api.Endpoint[api.UploadRequest, api.UploadAck], req api.UploadRequest, file io.Reader, progress Progress) (*api.UploadAck, error) {
	return postForm(ctx, c, e, uploadForm(req), req.Filename, file, progress)
}

// Inspect shows what an upload of a file would do. progress may be nil.
func (c *Client) Inspect(ctx context.Context, req api.UploadRequest, file io.Reader, progress Progress) (*api.Inspection, error) {
	r, err := postForm(ctx, c, api.InspectUpload, uploadForm(req), req.Filename, file, progress)
	if err != nil {
		return nil, err
	}
	return &r.Inspection, nil
}

// uploadForm are the names and values of an upload's form.
func uploadForm(req api.UploadRequest) []string {
	return []string{
		"customer_id", req.CustomerID, "site_id", req.SiteID, "region", req.Region, "location", req.Location,
		"manufacturer", req.Manufacturer, "timezone", req.Timezone, "capacity_kw", kilowatts(req.CapacityKW), "asset_id", req.AssetID,
		"mapping", req.Mapping, "source", req.Source, "delivery_id", req.DeliveryID,
	}
}

// FreemiumVerify asks for a one-time code by e-mail.
func (c *Client) FreemiumVerify(ctx context.Context, email string) (*api.FreemiumVerifyResponse, error) {
	return Call(ctx, c, api.VerifyFreemium, api.FreemiumVerifyRequest{Email: email})
}

// FreemiumForecast sends a file of production with the code, for the next 24
// hours. progress may be nil.
func (c *Client) FreemiumForecast(ctx context.Context, req api.FreemiumRequest, file io.Reader, progress Progress) (*api.FreemiumForecast, error) {
	fields := []string{
		"email", req.Email, "verification_code", req.VerificationCode, "site_name", req.SiteName, "location", req.Location,
		"capacity_kw", kilowatts(req.CapacityKW), "tou_accepted", strconv.FormatBool(req.TOUAccepted), "marketing_opt_in", strconv.FormatBool(req.MarketingOptIn),
	}
	r, err := postForm(ctx, c, api.ForecastFreemium, fields, req.Filename, file, progress)
	if err != nil {
		return nil, err
	}
	return &r.Forecast, nil
}

// kilowatts is a capacity in a form; one that is not known is left out.
func kilowatts(v float64) string {
	if v <= 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// postForm streams a form with a file behind its fields, which are names and values
// in turn: no more of the file is held than a buffer.
func postForm[Req, Resp any](ctx context.Context, c *Client, e api.Endpoint[Req, Resp], fields []string, filename string, file io.Reader, progress Progress) (*Resp, error) {
	return postFormTo[Resp](ctx, c, e.Route, e.Route.Path, fields, filename, file, progress)
}

// postFormTo is postForm to a path with its parameters filled in.
func postFormTo[Resp any](ctx context.Context, c *Client, route *api.Route, path string, fields []string, filename string, file io.Reader, progress Progress) (*Resp, error) {
	pr, pw := io.Pipe()
	form := multipart.NewWriter(pw)
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = pw.CloseWithError(writeForm(form, fields, filename, file, progress))
	}()
	v, err := call[Resp](ctx, c, request{method: route.Method, path: path, bare: route.Credential == api.CredentialNone, stream: pr, contentType: form.FormDataContentType()})
	// The service may answer before it has read all; the writer must not stay
	// behind with the caller's file.
	_ = pr.CloseWithError(io.ErrClosedPipe)
	<-written
	return v, err
}

func writeForm(form *multipart.Writer, fields []string, filename string, file io.Reader, progress Progress) error {
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
		part = &counted{w: part, progress: progress}
	}
	// Without the file's own WriteTo, which may write it in one piece: no
	// progress, and no end when the service has answered already.
	if _, err := io.Copy(part, struct{ io.Reader }{file}); err != nil {
		return fmt.Errorf("send %s: %w", filename, err)
	}
	return form.Close()
}

// counted reports how many bytes were written through it.
type counted struct {
	w        io.Writer
	n        int64
	progress Progress
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.progress(c.n)
	return n, err
}
