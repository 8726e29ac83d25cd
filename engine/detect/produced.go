package detect

import "app.sunloop/engine/loss"

// produced keeps what the site produced on each day while no other stage explained
// its power: slow losses are a share of that energy, hour by hour.
type produced struct{}

// producedDay is the energy of a day, by hour.
type producedDay struct {
	start  int64
	energy loss.Ledger
}

func (produced) look(v *view, s *session) {
	var day loss.Ledger
	for k := range v.units {
		v.addProduced(&day, k)
	}
	s.produced = append(s.produced, producedDay{v.first, day})
}

// addProduced adds the energy that unit k produced while no stage explained its power.
func (v *view) addProduced(l *loss.Ledger, k int) {
	u := &v.units[k]
	for i, p := range u.power[:v.cells] {
		if u.claimed[i] == "" {
			v.addLoss(l, i, p)
		}
	}
}

// addLoss adds a power in kW that was lost for the length of cell i. Nothing is lost
// while the sun is down: what was expected then is an error of a sensor.
func (v *view) addLoss(l *loss.Ledger, i int, kW float64) {
	if kW > 0 && !v.dark[i] {
		t := v.first + int64(i)*v.step
		l.Add(t, t+v.step, kW*v.hours())
	}
}

// addDayLoss adds what unit k lacks on the day of what was due in kW at each cell
// that no stage explained and that is expected from peers. Single cells stray both
// ways, so that the sum decides; it falls on the cells that lack.
func (v *view) addDayLoss(l *loss.Ledger, k int, due func(i int) float64) {
	u := &v.units[k]
	lack := func(i int) float64 {
		if u.claimed[i] != "" || u.tier[i] != tierPeers {
			return 0
		}
		return zeroIfMissing(due(i) - u.power[i])
	}
	sum, lacking := 0.0, 0.0
	for i := range v.cells {
		sum, lacking = sum+lack(i), lacking+max(lack(i), 0)
	}
	for i := range v.cells {
		if sum > 0 {
			v.addLoss(l, i, lack(i)*sum/lacking)
		}
	}
}
