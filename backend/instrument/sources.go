package instrument

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/domain/outbox"
	"app.sunloop/backend/health"
	"app.sunloop/backend/metrics"
	"app.sunloop/backend/pipeline"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
)

// Sources are what a scrape of the metrics reads.
type Sources struct {
	DataDir string
	Outbox  string           // folder of messages that no server sends; empty: there is a mail server
	Now     func() time.Time // the plant's clock
	// Readiness returns why each part is not ready; empty if it is.
	Readiness func(ctx context.Context) map[string]string
	// Open returns the open parts; nil while the store is not open.
	Open func() *Open
}

// Open are the sources over an open store.
type Open struct {
	Store interface {
		JobStats(ctx context.Context, now time.Time) (map[string]store.KindStats, error)
		Facts(ctx context.Context, f *metrics.Facts) error
	}
	Objects *objects.Store
	Sites   interface {
		Status(ctx context.Context) (pipeline.Status, error)
	}
	Findings interface {
		CountActive(ctx context.Context) (map[string]int, error)
	}
	Webhooks interface {
		OutboxStatus(ctx context.Context) (outbox.Status, error)
	}
	Notifications interface {
		Status(ctx context.Context) (notification.Status, error)
	}
	Events interface {
		OutboxStatus(ctx context.Context) (outbox.Status, error)
	}
	// LastBackup returns when the newest backup was made; zero if none is known.
	LastBackup func(ctx context.Context) (time.Time, error)
}

// age returns seconds since a time; 0 if it is zero or in the future.
func age(now, at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(now.Sub(at).Seconds(), 0)
}

func (o *Instruments) sources(s Sources) []metrics.Source {
	var usage objectUsage
	open := func(part string, ask func(ctx context.Context, p *Open, f *metrics.Facts) error) metrics.Source {
		return metrics.Source{Part: part, Ask: func(ctx context.Context, f *metrics.Facts) error {
			if p := s.Open(); p != nil {
				return ask(ctx, p, f)
			}
			return nil
		}}
	}
	return []metrics.Source{
		open("jobs", func(ctx context.Context, p *Open, f *metrics.Facts) error {
			now := o.wall()
			kinds, err := p.Store.JobStats(ctx, now)
			if err != nil {
				return err
			}
			for _, kind := range sitedata.JobKinds() {
				k := kinds[kind]
				f.SetOf(metrics.JobsWaiting, kind, float64(k.Waiting))
				f.SetOf(metrics.JobsRunning, kind, float64(k.Running))
				f.SetOf(metrics.JobsDead, kind, float64(k.Dead))
				f.SetOf(metrics.JobsOldest, kind, age(now, k.Oldest))
			}
			return nil
		}),
		open("store", func(ctx context.Context, p *Open, f *metrics.Facts) error { return p.Store.Facts(ctx, f) }),
		{Part: "disk", Ask: func(_ context.Context, f *metrics.Facts) error {
			free, size, err := health.DiskSpace(s.DataDir)
			if err != nil {
				return err
			}
			f.Set(metrics.DiskFree, float64(free))
			f.Set(metrics.DiskSize, float64(size))
			return nil
		}},
		open("objects", func(ctx context.Context, p *Open, f *metrics.Facts) error {
			n, bytes, err := usage.of(ctx, p.Objects, o.wall())
			if errors.Is(err, objects.ErrNotCounted) {
				return nil
			}
			if err != nil {
				return err
			}
			f.Set(metrics.Objects, float64(n))
			f.Set(metrics.ObjectBytes, float64(bytes))
			return nil
		}),
		open("sites", func(ctx context.Context, p *Open, f *metrics.Facts) error {
			st, err := p.Sites.Status(ctx)
			if err != nil {
				return err
			}
			now := s.Now()
			f.Set(metrics.Sites, float64(st.Sites))
			f.Set(metrics.SitesTrained, float64(st.Trained))
			f.Set(metrics.ModelAge, age(now, st.OldestModel))
			f.Set(metrics.ForecastAge, age(now, st.OldestForecast))
			return nil
		}),
		open("findings", func(ctx context.Context, p *Open, f *metrics.Facts) error {
			open, err := p.Findings.CountActive(ctx)
			if err != nil {
				return err
			}
			for _, severity := range []string{api.SeverityCritical, api.SeverityWarning, api.SeverityNormal} {
				f.SetOf(metrics.FindingsOpen, severity, float64(open[severity]))
			}
			return nil
		}),
		open("webhooks", func(ctx context.Context, p *Open, f *metrics.Facts) error {
			st, err := p.Webhooks.OutboxStatus(ctx)
			if err != nil {
				return err
			}
			events, err := p.Events.OutboxStatus(ctx)
			if err != nil {
				return err
			}
			now := o.wall()
			f.Set(metrics.HooksWaiting, float64(st.Waiting+events.Waiting))
			f.Set(metrics.HooksOldest, max(age(now, st.Oldest), age(now, events.Oldest)))
			f.Set(metrics.HooksDisabled, float64(st.Disabled+events.Disabled))
			return nil
		}),
		open("notifications", func(ctx context.Context, p *Open, f *metrics.Facts) error {
			st, err := p.Notifications.Status(ctx)
			if err != nil {
				return err
			}
			now := o.wall()
			f.Set(metrics.NotifyWaiting, float64(st.Waiting))
			f.Set(metrics.NotifyOldest, age(now, st.Oldest))
			f.Set(metrics.NotifyHeld, float64(st.Held))
			f.Set(metrics.NotifyUnplanned, age(now, st.OldestEvent))
			return nil
		}),
		{Part: "mail", Ask: func(_ context.Context, f *metrics.Facts) error {
			if s.Outbox == "" {
				return nil
			}
			kept, err := filepath.Glob(filepath.Join(s.Outbox, "*.eml"))
			f.Set(metrics.MailWaiting, float64(len(kept)))
			return err
		}},
		{Part: "consoles", Ask: func(_ context.Context, f *metrics.Facts) error {
			f.Set(metrics.Consoles, float64(o.consoles.Load()))
			return nil
		}},
		open("backup", func(ctx context.Context, p *Open, f *metrics.Facts) error {
			at, err := p.LastBackup(ctx)
			if err == nil && !at.IsZero() {
				f.Set(metrics.BackupAge, age(o.wall(), at))
			}
			return err
		}),
		{Part: "ready", Ask: func(ctx context.Context, f *metrics.Facts) error {
			for part, why := range s.Readiness(ctx) {
				f.SetOf(metrics.Ready, part, map[bool]float64{true: 1, false: 0}[why == ""])
			}
			return nil
		}},
	}
}

// objectUsage counts the objects, and keeps the result for usageLife: each count
// lists them all.
type objectUsage struct {
	mu    sync.Mutex
	at    time.Time
	n     int
	bytes int64
}

const usageLife = 10 * time.Minute

func (u *objectUsage) of(ctx context.Context, o *objects.Store, now time.Time) (n int, bytes int64, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.at.IsZero() && now.Sub(u.at) < usageLife {
		return u.n, u.bytes, nil
	}
	n, bytes, err = o.Usage(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return n, bytes, err
	}
	if err == nil {
		u.n, u.bytes = n, bytes
	}
	u.at = now // if there are too many to count within a scrape, the former count until the next try
	return u.n, u.bytes, nil
}
