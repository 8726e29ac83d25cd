package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// namespace is the prefix of every name.
const namespace = "sunloop"

// define stores the documentation of a metric.
func (m *Metrics) define(name, kind, help string, labels []string) string {
	full := prometheus.BuildFQName(namespace, "", name)
	m.table = append(m.table, Definition{full, kind, help, labels})
	return full
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.define(name, "counter", help, labels), Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return m.counters(name, help).WithLabelValues()
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.define(name, "gauge", help, labels), Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	return m.gauges(name, help).WithLabelValues()
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.define(name, "histogram", help, labels), Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return m.histograms(name, help, buckets).WithLabelValues().(prometheus.Histogram)
}

// words is the set of values of a label.
type words map[string]bool

func wordsOf(all ...string) words {
	w := words{}
	for _, one := range all {
		w[one] = true
	}
	return w
}

// or is the word, or "other" for one that is none of the label's.
func (w words) or(word string) string {
	if w[word] {
		return word
	}
	return other
}

const other = "other"
