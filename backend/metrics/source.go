package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Source is a part of the service that provides values on each scrape.
type Source struct {
	Part string
	Ask  func(ctx context.Context, f *Facts) error
}

// Facts are the values that sources provide. A value that is not set is not
// exported.
type Facts struct {
	values []value
}

type value struct {
	name   string
	amount float64
	label  string // of the one label, where the fact has one
}

// Set sets a value without a label.
func (f *Facts) Set(fact string, amount float64) {
	f.values = append(f.values, value{fact, amount, ""})
}

// SetOf sets the value for one label value, which must be of the fixed set.
func (f *Facts) SetOf(fact, word string, amount float64) {
	f.values = append(f.values, value{fact, amount, word})
}

// Facts that sources set.
const (
	JobsWaiting      = "jobs_waiting"
	JobsRunning      = "jobs_running"
	JobsDead         = "jobs_dead"
	JobsOldest       = "jobs_oldest_waiting_seconds"
	StoreSize        = "store_size_bytes"
	StoreFree        = "store_free_bytes"
	StoreFreePages   = "store_free_pages"
	StoreReads       = "store_read_transactions_open"
	StoreWrites      = "store_disk_writes_total"
	StoreWriteTime   = "store_disk_write_seconds_total"
	StoreConnections = "store_connections_open"
	StoreBusy        = "store_connections_busy"
	StoreMost        = "store_connections_most"
	StoreWaits       = "store_connection_waits_total"
	StoreWaitTime    = "store_connection_wait_seconds_total"
	StoreAgain       = "store_transactions_again_total"
	DiskFree         = "disk_free_bytes"
	DiskSize         = "disk_size_bytes"
	Objects          = "objects"
	ObjectBytes      = "objects_size_bytes"
	Sites            = "sites"
	SitesTrained     = "sites_trained"
	ModelAge         = "model_oldest_age_seconds"
	ForecastAge      = "forecast_oldest_age_seconds"
	FindingsOpen     = "findings_open"
	HooksWaiting     = "webhooks_waiting"
	HooksOldest      = "webhooks_oldest_waiting_seconds"
	HooksDisabled    = "webhook_subscriptions_disabled"
	MailWaiting      = "mail_outbox_letters"
	Consoles         = "ssh_consoles_open"
	BackupAge        = "backup_age_seconds"
	Ready            = "ready"
)

// facts are the definitions of what sources set; label is the one that a fact
// has, if it has one.
var facts = []struct {
	name, label, help string
	counter           bool
}{
	{JobsWaiting, "kind", "Jobs that wait, by kind.", false},
	{JobsRunning, "kind", "Jobs that run, by kind.", false},
	{JobsDead, "kind", "Jobs that failed in their last attempt, by kind.", false},
	{JobsOldest, "kind", "How long the job that is due longest has been due, by kind; 0: none is.", false},
	{StoreSize, "", "Size of the database's file, or of Sunloop's tables in the database that replicas share.", false},
	{StoreFree, "", "Free space within the database's file, for new data.", false},
	{StoreFreePages, "", "Free pages within the database's file.", false},
	{StoreReads, "", "Read transactions that are open.", false},
	{StoreWrites, "", "Times that pages were written to the disk and synced.", true},
	{StoreWriteTime, "", "Time that writing pages of the database to the disk took in all, with its sync.", true},
	{StoreConnections, "", "Connections to the database that replicas share that this one has open.", false},
	{StoreBusy, "", "Of the open connections, those that are in use.", false},
	{StoreMost, "", "Connections to the database that this replica opens at most.", false},
	{StoreWaits, "", "Times that all connections to the database were in use, and one was waited for.", true},
	{StoreWaitTime, "", "Time that connections to the database were waited for in all.", true},
	{StoreAgain, "", "Transactions that were run again, as another got in the way.", true},
	{DiskFree, "", "Free space of the disk that holds the data folder, for this user.", false},
	{DiskSize, "", "Size of the disk that holds the data folder.", false},
	{Objects, "", "Files that are kept as objects; counted at most once in ten minutes.", false},
	{ObjectBytes, "", "Size of the objects in all.", false},
	{Sites, "", "Sites that data came for.", false},
	{SitesTrained, "", "Sites that data came for and that have a model.", false},
	{ModelAge, "", "By the plants' clock, the age of the newest data that the oldest model in production learned from.", false},
	{ForecastAge, "", "By the plants' clock, the age of the newest forecast, at the site where it is oldest.", false},
	{FindingsOpen, "severity", "Findings that are open, by severity.", false},
	{HooksWaiting, "", "Webhooks that wait, to be posted first or again.", false},
	{HooksOldest, "", "Age of the oldest webhook that waits; 0: none does.", false},
	{HooksDisabled, "", "Subscriptions that were given up because their place does not answer.", false},
	{MailWaiting, "", "Letters in the outbox folder; without a mail server alone.", false},
	{Consoles, "", "Consoles that are open over SSH.", false},
	{BackupAge, "", "Age of the newest backup of the data folder; missing without a backup of the last 90 days.", false},
	{Ready, "part", "1 where a part is ready, 0 where it is not, as /readyz has it.", false},
}

// Lives are how long answers of a source are good for: a scrape costs little
// however often it comes.
const factsLife, askTime = 10 * time.Second, 5 * time.Second

// asked is the collector of the values of sources.
type asked struct {
	now    func() time.Time
	parts  []Source
	descs  map[string]*prometheus.Desc
	kinds  map[string]prometheus.ValueType
	labels map[string]bool
	errors *prometheus.CounterVec

	mu   sync.Mutex
	at   time.Time
	last []value
}

func (m *Metrics) sources(parts []Source, now func() time.Time) {
	a := &asked{now: now, parts: parts, descs: map[string]*prometheus.Desc{}, kinds: map[string]prometheus.ValueType{}, labels: map[string]bool{}, errors: m.sourceErrors}
	for _, f := range facts {
		var labels []string
		if f.label != "" {
			labels = []string{f.label}
		}
		kind, word := prometheus.GaugeValue, "gauge"
		if f.counter {
			kind, word = prometheus.CounterValue, "counter"
		}
		a.descs[f.name] = prometheus.NewDesc(m.define(f.name, word, f.help, labels), f.help, labels, nil)
		a.kinds[f.name], a.labels[f.name] = kind, f.label != ""
	}
	m.registry.MustRegister(a)
}

// Describe sends the descriptions of all values.
func (a *asked) Describe(to chan<- *prometheus.Desc) {
	for _, d := range a.descs {
		to <- d
	}
}

// Collect queries the sources, unless they were queried very recently.
func (a *asked) Collect(to chan<- prometheus.Metric) {
	for _, v := range a.values() {
		if a.labels[v.name] {
			to <- prometheus.MustNewConstMetric(a.descs[v.name], a.kinds[v.name], v.amount, v.label)
			continue
		}
		to <- prometheus.MustNewConstMetric(a.descs[v.name], a.kinds[v.name], v.amount)
	}
}

func (a *asked) values() []value {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.now(); a.at.IsZero() || now.Sub(a.at) >= factsLife || now.Before(a.at) {
		a.at, a.last = now, nil
		ctx, cancel := context.WithTimeout(context.Background(), askTime)
		defer cancel()
		for _, s := range a.parts {
			var f Facts
			if err := s.Ask(ctx, &f); err != nil {
				a.errors.WithLabelValues(s.Part).Inc()
				continue
			}
			a.last = append(a.last, f.values...)
		}
	}
	return a.last
}
