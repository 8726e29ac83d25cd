package diagnose

import (
	"fmt"
	"math"
	"strings"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/internal/display"
)

// summary returns the event in one sentence, made from its evidence.
func (c *context) summary(e detect.Event) string {
	who, verb := c.subject(e.Units)
	was, has := verb("was", "were"), verb("has", "have")
	of := who // within a sentence
	if who == wholeSite {
		of = strings.ToLower(who)
	}
	since := "since " + c.clock(e.Start)
	if e.End != nil {
		since = fmt.Sprintf("from %s for %s", c.clock(e.Start), display.Duration(e.End.Sub(e.Start)))
	}
	value := func(kind string) float64 { v, _ := e.Find(kind); return v.Value }
	lost, notMade := lostText(e, "lost"), lostText(e, "not made")
	soFar := lost
	if e.End == nil && e.LostKWh > 0 {
		soFar += " so far"
	}
	switch e.Family {
	case detect.CommunicationGap:
		switch {
		case e.Class == detect.Comms:
			return fmt.Sprintf("%s %s not heard %s, but produced meanwhile.", who, was, since)
		case e.End == nil:
			return fmt.Sprintf("%s %s not been heard %s.", who, has, since)
		case e.Class == detect.Real:
			return fmt.Sprintf("%s %s not heard %s, and energy is missing too.", who, was, since)
		}
		return fmt.Sprintf("%s %s not heard %s; no counter says whether energy is missing.", who, was, since)
	case detect.DataSilence:
		if e.End != nil {
			return fmt.Sprintf("%s delivered no new data %s.", who, since)
		}
		usual := ""
		if v, ok := e.Find("usual_interval"); ok {
			usual = " " + v.Text
		}
		return fmt.Sprintf("%s %s delivered no new data %s.%s", who, has, since, usual)
	case detect.RepeatedData:
		return fmt.Sprintf("The readings of %s repeat those of earlier days %s.", of, since)
	case detect.DataQuality:
		if e.Class == detect.Scale {
			return fmt.Sprintf("The power %s of %s %s about %.4g times what it should be %s.", verb("reading", "readings"), of, verb("is", "are"), value("factor"), since)
		}
		return fmt.Sprintf("The power %s of %s %s values that no unit can give %s.", verb("reading", "readings"), of, verb("holds", "hold"), since)
	case detect.TimeShift:
		return fmt.Sprintf("The timestamps of %s are %s %s %s; the readings are corrected.", of, display.Duration(time.Duration(math.Abs(value("noon_moved"))*float64(time.Minute))), clockOffset(value("noon_moved")), since)
	case detect.StuckSensor:
		return fmt.Sprintf("The power %s of %s %s frozen %s.", verb("reading", "readings"), of, verb("is", "are"), since)
	case detect.IrradianceSensor:
		return fmt.Sprintf("The irradiance sensor misses %s of the light %s; the plant makes its power.", display.Percent(value("light_missing")/100), since)
	case detect.GroundFault:
		return fmt.Sprintf("%s %s or %s as with a ground fault %s; %s.", who, verb("reports", "report"), verb("behaves", "behave"), since, soFar)
	case detect.ArcFault:
		return fmt.Sprintf("%s has detected an arc in its DC circuit %s: danger of fire; %s.", who, since, soFar)
	case detect.IntermittentTrip:
		return fmt.Sprintf("%s %s several times a day %s, %s so far; %s.", who, verb("stops", "stop"), since, display.CountOf(int(value("short_stops")), "time", "times"), lost)
	case detect.Clipping:
		return fmt.Sprintf("%s reached the rating on %s %s: by design, no fault.", who, display.CountOf(len(e.Occasions), "day", "days"), since)
	case detect.Curtailment:
		return fmt.Sprintf("%s %s held at %s of the rating %s; %s.", who, was, display.Percent((value("common_plateau")+value("own_plateau"))/100), since, notMade)
	case detect.ThermalDerating:
		if _, ok := e.Find("low_plateau"); !ok {
			return fmt.Sprintf("%s %s too hot %s.", who, verb("reports that it is", "report that they are"), since)
		}
		return fmt.Sprintf("%s %s at about %s of the rating when it is hot %s; %s.", who, verb("derates", "derate"), display.Percent(value("low_plateau")/100), since, lost)
	case detect.SnowCover:
		if n := len(e.Occasions); n > 1 {
			return fmt.Sprintf("Snow covered the modules %s %s, with production in between; %s.", display.CountOf(n, "time", "times"), since, notMade)
		}
		return fmt.Sprintf("Snow lies on the modules %s; %s.", since, notMade)
	case detect.TrackerFault:
		return fmt.Sprintf("The %s of %s not follow the sun %s; %s.", verb("tracker", "trackers"), of+verb(" does", " do"), since, lost)
	case detect.StringOutage:
		switch text, dead := e.Inputs(); {
		case dead:
			return fmt.Sprintf("%s gets no current from %s %s: %s of its production; %s.", who, text, since, display.Percentage(100*e.LossFraction), lost)
		case text != "":
			return fmt.Sprintf("%s gets less current from %s than before %s: %s of its production is missing; %s.", who, text, since, display.Percentage(100*e.LossFraction), lost)
		case e.LossFraction == 0:
			return fmt.Sprintf("%s reports a blown string fuse %s.", who, since)
		}
		return fmt.Sprintf("%s %s %s less than %s %s%s; %s.", who, verb("makes", "make"), display.Percentage(100*e.LossFraction), basis(e), since, wholeStrings(e), lost)
	case detect.CapacityChange:
		return fmt.Sprintf("%s %s %s more than before %s.", who, verb("makes", "make"), display.Percentage(value("relative_yield")-100), since)
	case detect.PartialShading:
		return fmt.Sprintf("%s %s in shade while the sun is at %s %s; %s.", who, verb("is", "are"), window(e), since, lost)
	case detect.Soiling:
		if e.Basis != "" {
			return fmt.Sprintf("Dirt takes about %s of what %s %s %s; %s.", display.Percentage(100*e.LossFraction), of, verb("makes", "make"), since, lost)
		}
		return fmt.Sprintf("Dirt takes about %s of the site's production %s; %s.", display.Percentage(100*e.LossFraction), since, lost)
	case detect.Degradation:
		return fmt.Sprintf("%s loses %s of its yield a year.", who, display.Percentage(-value("yearly_change")))
	case detect.Underperformance:
		return fmt.Sprintf("%s %s %s less than expected %s, of unknown cause; %s.", who, verb("makes", "make"), display.Percentage(100*e.LossFraction), since, lost)
	}
	if e.End == nil {
		return fmt.Sprintf("%s %s made no power %s; %s.", who, has, since, soFar)
	}
	return fmt.Sprintf("%s made no power %s; %s.", who, since, lost)
}

// lostText is the energy that an event took, with the word for it. A unit reports a stop
// before anything was expected of it, and then no energy is known.
func lostText(e detect.Event, word string) string {
	switch {
	case e.LostKWh > 0:
		return display.Energy(e.LostKWh) + " " + word
	case e.End == nil:
		return "the lost energy is not yet known"
	}
	return "the lost energy is not known"
}

// wholeSite is the subject of what concerns all units.
const wholeSite = "The whole site"

// namedUnits is how many units a sentence names; more are counted.
const namedUnits = 3

// subject names units at the beginning of a sentence, and returns the form of a verb for
// one or several that goes with it.
func (c *context) subject(units []string) (who string, verb func(one, several string) string) {
	one := func(one, _ string) string { return one }
	several := func(_, several string) string { return several }
	switch n := len(units); {
	case n == 0:
		return "Nothing", one
	case n == 1:
		return units[0], one
	case n == len(c.rating):
		return wholeSite, one
	case n <= namedUnits:
		return strings.Join(units[:n-1], ", ") + " and " + units[n-1], several
	default:
		return display.CountOf(n, "unit", "units"), several
	}
}

func clockOffset(minutes float64) string {
	if minutes < 0 {
		return "early"
	}
	return "late"
}

// basis names the reference with which a unit is compared.
func basis(e detect.Event) string {
	switch e.Basis {
	case "irradiance":
		return "expected from the irradiance"
	case "clear sky":
		return "expected from a clear sky"
	}
	return "its peers"
}

// wholeStrings is the loss in whole strings, where it is one.
func wholeStrings(e detect.Event) string {
	v, ok := e.Find("whole_strings")
	if !ok {
		return ""
	}
	return fmt.Sprintf(", about %.0f of its %.0f strings", v.Value, v.Reference)
}

// window names the part of the sky in the evidence of shading.
func window(e detect.Event) string {
	v, ok := e.Find("sun_window")
	if !ok {
		return "some hours"
	}
	return fmt.Sprintf("%.0f° to %.0f° from north", v.Value, v.Reference)
}

// clock is a time as the site's clocks show it.
func (c *context) clock(t time.Time) string { return display.DateTime(t.In(c.in.Site.Zone)) }
