package interpolate

import (
	"fmt"
	"math"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/learn/artifact"
	"app.sunloop/engine/solar"
)

// Artifact is a model as three objects: the learners, the data needed to
// compute their inputs (clear sky, choices and bands), and a JSON description
// with the training report and the checksums of the other two.
type Artifact = artifact.Parts

// The sections of the binary objects; numbers are never used again.
const (
	sectionTrees artifact.ID = iota + 1
	sectionNetwork
	sectionSky
	sectionChoices
)

const configFormat = 2

// config is the JSON object.
type config struct {
	artifact.Seal
	SiteID       string   `json:"site_id"`
	LatitudeDeg  float64  `json:"latitude_deg"`
	LongitudeDeg float64  `json:"longitude_deg"`
	AltitudeM    float64  `json:"altitude_m"`
	Zone         string   `json:"timezone"`
	CapacityKW   float64  `json:"capacity_kw"`
	TiltDeg      float64  `json:"tilt_deg"`
	AzimuthDeg   float64  `json:"azimuth_deg"`
	LateTicks    int      `json:"late_quarter_hours"`
	StepSeconds  int      `json:"step_seconds"`
	PeakKW       float64  `json:"peak_kw"`
	FadeHours    float32  `json:"fade_hours"`
	Weather      bool     `json:"weather"`
	Siblings     bool     `json:"siblings"`
	Learned      bool     `json:"learned"`
	Features     []string `json:"features"`
	Report       Report   `json:"report"`
}

// Encode writes m. The same model gives the same bytes.
func Encode(m *Model) (Artifact, error) {
	c := config{SiteID: m.site.ID, LatitudeDeg: m.site.Location.LatitudeDeg, LongitudeDeg: m.site.Location.LongitudeDeg, AltitudeM: m.site.Location.AltitudeM,
		CapacityKW: m.site.CapacityKW, TiltDeg: m.sky.Plane.TiltDeg, AzimuthDeg: m.sky.Plane.AzimuthDeg, LateTicks: m.sky.LateTicks, StepSeconds: int(m.step / time.Second),
		PeakKW: m.peakKW, FadeHours: m.fade.hours, Weather: m.weather, Siblings: m.siblings, Learned: m.network != nil, Features: featureNames, Report: m.report}
	if m.site.Zone != nil {
		c.Zone = m.site.Zone.String()
	}
	var learned, encoders artifact.Writer
	if m.network != nil {
		learned.Section(sectionTrees, func(e *artifact.Encoder) { e.Ensemble(m.trees) })
		learned.Section(sectionNetwork, func(e *artifact.Encoder) { e.BiLSTM(m.network) })
	}
	encoders.Section(sectionSky, func(e *artifact.Encoder) { e.Float32s(m.sky.Ratios); e.Float32s(m.sky.Dim) })
	encoders.Section(sectionChoices, func(e *artifact.Encoder) {
		for _, row := range m.choices {
			for _, c := range row {
				e.Uint16(uint16(c.method))
				e.Uint16(uint16(c.plain))
				e.Float32(c.share)
				for _, near := range c.bands {
					for _, level := range near {
						e.Float32(level[0])
						e.Float32(level[1])
					}
				}
			}
		}
	})
	a, err := artifact.Pack(configFormat, &learned, &encoders, func(s artifact.Seal) any { c.Seal = s; return c })
	if err != nil {
		return Artifact{}, fmt.Errorf("encode gap filling of %s: %w", m.site.ID, err)
	}
	return a, nil
}

func malformed(format string, a ...any) error {
	return fmt.Errorf("decode gap filling: %w: %s", artifact.ErrMalformed, fmt.Sprintf(format, a...))
}

// Decode reads the output of [Encode]. It validates sizes, checksums, shapes
// and references. Every error names what is invalid and wraps
// artifact.ErrMalformed.
func Decode(a Artifact) (*Model, error) {
	c, err := decodeConfig(a)
	if err != nil {
		return nil, err
	}
	m := &Model{site: forecast.Site{ID: c.SiteID, Location: solar.Location{LatitudeDeg: c.LatitudeDeg, LongitudeDeg: c.LongitudeDeg, AltitudeM: c.AltitudeM}, CapacityKW: c.CapacityKW},
		step: time.Duration(c.StepSeconds) * time.Second, peakKW: c.PeakKW, fade: edgeBlend{c.FadeHours}, weather: c.Weather, siblings: c.Siblings, report: c.Report}
	if zone, err := time.LoadLocation(c.Zone); err == nil && c.Zone != "" {
		m.site.Zone = zone // an unknown zone is nil: nothing that is filled depends on it
	}
	m.sky = &forecast.ClearSky{Location: m.site.Location, Plane: solar.Plane{TiltDeg: c.TiltDeg, AzimuthDeg: c.AzimuthDeg}, LateTicks: c.LateTicks}
	learned, encoders, err := a.Open()
	if err != nil {
		return nil, fmt.Errorf("decode gap filling: %w", err)
	}
	sections := []func() error{
		func() error {
			return encoders.Section(sectionSky, 0, func(d *artifact.Decoder) {
				m.sky.Ratios, m.sky.Dim = d.Float32s(), d.Float32s()
				if d.Err() == nil {
					if err := m.sky.Check(); err != nil {
						d.Fail("%v", err)
					}
				}
			})
		},
		func() error {
			return encoders.Section(sectionChoices, 0, func(d *artifact.Decoder) { m.decodeChoices(d, c.Learned) })
		},
	}
	if c.Learned {
		sections = append(sections, func() error {
			return learned.Section(sectionTrees, 0, func(d *artifact.Decoder) {
				if m.trees = d.Ensemble(); m.trees.Features != len(featureNames) {
					d.Fail("trees of %d features, not %d", m.trees.Features, len(featureNames))
				}
			})
		}, func() error {
			return learned.Section(sectionNetwork, 0, func(d *artifact.Decoder) {
				if m.network = d.BiLSTM(); d.Err() == nil && m.network.Inputs() != inputCount {
					d.Fail("a network of %d inputs, not %d", m.network.Inputs(), inputCount)
				}
			})
		})
	}
	for _, read := range sections {
		if err := read(); err != nil {
			return nil, fmt.Errorf("decode gap filling: %w", err)
		}
	}
	return m, nil
}

func (m *Model) decodeChoices(d *artifact.Decoder, learned bool) {
	known := methodCount
	if !learned {
		known = isTrees
	}
	for w := range m.choices {
		for k := range m.choices[w] {
			c := choice{method: int(d.Uint16()), plain: int(d.Uint16()), share: d.Float32()}
			if c.method >= known || c.plain >= min(known, isLSTM) || !(c.share >= 0 && c.share <= 1) {
				d.Fail("a choice of method %d or %d by %g", c.method, c.plain, c.share)
			}
			for near := range c.bands {
				for level := range c.bands[near] {
					b := [2]float32{d.Float32(), d.Float32()}
					if !(b[0] <= 0 && b[0] > -1e3 && b[1] >= 0 && b[1] < 1e3) {
						d.Fail("a band from %g to %g", b[0], b[1])
					}
					c.bands[near][level] = b
				}
			}
			m.choices[w][k] = c
		}
	}
}

func decodeConfig(a Artifact) (config, error) {
	var c config
	if err := a.Describe(configFormat, &c, &c.Seal); err != nil {
		return c, fmt.Errorf("decode gap filling: %w", err)
	}
	switch {
	case !(c.CapacityKW > 0) || !(c.PeakKW > 0) || !(c.CapacityKW/c.PeakKW > 1e-3) || math.IsInf(c.CapacityKW/c.PeakKW, 0):
		return c, malformed("capacity %g kW, peak %g kW", c.CapacityKW, c.PeakKW)
	case c.StepSeconds < 60 || c.StepSeconds > 3600:
		return c, malformed("steps of %d s", c.StepSeconds)
	case !(c.FadeHours >= 0.01 && c.FadeHours <= 100):
		return c, malformed("a fading time of %g h", c.FadeHours)
	case c.Weather && !c.Learned:
		return c, malformed("weather without learners")
	}
	return c, nil
}
