package dialect

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/reading"
)

// sparkplug reads Sparkplug B as a host application that sends no command but requests
// for births.
type sparkplug struct {
	prefix string
	rules  []metricRule
	edges  map[string]*edge // by GROUP/EDGE
}

// metricRule is a rule whose path is the name of a metric, with {n} as a part of it.
type metricRule struct {
	rule
	before, after string // the name around {n}
}

// edge is an edge node with its devices.
type edge struct {
	id      string
	born    bool
	bdSeq   float64 // of the birth; NaN: it has none
	next    int     // sequence number that is expected
	missing map[int]time.Time
	devices map[string]map[uint64]definedMetric // by device, "" for the node; nil: no birth
	asked   time.Time                           // last request for births
	wants   bool                                // a request is due
	death   float64                             // bdSeq of a death without its birth; NaN: none
}

// definedMetric is a metric as a birth defines it.
type definedMetric struct {
	datatype uint64
	unit     string
	rule     int // of sparkplug.rules; -1: none
	n        int // of the DC input
}

const (
	reorder     = 5 * time.Second  // how long a message may come after its successors
	askEvery    = 10 * time.Second // between two requests to an edge
	maxEdges    = 1000
	maxDevices  = 1000 // of an edge
	maxSequence = 256
)

func newSparkplug(prefix string, rules []Rule) (*sparkplug, error) {
	s := &sparkplug{prefix: prefix, edges: map[string]*edge{}}
	for _, is := range rules {
		r, err := compile(is)
		switch {
		case err != nil:
			return nil, err
		case r.means != meansValue:
			return nil, errors.New("sparkplug says itself when values were measured and whether a device is there: remove " + is.Value)
		}
		before, after, _ := strings.Cut(is.Path, "{n}")
		s.rules = append(s.rules, metricRule{rule: r, before: before, after: after})
	}
	return s, nil
}

// Filters leave out commands.
func (s *sparkplug) Filters() []string {
	var out []string
	for _, kind := range []string{"NBIRTH", "NDATA", "NDEATH"} {
		out = append(out, s.prefix+"+/"+kind+"/+")
	}
	for _, kind := range []string{"DBIRTH", "DDATA", "DDEATH"} {
		out = append(out, s.prefix+"+/"+kind+"/+/+")
	}
	return out
}

// Connected forgets the births: messages may have been missed.
func (s *sparkplug) Connected() { clear(s.edges) }

func (s *sparkplug) Handle(now time.Time, topic string, b []byte) ([]Message, error) {
	rest, ok := strings.CutPrefix(topic, s.prefix)
	parts := strings.Split(rest, "/")
	if !ok || len(topic) > maxTopic || len(parts) < 3 || len(parts) > 4 {
		return nil, nil
	}
	group, kind, name, device := parts[0], parts[1], parts[2], ""
	if len(parts) == 4 {
		device = parts[3]
	}
	id := group + "/" + name
	e := s.edges[id]
	if e == nil {
		if len(s.edges) >= maxEdges || strings.ContainsAny(id, "#+") {
			return nil, errors.New("there are too many edge nodes")
		}
		e = &edge{id: id, bdSeq: math.NaN(), death: math.NaN(), missing: map[int]time.Time{}, devices: map[string]map[uint64]definedMetric{}}
		s.edges[id] = e
	}
	p, err := decodePayload(b)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "NBIRTH":
		return s.nodeBirth(e, p, now), nil
	case "NDEATH":
		return e.nodeDeath(p), nil
	}
	if p.seq < 0 {
		return nil, errors.New("the message has no sequence number")
	}
	if !e.born {
		e.wants = true
		if kind != "DDEATH" {
			return nil, nil // its sequence and its aliases are unknown
		}
	} else {
		e.sequence(p.seq, now)
	}
	switch kind {
	case "DBIRTH":
		if _, ok := e.devices[device]; !ok && len(e.devices) >= maxDevices {
			return nil, errors.New("the edge node has too many devices")
		}
		e.devices[device] = s.define(p)
		return s.values(e, device, p, now), nil
	case "DDATA", "NDATA":
		return s.values(e, device, p, now), nil
	case "DDEATH":
		delete(e.devices, device)
		return []Message{gone(e.id + "/" + device)}, nil
	}
	return nil, nil
}

func gone(device string) Message {
	return Message{Device: device, Online: OnlineNo, Updated: math.NaN(), Values: reading.None()}
}

// nodeBirth begins a session of an edge.
func (s *sparkplug) nodeBirth(e *edge, p payload, now time.Time) []Message {
	e.bdSeq = bdSeq(p)
	e.born, e.wants, e.next = true, false, 1
	clear(e.missing)
	clear(e.devices)
	if e.bdSeq == e.death { // its will came before it
		e.death, e.born = math.NaN(), false
		return nil
	}
	e.death = math.NaN()
	e.devices[""] = s.define(p)
	return s.values(e, "", p, now)
}

func bdSeq(p payload) float64 {
	for i := range p.metrics {
		if p.metrics[i].name == "bdSeq" {
			return p.metrics[i].value.number(p.metrics[i].datatype)
		}
	}
	return math.NaN()
}

// nodeDeath ends the session of an edge, unless it is the will of an older one.
func (e *edge) nodeDeath(p payload) []Message {
	of := bdSeq(p)
	if !e.born || !math.IsNaN(of) && !math.IsNaN(e.bdSeq) && of != e.bdSeq {
		if !e.born {
			e.death = of
		}
		return nil
	}
	e.born = false
	out := []Message{gone(e.id)}
	for device := range e.devices {
		if device != "" {
			out = append(out, gone(e.id+"/"+device))
		}
	}
	clear(e.devices)
	return out
}

// sequence follows the sequence numbers of an edge. A number that does not come within
// the time for reordering makes a request for births due.
func (e *edge) sequence(seq int, now time.Time) {
	if _, ok := e.missing[seq]; ok {
		delete(e.missing, seq)
		return
	}
	ahead := (seq - e.next + maxSequence) % maxSequence
	if ahead >= maxSequence/2 {
		return // a repeated message
	}
	for range ahead {
		e.missing[e.next] = now.Add(reorder)
		e.next = (e.next + 1) % maxSequence
	}
	e.next = (seq + 1) % maxSequence
}

// define keeps what a birth says of its metrics.
func (s *sparkplug) define(p payload) map[uint64]definedMetric {
	out := map[uint64]definedMetric{}
	for i := range p.metrics {
		m := &p.metrics[i]
		rule, n := s.find(m.name)
		d := definedMetric{datatype: m.datatype, unit: m.unit, rule: rule, n: n}
		if m.hasAlias {
			out[m.alias] = d
		}
		if rule >= 0 {
			out[nameKey(rule, n)] = d
		}
	}
	return out
}

// nameKey is the key of a metric that data name without an alias: above all aliases that
// are counted from 0.
func nameKey(rule, n int) uint64 {
	return 1<<63 | uint64(rule)<<8 | uint64(n) //nolint:gosec // numbers of rules and devices are not negative
}

// find returns the rule for a name; -1: none.
func (s *sparkplug) find(name string) (rule, n int) {
	for i := range s.rules {
		r := &s.rules[i]
		if len(r.fields) == 1 {
			if name == r.Path {
				return i, 0
			}
			continue
		}
		rest, ok1 := strings.CutPrefix(name, r.before)
		rest, ok2 := strings.CutSuffix(rest, r.after)
		if n := number(rest); ok1 && ok2 && n == math.Trunc(n) && n >= 1 && n <= inputs {
			return i, int(n)
		}
	}
	return -1, 0
}

// values returns the values of a message, one Message for each time of measurement.
func (s *sparkplug) values(e *edge, device string, p payload, _ time.Time) []Message {
	defined, born := e.devices[device]
	if !born {
		e.wants = true
		return nil
	}
	id := e.id
	if device != "" {
		id += "/" + device
	}
	var out []Message
	for i := range p.metrics {
		m := &p.metrics[i]
		var d definedMetric
		ok := false
		switch {
		case m.name != "":
			if rule, n := s.find(m.name); rule >= 0 {
				d, ok = defined[nameKey(rule, n)]
			} else {
				continue
			}
		case m.hasAlias:
			d, ok = defined[m.alias]
		}
		if !ok {
			e.wants = true
			continue
		}
		if d.rule < 0 || m.null {
			continue
		}
		datatype := m.datatype
		if datatype == 0 {
			datatype = d.datatype
		}
		ms := m.timestamp
		if ms == 0 {
			ms = p.timestamp
		}
		at := time.Time{}
		if ms > 0 && ms < 1<<47 {
			at = time.UnixMilli(int64(ms)).UTC()
		}
		r := s.rules[d.rule].rule
		if r.auto && d.unit != "" {
			f, err := r.fields[0].Factor(d.unit)
			if err != nil {
				continue // another quantity under this name
			}
			r.factor *= f
		}
		k := slices.IndexFunc(out, func(o Message) bool { return o.At.Equal(at) && o.Historical == m.historical })
		if k < 0 {
			k = len(out)
			out = append(out, Message{Device: id, At: at, Historical: m.historical, Online: OnlineYes, Updated: math.NaN(), Values: reading.None()})
		}
		r.set(&out[k], m.value.number(datatype), d.n)
	}
	return out
}

// Requests asks edges for their births: of unknown aliases, of data before a birth, and
// of sequence numbers that did not come, at most once in [askEvery] for each edge.
func (s *sparkplug) Requests(now time.Time) []Request {
	var out []Request
	for _, e := range s.edges {
		for _, until := range e.missing {
			if !now.Before(until) {
				e.wants = true
			}
		}
		since := now.Sub(e.asked)
		if !e.wants || since >= 0 && since < askEvery {
			continue
		}
		e.asked = now
		clear(e.missing)
		group, node, _ := strings.Cut(e.id, "/")
		out = append(out, Request{Topic: s.prefix + group + "/NCMD/" + node, Payload: rebirthPayload(uint64(now.UnixMilli()))})
	}
	slices.SortFunc(out, func(a, b Request) int { return strings.Compare(a.Topic, b.Topic) })
	return out
}
