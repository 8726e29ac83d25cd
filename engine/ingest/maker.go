package ingest

import "strings"

// signatures are marks that only the files of one manufacturer have, all of which
// must be in the head of the file. The manufacturer's name is sufficient unless it
// is an everyday word.
var signatures = []struct {
	brand string
	marks []string
}{
	{"SMA", []string{"Version CSV1|Tool SE|"}},
	{"SMA", []string{"Version CSV1|Tool SBFspot"}},
	{"SMA", []string{"Version CSV3|Tool WebUI|"}},
	{"SMA", []string{"Metering.TotWhOut"}},
	{"SMA", []string{"Sunny Portal"}},
	{"SMA", []string{"ennexOS"}},
	{"SMA", []string{"SMA-SB-"}},
	{"SMA", []string{"SUNNY TRIPOWER"}},
	{"Fronius", []string{" | Symo"}},
	{"Fronius", []string{" | Primo"}},
	{"Fronius", []string{" | Galvo"}},
	{"Fronius", []string{" | Eco "}},
	{"Fronius", []string{" | Tauro"}},
	{"Fronius", []string{" | GEN24"}},
	{"Fronius", []string{"Fronius"}},
	{"Fronius", []string{"Solar.web"}},
	{"SolarEdge", []string{"SolarEdge"}},
	{"SolarEdge", []string{"System Production (W"}},
	{"Enphase", []string{"Energy Produced (Wh)"}},
	{"Enphase", []string{"Enphase"}},
	{"Huawei", []string{"ManageObject"}},
	{"Huawei", []string{"SUN2000"}},
	{"Huawei", []string{"FusionSolar"}},
	{"Sungrow", []string{"PV(kWh)", "Purchased Energy(kWh)", "Feed-in(kWh)"}},
	{"Sungrow", []string{"iSolarCloud"}},
	{"Sungrow", []string{"Sungrow"}},
	{"GoodWe", []string{"GoodWe"}},
	{"GoodWe", []string{"SEMS Portal"}},
	{"Growatt", []string{"EacToday(kWh)", "Ppv(W)"}},
	{"Growatt", []string{"Growatt"}},
	{"Growatt", []string{"ShineServer"}},
	{"Solis", []string{"SolisCloud"}},
	{"Solis", []string{"Ginlong"}},
	{"Victron", []string{"System overview [0]"}},
	{"Victron", []string{"Victron"}},
	{"Solar-Log", []string{"#Datum;Uhrzeit;INV;Pac;DaySum"}},
	{"Solar-Log", []string{"#Datum;Uhrzeit;WR;Pac;DaySum"}},
	{"Solar-Log", []string{"Solar-Log"}},
	{"Kostal", []string{"Logdaten U[V], I[mA], P[W], E[kWh]"}},
	{"Kostal", []string{"KOSTAL"}},
	{"Kostal", []string{"PLENTICORE"}},
	{"ABB/FIMER", []string{"Aurora Vision"}},
	{"ABB/FIMER", []string{"FIMER"}},
	{"ABB/FIMER", []string{"Power-One"}},
	{"Delta", []string{"SOLIVIA"}},
	{"Delta", []string{"MyDeltaSolar"}},
	{"Tigo", []string{"Tigo Energy"}},
	{"Tigo", []string{"Tigo EI"}},
	{"APsystems", []string{"APsystems"}},
	{"Danfoss", []string{"Danfoss"}},
	{"Danfoss", []string{"ComLynx"}},
	{"HomeWizard", []string{"HomeWizard"}},
}

// makerOf returns the manufacturer that the head of a file identifies, and the mark.
func makerOf(head string) (brand, mark string) {
	low := strings.ToLower(head)
next:
	for _, s := range signatures {
		for _, m := range s.marks {
			if !strings.Contains(low, strings.ToLower(m)) {
				continue next
			}
		}
		return s.brand, s.marks[0]
	}
	return "", ""
}
