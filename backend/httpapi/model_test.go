package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
)

// TestMovesOfModels promotes, refuses and rolls back over HTTP.
func TestMovesOfModels(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	for n, version := range []string{"1.0.0", "2.0.0"} {
		err := w.store.Update(t.Context(), func(tx store.Tx) error {
			m := model.Model{Sequence: n + 1, Trained: w.clock.now()}
			m.ModelName, m.ModelVersion, m.ModelType, m.SiteID, m.CustomerID = "blend", version, api.ModelForecasting, ownSite, ownCustomer
			_, err := w.domain.Models.Register(tx, m, nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.clock.add(time.Minute)
	}
	const promote = `{"action":"promote","site_id":"Sibaya","model_version":"2.0.0","reason":"seen to be better"}`
	for _, s := range []scenario{
		{name: "no site", body: `{"action":"promote","reason":"seen to be better"}`, status: 400, contains: []string{"Missing required field: site_id"}},
		{name: "no reason", body: `{"action":"promote","site_id":"Sibaya"}`, status: 400, contains: []string{"Missing required field: reason"}},
		{name: "a short reason", body: `{"action":"promote","site_id":"Sibaya","reason":"better"}`, status: 400, contains: []string{"Invalid field: reason", "at least 10 characters"}},
		{name: "no such action", body: `{"action":"delete","site_id":"Sibaya"}`, status: 400, contains: []string{"Invalid action"}},
		{name: "no such type", body: `{"action":"evaluate","site_id":"Sibaya","model_type":"diagnostics"}`, status: 400, contains: []string{"Invalid field: model_type"}},
		{name: "no such version", body: `{"action":"evaluate","site_id":"Sibaya","model_version":"9.0.0"}`, status: 403, contains: []string{"Access denied"}},
		{name: "not evaluated", body: promote, status: 409, contains: []string{"not eligible: it was not evaluated"}},
		{name: "evaluate", body: `{"action":"evaluate","site_id":"Sibaya"}`, status: 200, contains: []string{`"eligible":false`, `"verdict":"its loss is higher"`, `"against":"1.0.0"`, `"model_version":"2.0.0"`}},
		{name: "not eligible", body: promote, status: 409, contains: []string{"not eligible: its loss is higher", `"allowed":["evaluate","force"]`}},
		{name: "forced", body: `{"action":"promote","site_id":"Sibaya","model_version":"2.0.0","reason":"seen to be better","force":true}`, status: 200,
			contains: []string{`"former_version":"1.0.0"`, `"status":"production"`, `"success":true`}},
		{name: "once more", body: promote, status: 200, contains: []string{`"status":"production"`}, without: []string{"former_version"}},
		{name: "the production model is no challenger", body: `{"action":"evaluate","site_id":"Sibaya","model_version":"2.0.0"}`, status: 409, contains: []string{"only a challenger"}},
		{name: "roll back", body: `{"action":"rollback","site_id":"Sibaya","reason":"the new one is biased"}`, status: 200, contains: []string{`"model_version":"1.0.0"`, `"former_version":"2.0.0"`}},
		{name: "history", body: `{"action":"history","site_id":"Sibaya","model_version":"2.0.0"}`, status: 200,
			contains: []string{`"reason":"seen to be better","forced":true`, `"from":"production","to":"archived"`, `"actor":"own"`, `"count":3`}},
		{name: "list", body: `{"site_id":"Sibaya"}`, status: 200, contains: []string{`"count":2`}},
	} {
		s.method, s.url, s.key = http.MethodPost, api.PathModels, "own"
		t.Run(s.name, func(t *testing.T) { s.run(t, w) })
	}
}
