package score

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"app.sunloop/engine/detect"
)

// keptReplay is what detection found in a case on a tier: enough to diagnose and to
// judge it again, as after the confidences were fitted.
type keptReplay struct {
	Tier    string
	Years   float64
	Events  []keptEvent
	Sizes   map[string]detect.Detectability
	Ratings map[string]float64
}

// keptEvent is a [detect.Event] without its losses by hour.
type keptEvent struct {
	Family                      detect.Family
	Class                       detect.Class
	Units                       []string
	Start, DetectedAt, LastSeen time.Time
	End                         *time.Time
	Basis                       string
	UsableDays                  int
	LossFraction, LostKWh       float64
	Evidence                    []detect.Evidence
	Occasions                   []detect.Span
}

// keptOf returns what is kept of a case.
func keptOf(c Case, r detect.Report) keptReplay {
	k := keptReplay{Tier: c.tier(), Years: c.inverterYears(), Sizes: r.Detectability, Ratings: r.RatingKW}
	for _, e := range r.Events {
		k.Events = append(k.Events, keptEvent{e.Family, e.Class, e.Units, e.Start, e.DetectedAt, e.LastSeen, e.End, e.Basis, e.UsableDays, e.LossFraction, e.LostKWh, e.Evidence, e.Occasions})
	}
	return k
}

// report is the report that was kept.
func (k keptReplay) report() detect.Report {
	r := detect.Report{Detectability: k.Sizes, RatingKW: k.Ratings}
	for _, e := range k.Events {
		r.Events = append(r.Events, detect.Event{Family: e.Family, Class: e.Class, Units: e.Units, Start: e.Start, DetectedAt: e.DetectedAt, LastSeen: e.LastSeen, End: e.End,
			Basis: e.Basis, UsableDays: e.UsableDays, LossFraction: e.LossFraction, LostKWh: e.LostKWh, Evidence: e.Evidence, Occasions: e.Occasions})
	}
	return r
}

// keptFile is where the replays of a case are kept.
func keptFile(dir, name string) string {
	return filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".replay")
}

// keptReplays returns the replays of a case, nil if none are kept.
func keptReplays(dir, name string) (all []keptReplay, err error) {
	if dir == "" {
		return nil, nil
	}
	f, err := os.Open(keptFile(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read replay: %w", err)
	}
	defer f.Close()
	if err := gob.NewDecoder(f).Decode(&all); err != nil {
		return nil, fmt.Errorf("read replay: %s: %w", f.Name(), err)
	}
	return all, nil
}

// keepReplays stores the replays of a case.
func keepReplays(dir, name string, all []keptReplay) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep replay: %w", err)
	}
	path := keptFile(dir, name)
	f, err := os.Create(path + ".part")
	if err != nil {
		return fmt.Errorf("keep replay: %w", err)
	}
	err = gob.NewEncoder(f).Encode(all)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+".part", path)
	}
	if err != nil {
		return fmt.Errorf("keep replay: %w", err)
	}
	return nil
}
