package httpapi

import (
	"context"
	"io"
	"strings"

	"app.sunloop/backend/api"
)

// Freemium forecasts without an account.
type Freemium interface {
	// SendCode sends a code to an address, asked for from the network address
	// remote; api.ErrInvalidEmail, 429 for too many of a network, 503 for too many in all.
	SendCode(ctx context.Context, email, remote string) error
	// Forecast redeems the code of req, whose required fields are there, for a
	// caller at the network address remote.
	Forecast(ctx context.Context, req api.FreemiumRequest, remote string, file io.Reader) (api.FreemiumForecast, error)
}

func (s *server) freemiumHandlers() {
	handle(s, api.VerifyFreemium, func(ctx context.Context, c *caller, r *api.FreemiumVerifyRequest) (api.FreemiumVerifyResponse, error) {
		return api.FreemiumVerifyResponse{Status: api.StatusSuccess, Message: api.FreemiumCodeSent}, s.Freemium.SendCode(ctx, r.Email, s.remote(c.request.Request))
	})
	handleForm(s, api.ForecastFreemium, freemiumRequest, func(ctx context.Context, c *caller, f *form, r *api.FreemiumRequest) (api.FreemiumResponse, error) {
		file, err := f.spool.reader()
		if err != nil {
			return api.FreemiumResponse{}, err
		}
		forecast, err := s.Freemium.Forecast(ctx, *r, s.remote(c.request.Request), file)
		return api.FreemiumResponse{Status: api.StatusSuccess, Forecast: forecast}, err
	})
}

// freemiumRequest reads the fields of the form. All missing fields are named
// together, except for the terms, which have a separate message.
func freemiumRequest(f *form) (*api.FreemiumRequest, error) {
	if f.refusal != nil {
		return nil, f.refusal
	}
	var absent []string
	field := func(name string) string {
		v := strings.TrimSpace(f.fields[name])
		if v == "" {
			absent = append(absent, name)
		}
		return v
	}
	req := api.FreemiumRequest{
		Email: field("email"), VerificationCode: field("verification_code"), SiteName: field("site_name"), Location: field("location"), Filename: f.filename,
	}
	field("capacity_kw") // as a number the form has read it
	req.CapacityKW = f.req.CapacityKW
	if len(absent) > 0 {
		return nil, api.MissingFields(absent...)
	}
	if err := api.CheckFormLimits(&req); err != nil {
		return nil, err
	}
	var ok bool
	if req.TOUAccepted, ok = parseBool(f.fields["tou_accepted"]); !ok || !req.TOUAccepted {
		return nil, api.ErrTermsNotAccepted
	}
	if req.MarketingOptIn, ok = parseBool(f.fields["marketing_opt_in"]); !ok {
		return nil, api.InvalidParameter("marketing_opt_in", "true or false")
	}
	return &req, nil
}

// parseBool reads a field of a form as forms write it; one that is not there is
// false.
func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "yes", "on":
		return true, true
	case "", "false", "0", "no", "off":
		return false, true
	}
	return false, false
}
