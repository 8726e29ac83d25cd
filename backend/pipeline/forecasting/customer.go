package forecasting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// Customer is the forecast of all sites of a customer, which is written site by site.
type Customer struct {
	fc    *Forecaster
	query api.ForecastQuery
	now   time.Time
	sum   api.GeneratedForecast // without Sites
	parts []customerPart
}

// customerPart is the forecast of one site: its extract, or the forecast if it has none that is
// current.
type customerPart struct {
	site      api.Site
	extract   []byte
	generated *api.GeneratedForecast
}

// Customer reads the forecast of a customer from the extracts of stored forecasts; sites without a
// current one are forecast as [Forecaster.Generate] does.
func (fc *Forecaster) Customer(ctx context.Context, scope api.Scope, q api.ForecastQuery) (*Customer, error) {
	if q.HorizonHours <= 0 {
		q.HorizonHours = fc.HorizonHours
	}
	c := &Customer{fc: fc, query: q, now: fc.Now()}
	sites, extracts, err := fc.extracts(ctx, scope, q)
	if err != nil {
		return nil, err
	}
	t := c.newTotal(len(sites))
	var e extract
	for i, site := range sites {
		part := customerPart{site: site, extract: extracts[i]}
		if q.PastDays > 0 || part.extract == nil || e.decode(part.extract) != nil || !c.current(&e, site) {
			g, err := fc.generateSite(ctx, site, q)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, fc.RequestError(site.SiteID, err)
			}
			part.extract, part.generated = nil, &g
			t.add(site, partOf(&g))
		} else {
			t.add(site, c.partOf(&e))
		}
		c.parts = append(c.parts, part)
	}
	if len(c.parts) == 0 {
		return nil, api.ErrNoModel
	}
	c.sum = t.sum()
	return c, nil
}

// GenerateCustomer is [Forecaster.Customer], as a function that writes it, see [Customer.Write].
func (fc *Forecaster) GenerateCustomer(ctx context.Context, scope api.Scope, q api.ForecastQuery) (func(piece func(next func(b []byte) ([]byte, error)) error) error, error) {
	c, err := fc.Customer(ctx, scope, q)
	if err != nil {
		return nil, err
	}
	return c.Write, nil
}

// extracts returns the sites of a customer by name, without their numbers of units, with their
// extracts if these are of the models in production.
func (fc *Forecaster) extracts(ctx context.Context, scope api.Scope, q api.ForecastQuery) (sites []api.Site, extracts [][]byte, err error) {
	err = fc.Records.View(ctx, func(tx store.Tx) error {
		if sites, err = fc.Domain.Sites.SitesByName(tx, scope, api.ListQuery{CustomerID: q.CustomerID}); err != nil {
			return err
		}
		keys, production := make([][]byte, len(sites)), make([][]byte, 0, len(sites))
		for i, s := range sites {
			keys[i] = store.Key(s.SiteID)
		}
		if extracts, err = store.GetMany(tx, extractBucket, keys); err != nil {
			return err
		}
		var of []int // the extract of each key in production
		for i, b := range extracts {
			extracts[i] = slices.Clone(b)
			if sequence, ok := sequenceOf(b); ok {
				production, of = append(production, model.ProductionKey(sites[i].SiteID, sitedata.ModelType, sequence)), append(of, i)
			}
		}
		there, err := store.GetMany(tx, model.ProductionBucket, production)
		for k, v := range there {
			if v == nil {
				extracts[of[k]] = nil
			}
		}
		return err
	})
	return sites, extracts, err
}

// sequenceOf returns the sequence of the model of an extract.
func sequenceOf(b []byte) (int, bool) {
	if len(b) == 0 || b[0] != extractVersion {
		return 0, false
	}
	r := extractReader{b: b[1:]}
	sequence := r.int()
	return int(sequence), !r.failed
}

// current reports whether an extract has what the query asks for.
func (c *Customer) current(e *extract, site api.Site) bool {
	first := forecast.NextHour(c.now).Unix()
	if e.zone != record.Zone(site.Timezone).String() || e.issued > c.now.Unix() || e.start > first || e.start+3600*int64(len(e.hours)) < first+3600*int64(c.query.HorizonHours) {
		return false
	}
	_, ok := c.today(e)
	return ok
}

// today returns the day of the site that the clock shows.
func (c *Customer) today(e *extract) (int, bool) {
	i := slices.IndexFunc(e.days, func(d extractDay) bool { return d.midnight <= c.now.Unix() && c.now.Unix() < d.end })
	return i, i >= 0
}

// hours returns the hours that the query asks for, and the time of the first.
func (c *Customer) hours(e *extract) (first int64, hours []hour) {
	first = forecast.NextHour(c.now).Unix()
	k := (first - e.start) / 3600
	return first, e.hours[k:min(k+int64(c.query.HorizonHours), int64(len(e.hours)))]
}

// dayEnergy is the energy of a day in an answer.
type dayEnergy struct {
	midnight int64
	hours    int64
	complete bool
	energies
}

// dayEnergies appends the energies of the days that the answer reaches into: all of today, of later
// days the hours of the forecast.
func (c *Customer) dayEnergies(to []dayEnergy, e *extract) []dayEnergy {
	k, _ := c.today(e)
	first, hours := c.hours(e)
	until := first + 3600*int64(len(hours))
	for i := k; i < len(e.days); i++ {
		d := &e.days[i]
		one := dayEnergy{midnight: d.midnight, hours: int64(len(d.hours)), energies: d.whole}
		if i > k {
			if one.hours = min((until-d.partFirst+3599)/3600, d.partHours); one.hours <= 0 {
				break
			}
			one.energies = d.part[one.hours-1]
		}
		one.complete = one.hours*3600 >= d.end-d.midnight
		to = append(to, one)
	}
	return to
}

// totalPart is what the sum of sites takes of one.
type totalPart struct {
	points         int
	accuracy       float64
	version, model string
	source         string
	first          int64 // of hours, Unix seconds
	hours          []hour
	days           []dayEnergy
	dates          []string
	todayKWh       float64
}

// partOf is what the sum takes of a stored extract.
func (c *Customer) partOf(e *extract) totalPart {
	p := totalPart{points: int(e.points), accuracy: e.accuracy, version: e.version, model: e.model, source: e.source}
	p.first, p.hours = c.hours(e)
	p.days = c.dayEnergies(nil, e)
	zone := record.Zone(e.zone)
	for _, d := range p.days {
		p.dates = append(p.dates, time.Unix(d.midnight, 0).In(zone).Format(time.DateOnly))
	}
	k, _ := c.today(e)
	p.todayKWh = todayKWh(&e.days[k])
	return p
}

func todayKWh(d *extractDay) float64 {
	if d.firstIssued == 0 {
		return 0
	}
	return float64(d.firstKWh) / 1e3
}

// Sum is the forecast of all sites together, without those of the sites.
func (c *Customer) Sum() api.GeneratedForecast { return c.sum }

// Write writes the forecast as JSON, an [api.GeneratedForecast]: it calls piece with functions that
// append the next part of it, of some kilobytes.
func (c *Customer) Write(piece func(next func(b []byte) ([]byte, error)) error) error {
	head, rest := c.sum, struct {
		TodayP50KWh float64           `json:"today_p50_kwh,omitempty"`
		Days        []api.ForecastDay `json:"days,omitempty"`
	}{c.sum.TodayP50KWh, c.sum.Days}
	head.TodayP50KWh, head.Days, head.Sites = 0, nil, nil
	err := piece(func(b []byte) ([]byte, error) {
		b, err := appendJSON(b, head)
		return append(b[:len(b)-1], `,"sites":[`...), err
	})
	if err != nil {
		return err
	}
	p := printer{c: c, times: map[int64]string{}, dates: map[dateOf]string{}}
	for i := range c.parts {
		err := piece(func(b []byte) ([]byte, error) {
			if i > 0 {
				b = append(b, ',')
			}
			if g := c.parts[i].generated; g != nil {
				return appendJSON(b, g)
			}
			return p.part(b, &c.parts[i])
		})
		if err != nil {
			return err
		}
	}
	return piece(func(b []byte) ([]byte, error) {
		b = append(b, ']')
		at := len(b)
		b, err := appendJSON(b, rest)
		if err != nil || len(b) == at+len("{}") {
			return append(b[:at], "}\n"...), err
		}
		b[at] = ','
		return append(b, '\n'), nil
	})
}

// appendJSON appends a value as responses have it.
func appendJSON(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return b, err
	}
	return buf.Bytes()[:buf.Len()-1], nil
}

// printer writes the forecasts of extracts as JSON. Times and dates are the same for many sites.
type printer struct {
	c     *Customer
	e     extract
	days  []dayEnergy
	times map[int64]string
	dates map[dateOf]string
}

type dateOf struct {
	midnight int64
	zone     string
}

func (p *printer) time(unix int64) string {
	s, ok := p.times[unix]
	if !ok {
		s = time.Unix(unix, 0).UTC().Format(api.TimeLayout)
		p.times[unix] = s
	}
	return s
}

func (p *printer) date(midnight int64) string {
	of := dateOf{midnight, p.e.zone}
	s, ok := p.dates[of]
	if !ok {
		s = time.Unix(midnight, 0).In(record.Zone(p.e.zone)).Format(time.DateOnly)
		p.dates[of] = s
	}
	return s
}

// part appends the forecast of a site, as an [api.GeneratedForecast] encodes.
func (p *printer) part(b []byte, part *customerPart) ([]byte, error) {
	e := &p.e
	if err := e.decode(part.extract); err != nil {
		return b, err
	}
	head := api.GeneratedForecast{ForecastID: e.forecastID, CustomerID: part.site.CustomerID, SiteID: part.site.SiteID, GeneratedAt: api.Unix(e.issued), HorizonHours: p.c.query.HorizonHours, StepMinutes: 60}
	b, err := appendJSON(b, struct {
		ForecastID   string   `json:"forecast_id"`
		CustomerID   string   `json:"customer_id"`
		SiteID       string   `json:"site_id,omitempty"`
		GeneratedAt  api.Time `json:"generated_at"`
		HorizonHours int      `json:"horizon_hours"`
		StepMinutes  int      `json:"step_minutes"`
	}{head.ForecastID, head.CustomerID, head.SiteID, head.GeneratedAt, head.HorizonHours, head.StepMinutes})
	if err != nil {
		return b, err
	}
	first, hours := p.c.hours(e)
	b = append(b[:len(b)-1], `,"forecasts":`...)
	b = p.values(b, first, hours)
	b = append(b, `,"metadata":`...)
	b, err = appendJSON(b, api.ForecastMetadata{ModelVersion: e.version, TrainingDataPoints: int(e.points), ModelAccuracy: e.accuracy, ModelType: e.model, WeatherSource: e.source})
	if err != nil {
		return b, err
	}
	k, _ := p.c.today(e)
	d := &e.days[k]
	if d.firstIssued != 0 {
		if d.firstKWh != 0 {
			b = appendThousandths(append(b, `,"today_p50_kwh":`...), d.firstKWh)
		}
		b = append(append(append(b, `,"today_issued_at":"`...), p.time(d.firstIssued)...), '"')
	}
	b = p.values(append(b, `,"today":`...), d.first, d.hours)
	b = append(b, `,"days":[`...)
	p.days = p.c.dayEnergies(p.days[:0], e)
	for i, d := range p.days {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"day":"`...), p.date(d.midnight)...), `","hours":`...)
		b = strconv.AppendInt(b, d.hours, 10)
		b = strconv.AppendBool(append(b, `,"complete":`...), d.complete)
		b = appendThousandths(append(b, `,"p10_kwh":`...), d.p10)
		b = appendThousandths(append(b, `,"p50_kwh":`...), d.p50)
		b = append(appendThousandths(append(b, `,"p90_kwh":`...), d.p90), '}')
	}
	return append(b, "]}"...), nil
}

// values appends hours as a list of [api.ForecastValue].
func (p *printer) values(b []byte, first int64, hours []hour) []byte {
	b = append(b, '[')
	for i := range hours {
		h := &hours[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"timestamp":"`...), p.time(first+3600*int64(i))...), `","predicted_power_kw":`...)
		b = appendThousandths(b, h[hourP50])
		b = appendThousandths(append(b, `,"confidence_interval":{"lower":`...), h[hourP10])
		b = appendThousandths(append(b, `,"upper":`...), h[hourP90])
		b = appendThousandths(append(b, `},"weather_conditions":{"temperature_c":`...), h[hourTemperature])
		b = appendThousandths(append(b, `,"irradiance_w_m2":`...), h[hourGHI])
		b = appendThousandths(append(b, `,"wind_speed_m_s":`...), h[hourWind])
		b = append(appendThousandths(append(b, `},"clear_sky_kw":`...), h[hourClear]), '}')
	}
	return append(b, ']')
}

// appendThousandths appends a number of thousandths in the shortest form, as encoding/json does.
func appendThousandths(b []byte, v thousandths) []byte {
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	b = strconv.AppendInt(b, v/1000, 10)
	if v %= 1000; v != 0 {
		b = append(b, '.', byte('0'+v/100))
		if v %= 100; v != 0 {
			b = append(b, byte('0'+v/10))
			if v %= 10; v != 0 {
				b = append(b, byte('0'+v))
			}
		}
	}
	return b
}
