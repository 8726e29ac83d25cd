package openmeteo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-resty/resty/v2"
	"golang.org/x/sync/singleflight"

	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/display"
)

// The public servers: free for non-commercial use, 10,000 calls a day.
const (
	DefaultForecastURL = "https://api.open-meteo.com"
	DefaultArchiveURL  = "https://archive-api.open-meteo.com"
)

// Source is the source named by forecasts.
const Source = "Open-Meteo (open-meteo.com, CC BY 4.0)"

const (
	retries       = 2
	firstWait     = 300 * time.Millisecond
	longestWait   = 5 * time.Second // a longer Retry-After means: not now
	largestAnswer = 32 << 20

	keptFor      = time.Hour        // how long a fetched forecast is the newest
	clockSlack   = 10 * time.Minute // between asking and the answer
	forecastDays = 16               // the longest that the service gives
	pastDays     = 2                // hours around an issue are looked at too
)

// Config configures a [Client]; the zero value uses the public servers.
type Config struct {
	ForecastURL string // without path; empty: [DefaultForecastURL]
	ArchiveURL  string // empty: [DefaultArchiveURL]
	APIKey      string // for the commercial servers only
	// Now is the real clock; nil: time.Now.
	Now       func() time.Time
	Timeout   time.Duration     // of one attempt; 0: 8 s
	Transport http.RoundTripper // nil: the default
}

// Client queries one service. It is safe for concurrent use.
type Client struct {
	cfg    Config
	http   *resty.Client
	flight singleflight.Group

	mu   sync.Mutex
	held map[place]fetched
}

// place is a location to a hundredth of a degree, about a kilometre: finer
// than any weather model, so that neighbours share a call.
type place struct{ lat, lon int }

func placeOf(loc solar.Location) place {
	return place{int(math.Round(loc.LatitudeDeg * 100)), int(math.Round(loc.LongitudeDeg * 100))}
}

type fetched struct {
	at      time.Time
	columns []weather.Column
}

// New returns a client; it sends nothing yet.
func New(cfg Config) (*Client, error) {
	cfg.ForecastURL = strings.TrimRight(cmp.Or(cfg.ForecastURL, DefaultForecastURL), "/")
	cfg.ArchiveURL = strings.TrimRight(cmp.Or(cfg.ArchiveURL, DefaultArchiveURL), "/")
	for _, u := range []string{cfg.ForecastURL, cfg.ArchiveURL} {
		if p, err := url.Parse(u); err != nil || p.Host == "" || p.Scheme != "https" && p.Scheme != "http" {
			return nil, fmt.Errorf("weather server %q: not an http or https address", u)
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 8*time.Second)
	h := resty.New().SetTimeout(cfg.Timeout).SetRetryCount(retries).SetRetryWaitTime(firstWait).SetRetryMaxWaitTime(longestWait).
		SetResponseBodyLimit(largestAnswer).SetHeader("User-Agent", "sunloop").SetLogger(quiet{}).
		AddRetryCondition(func(r *resty.Response, err error) bool {
			return r != nil && (r.StatusCode() == http.StatusTooManyRequests || r.StatusCode() >= 500)
		}).
		SetRetryAfter(func(_ *resty.Client, r *resty.Response) (time.Duration, error) {
			s, err := strconv.Atoi(r.Header().Get("Retry-After"))
			if err != nil {
				return 0, nil // its own back-off
			}
			wait := time.Duration(s) * time.Second
			if wait > longestWait {
				return 0, fmt.Errorf("the service asks to wait %v", wait)
			}
			return wait, nil
		})
	if cfg.Transport != nil {
		h.SetTransport(cfg.Transport)
	}
	return &Client{cfg: cfg, http: h, held: map[place]fetched{}}, nil
}

// quiet discards log messages: errors are returned.
type quiet struct{}

func (quiet) Errorf(string, ...any) {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Debugf(string, ...any) {}

var _ weather.Provider = (*Client)(nil)

// Forecast implements [weather.Provider]: the newest forecast there was at
// issue, up to 16 days; later intervals are unknown. Every failure wraps
// [weather.ErrUnavailable].
func (c *Client) Forecast(ctx context.Context, loc solar.Location, issue time.Time, horizon, step time.Duration) (weather.Forecast, error) {
	if step < time.Second || horizon <= 0 {
		return weather.Forecast{}, fmt.Errorf("weather for %v in steps of %v: both must be positive, a step at least 1 s", horizon, step)
	}
	got, err := c.newest(ctx, loc, issue)
	if err != nil {
		return weather.Forecast{}, fmt.Errorf("%w: Open-Meteo: %w", weather.ErrUnavailable, err)
	}
	start := issue.UTC().Truncate(step)
	n := int((issue.Add(horizon).Sub(start) + step - 1) / step)
	first := start.Truncate(time.Hour)
	hours := int((start.Add(time.Duration(n)*step).Sub(first) + time.Hour - 1) / time.Hour)
	return weather.FromColumns(got.at, Source, first, time.Hour, hours, got.columns).Align(loc, start, step, n), nil
}

func (c *Client) newest(ctx context.Context, loc solar.Location, issue time.Time) (fetched, error) {
	p := placeOf(loc)
	now := c.cfg.Now()
	c.mu.Lock()
	have, ok := c.held[p]
	c.mu.Unlock()
	switch {
	case ok && !have.at.After(issue.Add(clockSlack)) && now.Sub(have.at) < keptFor:
		return have, nil
	case issue.Before(now.Add(-clockSlack)):
		if ok && !have.at.After(issue.Add(clockSlack)) && issue.Sub(have.at) < 24*time.Hour {
			return have, nil // what was known then
		}
		return fetched{}, fmt.Errorf("no forecast is held that was known at %s", issue.UTC().Format(time.RFC3339))
	}
	// One caller's end must not fail the others that wait for the same answer.
	ch := c.flight.DoChan(fmt.Sprint(p), func() (any, error) {
		columns, err := c.get(context.WithoutCancel(ctx), c.cfg.ForecastURL+"/v1/forecast", p, map[string]string{
			"forecast_days": strconv.Itoa(forecastDays), "past_days": strconv.Itoa(pastDays)}, false)
		if err != nil {
			return fetched{}, err
		}
		got := fetched{now, columns}
		c.mu.Lock()
		c.held[p] = got
		c.mu.Unlock()
		return got, nil
	})
	select {
	case <-ctx.Done():
		return fetched{}, ctx.Err()
	case r := <-ch:
		return r.Val.(fetched), r.Err
	}
}

// Archive is the weather that was, hour by hour over [from, to), as measured
// columns (a reanalysis: it has seen the satellites). The last five days or so
// may be missing.
func (c *Client) Archive(ctx context.Context, loc solar.Location, from, to time.Time) ([]weather.Column, error) {
	if !from.Before(to) {
		return nil, fmt.Errorf("weather archive from %s to %s: there is nothing between", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	columns, err := c.get(ctx, c.cfg.ArchiveURL+"/v1/archive", placeOf(loc), map[string]string{
		"start_date": from.UTC().Format(time.DateOnly), "end_date": to.UTC().Format(time.DateOnly)}, true)
	if err != nil {
		return nil, fmt.Errorf("%w: Open-Meteo: %w", weather.ErrUnavailable, err)
	}
	for i := range columns {
		columns[i].Series = columns[i].Series.Slice(from, to)
	}
	return columns, nil
}

func (c *Client) get(ctx context.Context, address string, p place, extra map[string]string, measured bool) ([]weather.Column, error) {
	r := c.http.R().SetContext(ctx).SetQueryParams(extra).SetQueryParams(map[string]string{
		"latitude": hundredths(p.lat), "longitude": hundredths(p.lon), "hourly": strings.Join(names(), ","),
		"timezone": "UTC", "timeformat": "unixtime", "wind_speed_unit": "ms",
	})
	if c.cfg.APIKey != "" {
		r.SetQueryParam("apikey", c.cfg.APIKey)
	}
	resp, err := r.Get(address)
	if err != nil {
		return nil, c.plain(err)
	}
	if resp.StatusCode() != http.StatusOK {
		return nil, c.refused(resp)
	}
	return decode(resp.Body(), measured)
}

func hundredths(v int) string { return strconv.FormatFloat(float64(v)/100, 'f', -1, 64) }

// plain returns a failed call as text, without the address that was called: it may
// hold a key.
func (c *Client) plain(err error) error {
	var call *url.Error
	if errors.As(err, &call) {
		err = call.Err
	}
	var slow interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, resty.ErrResponseBodyTooLarge):
		return fmt.Errorf("the response is larger than %s", display.Bytes(largestAnswer))
	case errors.As(err, &slow) && slow.Timeout():
		return fmt.Errorf("no answer within %v", c.cfg.Timeout)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the answer broke off")
	}
	return err
}
