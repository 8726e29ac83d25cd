// Package availability divides the time of a site's units into the categories of
// IEC TS 63019, from telemetry, findings, work orders and the changes that people
// made, and computes availabilities by time and by energy.
package availability

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
)

// Work is a time in which an order kept a unit stopped.
type Work struct {
	OrderID, AssetID string
	Category         kpi.Category   // scheduled maintenance, planned corrective or forced outage
	From, To         time.Time      // To is zero while the work lasts
	Interruptions    []Interruption // in which the work was interrupted
}

// Interruption is an interruption of work; To is zero while it lasts.
type Interruption struct{ From, To time.Time }

// ReadWork returns the times in which orders kept units of a site stopped.
type ReadWork func(tx store.Tx, siteID string) ([]Work, error)

// Service computes the availability of sites. It is safe for concurrent use; its
// state is in the store.
type Service struct {
	records    store.Records
	telemetry  store.Telemetry
	now        func() time.Time
	activities *activity.Service
	sites      *site.Service
	models     *model.Service
	forecasts  *forecast.Service
	work       ReadWork
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, telemetry store.Telemetry, now func() time.Time, activities *activity.Service, sites *site.Service, models *model.Service, forecasts *forecast.Service) *Service {
	return &Service{records: records, telemetry: telemetry, now: now, activities: activities, sites: sites, models: models, forecasts: forecasts}
}

// SetWork sets the source of work. Work management is above this package and is
// created after it; it calls SetWork before the service is used.
func (s *Service) SetWork(read ReadWork) { s.work = read }

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{changes} }

// Unit is a unit of a [Reading].
type Unit struct {
	Asset            api.Asset
	WeightKW         float64  // its rating, or the mean of the site's ratings where it has none
	Due              kpi.Span // the part of the window in which it was installed; empty if it was not
	Stretches        []kpi.Stretch
	Amounts          kpi.Amounts
	DataAvailability float64 // share of the daylight that samples cover; NaN without daylight

	reported bool // a sample is of the window
	history  kpi.History
}

// Reading is the availability of a site's units in a window.
type Reading struct {
	From, To         time.Time   // To is the end of the data if that is within the last two hours
	Units            []Unit      // all that are installed, by id
	Amounts          kpi.Amounts // of the site: means of the units, weighted by rating; energy is a sum
	DataAvailability float64     // of the units, weighted by rating
	UsefulBy         []string    // what showed how much sun there was
	Sun              *kpi.Sun
	Contract         Contract
}

// Contract are the rules of a site's contract.
type Contract struct {
	Rules   kpi.Rules
	Target  float64 // 0 to 1
	AllTime bool    // the contract counts all hours, and not those with the sun up
}

// ContractOf returns the contract of a site, with defaults for what it does not
// set.
func ContractOf(site api.Site) Contract {
	c := Contract{Rules: kpi.ContractRules(), Target: api.AvailabilityTarget}
	if set := site.Availability; set != nil {
		for category, treatment := range set.Rules {
			c.Rules[kpi.Category(category)] = kpi.Treatment(treatment)
		}
		c.AllTime = set.TimeBase == api.TimeBaseAll
		if set.Target > 0 {
			c.Target = set.Target
		}
	}
	return c
}

// Extent returns the extent by which the contract counts time.
func (c Contract) Extent() func(kpi.Amount) float64 {
	if c.AllTime {
		return kpi.Hours
	}
	return kpi.SunUpHours
}

// Figures are the availabilities of a site or a unit, 0 to 1; NaN where nothing
// counts.
type Figures struct {
	Time              float64 // operational, of the time with the sun up
	AllTime           float64 // operational, of all time
	Energy            float64 // operational, by expected energy
	Contractual       float64 // by the rules and the time of the contract
	ContractualEnergy float64 // by the rules of the contract and expected energy
}

// Figures returns the availabilities of amounts under a contract.
func (c Contract) Figures(a kpi.Amounts) Figures {
	rules := kpi.OperationalRules()
	return Figures{Time: rules.Share(a, kpi.SunUpHours), AllTime: rules.Share(a, kpi.Hours), Energy: rules.Share(a, kpi.ExpectedKWh),
		Contractual: c.Rules.Share(a, c.Extent()), ContractualEnergy: c.Rules.Share(a, kpi.ExpectedKWh)}
}

// Figures returns the availabilities of the site. They are unknown, and not zero,
// if nothing is known of any unit in the whole window: neither by its data nor by
// findings, work and people. A unit that is silent while others report lowers them.
func (r *Reading) Figures() Figures {
	if r.Amounts[kpi.InformationUnavailable].Hours > 0 && !r.informed() {
		nan := math.NaN()
		return Figures{Time: nan, AllTime: nan, Energy: nan, Contractual: nan, ContractualEnergy: nan}
	}
	return r.Contract.Figures(r.Amounts)
}

// informed reports whether anything is known of a unit: a sample, or an
// explanation of its silence. That it is night is known without a unit.
func (r *Reading) informed() bool {
	for _, u := range r.Units {
		if u.reported {
			return true
		}
		for _, s := range u.Stretches {
			if s.Source != kpi.FromReading {
				return true
			}
		}
	}
	return false
}

// InServiceHours returns the sun-up hours in which units were in service, of all
// units together.
func (r *Reading) InServiceHours() (sum float64) {
	for _, u := range r.Units {
		for _, c := range []kpi.Category{kpi.FullPerformance, kpi.PartialPerformance, kpi.RequestedShutdown} {
			sum += u.Amounts[c].SunUpHours
		}
	}
	return sum
}

// late is the delay of data that does not count as missing: in the last two hours
// of a window that ends now, a unit is silent only if others reported later. A
// window that is over does not depend on the time at which it is read.
const late = 2 * time.Hour

// Read returns the availability of a site's units from <= t < to.
func (s *Service) Read(ctx context.Context, site api.Site, units []api.Asset, from, to time.Time) (*Reading, error) {
	return s.ReadWith(ctx, site, units, from, to, nil)
}

// ReadWith is Read for a caller that needs the samples as well, so that they are read
// once: each is called with those of each unit in the window, with further
// quantities, by id. Each frame is valid during the call. A site that never reported has
// none.
func (s *Service) ReadWith(ctx context.Context, site api.Site, units []api.Asset, from, to time.Time, each func(assetID string, f series.Frame), further ...series.Quantity) (*Reading, error) {
	r := &Reading{From: from, To: to, Contract: ContractOf(site), Amounts: kpi.Amounts{}, DataAvailability: math.NaN()}
	first, last, reported, err := s.telemetry.Period(ctx, site.SiteID, "")
	if err != nil {
		return nil, fmt.Errorf("read the period of site %s: %w", site.SiteID, err)
	}
	p := newSamples(site, from, to)
	if reported {
		if units, err = s.withDates(ctx, site.SiteID, units); err != nil {
			return nil, err
		}
		if err := s.readUnits(ctx, r, p, units, first, each, further); err != nil {
			return nil, err
		}
		if now := s.now(); !to.Before(now) {
			r.To = record.Earlier(to, record.Later(record.Later(last, p.end), now.Add(-late)))
		}
	}
	if r.Sun, r.UsefulBy, err = s.readSun(ctx, site, p, units); err != nil {
		return nil, err
	}
	if err := s.readCauses(ctx, r, site.SiteID); err != nil {
		return nil, err
	}
	r.sum()
	return r, nil
}

// withDates returns the units with the components that have dates of installation,
// by id.
func (s *Service) withDates(ctx context.Context, siteID string, units []api.Asset) ([]api.Asset, error) {
	out := slices.SortedFunc(slices.Values(units), func(a, b api.Asset) int { return cmp.Compare(a.AssetID, b.AssetID) })
	err := s.records.View(ctx, func(tx store.Tx) error {
		return site.EachAsset(tx, siteID, func(a api.Asset) error {
			i, ok := slices.BinarySearchFunc(out, a.AssetID, func(u api.Asset, id string) int { return cmp.Compare(u.AssetID, id) })
			if ok {
				out[i].Components, out[i].FormerComponents = dated(a.Components), dated(a.FormerComponents)
			}
			return ctx.Err()
		})
	})
	return out, record.Wrap(err, "read the units of site "+siteID)
}

// dated returns the dates of installation of components, without what else is
// known of them.
func dated(list []api.Component) (out []api.Component) {
	for _, c := range list {
		if c.InstalledDate != "" {
			out = append(out, api.Component{InstalledDate: c.InstalledDate})
		}
	}
	return out
}

// quantities are those that show whether a unit ran.
var quantities = []series.Quantity{series.PowerKW, series.EnergyKWh, series.EnergyCounterKWh, series.CoveredS, series.StepS, series.IrradianceWM2}

// readUnits reads of each installed unit in which spans it ran. each is that of
// ReadWith, or nil.
func (s *Service) readUnits(ctx context.Context, r *Reading, p *samples, units []api.Asset, siteFirst time.Time, each func(string, series.Frame), further []series.Quantity) error {
	rated, n := 0.0, 0
	for _, u := range units {
		if u.CapacityKW > 0 {
			rated, n = rated+u.CapacityKW, n+1
		}
	}
	for _, u := range units {
		first, _, reported, err := s.telemetry.Period(ctx, p.site.SiteID, u.AssetID)
		if err != nil {
			return fmt.Errorf("read the period of asset %s: %w", u.AssetID, err)
		}
		since := installed(u, siteFirst, first, reported, p.zone)
		one := Unit{Asset: u, WeightKW: u.CapacityKW, Due: kpi.Span{From: max(r.From.Unix(), since.Unix()), To: r.To.Unix()}}
		if !(u.CapacityKW > 0) {
			one.WeightKW = 1
			if n > 0 {
				one.WeightKW = rated / float64(n)
			}
		}
		r.Units = append(r.Units, one)
	}
	i := 0
	for f, err := range s.telemetry.ReadUnits(ctx, p.site.SiteID, record.AssetIDs(units), p.readFrom, p.readTo, slices.Concat(quantities, further)...) {
		if err != nil {
			return err
		}
		r.Units[i].history.Observed = p.add(f.Frame, r.Units[i].Asset.CapacityKW)
		if each != nil {
			each(f.AssetID, f.Frame.Slice(ceilUnix(p.from), ceilUnix(p.to)))
		}
		i++
	}
	return nil
}

// ceilUnix is the first whole second that is not before t.
func ceilUnix(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// installed returns since when a unit is expected to report: since its components
// were installed, else since it was registered, but not before the site's first
// data and not after its own. A unit that never reported and whose date of
// installation is unknown counts since the site's first data.
func installed(u api.Asset, siteFirst, first time.Time, reported bool, zone *time.Location) time.Time {
	var since time.Time
	for _, c := range slices.Concat(u.Components, u.FormerComponents) {
		day, err := time.ParseInLocation(time.DateOnly, c.InstalledDate, zone)
		if err == nil && (since.IsZero() || day.Before(since)) {
			since = day
		}
	}
	switch {
	case !since.IsZero():
	case reported && !u.CreatedAt.IsZero():
		since = u.CreatedAt.Time
	case reported:
		since = first
	}
	since = record.Later(since, siteFirst)
	if reported {
		since = record.Earlier(since, first)
	}
	return since
}

// readCauses reads what findings, work and people say of the units.
func (s *Service) readCauses(ctx context.Context, r *Reading, siteID string) error {
	var found []finding.Finding
	var work []Work
	var changed []change
	err := s.records.View(ctx, func(tx store.Tx) (err error) {
		found, work = nil, nil
		err = finding.EachOfSite(tx, siteID, func(f finding.Finding) error {
			if _, ok := reasons[f.FaultFamily]; ok && f.StartedAt.Before(r.To) && (f.Active || f.EndedAt.After(r.From)) {
				f.RecommendedActions, f.Detections, f.Causes, f.Evidence, f.Summary, f.RootCause = nil, nil, nil, nil, "", ""
				found = append(found, f)
			}
			return ctx.Err()
		})
		if err != nil {
			return fmt.Errorf("list the findings of site %s: %w", siteID, err)
		}
		if s.work != nil {
			if work, err = s.work(tx, siteID); err != nil {
				return fmt.Errorf("list the work of site %s: %w", siteID, err)
			}
		}
		changed, err = changesOf(tx, siteID)
		return err
	})
	if err != nil {
		return err
	}
	for i := range r.Units {
		u := &r.Units[i]
		outages := u.addFindings(found)
		u.addWork(work, outages)
		u.addChanges(changed)
	}
	return nil
}

// forever is the end of what still lasts, in Unix seconds.
const forever = math.MaxInt64

func endOf(t time.Time) int64 {
	if t.IsZero() {
		return forever
	}
	return t.Unix()
}

// reasons are the categories that the families of findings explain: of a unit that
// is stopped, that runs and that reports nothing.
var reasons = map[string]kpi.Explanation{
	string(detect.SiteOutage):       {Stopped: kpi.OutOfGrid, Silent: kpi.OutOfGrid},
	string(detect.InverterOutage):   {Stopped: kpi.ForcedOutage, Silent: kpi.ForcedOutage},
	string(detect.GroundFault):      {Stopped: kpi.ForcedOutage},
	string(detect.ArcFault):         {Stopped: kpi.ForcedOutage},
	string(detect.IntermittentTrip): {Stopped: kpi.ForcedOutage},
	string(detect.SnowCover):        {Stopped: kpi.OutOfEnvironment, Running: kpi.PartialPerformance},
	string(detect.Curtailment):      {Stopped: kpi.RequestedShutdown, Running: kpi.PartialPerformance},
	string(detect.ThermalDerating):  {Running: kpi.PartialPerformance},
	string(detect.StringOutage):     {Running: kpi.PartialPerformance},
	string(detect.TrackerFault):     {Running: kpi.PartialPerformance},
	string(detect.CapacityChange):   {Running: kpi.PartialPerformance},
}

// addFindings adds the causes that findings are, and returns those of outages.
func (u *Unit) addFindings(found []finding.Finding) (outages []kpi.Explanation) {
	for _, f := range found {
		if f.Subject != u.Asset.AssetID && !slices.Contains(f.Units(), u.Asset.AssetID) {
			continue
		}
		c := reasons[f.FaultFamily]
		c.Source, c.ID = kpi.FromFinding, f.SummaryID
		periods := f.PeriodsOf(u.Asset.AssetID)
		for i, p := range periods {
			c.Span = kpi.Span{From: p.From.Unix(), To: p.To.Unix()}
			if f.Affects(u.Asset.AssetID) && i == len(periods)-1 {
				c.To = forever
			}
			u.history.Causes = append(u.history.Causes, c)
			if c.Stopped == kpi.ForcedOutage {
				outages = append(outages, c)
			}
		}
	}
	return outages
}

// addWork adds the causes that work is. A repair of a unit that failed before it
// began belongs to the forced outage, however well it was planned.
func (u *Unit) addWork(work []Work, outages []kpi.Explanation) {
	for _, w := range work {
		if w.AssetID != u.Asset.AssetID {
			continue
		}
		span := kpi.Span{From: w.From.Unix(), To: endOf(w.To)}
		category := w.Category
		if category == kpi.PlannedCorrective && slices.ContainsFunc(outages, func(o kpi.Explanation) bool { return o.From < span.From && span.From < o.To }) {
			category = kpi.ForcedOutage
		}
		add := func(span kpi.Span, c kpi.Category) {
			u.history.Causes = append(u.history.Causes, kpi.Explanation{Span: span, Stopped: c, Silent: c, Source: kpi.FromWork, ID: w.OrderID})
		}
		add(span, category)
		for _, h := range w.Interruptions {
			if held := (kpi.Span{From: max(h.From.Unix(), span.From), To: min(endOf(h.To), span.To)}); held.From < held.To {
				add(held, kpi.Suspended)
			}
		}
	}
}

// addChanges adds the causes that the changes by people are; the newest decides.
func (u *Unit) addChanges(list []change) {
	for i, c := range list {
		if len(c.AssetIDs) > 0 && !slices.Contains(c.AssetIDs, u.Asset.AssetID) {
			continue
		}
		is := kpi.Category(c.Category)
		u.history.Causes = append(u.history.Causes, kpi.Explanation{Span: kpi.Span{From: c.From.Unix(), To: c.To.Unix()}, Stopped: is, Running: is, Silent: is,
			Source: kpi.FromPerson, ID: c.ChangeID, Order: int64(i)})
	}
}

// sum categorises the units and sums them.
func (r *Reading) sum() {
	weight, dataWeight, data := 0.0, 0.0, 0.0
	for i := range r.Units {
		u := &r.Units[i]
		if u.Due.To = min(u.Due.To, r.To.Unix()); u.Due.From >= u.Due.To {
			u.Due, u.Amounts, u.DataAvailability = kpi.Span{}, kpi.Amounts{}, math.NaN()
			u.history = kpi.History{}
			continue
		}
		u.history.Span = u.Due
		u.reported = slices.ContainsFunc(u.history.Observed, func(o kpi.Observed) bool { return o.From < u.Due.To && o.To > u.Due.From })
		u.Stretches = kpi.Categorise(u.history, r.Sun)
		u.Amounts = r.Sun.Sum(u.Stretches, u.WeightKW)
		u.DataAvailability = r.Sun.DataAvailability(u.history)
		u.history = kpi.History{}
		weight += u.WeightKW
		if !math.IsNaN(u.DataAvailability) {
			dataWeight, data = dataWeight+u.WeightKW, data+u.WeightKW*u.DataAvailability
		}
	}
	for _, u := range r.Units {
		for c, a := range u.Amounts {
			is := r.Amounts[c]
			is.Hours += a.Hours * u.WeightKW / weight
			is.SunUpHours += a.SunUpHours * u.WeightKW / weight
			is.ExpectedKWh += a.ExpectedKWh
			r.Amounts[c] = is
		}
	}
	r.DataAvailability = data / dataWeight // 0/0 is NaN
}
