package site

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/internal/display"
)

// settings are the fields that sites and assets have in common which KPIs are
// made with.
type settings struct {
	dcKW, acKW                *float64
	coefficient               **float64
	mounting                  *string
	role, class               *string
	sensorTilt, sensorAzimuth **float64
}

func siteSettings(s *api.Site) settings {
	return settings{&s.DCRatingKW, &s.ACRatingKW, &s.ModuleTempCoefficientPctPerK, &s.Mounting, &s.IrradianceRole, &s.IrradianceClass, &s.IrradianceTiltDeg, &s.IrradianceAzimuthDeg}
}

func assetSettings(a *api.Asset) settings {
	return settings{&a.DCRatingKW, &a.ACRatingKW, &a.ModuleTempCoefficientPctPerK, &a.Mounting, &a.IrradianceRole, &a.IrradianceClass, &a.IrradianceTiltDeg, &a.IrradianceAzimuthDeg}
}

// merge sets the fields that change has.
func (s settings) merge(change settings) {
	record.SetIfGiven(s.dcKW, *change.dcKW)
	record.SetIfGiven(s.acKW, *change.acKW)
	record.SetIfGiven(s.coefficient, *change.coefficient)
	record.SetIfGiven(s.mounting, *change.mounting)
	record.SetIfGiven(s.role, *change.role)
	record.SetIfGiven(s.class, *change.class)
	record.SetIfGiven(s.sensorTilt, *change.sensorTilt)
	record.SetIfGiven(s.sensorAzimuth, *change.sensorAzimuth)
}

// clear removes the values of fields of [api.ClearableSettings].
func (s settings) clear(names []string) {
	for _, name := range names {
		switch name {
		case "dc_rating_kw":
			*s.dcKW = 0
		case "ac_rating_kw":
			*s.acKW = 0
		case "module_temp_coefficient_pct_per_k":
			*s.coefficient = nil
		case "mounting":
			*s.mounting = ""
		case "irradiance_role":
			*s.role = ""
		case "irradiance_class":
			*s.class = ""
		case "irradiance_tilt_deg":
			*s.sensorTilt = nil
		case "irradiance_azimuth_deg":
			*s.sensorAzimuth = nil
		}
	}
}

// Bounds of DC/AC ratios: outside of them one of the ratings is in another unit.
const (
	leastDCRatio = 0.5
	mostDCRatio  = 3.0
)

// check returns an error that names the first field whose value is refused.
func (s settings) check() error {
	given := func(p *float64, none float64) float64 {
		if p == nil {
			return none
		}
		return *p
	}
	for _, f := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"dc_rating_kw", *s.dcKW, 0, 1e8},
		{"ac_rating_kw", *s.acKW, 0, 1e8},
		{"module_temp_coefficient_pct_per_k", given(*s.coefficient, 0), -1, 0},
		{"irradiance_tilt_deg", given(*s.sensorTilt, 0), 0, 90},
		{"irradiance_azimuth_deg", given(*s.sensorAzimuth, 0), 0, 360},
	} {
		if !record.Within(f.value, f.low, f.high) {
			return api.InvalidField(f.name, fmt.Sprintf("%g is not within %g to %g", f.value, f.low, f.high))
		}
	}
	if *s.dcKW > 0 && *s.acKW > 0 && !record.Within(*s.dcKW / *s.acKW, leastDCRatio, mostDCRatio) {
		return api.InvalidField("dc_rating_kw", fmt.Sprintf("%s of DC for %s of AC: the ratio is not within %g to %g", display.Power(*s.dcKW), display.Power(*s.acKW), leastDCRatio, mostDCRatio))
	}
	if (*s.sensorTilt == nil) != (*s.sensorAzimuth == nil) {
		return api.InvalidField("irradiance_tilt_deg", "irradiance_tilt_deg and irradiance_azimuth_deg come together")
	}
	for _, f := range []struct {
		name, value string
		of          []string
	}{{"mounting", *s.mounting, api.Mountings()}, {"irradiance_role", *s.role, api.IrradianceRoles()}, {"irradiance_class", *s.class, api.IrradianceClasses()}} {
		if f.value != "" && !slices.Contains(f.of, f.value) {
			return api.InvalidField(f.name, fmt.Sprintf("%q is not one of %s", f.value, strings.Join(f.of, ", ")))
		}
	}
	return nil
}
