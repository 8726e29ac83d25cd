package api

import (
	"slices"
	"testing"
)

// TestEveryOperationIsPromised: no operation of the service is without rows of
// the contract, but for what is made for browsers.
func TestEveryOperationIsPromised(t *testing.T) {
	for _, r := range Routes() {
		if r.Name == "openapi" || r.Name == "docs" {
			continue
		}
		for _, o := range r.Operations {
			if !slices.ContainsFunc(promises, func(p Promise) bool {
				return p.Route == r.Name && (p.Action == o.Action || p.Action == "" && o.Action == ActionList || p.Action == ActionList && o.Action == "" || len(r.Operations) == 1)
			}) {
				t.Errorf("%s %s %s is not promised anything", r.Method, r.Path, o.Action)
			}
		}
	}
	for _, p := range promises {
		if !slices.ContainsFunc(Routes(), func(r Route) bool { return r.Name == p.Route }) {
			t.Errorf("%s is no route", p.Route)
		}
	}
}
