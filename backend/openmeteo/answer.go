package openmeteo

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"

	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// variable is one quantity as the service gives it.
type variable struct {
	name     string
	quantity weather.Quantity
	unit     string  // as the service must say it
	scale    float64 // to the unit of the quantity
	instant  bool    // holds for the moment of its stamp; else for the hour before it
}

var variables = []variable{
	{"shortwave_radiation", weather.GHI, "W/m²", 1, false},
	{"direct_normal_irradiance", weather.DNI, "W/m²", 1, false},
	{"diffuse_radiation", weather.DHI, "W/m²", 1, false},
	{"temperature_2m", weather.AirTemperature, "°C", 1, true},
	{"wind_speed_10m", weather.WindSpeed, "m/s", 1, true},
	{"cloud_cover", weather.CloudCover, "%", 0.01, true},
	{"relative_humidity_2m", weather.Humidity, "%", 1, true},
	{"surface_pressure", weather.Pressure, "hPa", 1, true},
	{"precipitation", weather.Precipitation, "mm", 1, false},
}

func names() []string {
	out := make([]string, len(variables))
	for i, v := range variables {
		out[i] = v.name
	}
	return out
}

// refused returns the service's own reason, or its status. A reason that quotes
// the request is not used, since it would reveal the API key.
func (c *Client) refused(r *resty.Response) error {
	var body struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(r.Body(), &body) == nil && body.Reason != "" {
		if c.cfg.APIKey != "" {
			body.Reason = strings.NewReplacer(c.cfg.APIKey, "…", url.QueryEscape(c.cfg.APIKey), "…").Replace(body.Reason)
		}
		return fmt.Errorf("status %d: %.200s", r.StatusCode(), body.Reason)
	}
	return fmt.Errorf("status %d", r.StatusCode())
}

// mostHours bounds an answer: ten years.
const mostHours = 10 * 366 * 24

// decode reads an answer of hours into columns labelled at the hours' start.
func decode(body []byte, measured bool) ([]weather.Column, error) {
	var a struct {
		Units  map[string]string          `json:"hourly_units"`
		Hourly map[string]json.RawMessage `json:"hourly"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, errors.New("the answer is not the JSON of a forecast")
	}
	var times []int64
	if err := json.Unmarshal(a.Hourly["time"], &times); err != nil || len(times) < 2 {
		return nil, errors.New("the answer has no hourly.time")
	}
	if len(times) > mostHours {
		return nil, fmt.Errorf("the answer has %d hours", len(times))
	}
	for i, t := range times {
		if t%3600 != 0 || i > 0 && t != times[i-1]+3600 {
			return nil, fmt.Errorf("hourly.time[%d] is not the next whole hour", i)
		}
	}
	var columns []weather.Column
	for _, v := range variables {
		raw, ok := a.Hourly[v.name]
		if !ok {
			continue // your own server may hold less
		}
		if u := a.Units[v.name]; u != v.unit {
			return nil, fmt.Errorf("hourly_units.%s is %q, not %q", v.name, u, v.unit)
		}
		var values []*float64
		if err := json.Unmarshal(raw, &values); err != nil || len(values) != len(times) {
			return nil, fmt.Errorf("hourly.%s does not have a number for each of the %d hours", v.name, len(times))
		}
		columns = append(columns, v.column(time.Unix(times[0], 0).UTC(), values, measured))
	}
	if len(columns) == 0 {
		return nil, errors.New("the answer has none of the quantities asked for")
	}
	return columns, nil
}

// column turns stamps at the end of hours, or moments, into means of hours
// labelled at their start.
func (v variable) column(first time.Time, values []*float64, measured bool) weather.Column {
	number := func(i int) float64 {
		if values[i] == nil {
			return math.NaN()
		}
		return *values[i] * v.scale
	}
	out := make([]float64, len(values)-1)
	for i := range out {
		out[i] = number(i + 1)
		if v.instant {
			out[i] = (number(i) + number(i+1)) / 2
		}
	}
	return weather.Column{Name: v.name, Quantity: v.quantity, Measured: measured,
		Series: series.Series{Start: first, Step: time.Hour, Values: out}}
}
