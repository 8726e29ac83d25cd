package ops

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

func TestInterpolationsKeepTheNewest(t *testing.T) {
	s := newDesk(t)
	s.site("roof", "acme")
	for i := range keptInterpolations + 3 {
		s.update(func(tx store.Tx) error {
			dropped, err := s.AddInterpolation(tx, Interpolation{CustomerID: "acme", InterpolationResult: api.InterpolationResult{SiteID: "roof", ResultID: fmt.Sprintf("int_%02d", i)}})
			if late := i - keptInterpolations; late >= 0 && (len(dropped) != 1 || dropped[0].ResultID != fmt.Sprintf("int_%02d", late)) || late < 0 && len(dropped) > 0 {
				t.Errorf("with result %d it drops %+v", i, dropped)
			}
			return err
		})
	}
	for _, q := range []api.ListQuery{{CustomerID: "acme", Page: api.Page{Limit: 100}}, {CustomerID: "acme", SiteID: "roof", Page: api.Page{Limit: 100}}} {
		got, _, err := s.Interpolations(t.Context(), api.Unlimited("test"), q)
		if err != nil || len(got) != keptInterpolations || got[0].ResultID != "int_07" {
			t.Errorf("%+v: %d results, first %v, %v", q, len(got), got, err)
		}
	}
	if _, _, err := s.Interpolations(t.Context(), api.Unlimited("test"), api.ListQuery{CustomerID: "other"}); !errors.Is(err, api.ErrNoInterpolation) {
		t.Errorf("a customer without any: %v", err)
	}
	if got, _, err := s.Interpolations(context.Background(), api.Scope{Customers: []string{"other"}, Sites: []string{api.Every}}, api.ListQuery{CustomerID: "acme", Page: api.Page{Limit: 100}}); len(got) != 0 {
		t.Errorf("another customer's key sees %v, %v", got, err)
	}
}
