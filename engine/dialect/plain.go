package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"app.sunloop/engine/reading"
)

// plain reads the dialects whose messages are numbers, words or JSON objects.
type plain struct {
	prefix   string
	location *time.Location
	patterns []pattern
	found    map[string]place // topics that were seen

	portals map[string]time.Time // Victron's, with the time of the last request; nil for other dialects
}

// place is the pattern of a topic; nil: none.
type place struct {
	pattern *pattern
	id      string
	n       int
}

// maxFound bounds the topics that are remembered.
const maxFound = 20_000

func newPlain(name string, o Options, rules []Rule) (*plain, error) {
	p := &plain{prefix: o.Prefix, location: o.Location, found: map[string]place{}}
	if name == Victron {
		p.portals = map[string]time.Time{}
		for _, device := range o.Devices {
			portal, _, _ := strings.Cut(device, "/")
			p.addPortal(portal)
		}
	}
	for _, is := range rules {
		r, err := compile(is)
		if err != nil {
			return nil, err
		}
		if r.means == meansValue && strings.Contains(is.Value, "{n}") != strings.Contains(is.Topic, "{n}") {
			return nil, fmt.Errorf("value %q of topic %q: both or none have {n}", is.Value, is.Topic)
		}
		add := true
		for i := range p.patterns {
			if strings.Join(p.patterns[i].parts, "/") == is.Topic {
				p.patterns[i].rules, add = append(p.patterns[i].rules, r), false
			}
		}
		if !add {
			continue
		}
		t, err := newPattern(is.Topic)
		if err != nil {
			return nil, err
		}
		t.rules = []rule{r}
		p.patterns = append(p.patterns, t)
	}
	return p, nil
}

func (p *plain) Filters() []string {
	var out []string
	for i := range p.patterns {
		out = append(out, p.prefix+p.patterns[i].filter())
	}
	if p.portals != nil { // a gateway that is silent says its name alone
		out = append(out, p.prefix+"+/system/0/Serial")
	}
	return covering(out)
}

func (p *plain) Connected() {
	for id := range p.portals {
		p.portals[id] = time.Time{}
	}
}

// keepAlive is the time between two requests for the values of a Victron gateway, which
// stops after 60 s without one.
const keepAlive = 30 * time.Second

// maxPortals bounds the gateways of a broker.
const maxPortals = 100

// Requests keeps Victron gateways publishing. The first one of a connection is for all
// values, the later ones for changes.
func (p *plain) Requests(now time.Time) []Request {
	var out []Request
	for id, last := range p.portals {
		if since := now.Sub(last); since < keepAlive && since >= 0 {
			continue
		}
		payload := []byte(`{"keepalive-options":["suppress-republish"]}`)
		if last.IsZero() {
			payload = nil
		}
		p.portals[id] = now
		out = append(out, Request{Topic: "R/" + id + "/keepalive", Payload: payload})
	}
	return out
}

// addPortal notes a Victron gateway.
func (p *plain) addPortal(id string) {
	if _, ok := p.portals[id]; !ok && p.portals != nil && id != "" && len(p.portals) < maxPortals && !strings.ContainsAny(id, "#+/") {
		p.portals[id] = time.Time{}
	}
}

func (p *plain) Handle(now time.Time, topic string, payload []byte) ([]Message, error) {
	at, ok := p.found[topic]
	if !ok {
		at = p.find(topic)
		if len(p.found) >= maxFound {
			clear(p.found)
		}
		p.found[topic] = at
	}
	if at.pattern == nil {
		return nil, nil
	}
	payload = bytes.TrimSpace(payload)
	if len(payload) == 0 {
		return nil, nil // the device is gone, or a retained message was deleted
	}
	m := Message{Device: at.id, Updated: math.NaN(), Values: reading.None()}
	var object any
	for i := range at.pattern.rules {
		r := &at.pattern.rules[i]
		var v any = string(payload)
		if r.Path != "-" {
			if object == nil {
				d := json.NewDecoder(bytes.NewReader(payload))
				d.UseNumber()
				if err := d.Decode(&object); err != nil {
					return nil, errors.New("the message is no JSON")
				}
			}
			v = lookup(object, r.Path)
		}
		switch r.means {
		case meansOnline:
			if on, ok := truth(v); ok {
				m.Online = map[bool]Online{true: OnlineYes, false: OnlineNo}[on]
			}
		case meansUpdated:
			m.Updated = number(v)
		case meansTime:
			t, err := moment(v, p.location, now)
			if err != nil {
				return nil, err
			}
			m.At = t
		case meansValue:
			r.set(&m, number(v), at.n)
		}
	}
	if !m.HasValues && m.Online == OnlineUnknown && math.IsNaN(m.Updated) {
		return nil, nil
	}
	return []Message{m}, nil
}

func (p *plain) find(topic string) place {
	rest, ok := strings.CutPrefix(topic, p.prefix)
	if !ok || len(topic) > maxTopic {
		return place{}
	}
	parts := strings.Split(rest, "/")
	p.addPortal(parts[0])
	for i := range p.patterns {
		if id, n, ok := p.patterns[i].match(parts); ok {
			return place{&p.patterns[i], id, n}
		}
	}
	return place{}
}

// lookup returns what an object has at a path: under the path as one key, or part by
// part; the parts of lists are numbers from 0. nil: nothing.
func lookup(v any, path string) any {
	for {
		if m, ok := v.(map[string]any); ok {
			if found, ok := m[path]; ok {
				return found
			}
		}
		part, rest, more := strings.Cut(path, ".")
		switch is := v.(type) {
		case map[string]any:
			v = is[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(is) {
				return nil
			}
			v = is[i]
		default:
			return nil
		}
		if !more {
			return v
		}
		path = rest
	}
}

// number reads a number, also from a text, with a decimal point or comma. Others are NaN.
func number(v any) float64 {
	text := ""
	switch is := v.(type) {
	case json.Number:
		text = is.String()
	case string:
		text = strings.TrimSpace(is)
	case bool:
		return map[bool]float64{true: 1}[is]
	}
	if strings.Count(text, ",") == 1 && !strings.Contains(text, ".") {
		text = strings.Replace(text, ",", ".", 1)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !strings.ContainsAny(text, "xX_") {
		return f
	}
	return math.NaN()
}

// truth reads whether a device can be reached.
func truth(v any) (is, ok bool) {
	if b, isBool := v.(bool); isBool {
		return b, true
	}
	text, _ := v.(string)
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "online", "true", "on":
		return true, true
	case "offline", "false", "off":
		return false, true
	}
	n := number(v)
	return n != 0, !math.IsNaN(n)
}

// moment reads a time: RFC 3339, the same without a zone, or seconds or milliseconds of
// Unix.
func moment(v any, location *time.Location, now time.Time) (time.Time, error) {
	if n := number(v); !math.IsNaN(n) {
		if n > 1e11 {
			n /= 1000
		}
		if n < 0 || n > 1e11 {
			return time.Time{}, errors.New("the time is none")
		}
		return time.UnixMilli(int64(n * 1000)).UTC(), nil
	}
	text, _ := v.(string)
	text = strings.TrimSpace(text)
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		t, err := time.ParseInLocation(layout, text, location)
		if err != nil {
			continue
		}
		// In the hour that a change of the clock repeats, it is the time nearer to now.
		for _, other := range []time.Time{t.Add(time.Hour), t.Add(-time.Hour)} {
			if other.Format("15:04:05") == t.Format("15:04:05") && now.Sub(other).Abs() < now.Sub(t).Abs() {
				t = other
			}
		}
		return t.UTC(), nil
	}
	return time.Time{}, errors.New("the message has no time that can be read")
}
