package client

import (
	"context"
	"io"
	"strconv"

	"app.sunloop/backend/api"
)

// FreemiumVerify asks for a one-time code by e-mail.
func (c *Client) FreemiumVerify(ctx context.Context, email string) (*api.FreemiumVerifyResponse, error) {
	return post[api.FreemiumVerifyResponse](ctx, c, api.PathFreemiumVerify, api.FreemiumVerifyRequest{Email: email}, request{bare: true})
}

// FreemiumForecast sends a file of production with the code, for the next 24
// hours. progress may be nil.
func (c *Client) FreemiumForecast(ctx context.Context, req api.FreemiumRequest, file io.Reader, progress Progress) (*api.FreemiumForecast, error) {
	fields := values{
		"email", req.Email, "verification_code", req.VerificationCode, "site_name", req.SiteName, "location", req.Location,
		"capacity_kw", kilowatts(req.CapacityKW), "tou_accepted", strconv.FormatBool(req.TOUAccepted), "marketing_opt_in", strconv.FormatBool(req.MarketingOptIn),
	}
	r, err := postForm[api.FreemiumResponse](ctx, c, request{path: api.PathFreemiumForecast, bare: true}, fields, req.Filename, file, progress)
	if err != nil {
		return nil, err
	}
	return &r.Forecast, nil
}
