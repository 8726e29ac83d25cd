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
	StoreInUse       = "store_connections_in_use"
	StoreMax         = "store_connections_max"
	StoreWaits       = "store_connection_waits_total"
	StoreWaitTime    = "store_connection_wait_seconds_total"
	StoreRetries     = "store_transaction_retries_total"
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
	NotifyWaiting    = "notifications_waiting"
	NotifyOldest     = "notifications_oldest_waiting_seconds"
	NotifyHeld       = "notifications_held"
	NotifyUnplanned  = "notification_events_oldest_seconds"
	MailWaiting      = "mail_outbox_messages"
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
	{JobsWaiting, "kind", "Waiting jobs, by kind.", false},
	{JobsRunning, "kind", "Running jobs, by kind.", false},
	{JobsDead, "kind", "Dead jobs, by kind.", false},
	{JobsOldest, "kind", "Time since the oldest due job was due, by kind; 0 if none is due.", false},
	{StoreSize, "", "Size of the database file, or of Sunloop's tables in the shared database.", false},
	{StoreFree, "", "Free space within the database file, for new data.", false},
	{StoreFreePages, "", "Free pages within the database file.", false},
	{StoreReads, "", "Open read transactions.", false},
	{StoreWrites, "", "Times that pages were written to the disk and synced.", true},
	{StoreWriteTime, "", "Total time of writing pages of the database to the disk, including the sync.", true},
	{StoreConnections, "", "Open connections of this replica to the shared database.", false},
	{StoreInUse, "", "Open connections to the database that are in use.", false},
	{StoreMax, "", "Maximum number of connections of this replica to the database.", false},
	{StoreWaits, "", "Requests for a database connection that had to wait, as all were in use.", true},
	{StoreWaitTime, "", "Total waiting time for database connections.", true},
	{StoreRetries, "", "Transactions that were retried after a conflict.", true},
	{DiskFree, "", "Free space of the disk that holds the data folder, for this user.", false},
	{DiskSize, "", "Size of the disk that holds the data folder.", false},
	{Objects, "", "Stored objects; counted at most once in ten minutes.", false},
	{ObjectBytes, "", "Total size of the objects.", false},
	{Sites, "", "Sites with data.", false},
	{SitesTrained, "", "Sites with data and a model.", false},
	{ModelAge, "", "Age of the training data of the oldest model in production, by the plants' clock.", false},
	{ForecastAge, "", "Age of the newest forecast of the site where it is oldest, by the plants' clock.", false},
	{FindingsOpen, "severity", "Open findings, by severity.", false},
	{HooksWaiting, "", "Webhooks waiting for their first or next attempt.", false},
	{HooksOldest, "", "Age of the oldest waiting webhook; 0 if none waits.", false},
	{HooksDisabled, "", "Subscriptions that were disabled because their endpoint does not respond.", false},
	{NotifyWaiting, "", "Notifications waiting for their first or next attempt.", false},
	{NotifyOldest, "", "Age of the oldest waiting notification; 0 if none waits.", false},
	{NotifyHeld, "", "Notifications that are held by quiet hours or the limit of messages.", false},
	{NotifyUnplanned, "", "Age of the oldest change of an alarm that was not planned; 0 if there is none.", false},
	{MailWaiting, "", "Messages in the outbox folder; only without a mail server.", false},
	{Consoles, "", "Open consoles over SSH.", false},
	{BackupAge, "", "Age of the newest backup of the data folder; missing without a backup of the last 90 days.", false},
	{Ready, "part", "1 if a part is ready, otherwise 0, as in /readyz.", false},
}

// former has the deprecated name of each renamed fact. It is exported in
// addition to the new one.
var former = map[string]string{
	StoreInUse: "store_connections_busy", StoreMax: "store_connections_most", StoreRetries: "store_transactions_again_total",
	MailWaiting: "mail_outbox_letters",
}

// deprecated is the help of a metric that has another name now.
func deprecated(name string) string { return "Deprecated: use " + namespace + "_" + name + "." }

// The values of a source are cached, so that frequent scrapes cost little.
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
		add := func(name, help string) {
			a.descs[name] = prometheus.NewDesc(m.define(name, word, help, labels), help, labels, nil)
			a.kinds[name], a.labels[name] = kind, f.label != ""
		}
		add(f.name, f.help)
		if old := former[f.name]; old != "" {
			add(old, deprecated(f.name))
		}
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
	send := func(name string, v value) {
		if a.labels[name] {
			to <- prometheus.MustNewConstMetric(a.descs[name], a.kinds[name], v.amount, v.label)
			return
		}
		to <- prometheus.MustNewConstMetric(a.descs[name], a.kinds[name], v.amount)
	}
	for _, v := range a.values() {
		send(v.name, v)
		if old := former[v.name]; old != "" {
			send(old, v)
		}
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
