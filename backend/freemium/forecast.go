package freemium

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

const (
	// yearDays is the number of days of data, some gaps allowed, from which
	// the learners are used in addition to the analogs.
	yearDays = 350
	// trainingTime is the share of the 3 s response time available for
	// training; beyond it only the analogs are used.
	trainingTime = 2 * time.Second
	// recentSpan is the newest power that a forecast begins from.
	recentSpan = 45 * 24 * time.Hour
)

// Model types of the answer.
const (
	modelAnalog = "analog ensemble of the clear-sky index"
	modelBlend  = "blended ensemble"
)

// Forecast redeems the code and forecasts the next 24 whole hours from the
// file, for a caller at the network address remote. The code stays valid when the
// file or the place is at fault.
func (s *Service) Forecast(ctx context.Context, req api.FreemiumRequest, remote string, file io.Reader) (api.FreemiumForecast, error) {
	email, err := mail.Address(req.Email)
	switch {
	case err != nil:
		return api.FreemiumForecast{}, api.ErrInvalidEmail
	case !req.TOUAccepted:
		return api.FreemiumForecast{}, api.ErrTermsNotAccepted
	}
	req.Email = email
	giveBack, err := s.redeem(ctx, email, req.VerificationCode, remote)
	if err != nil {
		return api.FreemiumForecast{}, err
	}
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return api.FreemiumForecast{}, errors.Join(ctx.Err(), giveBack(context.WithoutCancel(ctx)))
	}
	out, err := s.make(ctx, req, file)
	if err != nil {
		if back := giveBack(context.WithoutCancel(ctx)); back != nil {
			s.log.Error("code not released", "error", back.Error())
		}
		return out, err
	}
	return out, s.served(ctx, req)
}

// make is the forecast; it keeps nothing.
func (s *Service) make(ctx context.Context, req api.FreemiumRequest, file io.Reader) (api.FreemiumForecast, error) {
	now := s.now()
	out := api.FreemiumForecast{SiteName: req.SiteName, Location: req.Location, ForecastHours: api.FreemiumHours, GeneratedAt: api.At(now)}
	named, _ := place.Find(req.Location)
	data, err := read(file, req, named, now)
	if err != nil {
		return out, err
	}
	// What was measured after now was not.
	data.power = data.power.Slice(data.power.Start, now.Truncate(step))
	at, known := place.Of(req.Location, data.power)
	if !known {
		return out, errUnknownPlace
	}
	site := forecast.Site{ID: req.SiteName, Location: solar.Location{LatitudeDeg: at.LatitudeDeg, LongitudeDeg: at.LongitudeDeg}, CapacityKW: req.CapacityKW}
	if site.Zone, err = time.LoadLocation(at.Zone); err != nil {
		return out, fmt.Errorf("zone of %s: %w", at.Place, err)
	}
	model, report, kind, err := learn(ctx, site, data.power)
	if errors.Is(err, forecast.ErrUnfit) {
		return out, api.ErrFreemiumCSV.With("reason", err.Error())
	}
	if err != nil {
		return out, err
	}
	// Training a model with weather takes longer than a caller waits: this
	// one uses the sun's position and the plant's own past.
	wx, err := weather.Offline{}.Forecast(ctx, site.Location, now, (api.FreemiumHours+2)*step, step)
	if err != nil {
		return out, fmt.Errorf("weather: %w", err)
	}
	points, err := model.Forecast(now, data.power.Slice(now.Add(-recentSpan), now), wx, (api.FreemiumHours+1)*step)
	if err != nil {
		return out, fmt.Errorf("forecast: %w", err)
	}
	if points = forecast.Hourly(points); len(points) < api.FreemiumHours {
		return out, fmt.Errorf("forecast: %d hours, not %d", len(points), api.FreemiumHours)
	}
	fill(&out, points[:api.FreemiumHours])
	out.ModelType, out.Manufacturer, out.WeatherSource = kind, data.manufacturer, wx.Source
	if out.Manufacturer == "" {
		out.Manufacturer = "unknown"
	}
	out.Notes = slices.Concat(data.notes, []string{"place: " + at.Description})
	for _, n := range report.Notes {
		out.Notes = append(out.Notes, "data: "+n)
	}
	return out, nil
}

var errUnknownPlace = api.InvalidParameter("location", `no town of that name is known; give it with its country, or its latitude and longitude, as in "-29.86, 31.03"`)

// learn trains the best model that the data and the time allow.
func learn(ctx context.Context, site forecast.Site, power series.Series) (*forecast.Model, forecast.Report, string, error) {
	h, o := forecast.History{Power: power}, forecast.Options{Workers: 2, Resolution: step}
	model, report, err := forecast.ColdStart(ctx, site, h, o)
	if err != nil || report.Days < yearDays {
		return model, report, modelAnalog, err
	}
	limited, cancel := context.WithTimeout(ctx, trainingTime)
	defer cancel()
	trained, better, err := forecast.Train(limited, site, h, o)
	switch {
	case err == nil:
		return trained, better, modelBlend, nil
	case ctx.Err() != nil:
		return nil, report, "", ctx.Err()
	}
	// Out of time, or the learners cannot do with it: the analogs can.
	return model, report, modelAnalog, nil
}

// fill puts hourly points into the answer.
func fill(out *api.FreemiumForecast, points []forecast.Point) {
	sum := &out.Summary
	for i, p := range points {
		kWh := round(p.MeanKW()*step.Hours(), 3)
		out.Forecasts = append(out.Forecasts, api.FreemiumPoint{Timestamp: api.At(p.Time), HourAhead: i + 1, KWhForecast: kWh, Confidence: confidence(p)})
		sum.TotalKWh24h += kWh
		if i == 0 || kWh > sum.PeakKWh {
			sum.PeakHour, sum.PeakKWh = api.At(p.Time), kWh
		}
	}
	sum.TotalKWh24h = round(sum.TotalKWh24h, 3)
	sum.AverageHourlyKWh = round(sum.TotalKWh24h/float64(len(points)), 3)
}

func confidence(p forecast.Point) float64 {
	width := p.P90KW - p.P10KW
	if !(width > 0) {
		return 1
	}
	return round(1-min(width/(2*max(p.ClearSkyKW, p.P90KW)), 1), 3)
}

func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// served keeps who had a forecast and what was agreed to, and no more.
func (s *Service) served(ctx context.Context, req api.FreemiumRequest) error {
	now := s.now().UTC()
	err := s.records.Update(ctx, func(tx store.Tx) error {
		c, err := customers.Get(tx, store.Key(canonical(req.Email)))
		if errors.Is(err, store.ErrNotFound) {
			c = Customer{CustomerID: "freemium_" + s.hasher.of("customer", canonical(req.Email))[:26], Email: req.Email, FirstForecast: now}
		} else if err != nil {
			return err
		}
		c.TermsAccepted, c.MarketingOptIn, c.LastForecast = now, req.MarketingOptIn, now
		c.Forecasts++
		return customers.Put(tx, c)
	})
	if err != nil {
		return fmt.Errorf("keep the customer: %w", err)
	}
	return nil
}
