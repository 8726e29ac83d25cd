package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"app.sunloop/backend/gateway/mqtt"
)

// Facts are what Sunloop knows of a site. What is not known is nil.
type Facts struct {
	PowerKW             *float64 `json:"power_kw"`
	ExpectedPowerKW     *float64 `json:"expected_power_kw"`
	EnergyTodayKWh      *float64 `json:"energy_today_kwh"`
	ExpectedTodayKWh    *float64 `json:"expected_today_kwh"`
	ExpectedTomorrowKWh *float64 `json:"expected_tomorrow_kwh"`
	PerformanceRatioPct *float64 `json:"performance_ratio_pct"`
	AvailabilityPct     *float64 `json:"availability_pct"`
	Findings            int      `json:"findings"`
	EnergyAtRiskKW      float64  `json:"energy_at_risk_kw"`
	WorstFinding        string   `json:"worst_finding"` // its sentence; "none" without one
}

// sensors are the entities of Home Assistant that a site has.
var sensors = []struct{ key, name, class, state, unit string }{
	{"power_kw", "Power", "power", "measurement", "kW"},
	{"expected_power_kw", "Expected power", "power", "measurement", "kW"},
	{"energy_today_kwh", "Energy today", "energy", "total_increasing", "kWh"},
	{"expected_today_kwh", "Expected energy today", "energy", "", "kWh"},
	{"expected_tomorrow_kwh", "Expected energy tomorrow", "energy", "", "kWh"},
	{"performance_ratio_pct", "Performance ratio", "", "measurement", "%"},
	{"availability_pct", "Availability", "", "measurement", "%"},
	{"findings", "Findings", "", "measurement", ""},
	{"energy_at_risk_kw", "Power at risk", "power", "measurement", "kW"},
	{"worst_finding", "Worst finding", "", "", ""},
}

// announceEvery is the time between two states for Home Assistant, which takes a state
// of announceExpires as unknown.
const (
	announceEvery   = time.Minute
	announceExpires = 5 * time.Minute
	longestState    = 255 // characters of a state of Home Assistant
)

// topicName is a name for topics and identifiers.
func topicName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
}

// will is what the broker publishes when the connection of a feed with announcements
// breaks, and when it ends.
func (p *Poller) will() mqtt.Message {
	return mqtt.Message{Topic: "sunloop/" + topicName(p.options.Config.Site.ID) + "/status", Payload: []byte("offline"), Retain: true}
}

// discovery is the message with which Home Assistant finds the site.
func (p *Poller) discovery(prefix string) mqtt.Message {
	s := p.options.Config.Site
	id := "sunloop_" + topicName(s.ID)
	name := s.Name
	if name == "" {
		name = s.ID
	}
	components := map[string]map[string]any{}
	for _, e := range sensors {
		c := map[string]any{"p": "sensor", "name": e.name, "uniq_id": id + "_" + e.key, "val_tpl": "{{ value_json." + e.key + " }}", "exp_aft": int(announceExpires.Seconds())}
		for key, value := range map[string]string{"dev_cla": e.class, "stat_cla": e.state, "unit_of_meas": e.unit} {
			if value != "" {
				c[key] = value
			}
		}
		components[e.key] = c
	}
	b, _ := json.Marshal(map[string]any{ // texts and numbers alone
		"dev": map[string]any{"ids": []string{id}, "name": "Sunloop " + name, "mf": "Sunloop"}, "o": map[string]any{"name": "Sunloop"}, "cmps": components,
		"stat_t": "sunloop/" + topicName(s.ID) + "/state", "avty_t": p.will().Topic,
	})
	return mqtt.Message{Topic: prefix + "/device/" + id + "/config", Payload: b, Retain: true}
}

// runAnnouncements publishes what Sunloop knows of the site, each minute and when Home
// Assistant or the connection begins, until ctx ends.
func (p *Poller) runAnnouncements(ctx context.Context, f *feed) {
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		greet := false
		select {
		case <-ctx.Done():
			return
		case <-f.greet:
			greet = true
		case <-tick.C:
		}
		p.announce(ctx, f, greet)
	}
}

// announce publishes the state of the site, after what it consists of if greet is true.
func (p *Poller) announce(ctx context.Context, f *feed, greet bool) {
	facts, err := p.options.Facts(ctx, p.options.Config.Site)
	if err != nil {
		if ctx.Err() == nil {
			p.options.Log.Warn("Home Assistant state not published", "broker", f.Address, "error", err.Error())
		}
		return
	}
	if facts.WorstFinding == "" {
		facts.WorstFinding = "none"
	}
	if r := []rune(facts.WorstFinding); len(r) > longestState {
		facts.WorstFinding = string(r[:longestState-1]) + "…"
	}
	state, err := json.Marshal(facts)
	if err != nil {
		p.options.Log.Warn("Home Assistant state not published", "broker", f.Address, "error", err.Error())
		return
	}
	online := p.will()
	online.Payload = []byte("online")
	messages := []mqtt.Message{{Topic: "sunloop/" + topicName(p.options.Config.Site.ID) + "/state", Payload: state}}
	if greet {
		messages = append([]mqtt.Message{p.discovery(f.HomeAssistant), online}, messages...)
	}
	for _, m := range messages {
		if err := f.client.Publish(ctx, m); err != nil {
			return // the connection is lost; the next one greets
		}
	}
}
