package diagnose

import "app.sunloop/engine/detect"

// Root causes by stable name.
const (
	causeHardware    = "inverter_hardware"
	causeBreaker     = "ac_breaker_open"
	causeTrip        = "grid_trip_not_reset"
	causeDCSwitch    = "dc_disconnect_open"
	causeManual      = "manual_stop"
	causeReadings    = "readings_wrong"
	causeGroundFault = "ground_fault"
	causeUtility     = "utility_outage"
	causeMainBreaker = "main_breaker_or_transformer"
	causeController  = "plant_controller"
	causeSnow        = "snow_cover"
	causeLogger      = "logger_or_modem"
	causeInternet    = "internet_access"
	causePortal      = "portal_outage"
	causeBus         = "bus_cable"
	causeInterface   = "unit_interface"
	causeUnitOff     = "unit_off"
	causeFirmware    = "logger_firmware"
	causeFeed        = "export_stopped"
	causeCache       = "portal_cache"
	causeExportLimit = "export_limit"
	causeOperator    = "grid_operator"
	causePrice       = "price"
	causeConnector   = "connector"
	causeFuse        = "string_fuse"
	causeCable       = "cable"
	causeDiode       = "bypass_or_junction_box"
	causeInput       = "mppt_input"
	causeShade       = "new_shade"
	causeDust        = "dust"
	causePollen      = "pollen"
	causeBirds       = "birds"
	causeSensorDrift = "sensor_drift"
	causeClock       = "clock"
	causeZone        = "time_zone_or_dst"
	causeScaling     = "scaling"
	causeRegister    = "register_without_reading"
	causeSensorDead  = "sensor_or_cable"
	causeSensorDirty = "sensor_dirty"
	causeWetPlug     = "wet_connector"
	causeInsulation  = "damaged_insulation"
	causeOverVoltage = "grid_over_voltage"
	causeLoose       = "loose_contact"
	causeDesign      = "design"
	causeFilter      = "blocked_filter"
	causeFan         = "dead_fan"
	causeDirectSun   = "direct_sun"
	causeOversized   = "array_over_sized"
	causeMotor       = "tracker_motor"
	causeTracker     = "tracker_controller"
	causeStow        = "stow_not_released"
	causeVegetation  = "vegetation"
	causeBuilding    = "new_building"
	causeRows        = "row_shading"
	causeExtended    = "array_extended"
	causeAging       = "aging"
	causePID         = "potential_induced_degradation"
	causeFalseArc    = "detector_set_off_by_noise"
	causeUnknown     = "unknown"
)

// priorCause is a cause before any evidence. Priors follow what tickets and
// reports name most often; about one in eight never gets a cause.
type priorCause struct {
	name, category string
	prior          float64
	text           string
}

var priors = map[detect.Family][]priorCause{
	detect.InverterOutage: {
		{causeHardware, "hardware", 0.40, "A part of the inverter has failed: power stage, capacitors, control board or relay."},
		{causeBreaker, "electrical", 0.16, "The AC breaker or contactor of the unit is open."},
		{causeTrip, "grid", 0.14, "The unit tripped on a grid disturbance and has not restarted."},
		{causeDCSwitch, "electrical", 0.07, "The DC disconnect is open, or its fuses are blown."},
		{causeManual, "operation", 0.05, "A person switched the unit off."},
		{causeReadings, "communication", 0.05, "The unit produces, and its readings are wrong."},
		{causeGroundFault, "electrical", 0.01, "A ground fault: the insulation monitor keeps the unit off."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.SiteOutage: {
		{causeUtility, "grid", 0.50, "The utility's supply was off."},
		{causeMainBreaker, "electrical", 0.24, "The main breaker, its protection relay or the transformer took the site off."},
		{causeController, "operation", 0.10, "The plant controller stopped all units."},
		{causeSnow, "environment", 0.04, "Snow covered all modules."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.CommunicationGap: {
		{causeLogger, "communication", 0.28, "The data logger or its modem is down."},
		{causeInternet, "communication", 0.14, "The site has no internet access."},
		{causePortal, "communication", 0.08, "The portal the data come from was down."},
		{causeBus, "communication", 0.20, "The bus cable to the unit is interrupted or badly terminated."},
		{causeInterface, "communication", 0.12, "The unit's communication card or its address is at fault."},
		{causeUnitOff, "electrical", 0.06, "The unit itself is off and takes its interface with it."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.DataSilence: {
		{causeFeed, "communication", 0.30, "The export of the portal has stopped: an account, a password, an address or a disk that is full."},
		{causeInternet, "communication", 0.20, "The site has no internet access."},
		{causePortal, "communication", 0.18, "The portal the data come from is down."},
		{causeLogger, "communication", 0.20, "The data logger or its modem is down."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.RepeatedData: {
		{causeCache, "communication", 0.60, "The portal delivers stored data again, under new times."},
		{causeFirmware, "communication", 0.25, "The logger sends its memory of former days."},
		{causeUnknown, "unknown", 0.15, "No evidence points to a cause."},
	},
	detect.StuckSensor: {
		{causeFirmware, "communication", 0.55, "The logger repeats a value without reading it again."},
		{causeInterface, "communication", 0.25, "The unit's communication card returns an old value."},
		{causeUnknown, "unknown", 0.20, "No evidence points to a cause."},
	},
	detect.Curtailment: {
		{causeExportLimit, "grid", 0.40, "The site's export limit holds all units back."},
		{causeOperator, "grid", 0.30, "The grid operator has set a limit."},
		{causePrice, "operation", 0.10, "The site is held back because of the price."},
		{causeController, "operation", 0.08, "The plant controller is set too low."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.StringOutage: {
		{causeConnector, "electrical", 0.32, "A connector of a string has failed."},
		{causeFuse, "electrical", 0.24, "A string fuse has blown."},
		{causeCable, "electrical", 0.14, "A string cable is cut or gnawed."},
		{causeDiode, "hardware", 0.08, "Bypass diodes or a junction box have failed."},
		{causeInput, "hardware", 0.06, "An MPPT input of the inverter has failed."},
		{causeShade, "environment", 0.04, "Something new shades the array all day."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.DataQuality: {
		{causeScaling, "communication", 0.40, "The logger reports in another unit or with another factor."},
		{causeRegister, "communication", 0.35, "The logger passes on registers that hold no reading."},
		{causeFirmware, "communication", 0.13, "The logger's firmware misreads the unit."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.TimeShift: {
		{causeZone, "communication", 0.45, "The logger's time zone or its rule for summer time is set wrongly."},
		{causeClock, "communication", 0.43, "The logger's clock was set wrongly or has drifted."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.IrradianceSensor: {
		{causeSensorDead, "hardware", 0.40, "The sensor or its cable has failed."},
		{causeSensorDirty, "environment", 0.38, "Something lies on the sensor, or it has been turned."},
		{causeScaling, "communication", 0.10, "The sensor's calibration factor was changed."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.GroundFault: {
		{causeWetPlug, "electrical", 0.45, "A connector lets water in."},
		{causeInsulation, "electrical", 0.33, "A cable's or module's insulation is damaged."},
		{causePID, "hardware", 0.10, "The modules leak through potential-induced degradation."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.ArcFault: {
		{causeConnector, "electrical", 0.42, "A connector of a string has a bad contact, or two kinds of connectors are mated."},
		{causeCable, "electrical", 0.18, "A string cable is damaged."},
		{causeFuse, "electrical", 0.08, "A fuse or a terminal is loose."},
		{causeDiode, "hardware", 0.08, "A junction box of a module has failed."},
		{causeFalseArc, "hardware", 0.12, "Noise has set off the detector; this is to be assumed only when nothing is found."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.IntermittentTrip: {
		{causeOverVoltage, "grid", 0.42, "The grid's voltage is too high at times; the unit disconnects and reconnects."},
		{causeLoose, "electrical", 0.22, "A contact on the AC side is loose."},
		{causeHardware, "hardware", 0.24, "A part of the inverter fails when it is warm."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.Clipping: {
		{causeDesign, "operation", 1, "The array is larger than the inverter by design."},
	},
	detect.ThermalDerating: {
		{causeFilter, "environment", 0.34, "The air filter or the heat sink is blocked."},
		{causeFan, "hardware", 0.30, "A fan has stopped."},
		{causeDirectSun, "environment", 0.14, "The inverter is exposed to direct sun."},
		{causeOversized, "operation", 0.10, "The array is too large for the inverter in this heat."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.SnowCover: {
		{causeSnow, "environment", 0.95, "Snow lies on the modules."},
		{causeUnknown, "unknown", 0.05, "No evidence points to a cause."},
	},
	detect.TrackerFault: {
		{causeMotor, "hardware", 0.38, "The tracker's motor or drive has failed."},
		{causeTracker, "hardware", 0.30, "The tracker's controller or its inclination sensor has failed."},
		{causeStow, "operation", 0.20, "The tracker was stowed and not released."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.CapacityChange: {
		{causeExtended, "operation", 0.50, "The array was extended, repaired or connected otherwise."},
		{causeScaling, "communication", 0.30, "The logger's factor was changed."},
		{causeUnknown, "unknown", 0.20, "No evidence points to a cause."},
	},
	detect.PartialShading: {
		{causeVegetation, "environment", 0.50, "Something has grown into the sun."},
		{causeBuilding, "environment", 0.22, "Something was built or put up next to the array."},
		{causeRows, "environment", 0.16, "A row shades the next one while the sun is low."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.Degradation: {
		{causeAging, "hardware", 0.58, "The modules age."},
		{causePID, "hardware", 0.18, "The modules suffer potential-induced degradation."},
		{causeDust, "environment", 0.12, "Dirt stays on the modules for years."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	detect.Underperformance: {
		{causePID, "hardware", 0.20, "The modules suffer potential-induced degradation."},
		{causeDust, "environment", 0.20, "Dirt has gathered on this unit's modules alone."},
		{causeConnector, "electrical", 0.18, "Connectors or strings fail one by one."},
		{causeHardware, "hardware", 0.12, "The inverter converts badly."},
		{causeUnknown, "unknown", 0.30, "No evidence points to a cause."},
	},
	detect.Soiling: {
		{causeDust, "environment", 0.52, "Dust has gathered on the modules."},
		{causePollen, "environment", 0.13, "Pollen has gathered on the modules."},
		{causeBirds, "environment", 0.08, "Birds have soiled the modules."},
		{causeSensorDrift, "communication", 0.15, "The irradiance sensor reads more and more too high."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
}
