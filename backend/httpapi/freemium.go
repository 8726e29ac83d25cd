package httpapi

import (
	"context"
	"strings"

	"app.sunloop/backend/api"
)

func (s *server) freemiumVerify(in *input) (*call, error) {
	var b api.FreemiumVerifyRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if err := missing(api.MissingField, "email", b.Email); err != nil {
		return nil, err
	}
	remote := s.remote(in.Request)
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		return api.FreemiumVerifyResponse{Status: api.StatusSuccess, Message: api.FreemiumCodeSent}, s.Freemium.SendCode(ctx, b.Email, remote)
	}}, nil
}

func (s *server) freemiumForecast(in *input) (*call, error) {
	if !in.isForm() {
		return nil, api.ErrCSVRequired
	}
	f, err := in.form()
	switch {
	case err != nil:
		return nil, err
	case f.refusal != nil:
		return nil, f.refusal
	case f.spool == nil:
		return nil, api.ErrCSVRequired
	}
	req, err := freemiumRequest(f)
	if err != nil {
		return nil, err
	}
	remote := s.remote(in.Request)
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		file, err := f.spool.reader()
		if err != nil {
			return nil, err
		}
		forecast, err := s.Freemium.Forecast(ctx, req, remote, file)
		return api.FreemiumResponse{Status: api.StatusSuccess, Forecast: forecast}, err
	}}, nil
}

// freemiumRequest reads the fields of the form. All that are missing are named
// at once, but for the terms, which have words of their own.
func freemiumRequest(f *form) (api.FreemiumRequest, error) {
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
		return req, api.MissingFields(absent...)
	}
	if err := api.CheckFormLimits(&req); err != nil {
		return req, err
	}
	var ok bool
	if req.TOUAccepted, ok = truth(f.fields["tou_accepted"]); !ok || !req.TOUAccepted {
		return req, api.ErrTermsNotAccepted
	}
	if req.MarketingOptIn, ok = truth(f.fields["marketing_opt_in"]); !ok {
		return req, api.InvalidParameter("marketing_opt_in", "true or false")
	}
	return req, nil
}

// truth reads a field of a form as forms write it; one that is not there is
// false.
func truth(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "yes", "on":
		return true, true
	case "", "false", "0", "no", "off":
		return false, true
	}
	return false, false
}
