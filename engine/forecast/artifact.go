package forecast

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/engine/learn/artifact"
	"app.sunloop/engine/learn/neural"
	"app.sunloop/engine/learn/tree"
	"app.sunloop/engine/solar"
)

// Artifact is a model as three objects: the learned members, what turns data
// into features (envelope, memory, bin edges), and a JSON description that
// holds the training's report and the checksums of the other two.
type Artifact = artifact.Parts

// The sections of the binary objects; numbers are never used again.
const (
	sectionLearners artifact.ID = iota + 1
	sectionPower
	sectionIndex
	sectionForest
	sectionNetwork
	sectionCalibrator
	sectionEnvelope
	sectionMemory
	sectionBinner
	sectionSeen // of a calibration
)

const (
	configFormat = 3
)

// config is the JSON object.
type config struct {
	artifact.Seal
	SiteID       string    `json:"site_id"`
	LatitudeDeg  float64   `json:"latitude_deg"`
	LongitudeDeg float64   `json:"longitude_deg"`
	AltitudeM    float64   `json:"altitude_m"`
	Zone         string    `json:"timezone"`
	CapacityKW   float64   `json:"capacity_kw"`
	TiltDeg      float64   `json:"tilt_deg"`
	AzimuthDeg   float64   `json:"azimuth_deg"`
	PlaneKnown   bool      `json:"plane_known"`
	LateTicks    int       `json:"late_quarter_hours"`
	StepSeconds  int       `json:"step_seconds"`
	PeakKW       float64   `json:"peak_kw"`
	Quantiles    []float64 `json:"quantiles"`
	Sets         []set     `json:"sets"`
	Report       Report    `json:"report"`
}

// set describes one set of learners.
type set struct {
	Weather  bool         `json:"weather"`
	Season   bool         `json:"season"`
	Seen     int          `json:"observed,omitempty"` // intervals
	Perfect  bool         `json:"weather_measured,omitempty"`
	Columns  []columnSpec `json:"weather_columns,omitempty"`
	Features []string     `json:"features"`
	Members  []string     `json:"members"`
	Weights  []float64    `json:"weights"`
	Trees    int          `json:"tree_ensembles"` // of each of the two kinds
	Networks int          `json:"networks"`

	// Fleet marks the pooled learners of the peer sites, which belong to
	// the set before them. FleetShare, stored in that set, is their weight.
	Fleet      bool    `json:"fleet,omitempty"`
	FleetShare float32 `json:"fleet_share,omitempty"`
}

// Encode writes m. The same model gives the same bytes.
func Encode(m *Model) (Artifact, error) {
	c := config{SiteID: m.site.ID, LatitudeDeg: m.site.Location.LatitudeDeg, LongitudeDeg: m.site.Location.LongitudeDeg,
		AltitudeM: m.site.Location.AltitudeM, CapacityKW: m.site.CapacityKW, TiltDeg: m.geometry.plane.TiltDeg, AzimuthDeg: m.geometry.plane.AzimuthDeg,
		PlaneKnown: m.site.Plane != nil, LateTicks: m.geometry.late, StepSeconds: int(m.step / time.Second), PeakKW: m.peakKW, Quantiles: m.quantiles, Report: m.report}
	if m.site.Zone != nil {
		c.Zone = m.site.Zone.String()
	}
	var learned, encoders artifact.Writer
	for _, l := range m.withFleets() {
		c.Sets = append(c.Sets, set{Weather: l.spec.Weather, Season: l.spec.Season, Seen: l.seen, Perfect: l.spec.Perfect, Columns: l.spec.Columns, Features: l.spec.names(), Members: memberNames, Weights: l.weights, Trees: len(l.power), Networks: len(l.networks),
			Fleet: l.calibrator == nil, FleetShare: l.fleetShare})
		for _, kind := range []struct {
			id artifact.ID
			of []*tree.Ensemble
		}{{sectionPower, l.power}, {sectionIndex, l.index}} {
			for _, e := range kind.of {
				learned.Section(kind.id, func(w *artifact.Encoder) { w.Ensemble(e) })
			}
		}
		if l.forest != nil {
			learned.Section(sectionForest, func(w *artifact.Encoder) { w.Forest(l.forest) })
		}
		for _, n := range l.networks {
			learned.Section(sectionNetwork, func(w *artifact.Encoder) { w.Network(n) })
		}
		if l.calibrator != nil {
			learned.Section(sectionCalibrator, func(w *artifact.Encoder) { w.Calibrator(l.calibrator) })
		}
		if l.binner != nil {
			encoders.Section(sectionBinner, func(w *artifact.Encoder) { w.Binner(l.binner) })
		}
	}
	encoders.Section(sectionEnvelope, func(w *artifact.Encoder) {
		w.Float32s(m.env.ratios[:])
		w.Float32s(m.env.dim[:])
		w.Float32s([]float32{m.env.overall})
	})
	encoders.Section(sectionMemory, func(w *artifact.Encoder) { w.Int64(m.memory.start); w.Float32s(m.memory.power) })
	a, err := artifact.Pack(configFormat, &learned, &encoders, func(s artifact.Seal) any { c.Seal = s; return c })
	if err != nil {
		return Artifact{}, fmt.Errorf("encode model of site %s: %w", m.site.ID, err)
	}
	return a, nil
}

// withFleets returns the sets, each followed by its pooled learners, which have
// no calibrator of their own.
func (m *Model) withFleets() []*learners {
	var out []*learners
	for _, l := range m.sets() {
		out = append(out, l)
		if l.fleet != nil {
			out = append(out, l.fleet)
		}
	}
	return out
}

func (m *Model) sets() []*learners {
	if m.withWeather == nil {
		return []*learners{m.plain}
	}
	return []*learners{m.plain, m.withWeather}
}

// maximumMemory is ten years of hours: recomputing the clear sky for more would
// let a small object cost much time.
const maximumMemory = 10 * 8784

// Decode reads the output of [Encode]. It validates sizes, checksums, shapes
// and references. Every error names what is invalid and wraps
// artifact.ErrMalformed.
func Decode(a Artifact) (*Model, error) {
	c, err := decodeConfig(a)
	if err != nil {
		return nil, fmt.Errorf("decode model: %w", err)
	}
	m := &Model{site: Site{ID: c.SiteID, Location: solar.Location{LatitudeDeg: c.LatitudeDeg, LongitudeDeg: c.LongitudeDeg, AltitudeM: c.AltitudeM}, CapacityKW: c.CapacityKW},
		geometry: geometry{solar.Plane{TiltDeg: c.TiltDeg, AzimuthDeg: c.AzimuthDeg}, c.LateTicks}, step: time.Duration(c.StepSeconds) * time.Second,
		peakKW: c.PeakKW, quantiles: c.Quantiles, report: c.Report}
	if c.PlaneKnown {
		m.site.Plane = &solar.Plane{TiltDeg: c.TiltDeg, AzimuthDeg: c.AzimuthDeg}
	}
	if zone, err := time.LoadLocation(c.Zone); err == nil && c.Zone != "" {
		m.site.Zone = zone // an unknown zone is nil: nothing in a forecast depends on it
	}
	learned, encoders, err := a.Open()
	if err != nil {
		return nil, fmt.Errorf("decode model: %w", err)
	}
	if err := m.decodeEncoders(encoders); err != nil {
		return nil, fmt.Errorf("decode model: encoders: %w", err)
	}
	at := sections{learned: learned, encoders: encoders}
	var beside *learners
	for _, s := range c.Sets {
		l, err := at.decodeSet(s, c.Quantiles)
		if err != nil {
			return nil, fmt.Errorf("decode model: %w", err)
		}
		switch {
		case s.Fleet:
			beside.fleet = l
			continue
		case s.Weather:
			m.withWeather = l
		default:
			m.plain = l
		}
		beside = l
	}
	light := lookUp(m.site.Location, m.geometry, m.memory.start*ticksPerHour, m.memory.end()*ticksPerHour, 1)
	m.memory.light(m.env, &light)
	return m, nil
}

func malformed(format string, a ...any) error {
	return fmt.Errorf("%w: %s", artifact.ErrMalformed, fmt.Sprintf(format, a...))
}

func decodeConfig(a Artifact) (config, error) {
	var c config
	if err := a.Describe(configFormat, &c, &c.Seal); err != nil {
		return c, err
	}
	switch {
	case !(c.CapacityKW > 0) || !(c.PeakKW > 0) || math.IsInf(c.CapacityKW/c.PeakKW, 0):
		return c, malformed("capacity %g kW, peak %g kW", c.CapacityKW, c.PeakKW)
	case !(math.Abs(c.LatitudeDeg) <= 90) || !(math.Abs(c.LongitudeDeg) <= 180) || !(math.Abs(c.AltitudeM) <= 10000):
		return c, malformed("no place at %g, %g, %g m", c.LatitudeDeg, c.LongitudeDeg, c.AltitudeM)
	case !(c.TiltDeg >= 0 && c.TiltDeg <= 90) || !(math.Abs(c.AzimuthDeg) <= 360) || c.LateTicks < -maximumLate || c.LateTicks > maximumLate:
		return c, malformed("a plane of %g, %g, late by %d", c.TiltDeg, c.AzimuthDeg, c.LateTicks)
	case c.StepSeconds != 900 && c.StepSeconds != 1800 && c.StepSeconds != 3600:
		return c, malformed("steps of %d s", c.StepSeconds)
	}
	if _, err := (Options{Quantiles: c.Quantiles}).withDefaults(); err != nil || c.Quantiles == nil {
		return c, malformed("%d quantiles: %v", len(c.Quantiles), err)
	}
	var order []bool // of the sets that are not a fleet's: weather or not
	for k, s := range c.Sets {
		if s.Fleet {
			if k == 0 || c.Sets[k-1].Fleet || !(c.Sets[k-1].FleetShare > 0) || s.Trees == 0 || !s.sameFeatures(c.Sets[k-1]) {
				return c, malformed("set %d: pooled learners without learners of the site", k)
			}
		} else {
			order = append(order, s.Weather)
			if !(s.FleetShare >= 0 && s.FleetShare <= 1) || s.FleetShare > 0 != (k+1 < len(c.Sets) && c.Sets[k+1].Fleet) {
				return c, malformed("set %d: a fleet's share of %g", k, s.FleetShare)
			}
		}
		if len(s.Weights) != memberCount || (s.Trees != 0 && s.Trees != len(c.Quantiles)) || s.Networks < 0 || s.Networks > 16 || s.Seen < 0 || len(s.Columns) > maximumColumns {
			return c, malformed("set %d: %d weights, %d ensembles, %d networks", k, len(s.Weights), s.Trees, s.Networks)
		}
		for _, w := range s.Weights {
			if !(w >= 0 && w <= 1) {
				return c, malformed("set %d: a weight of %g", k, w)
			}
		}
	}
	if !slices.Equal(order, []bool{false}) && !slices.Equal(order, []bool{false, true}) {
		return c, malformed("%d sets of learners", len(order))
	}
	return c, nil
}

// sameFeatures reports whether two sets have the same features.
func (s set) sameFeatures(o set) bool {
	return s.Weather == o.Weather && s.Season == o.Season && s.Perfect == o.Perfect && slices.Equal(s.Columns, o.Columns)
}

func (m *Model) decodeEncoders(c *artifact.Container) error {
	m.env, m.memory = &envelope{}, &history{}
	return errors.Join(
		c.Section(sectionEnvelope, 0, func(d *artifact.Decoder) {
			for _, level := range []*[weeks * hours]float32{&m.env.ratios, &m.env.dim} {
				v := d.Float32s()
				if len(v) != len(level) {
					d.Fail("an envelope of %d levels", len(v))
				}
				copy(level[:], v)
				for _, r := range v {
					if !(r >= 0 && r <= topRatio) {
						d.Fail("a level of %g", r)
					}
				}
			}
			if v := d.Float32s(); len(v) == 1 && v[0] >= 0 && v[0] <= topRatio {
				m.env.overall = v[0]
			} else {
				d.Fail("an overall level of %v", v)
			}
			m.env.note()
		}),
		c.Section(sectionMemory, 0, func(d *artifact.Decoder) {
			m.memory.start, m.memory.power = d.Int64(), d.Float32s()
			if h := m.memory.start; h < -1e6 || h > 1e7 || len(m.memory.power) > maximumMemory {
				d.Fail("a memory of %d hours from hour %d", len(m.memory.power), h)
				m.memory.power = nil
			}
			for _, v := range m.memory.power {
				if v == v && !(v >= 0 && v < 1e6) {
					d.Fail("a power of %g", v)
				}
			}
		}))
}

// sections are the binary objects, and how many of their sections have been
// read.
type sections struct {
	learned, encoders                           *artifact.Container
	trees, forests, networks, calibrators, bins int
}

func (at *sections) decodeSet(s set, quantiles []float64) (*learners, error) {
	l := &learners{spec: spec{Weather: s.Weather, Columns: s.Columns, Perfect: s.Perfect, Season: s.Season}, quantiles: quantiles, weights: s.Weights, seen: s.Seen, fleetShare: s.FleetShare}
	width := len(l.spec.names())
	for _, kind := range []struct {
		id artifact.ID
		of *[]*tree.Ensemble
	}{{sectionPower, &l.power}, {sectionIndex, &l.index}} {
		for i := range s.Trees {
			var e *tree.Ensemble
			if err := at.learned.Section(kind.id, at.trees+i, func(d *artifact.Decoder) {
				if e = d.Ensemble(); e.Features != width {
					d.Fail("an ensemble of %d features, not %d", e.Features, width)
				}
			}); err != nil {
				return nil, err
			}
			*kind.of = append(*kind.of, e)
		}
	}
	if s.Trees > 0 {
		// Every set that has trees has one forest.
		if err := at.learned.Section(sectionForest, at.forests, func(d *artifact.Decoder) {
			if l.forest = d.Forest(); l.forest.Features != width {
				d.Fail("a forest of %d features, not %d", l.forest.Features, width)
			}
		}); err != nil {
			return nil, err
		}
	}
	for i := range s.Networks {
		var n *neural.Network
		if err := at.learned.Section(sectionNetwork, at.networks+i, func(d *artifact.Decoder) {
			if n = d.Network(); n.Features() != width || len(n.Quantiles) != len(quantiles) {
				d.Fail("a network of %d features and %d quantiles", n.Features(), len(n.Quantiles))
			}
		}); err != nil {
			return nil, err
		}
		l.networks = append(l.networks, n)
	}
	at.trees, at.networks = at.trees+s.Trees, at.networks+s.Networks
	if s.Trees > 0 {
		if err := at.encoders.Section(sectionBinner, at.bins, func(d *artifact.Decoder) { l.binner = d.Binner() }); err != nil {
			return nil, err
		}
		at.forests, at.bins = at.forests+1, at.bins+1
	}
	if s.Fleet {
		return l, nil // the other set calibrates both
	}
	err := at.learned.Section(sectionCalibrator, at.calibrators, func(d *artifact.Decoder) {
		if l.calibrator = d.Calibrator(); len(l.calibrator.Quantiles) != len(quantiles) {
			d.Fail("a calibration of %d quantiles", len(l.calibrator.Quantiles))
		}
	})
	at.calibrators++
	return l, err
}
