package replay

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/replay/metric"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// Replay is a site that is ready to be replayed.
type Replay struct {
	*Plan
	*Data
	Fleet []Replay // of [Plan.Fleet]
}

// Options configure a replay. The figures do not depend on them, except for the
// times.
type Options struct {
	Jobs  int              // goroutines at most; 0 is 1
	Peers bool             // plain quantile trees are a reference too
	Now   func() time.Time // for fit_seconds and predict_ms, which are zero without

	// Done, if not nil, is called with the number of finished parts of the
	// work, from any goroutine.
	Done func(part, parts int)
}

// Run replays sites, side by side. The results are in their order.
func Run(ctx context.Context, sites []Replay, o Options) ([]*Result, error) {
	o.Jobs = max(o.Jobs, 1)
	if o.Done == nil {
		o.Done = func(int, int) {}
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Time{} }
	}
	var parts []*part
	for i, s := range sites {
		own, err := s.parts(i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Site.ID, err)
		}
		parts = append(parts, own...)
	}
	// One model is fitted on all goroutines, several are fitted side by side.
	workers := max(1, o.Jobs/max(1, min(o.Jobs, len(parts))))
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.Jobs)
	for _, p := range parts {
		g.Go(func() error {
			if err := p.run(ctx, &sites[p.site], o, workers); err != nil {
				return fmt.Errorf("%s: %w", sites[p.site].Site.ID, err)
			}
			o.Done(int(done.Add(1)), len(parts))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	results := make([]*Result, len(sites))
	for i := range sites {
		own := slices.DeleteFunc(slices.Clone(parts), func(p *part) bool { return p.site != i })
		r, err := sites[i].conclude(own)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sites[i].Site.ID, err)
		}
		results[i] = r
	}
	return results, nil
}

// part is a stretch of a test that is replayed in order; parts do not depend on
// one another.
type part struct {
	site   int
	issues []issue

	tallies map[string]*metric.Tally // by reference; the engine's under ""
	weights map[string]float64       // sums over the fits
	members []string                 // in order
	fits    int
	young   int      // of them
	reason  error    // of the first that is
	notes   []string // of the last fit
	fitting time.Duration
	saying  time.Duration
}

// issue is one forecast to make.
type issue struct {
	at    time.Time
	refit bool // a new model is fitted before it
}

// parts splits the test into months if models are refitted in each.
func (s *Replay) parts(site int) ([]*part, error) {
	p := s.Protocol
	end := s.Power.End()
	if !p.Last.IsZero() {
		if last := p.Last.AddDate(0, 0, 1); last.Before(end) {
			end = last
		}
	}
	var out []*part
	month := ""
	for day := p.First; day.Before(end); day = day.AddDate(0, 0, 1) {
		at := time.Date(day.Year(), day.Month(), day.Day(), 0, int(p.Issue.Minutes()), 0, 0, s.Site.Zone)
		this := day.Format("2006-01")
		begin := len(out) == 0 || p.Refit != Never && this != month
		month = this
		if begin {
			out = append(out, &part{site: site})
		}
		now := out[len(out)-1]
		now.issues = append(now.issues, issue{at: at, refit: begin || p.Refit == Daily})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("backtest.first_test is %s and there is no day to test", p.First.Format(time.DateOnly))
	}
	return out, nil
}

// run fits and forecasts the part, and scores it.
func (p *part) run(ctx context.Context, s *Replay, o Options, workers int) error {
	power := means(s.Power, s.Protocol.Resolution)
	began := p.issues[0].at
	k, err := learnKnown(s.Site, s.Power, power, began, workers)
	if err != nil {
		return err
	}
	p.tallies, p.weights = map[string]*metric.Tally{"": {}}, map[string]float64{}
	for _, name := range References() {
		if name != quantileTrees || o.Peers {
			p.tallies[name] = &metric.Tally{}
		}
	}
	before := index(power, began)
	indices, pull := k.climateBefore(before), k.dayCorrelation(before)
	var e engine
	var trees *peer
	for n, is := range p.issues {
		if err := ctx.Err(); err != nil {
			return err
		}
		if is.refit {
			start := o.Now()
			if e, err = fit(ctx, s, is.at, workers); err != nil {
				return err
			}
			p.fitting += o.Now().Sub(start)
			p.note(&e)
			if o.Peers {
				if trees, err = fitPeer(ctx, s, k, is.at, workers); err != nil {
					return err
				}
			}
		} else if !s.Protocol.PastOnly {
			if err := e.observe(s, p.issues[n-1].at, is.at); err != nil {
				return err
			}
		}
		start := o.Now()
		said, err := e.forecast(s, is.at)
		if err != nil {
			return err
		}
		p.saying += o.Now().Sub(start)
		end := before
		if !s.Protocol.PastOnly {
			end = index(power, is.at)
			indices.extend(k, before, end)
			before = end
		}
		p.score(s, k, is.at, said, k.look(end, pull), indices, trees)
	}
	return nil
}

// index is the interval of s that begins at or after t, within 0 and its end.
func index(s series.Series, t time.Time) int {
	i := int(math.Ceil(float64(t.Sub(s.Start)) / float64(s.Step)))
	return min(max(i, 0), s.Len())
}

// score files one issue's forecasts.
func (p *part) score(s *Replay, k *siteHistory, at time.Time, said []quantileForecast, o *referenceForecast, indices climate, trees *peer) {
	var rows []int
	for _, f := range said {
		i, ok := k.power.Index(f.at)
		if !ok || math.IsNaN(k.power.Values[i]) || !k.bright[i] && !s.Protocol.AllHours {
			continue
		}
		rows = append(rows, i)
		actual := k.power.Values[i]
		where := metric.Interval{Issue: at, Day: f.at.In(s.Site.Zone).Format(time.DateOnly), Bright: k.bright[i], At: f.at, Step: k.power.Step, Clear: k.clear[i]}
		file := func(name string, d metric.Distribution) { p.tallies[name].Add(where, &d, actual) }
		past := indices.at(k, i)
		file("", f.power)
		file(persistence, metric.Certain(o.persistence(i)))
		file(smartPersistence, metric.Certain(o.smart(i)))
		file(climatologyMix, metric.Certain(o.mix(i, past)))
		file(completeHistory, o.ensemble(i, past))
	}
	if trees == nil {
		return
	}
	for n, d := range trees.forecast(k, o.end, rows) {
		i := rows[n]
		where := metric.Interval{Issue: at, Day: k.power.Time(i).In(s.Site.Zone).Format(time.DateOnly), Bright: k.bright[i]}
		p.tallies[quantileTrees].Add(where, &d, k.power.Values[i])
	}
}

// note records the report of a model.
func (p *part) note(e *engine) {
	p.fits++
	for i, name := range e.report.Members {
		if !slices.Contains(p.members, name) {
			p.members = append(p.members, name)
		}
		p.weights[name] += e.report.Weights[i]
	}
	p.notes = e.report.Notes
	if e.unfit != nil {
		p.reason = cmp.Or(p.reason, e.unfit)
		p.young++
	}
}

// conclude is the result of all parts of a site.
func (s *Replay) conclude(parts []*part) (*Result, error) {
	last := parts[len(parts)-1].issues
	r := &Result{Name: s.Site.ID, References: map[string]*ReferenceResult{}, Notes: slices.Clone(s.Notes),
		FirstTest: s.Protocol.First.Format(time.DateOnly), LastTest: last[len(last)-1].at.In(s.Site.Zone).Format(time.DateOnly)}
	tallies := map[string]*metric.Tally{}
	issues, young := 0, 0
	var reason error
	var fitting, saying time.Duration
	for _, p := range parts {
		for name, t := range p.tallies {
			if tallies[name] == nil {
				tallies[name] = &metric.Tally{}
			}
			tallies[name].Merge(t)
		}
		issues, r.Fits, young = issues+len(p.issues), r.Fits+p.fits, young+p.young
		fitting, saying, reason = fitting+p.fitting, saying+p.saying, cmp.Or(reason, p.reason)
		for _, name := range p.members {
			r.addMember(name, p.weights[name])
		}
	}
	r.Notes = append(r.Notes, parts[len(parts)-1].notes...)
	if young > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %s are of a site with short history: %v", young, display.CountOf(r.Fits, "model", "models"), reason))
	}
	if tallies[""].Len() == 0 {
		return nil, fmt.Errorf("from %s to %s there is no measured power to score", r.FirstTest, r.LastTest)
	}
	for i := range r.Members {
		r.Members[i].Weight /= float64(r.Fits)
	}
	r.FitSeconds, r.PredictMS = fitting.Seconds()/float64(r.Fits), saying.Seconds()*1000/float64(issues)
	base := tallies[smartPersistence]
	against := func(t *metric.Tally) (metric.Scores, []metric.Month) {
		months, baseMonths := t.Months(), base.Months()
		for i := range months {
			months[i].Scores = months[i].Against(baseMonths[i].Scores)
		}
		return t.Scores().Against(base.Scores()), months
	}
	for name, t := range tallies {
		if name == "" {
			r.Scores, r.ByMonth = against(t)
			continue
		}
		scores, months := against(t)
		r.References[name] = &ReferenceResult{scores, months}
	}
	return r, nil
}
