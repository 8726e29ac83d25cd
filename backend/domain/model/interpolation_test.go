package model_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
)

func TestInterpolationsKeepTheNewest(t *testing.T) {
	s := domaintest.New(t)
	s.AddSite("roof", "acme")
	for i := range model.KeptInterpolations + 3 {
		s.Update(func(tx store.Tx) error {
			dropped, err := s.Models.AddInterpolation(tx, model.Interpolation{CustomerID: "acme", InterpolationResult: api.InterpolationResult{SiteID: "roof", ResultID: fmt.Sprintf("int_%02d", i)}})
			if late := i - model.KeptInterpolations; late >= 0 && (len(dropped) != 1 || dropped[0].ResultID != fmt.Sprintf("int_%02d", late)) || late < 0 && len(dropped) > 0 {
				t.Errorf("with result %d it drops %+v", i, dropped)
			}
			return err
		})
	}
	for _, q := range []api.ListQuery{{CustomerID: "acme", Page: api.Page{Limit: 100}}, {CustomerID: "acme", SiteID: "roof", Page: api.Page{Limit: 100}}} {
		got, _, err := s.Models.Interpolations(t.Context(), api.Unlimited("test"), q)
		if err != nil || len(got) != model.KeptInterpolations || got[0].ResultID != "int_07" {
			t.Errorf("%+v: %d results, first %v, %v", q, len(got), got, err)
		}
	}
	if _, _, err := s.Models.Interpolations(t.Context(), api.Unlimited("test"), api.ListQuery{CustomerID: "other"}); !errors.Is(err, api.ErrNoInterpolation) {
		t.Errorf("a customer without any: %v", err)
	}
	if got, _, err := s.Models.Interpolations(context.Background(), api.Scope{Customers: []string{"other"}, Sites: []string{api.Every}}, api.ListQuery{CustomerID: "acme", Page: api.Page{Limit: 100}}); len(got) != 0 {
		t.Errorf("another customer's key sees %v, %v", got, err)
	}
}
