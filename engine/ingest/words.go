package ingest

import (
	"strings"
	"sync"
	"unicode"
)

// concept is a set of meanings of the words of a header.
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

	// What names of columns and units say about the purpose of values that are power
	// or energy as well as production is. These words are no part of [conceptsOf],
	// for which a word such as "pump" is one without a meaning.
	cMeasured   // as opposed to a forecast
	cEstimate   // an estimate, a plan, a model
	cReference  // another plant
	cAppliance  // a consumer
	cAmbiguous  // a consumer or the name of a roof
	cUncertain  // a word of consumption or batteries that names roofs and sites as well
	cSource     // another source of energy
	cSourceWord // a word around one in statistics, "Fossil Gas - Actual Aggregated"
	cGenerator  // roofs and inverters
	cType       // of the column of kinds of devices
	cCompass    // direction of the modules
)

// purposeMask are the concepts that are no part of [conceptsOf].
const purposeMask = cMeasured | cEstimate | cReference | cAppliance | cAmbiguous | cUncertain | cSource | cSourceWord | cGenerator | cType | cCompass

// dictionary is the one list of words by meaning, in some thirty languages. They only add to what
// values show, and are compared without accents. A plain word is matched as
// a whole; with a star before it, after it or both, as an end, a beginning or a
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
	{cGrid | cFeedIn, "feed feedin export exports exported *einspeisung* eingespeist *teruglevering* injection injectee immessa immissione vertida vertido excedente excedentes surplus sold returned *上网* *馈网*"},
	{cBattery, "battery batteries batterie bateria batteria accu akku storage speicher charge charging charged discharge discharging discharged *ladung bat *电池* *充电* *放电* *储能*"},
	{cAC, "output active real ca aktiv* wirk* attiva activa actif active effective effektiv* ac pac uac iac vac eac *交流*"},
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
	{cForecast, "nwp forecast forecasted predicted prediction *prognose* previsione prevision previsto previsao expected erwartet* *预测* *预报*"},
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
	{cPhase, "phase l1 l2 l3 pha phb phc fase phasa rs st tr rst *相*"},
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
	// Further languages: Polish, Czech, Slovak, Hungarian, Romanian, Bulgarian, Greek, Turkish, Russian, Ukrainian, Croatian, Slovene, Swedish, Danish, Norwegian,
	// Finnish, Estonian, Latvian, Lithuanian, Japanese, Korean, Vietnamese, Thai, Indonesian, Hindi, Arabic, Hebrew, Persian.
	{cPower, "moc moci vykon* prikon teljesitmeny* putere puterea puterii мощност* моќност потужн* *ισχυς *ισχυος guc gucu snaga snage snagu moc delovna effekt* *effekt *effekten *teho tehon voimsus* *voimsus jauda jaudas galia galios " +
		"*電力 *出力* *전력* *출력* *유효전력* cong+suat daya กำลัง* शक्ति القدرة قدرة *הספק* توان"},
	{cEnergy, "energii energija energije energiju energie energien energiaa energiat energy *енерг* *энерг* *ενεργει* enerji enerjisi *電力量* *전력량* dien+nang nang+luong พลังงาน* ऊर्जा الطاقة طاقة אנרגיה* انرژی energi *energi"},
	{cEnergy | cProduction, "produkcja produkcji uzysk* wytworz* vyroba vyroby vyrobena vyrobene vyroben* termeles* termelt productie producti* producere произв* выработ* виробіт* виробництв* генерац* *παραγωγ* παραγομεν* uretim* uretilen proizvodnja proizvodnje " +
		"proizved* proizvodnj* produktion* producerad produceret produsert produksjon* *produktion tuotanto* *tuotanto* tuotettu tood* *toodang razosan* razots gamyba gamybos pagamint* *発電* *발전* san+luong produksi dihasilkan ผลผลิต* ผลิต* उत्पादन الإنتاج إنتاج المنتجة ייצור* מיוצרת תולید"},
	{cProduction, "slonecz* fotowolt* solarni fotovoltaick* napelem* solar* фотоволт* соняч* солнеч* φωτοβολτ* gunes* solceller solcelle* aurinko* paike* saules 太陽光* 태양광* mat+troi surya แสงอาทิตย์"},
	{cConsumption, "zuzycie zuzycia pobor poboru spotreba spotreby odber odberu fogyasztas* consum consumul sarcina потреб* споживан* консум* нагруз* навантаж* *καταναλω* tuketim* yuk potrosnja potrosnje poraba forbrukning* *forbrukning forbrug* *forbrug forbruk* *forbruk " +
		"kulutus* *kulutus tarbimi* paterin* suvartoj* vartojim* 消費* *消費* *負荷* 소비* *소비* *부하* tieu+thu phu+tai konsumsi beban การใช้* โหลด खपत الاستهلاك استهلاك الحمل צריכה* עומס مصرف kitchen cuisine kuche keuken cocina cucina utenza"},
	{cTotal, "suma razem lacznie ogolem celkem celkom soucet sucet osszes* osszesen osszeg suma totalul общо всего итого сумма усього разом всього сума *συνολ* αθροισμα toplam genel ukupno zbroj skupaj vsota totalt summa sammanlagt ialt alt sum yhteensa summa kokonais* kokku kopa summa viso " +
		"合計 総計 合算 합계 총계 전체 tong+cong jumlah keseluruhan รวม* ทั้งหมด कुल योग المجموع الإجمالي مجموع סך סכום הכל کل plant usine centrale central elektrownia elektrarna eromu централа станция станція σταθμος santral anlaggning anlaeg laitos jaam elektrine 発電所 발전소 nha+may pembangkit المحطة תחנה"},
	{cForecast, "prognoza prognozy prognoz* predpoved* prognoza* elorejelzes* prognoz* прогноз* προβλεψη* tahmin* napoved prognos* *prognos *prognose varsel ennuste* *ennuste prognoos* prognoze 予測* *予測* 예측* *예측* du+bao prakiraan ramalan พยากรณ์* पूर्वानुमान التوقعات توقع* תחזית* پیش+بینی " +
		"forecasts dayahead pronostico pronosticos previst* prevu prevus prevista vorhersage* voorspel* verwachting* prevues prevue previsions"},
	{cForecast, "theoretical theoretic theoretisch* theoretischer theorique theoriques teorico teorica teoretico tedrica soll* sollertrag sollleistung modelled modeled simulated clearsky clear+sky ideal attendue attendu esperada esperado attesa atteso verwacht verwachte oczekiwan* teoretyczn* " +
		"ocekavan* teoretick* varhato elmeleti asteptat* teoretic* очаквана теоретичн* αναμενομεν* θεωρητικ* beklenen teorik ожидаем* расчетн* теоретическ* очікуван* розрахунков* forvantad teoretisk* forventet forventet odotettu teoreettinen oodatav teoreetiline laukiama* teorine " +
		"ocekivan* teorijsk* 期待* 理論* 理论* 期望* 기대* 이론* ky+vong ly+thuyet harapan teoretis ที่คาดหวัง* *คาดหวัง* ทฤษฎี* المتوقعة النظرية צפוי תאורטי"},
	{cIrradiance, "naslonecznien* promieniow* natezeni* ozareni* zareni sluneczni ziareni* besugarzas* napsugarzas* iradiant* radiati* облъчен* слънчев* радиаци* опромін* радіаці* ακτινοβολ* isinim* ozracen* zracenj* sevanj* instralning* solinstralning* indstraling* solindstraling* innstraling* " +
		"sateily* *sateily kiirgus* *kiirgus apsvita spinduliuot* *日射* 일사* *일사* buc+xa iradiasi radiasi ความเข้ม* แสง विकिरण الإشعاع קרינה* قرینة radiance"},
	{cTemperature, "temperatur* *temperatur temperatury teplota teploty homerseklet* *homerseklet температур* *θερμοκρασ* sicaklik sicakligi temperaturi lampotila* *lampotila 温度* *温度 *気温* 온도* *온도 *기온* nhiet+do suhu อุณหภูมิ* तापमान حرارة درجة טמפרטורה* טמפרטורת دما"},
	{cModule, "modulu modul* modulhomerseklet panelu panela modulului panoului модул* панел* πλαισι* paneli *panel* paneeli* paneelin moduulin modultemperatur* paneltemperatur* モジュール* *モジュール* パネル* 모듈* *모듈* 패널* *패널* tam+pin โมดูล* แผง* मॉड्यूल اللوح לוח mooduli modulio"},
	{cAmbient, "otoczenia zewnetrzn* okoli venkovni okolia kulso kulter* levego exterioara ambianta* външн* возду* повітр* наружн* зовнішн* περιβαλλοντ* ortam dis okoline vanjsk* okolice zunanj* ute* utetemperatur* luft* lufttemperatur* ude* udetemperatur* ulko* ulkolampotila ilman valis* ohu* lauko oro " +
		"外気* 気温* 외기* 기온* moi+truong lingkungan udara แวดล้อม* परिवेश الهواء המ סביבה udetemperatur"},
	{cStatus, "stan stanu tryb stav rezim allapot* uzemmod* stare mod състоян* состоян* стан режим* κατασταση* durum stanje nacin lage tillstand tilstand driftstilstand tila olek busena 状態* 運転* 상태* 운전* trang+thai keadaan สถานะ* स्थिति الحالة מצב وضعیت situacao etat"},
	{cLifetime, "licznika licznik stav elektromeru meroallas* meroora index contor* contorului показани* покази електромер* счетчик* лічильник* μετρητη* ενδειξη sayac sayaci brojila brojilo stevec stevca matarstallning* malerstand* maalerstand malarstand mittarilukema* arvesti naidu skaitikl* rodmuo rodmen* " +
		"積算* 累積* 累計* 누적* *누적* 계량기* chi+so angka+meter สะสม* मीटर العداد קריאת מונה medidor zahlerstand* calkowit* celkov* osszes celkova totala обща суммарн* загальн* συνολικη toplam ukupna samlet kokonaisenergia koguenergia bendra 積算電力量 累積発電量 누적발전량 tong+san kolektif الكلية כוללת"},
	{cDaily, "dzisiaj dzienny dzienna dnes denni dnesni mai napi azi zilnic* днес дневн* сегодня дневная сьогодні денн* σημερα ημερησι* bugun* gunluk danas dnevn* danes idag dag dags* tanaan paiva* paivan tana paeva* sodien siandien dienos 本日* 日* 금일* *금일* 일발전량 hom+nay hari วันนี้* आज اليوم היום giorno daily"},
	{cAC, "czynna czynnej cinny cinneho hatasos hatasteljesitmeny activa activ ativa активн* ενεργος aktif aktiiv* djelatna delovna patoteho patoteho aktyvioji 有効* 有功* 유효* tac+dung الفعالة פעיל"},
	{cStart, "poczatek zacatek kezdet inceput начало початок εναρξη baslangic pocetak start alku algus pradzia 開始* 시작* bat+dau mulai เริ่ม* البداية התחלה"},
	{cEnd, "koniec konec veg vege sfarsit край конец кінець ληξη bitis kraj slut loppu lopp pabaiga 終了* 종료* ket+thuc akhir สิ้นสุด* النهاية סיום"},
	{cTime, "czas znacznik cas casova razitko znacka ido idobelyeg* idopont* marcaj moment печат време время метка час мітка χρονοσφραγιδα* χρονος zaman damgasi vrijeme oznaka cas tidsstampel* tidpunkt* tidsstempel* tidspunkt* klocka klokkeslaet aikaleima* ajankohta* kellonaika aeg ajatempel kellaaeg laikas laiko zyma " +
		"日時* 時刻* *時刻* タイムスタンプ* 計測時刻 時間 일시* 시간* 시각* *시각* thoi+gian thoi+diem gio waktu stempel jam เวลา* วันเวลา* समय الوقت الطابع الزمني זמן* חותמת שעה زمان tempo instant instante istante marca carimbo horodatage* messzeit* meetmoment"},
	{cDate, "data dzien datum den datum nap datum data zi дата день ден ημερομηνια* ημερα tarih gun datum dan datum dato paivamaara* kuupaev* paev data diena 日付* 年月日* 날짜* 일자* ngay tanggal hari วันที่* दिनांक التاريخ תאריך* تاریخ"},
	{cDevice, "urzadzenie falownik zrodlo oznaczenie zarizeni stridac zdroj oznaceni zariadenie menic eszkoz keszulek inverter* forras megnevezes echipament sursa invertor denumire устройство инвертор* източник означение источник обозначение пристрій інвертор* джерело позначення συσκευη αντιστροφεας πηγη ετικετα cihaz " +
		"evirici kaynak etiket uredaj izmjenjivac izvor oznaka enhet vaxelriktare kalla beteckning enhed vekselretter kilde betegnelse laite invertteri lahde tunnus seade allikas tahis irenginys saltinis inverteris zymuo 機器* 装置* パワコン* 名称* 系統* 장비* 인버터* 기기* 구분* thiet+bi nguon bien+tan nhan perangkat sumber " +
		"อุปกรณ์* อินเวอร์เตอร์* แหล่ง* ชื่อ* उपकरण الجهاز المصدر العاكس الرمز מכשיר מקור ממיר תווית equipment equipo equipement equipamento source fuente fonte quelle bezeichnung kennung libelle etiqueta etichetta series label meter node element machine converter apparato sorgente toestel kenmerk bron 采集点*"},
	{cMeasure, "wielkosc parametr parametro parametre velicina veliciny mennyiseg jellemzo marime parametru величина параметър параметр μεγεθος παραμετρος buyukluk parametre velicina parametar storhet storrelse suure parametri suurus parameeter dydis parametras 項目* 計測項目 항목* 측정항목 dai+luong thong+so besaran ตัวแปร* राशि الكمية المؤشر גודל " +
		"פרמטר signal magnitud grossheid grootheid grosse messgrosse 测点* 指标* metrica"},
	{cValue, "wartosc odczyt hodnota mereni ertek meres valoare masurare стойност отчет значение показание значення показ τιμη μετρηση deger olcum vrijednost ocitanje varde matvarde vaerdi maling arvo mittaus vaartus nait reiksme 値 計測値 값 측정값 gia+tri nilai bacaan ค่า मान القيمة القراءة ערך מדידה lectura leitura mesure misura meting"},
	{cMoney, "przychod vynos bevetel venit приход доход дохід εσοδα gelir prihod intakt* indtaegt* tuotto tulo 収入* 수익* doanh+thu pendapatan รายได้* الدخل הכנסה income umsatz recette ingresos ricavi receita opbrengsteuro"},
	{cCount, "uwagi poznamka megjegyzes observatii бележка примечание примітка note notes comment comments remark remarks kommentar huomautus markus pastaba 備考 비고 ghi+chu catatan หมายเหตุ ملاحظة הערה bemerkung bemerkungen commentaire comentario nota opmerking"},
	// The purpose of values. "+" joins the words of a phrase; the first entry that matches applies.
	{cMeasured, "measured actual actuals observed metered scada messung messungen pomiar mereni matning mittaus измерение измерено olcum 実測 实测 실측 ist istwert istwerte istleistung gemessen tatsachlich mesure mesuree reel reelle medido medida misurato misurata effettivo gemeten werkelijk"},
	{cEstimate, "estimate estimates estimated estimation schatzung geschatzt stima stimata stimato estimacion estimada estimado estimativa schatting geschat szacunek odhad " +
		"gfs ecmwf icon hrrr arome solcast meteonorm pvgis pvsyst budget budgeted planned plan planwert plandaten planleistung geplant scheduled schedule fahrplan day+ahead baseline"},
	{cReference, "reference referenz referenzanlage referencia riferimento reference+plant neighbour neighbor neighbours nachbar nachbaranlage voisin vecino vicino buren buurman"},
	{cAppliance, "heatpump heat+pump *warmepumpe* *waermepumpe* *warmtepomp* pompe+a+chaleur bomba+de+calor pompa+di+calore varmepump* lampopumppu pompa+ciepla tepelne+cerpadlo " +
		"wallbox wall+box charger chargers evcharger ev+charger car+charger evse ladestation *ladesaule* *ladepunkt* laadpaal laadpunt borne+de+recharge colonnina cargador punto+de+recarga ladepunkt " +
		"pool+pump poolpump *poolpumpe* air+conditioning airconditioning air+conditioner airconditioner aircon airco hvac *klimaanlage* klimagerat climatisation climatiseur climatizacion aire+acondicionado condizionatore klimatyzacja " +
		"boiler heater heaters heizstab *heizung chauffage chauffe+eau calefaccion riscaldamento verwarming water+heater fridge freezer refrigerator kuhlschrank *kuhlung gefriertruhe oven dishwasher " +
		"washing+machine washer dryer *waschmaschine geschirrspuler wasserpumpe lighting beleuchtung household haushalt consumer consumers verbraucher abnehmer compressor netzbezug bezug"},
	{cAmbiguous, "pump pumps pumpe pool sauna ev car cars auto tesla haus hause house home garage+door server meter zahler"},
	{cUncertain, "house home last self gc cl kitchen cuisine kuche keuken cocina cucina utenza storage charge bat yuk beban use usage"},
	{cSource, "nuclear wind onshore offshore gas coal lignite oil peat shale biomass biogas geothermal hydro marine waste " +
		"windkraft wasserkraft steinkohle braunkohle erdgas biomasse pumpspeicher nucleaire eolien hydraulique charbon fioul eolica nuclear hidraulica carbon ciclo combinado kern kernenergie waterkracht"},
	{cSourceWord, "fossil hard brown derived run of river and poundage water reservoir pumped storage other renewable actual aggregated"},
	{cGenerator, "roof dach wr toit tetto dak"},
	{cType, "type typ tipo category kategorie categorie kind kinds class role art soort rodzaj druh tyyppi laji slag valuetype вид тип 種別 类型 유형"},
	{cCompass, "east west north south ost sud nord est ouest oeste este sur norte ovest zuid noord oost vest ost vast ast syd norr north vychod zapad jih sever  wschod zachod poludnie polnoc sudost sudwest nordost nordwest southeast southwest northeast northwest sureste suroeste sudeste sudoeste zuidoost zuidwest leste poente kelet nyugat del eszak"},
}

// lexicon is the dictionary by word, and the starred words apart.
type lexicon struct {
	whole  map[string]concept
	pairs  map[string]concept // of two words, written as one
	starts []starred

	purposes []starred          // phrases of the concepts of [purposeConcepts], in order
	others   map[string]concept // words of the other concepts of [purposeMask]
}

// means reports whether a word has a concept of [purposeMask] that is no phrase.
func (l lexicon) means(word string, c concept) bool { return l.others[word]&c != 0 }

// allMean reports whether all words have a concept of [purposeMask].
func (l lexicon) allMean(list []string, c concept) bool {
	for _, w := range list {
		if !l.means(w, c) {
			return false
		}
	}
	return len(list) > 0
}

type starred struct {
	text         string
	front, after bool // text may have letters before it, after it
	means        concept
}

var words = sync.OnceValue(func() lexicon {
	l := lexicon{whole: map[string]concept{}, pairs: map[string]concept{}, others: map[string]concept{}}
	for _, entry := range dictionary {
		for w := range strings.FieldsSeq(entry.words) {
			if entry.means&purposeMask != 0 {
				text := fold(strings.ReplaceAll(strings.Trim(w, "*"), "+", " "))
				if _, phrase := purposeConcepts[entry.means]; phrase {
					l.purposes = append(l.purposes, starred{text, w[0] == '*', w[len(w)-1] == '*', entry.means})
				} else {
					l.others[text] |= entry.means
				}
				continue
			}
			bare := fold(strings.ReplaceAll(strings.Trim(w, "*"), "+", ""))
			if strings.Contains(w, "+") {
				l.pairs[bare] |= entry.means
				continue
			}
			l.whole[bare] |= entry.means
			if w[0] == '*' || w[len(w)-1] == '*' {
				l.starts = append(l.starts, starred{bare, w[0] == '*', w[len(w)-1] == '*', entry.means})
			}
		}
	}
	return l
})

// tokenConcepts returns what one word means.
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

// conceptsOf returns what the words of a name mean together.
func conceptsOf(name string) concept {
	var c concept
	tokens := tokensOf(name)
	for i, w := range tokens {
		if i > 0 && i == len(tokens)-1 && len(w) == 1 && w != "w" {
			continue // a letter that numbers something: "Block U" is no voltage
		}
		c |= tokenConcepts(w)
		if i+1 < len(tokens) {
			c |= words().pairs[w+tokens[i+1]]
		}
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
// digits, and before the capitals of "EacToday".
func tokensOf(name string) []string {
	var out []string
	add := func(word []rune) {
		if w := fold(string(word)); w != "" { // a single mark folds to ""
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

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
