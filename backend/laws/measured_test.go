package laws

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/realdata"
	"app.sunloop/tui/plain"
)

// measured is a month of a plant whose data were measured, with what the data say of
// its energy.
type measured struct {
	name               string
	location, zoneName string
	capacityKW         float64
	year               int
	month              time.Month
	file               string
	days               map[string]float64 // kWh by local day, by the data
	dayShare           float64            // by how much a day may differ from that
	other, monthShare  float64            // kWh of the month by another measurement in the data, and by how much it may differ
}

// reunion is a plant with interval energies and power, as its operator exports them.
func reunion(t *testing.T) measured {
	m := measured{name: "reunion", location: "-21.33,55.49", zoneName: "Indian/Reunion", capacityKW: 49.14, year: 2021, month: time.May,
		days: map[string]float64{}, dayShare: 0.001, monthShare: 0.02}
	var b strings.Builder
	lines := bufio.NewScanner(realdata.Open(t, "data/enerpos/Prod_ENERPOS_Sunzil_2021.txt.gz"))
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		cells := strings.Split(strings.TrimSpace(line), ";")
		if !first && cells[0][3:10] != "05/2021" {
			continue
		}
		b.WriteString(line + "\r\n")
		if first {
			continue
		}
		day := cells[0][6:10] + "-" + cells[0][3:5] + "-" + cells[0][:2]
		kWh, byPower := realdata.Number(cells[1]), realdata.Number(cells[2])/6000
		if math.IsNaN(kWh) {
			kWh = byPower
		}
		if !math.IsNaN(kWh) {
			m.days[day] += kWh
		}
		if byPower > 0 {
			m.other += byPower
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	m.file = b.String()
	return m
}

// madrid are two inverters with power of each five minutes by the wall clock, which
// have lifetime counters that are not uploaded.
func madrid(t *testing.T) measured {
	m := measured{name: "madrid", location: "40.45,-3.73", zoneName: "Europe/Madrid", capacityKW: 1.115 + 3.358, year: 2016, month: time.June,
		days: map[string]float64{}, dayShare: 1e-4, monthShare: 0.005}
	var b strings.Builder
	b.WriteString("local_time,P1 (W),P13 (W)\n")
	r := csv.NewReader(realdata.Open(t, "data/upm-madrid/upm_5min_2016.csv.gz"))
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(row[0], "2016-06-") {
			continue
		}
		one, other := row[13], row[25]
		fmt.Fprintf(&b, "%s,%s,%s\n", row[0], one, other)
		for _, cell := range []string{one, other} {
			if w := realdata.Number(cell); w > 0 {
				m.days[row[0][:10]] += w / 12000
			}
		}
	}
	m.file = b.String()
	first, last := [2]float64{math.NaN(), math.NaN()}, [2]float64{}
	for _, row := range realdata.Rows(t, "data/upm-madrid/upm_hourly_energy_counters_2016.csv.gz") {
		for i, cell := range []string{row[1], row[13]} {
			e := realdata.Number(cell)
			switch {
			case math.IsNaN(e) || !strings.HasPrefix(row[0], "2016-05-31") && !strings.HasPrefix(row[0], "2016-06-"):
			case strings.HasPrefix(row[0], "2016-05-31"): // its last reading is that at the start of the month
				first[i] = e
			default:
				last[i] = e
			}
		}
	}
	m.other = last[0] - first[0] + last[1] - first[1]
	return m
}

// TestMeasuredPlants holds a month of measured plants: records of days, KPIs of a day
// and of the month, the roll-up and the table for scripts agree with each other and
// with what the data say.
func TestMeasuredPlants(t *testing.T) {
	v := newTally()
	for _, m := range []measured{reunion(t), madrid(t)} {
		m.hold(t, v)
	}
	v.report(t)
}

func (m measured) hold(t *testing.T, v *tally) {
	zone, err := time.LoadLocation(m.zoneName)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(m.year, m.month, 1, 0, 0, 0, 0, zone)
	to := from.AddDate(0, 1, 0)
	h := open(t, to.Add(3*time.Hour), 0)
	defer h.down()
	u, err := h.upload(api.UploadTrain, api.UploadRequest{SiteID: m.name, Location: m.location, Timezone: m.zoneName, CapacityKW: m.capacityKW}, m.file)
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	p := &plant{words: m.name, place: place{zone: m.zoneName}, zone: zone, site: m.name, start: from}
	minute := func(day int) int { return int(from.AddDate(0, 0, day).Sub(from) / time.Minute) }
	energy := func(a, b int) (float64, *api.KPIs) {
		k, err := p.kpis(h, a, b)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := figure(k, "energy")
		return value(e), k
	}
	n := to.AddDate(0, 0, -1).Day()
	days, fine := make([]float64, n), 0.0
	for _, id := range u.AssetIDs {
		one := &unit{id: id}
		records, err := p.read(h, one, 0, minute(n), api.ResolutionDaily)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			days[r.Timestamp.In(zone).Day()-1] += r.KWh
		}
		if records, err = p.read(h, one, 0, minute(n), ""); err != nil {
			t.Fatal(err)
		}
		fine += energyOf(records)
	}
	total := 0.0
	for i, kWh := range days {
		day := from.AddDate(0, 0, i).Format(time.DateOnly)
		total += kWh
		v.hold("a measured day is what its data say", math.Abs(kWh-m.days[day]) <= 0.002+m.dayShare*m.days[day], "%s: %s: %.3f kWh, the data say %.3f", m.name, day, kWh, m.days[day])
		if i%10 == 4 {
			by, _ := energy(minute(i), minute(i+1))
			v.hold("KPIs of a measured day are its records", near(by, kWh), "%s: %s: KPIs have %.3f kWh, the records %.3f", m.name, day, by, kWh)
		}
	}
	v.hold("records of a measured month sum to its days", near(fine, total), "%s: records %.3f kWh, days %.3f", m.name, fine, total)
	v.hold("a measured month agrees with the other measurement in its data", m.other > 0 && math.Abs(total/m.other-1) <= m.monthShare, "%s: %.3f kWh, the data say %.3f", m.name, total, m.other)
	month, k := energy(0, minute(n))
	v.hold("a measured month is the sum of its days", near(month, total), "%s: KPIs have %.3f kWh, the days %.3f", m.name, month, total)
	var table bytes.Buffer
	_ = plain.Figures(*k).Write(&table, "") // to memory
	v.hold("plain figures of a measured month are the KPIs'", strings.Contains(table.String(), plain.Number(month)), "%s: %s in %q", m.name, plain.Number(month), table.String())
	rollup := &api.KPIRollup{}
	for range 200 {
		if r, err := h.KPIRollup(t.Context(), p.ref()); err == nil && r.EnergyBalance.SolarProductionKWh > 0 {
			rollup = r
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	want := 0.0
	for i := range days {
		if day := api.Date(from.AddDate(0, 0, i).Format(time.DateOnly)); rollup.Period.Start <= day && day <= rollup.Period.End {
			want += days[i]
		}
	}
	v.hold("the roll-up of a measured month is the sum of its days", rollup.Period.Days > 0 && near(rollup.EnergyBalance.SolarProductionKWh, want), "%s: the roll-up from %s to %s has %.3f kWh, the days %.3f", m.name, rollup.Period.Start, rollup.Period.End, rollup.EnergyBalance.SolarProductionKWh, want)
}
