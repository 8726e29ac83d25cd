// Package dialect reads messages that devices and their gateways publish over MQTT:
// which value of which device a message has. It has no connection: a [Source] names the
// topics to subscribe to, takes messages, and says what to publish to get more of them.
package dialect

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/engine/reading"
)

// Message are the values that a message has of one device.
type Message struct {
	Device     string    // as the dialect names it; empty: all devices of the source
	At         time.Time // when the values were measured; zero: the message does not say
	Historical bool      // measured long before it was sent
	Online     Online
	Updated    float64             // when the device was last read, by the clock of the publisher; NaN: not said
	Values     reading.Measurement // values that the message does not have are NaN
	HasValues  bool
}

// Online is whether a device can be reached, as a message says.
type Online int

// What a message says of a device.
const (
	OnlineUnknown Online = iota
	OnlineYes
	OnlineNo
)

// Request is a message that the reader of a source may publish: to get births of
// Sparkplug again, or to keep a Victron gateway publishing. No request changes a device.
type Request struct {
	Topic   string
	Payload []byte
}

// Source reads the messages of one broker in one dialect. It is not safe for concurrent
// use.
type Source interface {
	// Filters are the topics to subscribe to.
	Filters() []string
	// Handle reads a message. An error is a message that cannot be read.
	Handle(now time.Time, topic string, payload []byte) ([]Message, error)
	// Requests are what is to be published now.
	Requests(now time.Time) []Request
	// Connected is called for each connection, before its first message.
	Connected()
}

// Options say how a dialect is read.
type Options struct {
	Prefix   string         // of the topics; empty: that of the dialect
	Location *time.Location // of times without a zone; nil: UTC
	Devices  []string       // that are expected; a Victron gateway among them is asked for values before it publishes any
	Rules    []Rule         // in addition to those of the dialect, before them
}

// Rule says where a message has a value.
type Rule struct {
	Topic  string // as in dialects.txt
	Path   string
	Value  string
	Unit   string
	Factor float64 // of the value, after its unit; 0: 1
	States reading.States
}

//go:embed dialects.txt
var text string

type definition struct {
	prefix string
	rules  []Rule
}

var definitions = mustParse(text)

// Names are the names of the dialects, of which json has no built-in rules.
func Names() []string {
	names := []string{JSON}
	for name := range definitions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Dialects that need more than rules.
const (
	JSON      = "json"
	Sparkplug = "sparkplug"
	Victron   = "victron"
)

// New returns the source of a dialect.
func New(name string, o Options) (Source, error) {
	d, ok := definitions[name]
	if !ok && name != JSON {
		return nil, fmt.Errorf("unknown dialect %q: one of %s", name, strings.Join(Names(), ", "))
	}
	if o.Prefix == "" {
		o.Prefix = d.prefix
	}
	if o.Location == nil {
		o.Location = time.UTC
	}
	rules := append(slices.Clone(o.Rules), d.rules...)
	if len(rules) == 0 {
		return nil, fmt.Errorf("dialect %s: at least one value is required", name)
	}
	if name == Sparkplug {
		return newSparkplug(o.Prefix, rules)
	}
	return newPlain(name, o, rules)
}

func mustParse(text string) map[string]definition {
	d, err := parse(text)
	if err != nil {
		panic("dialects.txt: " + err.Error())
	}
	return d
}

func parse(text string) (map[string]definition, error) {
	out := map[string]definition{}
	name := ""
	for i, line := range strings.Split(text, "\n") {
		w := strings.Fields(line)
		switch {
		case len(w) == 0 || strings.HasPrefix(w[0], "#"):
		case w[0] == "dialect" && len(w) == 3:
			name = w[1]
			out[name] = definition{prefix: w[2]}
		case name == "" || len(w) < 3:
			return nil, fmt.Errorf("line %d: TOPIC PATH VALUE is required", i+1)
		default:
			r := Rule{Topic: w[0], Path: w[1], Value: w[2]}
			rest := w[3:]
			if len(rest) > 0 && rest[0] != "states" {
				r.Unit, rest = rest[0], rest[1:]
			}
			if len(rest) > 0 {
				var err error
				if r.States, err = reading.ParseStates(rest[1:]); err != nil {
					return nil, fmt.Errorf("line %d: %w", i+1, err)
				}
			}
			if _, err := compile(r); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			d := out[name]
			d.rules = append(d.rules, r)
			out[name] = d
		}
	}
	return out, nil
}

// meaning is what a value is for.
type meaning int

const (
	meansValue meaning = iota
	meansOnline
	meansUpdated
	meansTime
)

// rule is a Rule that was checked.
type rule struct {
	Rule
	means  meaning
	field  reading.Field // if the name has no {n}
	fields []reading.Field
	factor float64
	auto   bool // the unit of the birth applies
}

// inputs is how many DC inputs {n} may name.
const inputs = 31

func compile(r Rule) (rule, error) {
	out := rule{Rule: r, factor: 1}
	switch r.Value {
	case "online":
		out.means = meansOnline
		return out, nil
	case "updated":
		out.means = meansUpdated
		return out, nil
	case "time":
		out.means = meansTime
		return out, nil
	}
	for n := 1; n <= inputs; n++ {
		f, err := reading.ParseField(strings.ReplaceAll(r.Value, "{n}", strconv.Itoa(n)))
		if err != nil {
			return out, err
		}
		out.fields = append(out.fields, f)
		if !strings.Contains(r.Value, "{n}") {
			break
		}
	}
	out.field = out.fields[0]
	var err error
	if out.factor, err = out.field.Factor(r.Unit); err != nil {
		return out, err
	}
	if r.Factor != 0 {
		out.factor *= r.Factor
	}
	out.auto = r.Unit == ""
	return out, nil
}

// set sets the value of a rule in a message; n is the number of a DC input.
func (r *rule) set(m *Message, v float64, n int) {
	field := r.field
	if len(r.fields) > 1 {
		if n < 1 || n > len(r.fields) {
			return
		}
		field = r.fields[n-1]
	}
	if r.States != nil {
		v = r.States.Of(v)
	} else {
		v *= r.factor
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	field.Set(&m.Values, v)
	m.HasValues = true
}

// pattern is a topic with names for its parts.
type pattern struct {
	parts []string
	rules []rule
}

func newPattern(topic string) (pattern, error) {
	p := pattern{parts: strings.Split(topic, "/")}
	if topic == "" || len(topic) > maxTopic {
		return p, fmt.Errorf("topic %q: from 1 to %d characters", topic, maxTopic)
	}
	for _, part := range p.parts {
		if strings.ContainsAny(part, "#+") || strings.ContainsAny(part, "{}") && part != "{id}" && part != "{n}" && part != "{any}" {
			return p, fmt.Errorf("topic %q: the parts that vary are {id}, {n} and {any}", topic)
		}
	}
	return p, nil
}

// filter is the topic filter of a pattern.
func (p *pattern) filter() string {
	parts := slices.Clone(p.parts)
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = "+"
		}
	}
	return strings.Join(parts, "/")
}

// match returns the device and the number of the input that a topic names.
func (p *pattern) match(parts []string) (id string, n int, ok bool) {
	if len(parts) != len(p.parts) {
		return "", 0, false
	}
	var ids []string
	for i, part := range p.parts {
		switch part {
		case "{id}":
			ids = append(ids, parts[i])
		case "{any}":
		case "{n}":
			var err error
			if n, err = strconv.Atoi(parts[i]); err != nil || n < 1 || n > inputs {
				return "", 0, false
			}
		default:
			if part != parts[i] {
				return "", 0, false
			}
		}
	}
	return strings.Join(ids, "/"), n, true
}

// maxTopic is the longest topic that is read.
const maxTopic = 1024

// covering returns the filters that no other one covers, so that a broker sends a message
// once.
func covering(filters []string) []string {
	slices.Sort(filters)
	filters = slices.Compact(filters)
	covers := func(a, b string) bool {
		x, y := strings.Split(a, "/"), strings.Split(b, "/")
		if a == b || len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i] != "+" && x[i] != y[i] {
				return false
			}
		}
		return true
	}
	var out []string
	for _, f := range filters {
		if !slices.ContainsFunc(filters, func(other string) bool { return covers(other, f) }) {
			out = append(out, f)
		}
	}
	return out
}
