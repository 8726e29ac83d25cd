package solar

import (
	"math"
	"time"
)

// Location is a place on Earth.
type Location struct {
	LatitudeDeg  float64 // north positive, -90..90
	LongitudeDeg float64 // east positive, -180..180
	AltitudeM    float64 // above sea level, m
}

// Position is the position of the sun's centre for an observer.
type Position struct {
	ZenithDeg         float64 // angle from straight up, without refraction
	ApparentZenithDeg float64 // the same as seen through the air
	AzimuthDeg        float64 // from north through east, 0..360
}

// Atmosphere is the air the sun is seen through, and what else of the day the
// position depends on. The zero value means [StandardAtmosphere] of the place.
type Atmosphere struct {
	PressurePa    float64 // annual mean at the site; 0: the zero value's rule
	TemperatureC  float64 // annual mean at the site
	DeltaTS       float64 // terrestrial time minus UT1, s; 0: [DeltaT] of the year
	RefractionDeg float64 // refraction at sunrise and sunset; 0: 0.5667°
}

// SPA is the sun's position at t after the NREL Solar Position Algorithm
// (Reda and Andreas, NREL/TP-560-34302, revised January 2008): ±0.0003° for
// the years -2000 to 6000. UTC is taken for UT1, which differs by less than
// 0.9 s (0.004° of hour angle).
func SPA(t time.Time, loc Location, a Atmosphere) Position {
	if a.PressurePa == 0 {
		std := StandardAtmosphere(loc)
		a.PressurePa, a.TemperatureC = std.PressurePa, std.TemperatureC
	}
	e := ephemerisAt(julianDay(t), deltaTOr(a.DeltaTS, t))
	return e.topocentric(loc).position(a)
}

// ephemeris is the geocentric sun of an instant, with the intermediate values
// of the SPA report under the report's names (degrees; R in AU).
type ephemeris struct {
	L, B, R          float64 // heliocentric longitude, latitude, radius of Earth
	dPsi, dEpsilon   float64 // nutation in longitude and obliquity
	epsilon          float64 // true obliquity of the ecliptic
	lambda           float64 // apparent longitude of the sun
	nu               float64 // apparent sidereal time at Greenwich
	alpha, delta     float64 // right ascension, declination
	equationOfTimeMn float64 // apparent minus mean solar time, minutes
}

// julianDay of an instant, days.
func julianDay(t time.Time) float64 {
	return 2440587.5 + float64(t.Unix())/86400 + float64(t.Nanosecond())/86400e9
}

// ephemerisAt follows steps 3.1.2 to 3.10 and A.1 of the report.
func ephemerisAt(jd, deltaTS float64) ephemeris {
	jde := jd + deltaTS/86400
	jc := (jd - 2451545) / 36525  // Julian century
	ce := (jde - 2451545) / 36525 // Julian ephemeris century
	me := ce / 10                 // Julian ephemeris millennium

	var e ephemeris
	e.L = wrap360(deg(seriesSum(longitudeTerms[:], me)))
	e.B = deg(seriesSum(latitudeTerms[:], me))
	e.R = seriesSum(radiusTerms[:], me)
	theta, beta := wrap360(e.L+180), -e.B

	e.dPsi, e.dEpsilon = nutation(ce)
	e.epsilon = meanObliquity(ce) + e.dEpsilon
	e.lambda = theta + e.dPsi - 20.4898/(3600*e.R) // aberration, 3.6
	e.nu = meanSiderealTime(jd, jc) + e.dPsi*cosD(e.epsilon)

	sinEps, cosEps := sincosD(e.epsilon)
	sinLam, cosLam := sincosD(e.lambda)
	sinBeta, cosBeta := sincosD(beta)
	e.alpha = wrap360(deg(math.Atan2(sinLam*cosEps-sinBeta/cosBeta*sinEps, cosLam)))
	e.delta = deg(math.Asin(sinBeta*cosEps + cosBeta*sinEps*sinLam))

	// Equation of time, A.1: minutes, brought into -20..20.
	m := 280.4664567 + me*(360007.6982779+me*(0.03032028+me*(1.0/49931+me*(-1.0/15300-me/2000000))))
	eot := 4 * wrap360(m-0.0057183-e.alpha+e.dPsi*cosD(e.epsilon))
	if eot > 720 {
		eot -= 1440
	}
	e.equationOfTimeMn = eot
	return e
}

// seriesSum is sum over k of (sum over i of A·cos(B + C·me))·me^k · 1e-8
// (equations 9 to 11).
func seriesSum(powers [][]periodicTerm, me float64) float64 {
	var sum float64
	for k := len(powers) - 1; k >= 0; k-- {
		var s float64
		for _, t := range powers[k] {
			s += t.a * math.Cos(t.b+t.c*me)
		}
		sum = sum*me + s
	}
	return sum * 1e-8
}

// nutation in longitude and obliquity, degrees (3.4).
func nutation(ce float64) (dPsi, dEpsilon float64) {
	x := [5]float64{
		297.85036 + ce*(445267.111480+ce*(-0.0019142+ce/189474)), // elongation of the moon
		357.52772 + ce*(35999.050340+ce*(-0.0001603-ce/300000)),  // anomaly of the sun
		134.96298 + ce*(477198.867398+ce*(0.0086972+ce/56250)),   // anomaly of the moon
		93.27191 + ce*(483202.017538+ce*(-0.0036825+ce/327270)),  // argument of latitude of the moon
		125.04452 + ce*(-1934.136261+ce*(0.0020708+ce/450000)),   // ascending node of the moon
	}
	for i := range x {
		x[i] = rad(math.Mod(x[i], 360))
	}
	for i := range nutationTerms {
		n := &nutationTerms[i]
		var arg float64
		for j, y := range n.y {
			arg += float64(y) * x[j]
		}
		sin, cos := math.Sincos(arg)
		dPsi += (n.a + n.b*ce) * sin
		dEpsilon += (n.c + n.d*ce) * cos
	}
	return dPsi / 36000000, dEpsilon / 36000000
}

// meanObliquity of the ecliptic, degrees (equation 24).
func meanObliquity(ce float64) float64 {
	u := ce / 100
	seconds := 84381.448 + u*(-4680.93+u*(-1.55+u*(1999.25+u*(-51.38+u*(-249.67+
		u*(-39.05+u*(7.12+u*(27.87+u*(5.79+u*2.45)))))))))
	return seconds / 3600
}

// meanSiderealTime at Greenwich, degrees 0..360 (equation 28).
func meanSiderealTime(jd, jc float64) float64 {
	return wrap360(280.46061837 + 360.98564736629*(jd-2451545) + jc*jc*(0.000387933-jc/38710000))
}

// topocentric is the sun as seen from the Earth's surface, before refraction:
// step 3.11 to 3.13 and equation 41.
type topocentric struct {
	alpha, delta, hourAngle float64 // degrees; hour angle from south to west
	elevation, azimuth      float64
}

func (e ephemeris) topocentric(loc Location) topocentric {
	h := wrap360(e.nu + loc.LongitudeDeg - e.alpha)
	sinPhi, cosPhi := sincosD(loc.LatitudeDeg)
	sinXi := math.Sin(rad(8.794 / (3600 * e.R))) // parallax of the sun
	// Observer on the flattened Earth, in equatorial radii.
	u := math.Atan(0.99664719 * sinPhi / cosPhi)
	x := math.Cos(u) + loc.AltitudeM/6378140*cosPhi
	y := 0.99664719*math.Sin(u) + loc.AltitudeM/6378140*sinPhi

	sinH, cosH := sincosD(h)
	sinDelta, cosDelta := sincosD(e.delta)
	den := cosDelta - x*sinXi*cosH
	dAlpha := math.Atan2(-x*sinXi*sinH, den)
	deltaT := math.Atan2((sinDelta-y*sinXi)*math.Cos(dAlpha), den)
	hT := rad(h) - dAlpha

	sinD, cosD := math.Sincos(deltaT)
	sinHT, cosHT := math.Sincos(hT)
	return topocentric{
		alpha:     e.alpha + deg(dAlpha),
		delta:     deg(deltaT),
		hourAngle: deg(hT),
		elevation: deg(math.Asin(clamp(sinPhi*sinD+cosPhi*cosD*cosHT, -1, 1))),
		azimuth:   wrap360(180 + deg(math.Atan2(sinHT*cosD, cosHT*sinPhi*cosD-sinD*cosPhi))),
	}
}

func (t topocentric) position(a Atmosphere) Position {
	return Position{
		ZenithDeg:         90 - t.elevation,
		ApparentZenithDeg: 90 - t.elevation - refraction(t.elevation, a),
		AzimuthDeg:        t.azimuth,
	}
}

// refraction lifts a sun at true elevation e0, degrees (equation 42). It is
// nothing once the whole disc is under the refracted horizon.
func refraction(e0 float64, a Atmosphere) float64 {
	horizon := a.RefractionDeg
	if horizon == 0 {
		horizon = standardRefractionDeg
	}
	if e0 < -(sunRadiusDeg + horizon) {
		return 0
	}
	return a.PressurePa / 101000 * 283 / (273 + a.TemperatureC) *
		1.02 / (60 * math.Tan(rad(e0+10.3/(e0+5.11))))
}

const (
	sunRadiusDeg          = 0.26667
	standardRefractionDeg = 0.5667
)

func rad(d float64) float64                { return d * (math.Pi / 180) }
func deg(r float64) float64                { return r * (180 / math.Pi) }
func cosD(d float64) float64               { return math.Cos(rad(d)) }
func sincosD(d float64) (float64, float64) { return math.Sincos(rad(d)) }
func clamp(v, lo, hi float64) float64      { return min(max(v, lo), hi) }

// wrap360 brings an angle into 0 <= d < 360.
func wrap360(d float64) float64 {
	d = math.Mod(d, 360)
	if d < 0 {
		d += 360
	}
	if d >= 360 { // a tiny negative plus 360 rounds to 360
		d = 0
	}
	return d
}
