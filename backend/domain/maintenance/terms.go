package maintenance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
)

// Hours of the day between which crews work at a site, by its clock.
type Hours struct {
	From, To time.Duration // since midnight
}

// DefaultHours are those of crews where nothing else is said.
func DefaultHours() Hours { return Hours{7 * time.Hour, 18 * time.Hour} }

// UnmarshalText reads hours such as 7-18 or 06:30-15:00. They are around noon,
// so that there is daylight within them all over the world.
func (h *Hours) UnmarshalText(text []byte) error {
	from, to, ok := strings.Cut(string(text), "-")
	var read Hours
	for _, part := range []struct {
		text string
		into *time.Duration
	}{{from, &read.From}, {to, &read.To}} {
		layout := "15:04"
		if !strings.Contains(part.text, ":") {
			layout = "15"
		}
		at, err := time.Parse(layout, strings.TrimSpace(part.text))
		ok = ok && err == nil
		*part.into = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	if !ok || read.check() != nil {
		return fmt.Errorf("crew hours begin before noon and end after it, as in 7-18 or 06:30-15:00, unlike %q", text)
	}
	*h = read
	return nil
}

func (h Hours) check() error {
	if h.From < 0 || h.From >= 12*time.Hour || h.To <= 12*time.Hour || h.To > 24*time.Hour {
		return fmt.Errorf("maintenance: crew hours from %s to %s are not around noon", h.From, h.To)
	}
	return nil
}

// Limits are how long after it is made an order may take to be acknowledged,
// started and restored.
type Limits struct{ Acknowledge, Start, Restore time.Duration }

const day = 24 * time.Hour

// longestLimit keeps what is reckoned with limits within the calendar.
const longestLimit = 3660 * day

// DefaultLimits are those of orders where nothing else is said, by priority;
// emergencies have their own.
func DefaultLimits() map[string]Limits {
	return map[string]Limits{
		api.MaintenanceEmergency: {30 * time.Minute, 4 * time.Hour, day},
		api.PriorityHigh:         {4 * time.Hour, day, 3 * day},
		api.PriorityMedium:       {day, 7 * day, 14 * day},
		api.PriorityLow:          {3 * day, 30 * day, 60 * day},
	}
}

// ParseLimits reads limits such as 30m/4h/1d, to acknowledge, to start and to
// restore, by priority or for emergencies. The error is a sentence.
func ParseLimits(texts map[string]string) (map[string]Limits, error) {
	limits := map[string]Limits{}
	for _, urgency := range slices.Sorted(maps.Keys(texts)) {
		parts := strings.Split(texts[urgency], "/")
		var read Limits
		ok := len(parts) == 3
		for i, into := range []*time.Duration{&read.Acknowledge, &read.Start, &read.Restore} {
			if ok {
				*into, ok = length(strings.TrimSpace(parts[i]))
			}
		}
		if !ok || read.check() != nil {
			return nil, fmt.Errorf("the limits of %s orders are three times in rising order, to acknowledge, start and restore them, as in 30m/4h/1d, unlike %q", urgency, texts[urgency])
		}
		limits[urgency] = read
	}
	return limits, checkLimits(limits)
}

func (l Limits) check() error {
	if l.Acknowledge <= 0 || l.Start < l.Acknowledge || l.Restore < l.Start || l.Restore > longestLimit {
		return fmt.Errorf("maintenance: limits of %s, %s and %s do not rise from above 0 up to %d days", l.Acknowledge, l.Start, l.Restore, int(longestLimit/day))
	}
	return nil
}

// length reads a duration, also in whole days: 3d.
func length(text string) (time.Duration, bool) {
	days := strings.HasSuffix(text, "d")
	if days {
		text = strings.TrimSuffix(text, "d") + "h"
	}
	d, err := time.ParseDuration(text)
	if days {
		if d > longestLimit/24 {
			return 0, false
		}
		d *= 24
	}
	return d, err == nil
}

// checkLimits says in a sentence which of the limits are none; nil when all
// are good.
func checkLimits(limits map[string]Limits) error {
	known := append([]string{api.MaintenanceEmergency}, api.Priorities()...)
	for _, urgency := range slices.Sorted(maps.Keys(limits)) {
		if !slices.Contains(known, urgency) {
			return fmt.Errorf("orders have limits for %s, and not for %q", strings.Join(known, ", "), urgency)
		}
		if err := limits[urgency].check(); err != nil {
			return err
		}
	}
	return nil
}

// settle writes the defaults into what is not said, and refuses what cannot be.
func (c *Config) settle() error {
	if c.Crew == (Hours{}) {
		c.Crew = DefaultHours()
	}
	if err := c.Crew.check(); err != nil {
		return err
	}
	if err := checkLimits(c.Limits); err != nil {
		return err
	}
	own := c.Limits
	c.Limits = DefaultLimits()
	maps.Copy(c.Limits, own)
	return nil
}

// limits of an order by its urgency.
func (s *Service) limits(o order) Limits {
	if o.MaintenanceType == api.MaintenanceEmergency {
		return s.Limits[api.MaintenanceEmergency]
	}
	return s.Limits[o.Priority]
}
