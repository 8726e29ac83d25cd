package ingest

import (
	"strings"
	"sync"
	"unicode"
)

// concept is a set of things that the words of a header mean.
type concept uint64

const (
	cPower concept = 1 << iota
	cEnergy
	cProduction
	cConsumption
	cGrid   // bought from the grid, or the grid's side in general
	cFeedIn // sold to the grid
	cBattery
	cAC
	cDC
	cApparent
	cReactive
	cPowerFactor
	cIrradiance
	cForecast
	cTemperature
	cModule
	cAmbient
	cCabinet
	cWind
	cDirection
	cVoltage
	cCurrent
	cTotal // over assets, or over time
	cLifetime
	cDaily
	cOtherPeriod // of the month, of the year
	cSpecific
	cStatus
	cError
	cStateOfCharge
	cStateOfHealth
	cRating // maximum, nominal, limit, set point
	cMoney
	cDuration
	cEfficiency
	cPhase
	cValue
	cBeam   // direct, diffuse or clear-sky part of irradiance
	cSerial // identifiers, from the most to the least specific
	cDevice
	cSite
	cMeasure // names the quantity of a long file's row
	cUnit
	cTime // of day, or a full time
	cDate
	cStart
	cEnd
	cCount   // numbers and flags that are no measurement
	cPartial // bus bars, insulation and the like: no voltage of an input
)

// dictionary: words by meaning, in English, German, Dutch, French, Spanish,
// Italian, Portuguese and Chinese, without accents. A plain word is matched as
// a whole; with a star in front, behind or both, as an end, a beginning or a
// part of one, which is how German, Dutch and Chinese compound.
//
//nolint:misspell // other languages
var dictionary = []struct {
	means concept
	words string
}{
	{cPower, "power powers *leistung puissance puissances potenza potencia *vermogen pac pwr watt watts *功率*"},
	{cEnergy, "energy energie energia energi eac wh kwh mwh etotal eday *energie *energia* 电能* *电量* *发电*"},
	{cEnergy | cProduction, "yield *ertrag *ertrage *opbrengst rendimento rendement *erzeugung* *opwek* production productions produced produzione produccion producao produktion *produktion productie " +
		"prodotta prodotto producida produzida generation generated generacion generada geracao gerada generazione generata gg pvproduction"},
	{cProduction, "pv solar photovoltaic photovoltaique fotovoltaico fotovoltaica fotovoltaisch photovoltaik *光伏* *发电*"},
	{cConsumption, "consumption consumed consumo consumi consommation *verbrauch *verbruik *gebruik usage demand load loads last house home eigendeckung self " +
		"autoconsumo autoconsommation autoconsumida consumida consumata gc cl *用电* *负载* *负荷* *消耗* *耗电*"},
	{cGrid, "grid *netz netz* *bezug* import imports imported purchased purchase bought afname prelievo prelevata soutirage compra comprada rete red rede reseau absorbed " +
		"gridms *购电* *电网*"},
	{cGrid | cFeedIn, "feed feedin export exports exported *einspeisung* eingespeist *teruglevering* injection injectee immessa immissione vertida vertido excedente excedentes surplus sold *上网* *馈网*"},
	{cBattery, "battery batteries batterie bateria batteria accu akku storage speicher charge charging charged discharge discharging discharged *ladung bat bt *电池* *充电* *放电* *储能*"},
	{cAC, "output active real aktiv* wirk* attiva activa actif active effective effektiv* ac pac uac iac vac eac *交流*"},
	{cDC, "dc pdc udc idc vdc ppv vpv ipv epv upv input inputs mppt mpp string *直流* *输入*"},
	{cVoltage | cDC, "udc vdc vpv upv"},
	{cCurrent | cDC, "idc ipv"},
	{cPower | cDC, "pdc ppv"},
	{cEnergy | cDC, "epv"},
	{cApparent, "apparent apparente aparente schein* schijn* sac *视在*"},
	{cReactive, "reactive react reattiva reattivo reactiva blind* qac *无功*"},
	{cPowerFactor, "pf cosphi cosfi powerfactor leistungsfaktor *功率因数*"},
	{cIrradiance, "irradiance irradiation irradiancia irradiacion irradiacao irradiamento irraggiamento irrad *irrad insolation *strahlung* ensoleillement instraling radiation radiacion radiacao radiazione " +
		"poa gti ghi poai radsol pyranometer *辐照* *辐射*"},
	{cIrradiance | cBeam, "dni dhi gni bhi"},
	{cBeam, "direct directirrad diffuse diffuseirrad direkt diffus clear clearsky beam horizontalbeam extraterrestrial rear"},
	{cForecast, "nwp forecast forecasted predicted prediction *prognose* previsione prevision previsto previsao expected erwartet *预测* *预报*"},
	{cTemperature, "temp temps temperature temperatures *temperatur *temperatuur temperatura *温度*"},
	{cModule, "module modules modul modulo panel panels panneau cell zelle zell* modul* back pannello *组件*"},
	{cAmbient, "ambient air outside outdoor aussen* buiten* ambiente ambiant ambiante umgebung* exterieure esterna exterior drybulb dry *环境*"},
	{cCabinet, "inverter inveter inv internal inside cabinet heatsink geraet gerat innen* interna interne omvormer onduleur inversor *机内* *内部* *逆变器*"},
	{cWind, "wind windspeed wnd wspd wspeed wind* vento viento vent *风速*"},
	{cDirection, "direction winddirection richtung windrichtung direzione direccion azimuth elevation zenith pressure humidity druck feuchte pressione umidita humedad precipitation rain snow albedo cloud aoi equation"},
	{cVoltage, "voltage voltages volt volts *spannung tension tensions tensione voltaje spanning voltagem uac vac u *电压*"},
	{cCurrent, "current currents *strom courant corrente corriente stroom amps ampere iac *电流*"},
	{cTotal, "total totals totale totaal totali *gesamt* gesamt sum summe somme somma suma sommation overall all *合计* 总* *总计*"},
	{cLifetime | cEnergy, "gesamtertrag gesamtenergie gesamterzeugung totalyield totalenergy etotal lifetimeenergy *累计*"},
	{cLifetime, "lifetime counter *zahler* *zaehler* zahlerstand compteur contatore contador teller meterstand lifetimeenergy cumulative cumulated accumulated accumulative cumulativo conteggiato tot index"},
	{cDaily | cEnergy, "tagesertrag tagesenergie daysum eday etoday *日发电* *当日* *今日*"},
	{cDaily, "today todays day daily tages* oggi odierna odierno giornaliera giornaliero heute heutig* jour journaliere journalier diaria diario hoy vandaag dagopbrengst hoje"},
	{cOtherPeriod, "month monthly months annual annually year yearly years monats* monat jahres* jahr mese mensile anno annuale mensuel mensuelle annuel annuelle mes mensual ano anual maand jaar week weekly *月发* *年发* *当月* *当年*"},
	{cSpecific, "specific spezifisch* spezifischer specifiek* specifique specifico especifico kwp"},
	{cStatus, "status state states zustand stato etat estado mode runstate workstate *状态*"},
	{cError, "error errors fault faults faultcode errorcode eventcode fehler* alarm alarms errore falla fallo event *故障* *告警*"},
	{cStateOfCharge, "soc ladezustand"},
	{cStateOfHealth, "soh"},
	{cRating, "max maximum min minimum peak rated nominal nenn* limit setpoint sollwert capacity potential target available ratio availability rating spitze* guaranteed"},
	{cMoney, "revenue revenues income price tariff cost costs savings saved erlos* erlose ertragswert *ersparnis co2 coal trees money *收益*"},
	{cDuration, "hours duration runtime laufzeit *stunden betriebs* uptime minutes timetotal pas step pasminutes"},
	{cEfficiency, "efficiency wirkungsgrad efficienza efficacite eficiencia *效率* frequency freq frequenz fac *频率*"},
	{cPhase, "phase l1 l2 l3 pha phb phc line fase phasa rs st tr rst *相*"},
	{cValue, "value values valeur valeurs wert werte valore valor waarde messwert measurement reading readings val meas *值*"},
	{cSerial, "serial sn serialnumber serialno seriennummer serien* matricola serie *序列号* *编号*"},
	{cDevice, "device devices devicename inverter inverters invertername inv wr wechselrichter onduleur omvormer inversor gerat geraet manageobject sensor channel unit asset assetid deviceid logger apparaat dispositivo " +
		"object *设备* *逆变器* *名称*"},
	{cSite, "site siteid sitename plant plantname station stationname anlage cups prm ean pod zoneid zone zp zpb location customer system systemid identifiant supply mpan nmi identifier id name *电站*"},
	{cMeasure, "measname measure metric parameter variable quantity grandeur register tag point kanal messgrosse"},
	{cUnit, "unit units unite einheit unita unidad eenheid unidade uom"},
	{cTime, "time times timestamp timestamps datetime zeit zeitstempel *zeitpunkt uhrzeit horodate horodatage heure heures hora horas ora orario ore tijd tijdstip tijdstempel ts unixtime epoch unix " +
		"hour hours stunde uhr measuredon localtime utc fechahora datahora datestamp *时间* *时刻* *时间戳*"},
	{cDate, "date dates datum giorno fecha data dia jour dag tag day *日期*"},
	{cStart, "start begin beginning from debut von van inizio desde inicio da du beginn startdate starttime *开始*"},
	{cEnd, "end ending to bis tot fin fine hasta ate einde au ende enddate endtime until *结束*"},
	{cCount, "flag mask label quality qc count number no nr method metodo source uncert valid isagain outlier shift"},
	{cPartial, "bus iso pid str istr vstr gfci dci rcd ground earth insulation residual leakage svg apf neg"},
}

// lexicon is the dictionary by word, and the starred words apart.
type lexicon struct {
	whole  map[string]concept
	starts []starred
}

type starred struct {
	text         string
	front, after bool // text may have letters before it, after it
	means        concept
}

var words = sync.OnceValue(func() lexicon {
	l := lexicon{whole: map[string]concept{}}
	for _, entry := range dictionary {
		for w := range strings.FieldsSeq(entry.words) {
			bare := strings.Trim(w, "*")
			l.whole[bare] |= entry.means
			if bare != w {
				l.starts = append(l.starts, starred{bare, w[0] == '*', w[len(w)-1] == '*', entry.means})
			}
		}
	}
	return l
})

// tokenConcepts is what one word means.
func tokenConcepts(w string) concept {
	l := words()
	c := l.whole[w]
	for _, s := range l.starts {
		if c&s.means == s.means || !strings.Contains(w, s.text) {
			continue
		}
		if (s.front || strings.HasPrefix(w, s.text)) && (s.after || strings.HasSuffix(w, s.text)) {
			c |= s.means
		}
	}
	return c
}

// conceptsOf is what the words of a name mean together.
func conceptsOf(name string) concept {
	var c concept
	tokens := tokensOf(name)
	for i, w := range tokens {
		c |= tokenConcepts(w)
		if i+1 < len(tokens) { // "feed-in", "E-Day", "cos phi", "measured on"
			switch pair := w + tokens[i+1]; pair {
			case "feedin", "eday", "daysum", "soc", "soh", "etoday", "etotal", "cosphi", "measuredon", "totalyield", "totalenergy", "lifetimeenergy", "measname", "powerfactor", "drybulb":
				c |= tokenConcepts(pair)
			}
		}
	}
	return c
}

// tokensOf splits a name into folded words: at marks, between letters and
// digits, and at the humps of "EacToday".
func tokensOf(name string) []string {
	var out []string
	add := func(word []rune) {
		if w := fold(string(word)); w != "" { // nothing is left of a mark alone
			out = append(out, w)
		}
	}
	for _, raw := range rawTokens(name) {
		rs := []rune(raw.text)
		start := 0
		for i := 1; i < len(rs); i++ {
			lowUp := unicode.IsLower(rs[i-1]) && unicode.IsUpper(rs[i])
			upLow := i+1 < len(rs) && unicode.IsUpper(rs[i-1]) && unicode.IsUpper(rs[i]) && unicode.IsLower(rs[i+1])
			letterDigit := unicode.IsDigit(rs[i-1]) != unicode.IsDigit(rs[i])
			if lowUp || upLow || letterDigit {
				add(rs[start:i])
				start = i
			}
		}
		add(rs[start:])
	}
	return out
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
