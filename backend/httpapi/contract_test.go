package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/api/contract"
	"app.sunloop/backend/httpapi"
)

var errBroken = errors.New("disk on fire")

// Parts of the service that fail where a row of the contract describes the
// error. The embedded interfaces have methods of their own names, so that they
// need others.
type (
	wholeUploads    = httpapi.Uploads
	wholeModels     = httpapi.Models
	brokenUploads   struct{ wholeUploads }
	brokenForecasts struct{ httpapi.Forecasts }
	brokenModels    struct{ wholeModels }
	brokenFreemium  struct{ httpapi.Freemium }
)

func (brokenUploads) Upload(context.Context, api.Scope, api.UploadRequest, io.Reader) (api.UploadAck, error) {
	return api.UploadAck{}, errBroken
}

func (brokenForecasts) Generate(context.Context, api.Scope, api.ForecastQuery) (api.GeneratedForecast, error) {
	return api.GeneratedForecast{}, errBroken
}

func (brokenForecasts) GenerateCustomer(context.Context, api.Scope, api.ForecastQuery) (func(func(func([]byte) ([]byte, error)) error) error, error) {
	return nil, errBroken
}

func (brokenModels) Models(context.Context, api.Scope, api.ListQuery) ([]api.Model, string, error) {
	return nil, "", errBroken
}

func (brokenFreemium) Forecast(context.Context, api.FreemiumRequest, string, io.Reader) (api.FreemiumForecast, error) {
	return api.FreemiumForecast{}, errBroken
}

// TestContract tries the rows of the contract that speak of a service that
// fails; the others are tried in backend/compat against a real one. With -v it
// prints the rows.
func TestContract(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) {
		d.Uploads, d.Forecasts, d.Models, d.Freemium = brokenUploads{d.Uploads}, brokenForecasts{d.Forecasts}, brokenModels{d.Models}, brokenFreemium{d.Freemium}
	})
	tried := 0
	for _, rule := range contract.Rules() {
		if rule.State != contract.Broken {
			continue
		}
		tried++
		var body, kind, query string
		switch rule.As {
		case contract.InJSON:
			b, err := json.Marshal(rule.Params)
			if err != nil {
				t.Fatal(err)
			}
			body, kind = string(b), "application/json"
		case contract.InForm:
			var parts []string
			for name, value := range rule.Params {
				parts = append(parts, name, fmt.Sprint(value))
			}
			body, kind = formOf(parts...)
		default:
			q := url.Values{}
			for name, value := range rule.Params {
				q.Set(name, fmt.Sprint(value))
			}
			query = "?" + q.Encode()
		}
		r := w.as("customer", rule.Method, rule.Route.Path+query, body, "Content-Type", kind)
		var errorBody api.ErrorBody
		if err := json.Unmarshal(r.Body.Bytes(), &errorBody); err != nil || r.Code != http.StatusInternalServerError || r.Code != rule.Status || errorBody.Error != rule.Message || errorBody.Success {
			t.Errorf("%s: HTTP %d %s, %v", rule.Name(), r.Code, r.Body, err)
		} else if testing.Verbose() {
			fmt.Printf("%4d  %d  %s\n", tried, rule.Status, rule.Name())
		}
	}
	if tried < 5 {
		t.Errorf("only %d rows speak of a service that fails", tried)
	}
}
