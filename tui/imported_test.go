package tui

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/state"
)

// TestImportedFileIsAskedFor: when a file has been imported, what it brought
// is asked for at once, not when its turn comes.
func TestImportedFileIsAskedFor(t *testing.T) {
	d := start(t, 120, 36, nil)
	site := d.m.data.Site
	file := api.Upload{UploadID: "upl_1", SiteID: site.SiteID, Kind: api.UploadTrain, ProcessingStatus: api.UploadProcessing}
	site.Uploads.Set([]api.Upload{file}, d.now)
	d.now = d.now.Add(time.Second)
	request, ok := d.m.data.Request(state.QueryUploads, d.now)
	if !ok {
		t.Fatal("no request")
	}
	before, season := site.Findings.At, site.Season.At
	file.ProcessingStatus = api.UploadCompleted
	d.run(d.m.answer(state.Answer{Request: request, Value: []api.Upload{file}}, d.now))
	if after := site.Findings.At; !after.After(before) {
		t.Errorf("findings are still those of %v", after)
	}
	if after := site.Season.At; !after.After(season) {
		t.Errorf("the days of a year ago, whose period is hours, are still those of %v", after)
	}
}

// TestFirstForecastRefreshesAll: a site gets its first forecast when its history is imported
// and its model trained. Queries whose period is hours were answered before, without data.
func TestFirstForecastRefreshesAll(t *testing.T) {
	d := start(t, 120, 36, nil)
	site := d.m.data.Site
	forecast := site.Forecast.Data
	site.Forecast.Set(api.GeneratedForecast{}, d.now)
	season := site.Season.At
	for _, part := range []struct {
		forecast api.GeneratedForecast
		again    bool
	}{{api.GeneratedForecast{}, false}, {forecast, true}, {forecast, false}} {
		d.now = d.now.Add(time.Second)
		request, ok := d.m.data.Request(state.QueryForecast, d.now)
		if !ok {
			t.Fatal("no request")
		}
		d.run(d.m.answer(state.Answer{Request: request, Value: part.forecast}, d.now))
		if again := site.Season.At.After(season); again != part.again {
			t.Errorf("%d values: asked again %t", len(part.forecast.Forecasts), again)
		}
		season = site.Season.At
	}
}
