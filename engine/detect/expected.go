package detect

import (
	"math"

	"app.sunloop/engine/series"
)

// expect fills the view's expected power from the best source that each cell
// has: the median of producing peers, irradiance, a forecast, or the typical
// day. Peers that produce nothing are excluded from the median, because a fault
// of half the site would otherwise hide itself; whether all peers lack sun is
// left to the other sources. The median is used and not the best peer, because
// a unit that reads too high must not raise alarms for all others.
func expect(v *view, m *memory, units []Unit, forecast series.Series) {
	var site float64
	for k := range units {
		site += m.units[k].rating()
	}
	for i := range v.cells {
		usual := m.stats[v.slot(i)]
		v.day[i] = v.clear[i] >= armedShare || math.IsNaN(v.clear[i]) && usual.high >= armedShare
		v.dark[i] = v.clear[i] == 0 || math.IsNaN(v.clear[i]) && usual.high < darkShare
	}
	for k := range units {
		light(v, m, units, k)
		fallback(v, m, k, m.units[k].rating(), site, forecast)
	}
	peers(v, m, units)
}

// darkShare of the rating is what a site without coordinates exceeds at a time of
// the day on its best days, if the sun is up then.
const darkShare = 0.002

// peers lays tierPeers over the others wherever some peer produces.
func peers(v *view, m *memory, units []Unit) {
	if len(units) < 2 {
		return
	}
	n := len(units)
	norm := make([]float64, n) // power over rating, size and shape; NaN if not producing
	some := make([]float64, 0, n)
	sizes, ratings, arming := make([]float64, n), make([]float64, n), make([]float64, n)
	for k := range units {
		ratings[k], sizes[k], arming[k] = m.units[k].rating(), m.units[k].size(), m.units[k].minExpectedShare()
	}
	groups := make([]centre, len(m.groups))
	shapes := make([]float64, n)
	half := -1
	for i := range v.cells {
		if now := v.slot(i) / 2; now != half {
			half = now
			for k := range units {
				shapes[k] = m.units[k].shape(half)
			}
		}
		heard := 0
		some = some[:0]
		for k := range units {
			norm[k] = math.NaN()
			p := v.units[k].power[i]
			if math.IsNaN(p) || ratings[k] <= 0 {
				continue
			}
			heard++
			if p >= offShare*ratings[k] {
				norm[k] = p / (ratings[k] * sizes[k] * max(shapes[k], 0.3))
				some = append(some, norm[k])
			}
		}
		// A single unit that reports sun is no reference for many.
		if len(some) == 0 || 4*len(some) < heard {
			continue
		}
		all := centreOf(some)
		for g, members := range m.groups {
			some = some[:0]
			for _, k := range members {
				if !math.IsNaN(norm[k]) {
					some = append(some, norm[k])
				}
			}
			groups[g] = centreOf(some)
		}
		for k := range units {
			if ratings[k] <= 0 {
				continue
			}
			from := all
			if g := m.units[k].group; g >= 0 && groups[g].others(norm[k]) > 0 {
				from = groups[g]
			}
			if count := from.others(norm[k]); count > 0 {
				v.units[k].set(i, from.without(norm[k])*ratings[k]*sizes[k], shapes[k], ratings[k], arming[k], count)
				// By night no reading shows sun, and a single one at dusk may be frozen.
				if v.dark[i] || count == 1 && v.clear[i] < lowLight {
					v.units[k].sun[i] = false
				}
			}
		}
	}
}

// set takes an expectation by peers: their power in the unit's size, times its
// own shape of the day.
func (u *unitView) set(i int, even, shape, rating, arming float64, peers int) {
	u.even[i], u.expected[i] = even, min(even*shape, rating)
	u.tier[i], u.peers[i] = tierPeers, peers
	u.sun[i] = u.expected[i] >= arming*rating
}

// light is tierLight: the unit's own gain on the site's irradiance. A sensor
// that reads night while the unit produces power is ignored.
func light(v *view, m *memory, units []Unit, k int) {
	uv, rating := &v.units[k], m.units[k].rating()
	arming := m.units[k].minExpectedShare()
	gain := m.units[k].gain.quantile(0.5, 3, 1)
	for i := range v.cells {
		uv.expected[i], uv.even[i], uv.lit[i], uv.tier[i], uv.sun[i], uv.peers[i] = math.NaN(), math.NaN(), math.NaN(), tierNone, false, 0
		g := v.light[i]
		if rating <= 0 || !(g >= -20 && g < 1700) || g < 10 && (uv.power[i] > 0.02*rating || v.clear[i] > 0.15) {
			continue
		}
		uv.expected[i] = min(rating*gain*lightYield(max(g, 0), v.tempC[i]), rating)
		uv.lit[i], uv.tier[i] = uv.expected[i], tierLight
		uv.sun[i] = uv.expected[i] >= arming*rating && !(v.clear[i] < lowLight)
	}
}

// lowLight is the clear-sky irradiance in units of 1 kW/m² below which
// irradiance does not decide an outage: about 7 degrees of elevation. Below it,
// sensor error, horizon shading and the inverter's start dominate.
const lowLight = 0.08

// fallback is tierForecast and tierUsual, used where irradiance is not
// measured. Neither knows the clouds of the hour, so they enable the outage
// rule only where even the darkest of the last days, or a tenth of the
// forecast, would be visible.
func fallback(v *view, m *memory, k int, rating, site float64, forecast series.Series) {
	uv := &v.units[k]
	if rating <= 0 {
		return
	}
	for i := range v.cells {
		if uv.tier[i] != tierNone {
			continue
		}
		usual := m.stats[v.slot(i)]
		dark := usual.low // darkest known for the hour
		if !math.IsNaN(v.clear[i]) {
			// Thick cloud leaves about a twelfth of clear-sky irradiance.
			dark = max(0.08*v.clear[i], min(dark, 0.5*v.clear[i]))
			if math.IsNaN(usual.low) {
				dark = 0.08 * v.clear[i]
			}
		}
		uv.sun[i] = dark >= 2.5*offShare && !(v.clear[i] < 0.2)
		if f := forecastShare(forecast, v, i, rating/site); !math.IsNaN(f) {
			uv.expected[i], uv.tier[i] = min(f, rating), tierForecast
			continue
		}
		switch {
		case !math.IsNaN(usual.mean):
			uv.expected[i], uv.tier[i] = usual.mean*rating, tierUsual
		case !math.IsNaN(v.clear[i]):
			// A site without history: two thirds of clear sky, the mean of most climates.
			uv.expected[i], uv.tier[i] = 0.65*v.clear[i]*rating, tierUsual
		}
	}
}
