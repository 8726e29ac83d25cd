package site

import (
	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
)

// siteRecord is a stored site. Its fields have the meaning of those of [api.Site]; so
// have the fields of the other records here.
type siteRecord struct {
	SiteID                       string          `json:"site_id" limit:"id"`
	CustomerID                   string          `json:"customer_id" limit:"id"`
	Name                         string          `json:"name" limit:"name"`
	Location                     string          `json:"location,omitempty" limit:"name"`
	Latitude                     *float64        `json:"latitude,omitempty"`
	Longitude                    *float64        `json:"longitude,omitempty"`
	Timezone                     string          `json:"timezone" limit:"word"`
	CapacityKW                   float64         `json:"capacity_kw,omitempty"`
	TiltDeg                      *float64        `json:"tilt_deg,omitempty"`
	AzimuthDeg                   *float64        `json:"azimuth_deg,omitempty"`
	DCRatingKW                   float64         `json:"dc_rating_kw,omitempty"`
	ACRatingKW                   float64         `json:"ac_rating_kw,omitempty"`
	ModuleTempCoefficientPctPerK *float64        `json:"module_temp_coefficient_pct_per_k,omitempty"`
	Mounting                     string          `json:"mounting,omitempty" limit:"word"`
	IrradianceRole               string          `json:"irradiance_role,omitempty" limit:"word"`
	IrradianceTiltDeg            *float64        `json:"irradiance_tilt_deg,omitempty"`
	IrradianceAzimuthDeg         *float64        `json:"irradiance_azimuth_deg,omitempty"`
	IrradianceClass              string          `json:"irradiance_class,omitempty" limit:"word"`
	Currency                     string          `json:"currency,omitempty" limit:"word"`
	TariffPerKWh                 float64         `json:"tariff_per_kwh,omitempty"`
	TerminalDeviceID             string          `json:"terminal_device_id,omitempty" limit:"id"`
	Availability                 *contractRecord `json:"availability,omitempty"`
	AssetCount                   int             `json:"asset_count"`
	CreatedAt                    api.Time        `json:"created_at,omitzero"`
	UpdatedMS                    int64           `json:"updated_ms,omitempty"`
	ArchivedAt                   api.Time        `json:"archived_at,omitzero"`
}

// contractRecord is a stored definition of availability.
type contractRecord struct {
	Rules    map[string]string `json:"rules,omitempty" limit:"20 word word"`
	TimeBase string            `json:"time_base,omitempty" limit:"word"`
	Target   float64           `json:"target,omitempty"`
}

func newSiteRecord(v api.Site) siteRecord {
	return siteRecord{
		SiteID: v.SiteID, CustomerID: v.CustomerID, Name: v.Name, Location: v.Location, Latitude: v.Latitude, Longitude: v.Longitude, Timezone: v.Timezone,
		CapacityKW: v.CapacityKW, TiltDeg: v.TiltDeg, AzimuthDeg: v.AzimuthDeg, DCRatingKW: v.DCRatingKW, ACRatingKW: v.ACRatingKW,
		ModuleTempCoefficientPctPerK: v.ModuleTempCoefficientPctPerK, Mounting: v.Mounting, IrradianceRole: v.IrradianceRole,
		IrradianceTiltDeg: v.IrradianceTiltDeg, IrradianceAzimuthDeg: v.IrradianceAzimuthDeg, IrradianceClass: v.IrradianceClass, Currency: v.Currency,
		TariffPerKWh: v.TariffPerKWh, TerminalDeviceID: v.TerminalDeviceID, Availability: (*contractRecord)(v.Availability), AssetCount: v.AssetCount, CreatedAt: v.CreatedAt, UpdatedMS: v.UpdatedAtMS, ArchivedAt: v.ArchivedAt,
	}
}

func (r siteRecord) toAPI() api.Site {
	return api.Site{
		SiteID: r.SiteID, CustomerID: r.CustomerID, Name: r.Name, Location: r.Location, Latitude: r.Latitude, Longitude: r.Longitude, Timezone: r.Timezone,
		CapacityKW: r.CapacityKW, TiltDeg: r.TiltDeg, AzimuthDeg: r.AzimuthDeg, DCRatingKW: r.DCRatingKW, ACRatingKW: r.ACRatingKW,
		ModuleTempCoefficientPctPerK: r.ModuleTempCoefficientPctPerK, Mounting: r.Mounting, IrradianceRole: r.IrradianceRole,
		IrradianceTiltDeg: r.IrradianceTiltDeg, IrradianceAzimuthDeg: r.IrradianceAzimuthDeg, IrradianceClass: r.IrradianceClass, Currency: r.Currency,
		TariffPerKWh: r.TariffPerKWh, TerminalDeviceID: r.TerminalDeviceID, Availability: (*api.AvailabilityContract)(r.Availability), AssetCount: r.AssetCount, CreatedAt: r.CreatedAt, UpdatedAtMS: r.UpdatedMS, ArchivedAt: r.ArchivedAt,
	}
}

// assetRecord is a stored asset.
type assetRecord struct {
	AssetID                      string            `json:"asset_id" limit:"id"`
	Name                         string            `json:"name" limit:"name cut"`
	Type                         string            `json:"type" limit:"name"`
	CapacityKW                   float64           `json:"capacity_kw"`
	Location                     string            `json:"location" limit:"name cut"`
	Components                   []componentRecord `json:"components,omitempty" limit:"200"`
	CreatedAt                    api.Time          `json:"created_at,omitzero"`
	UpdatedMS                    int64             `json:"updated_ms,omitempty"`
	SiteID                       string            `json:"site_id,omitempty" limit:"id"`
	CustomerID                   string            `json:"customer_id,omitempty" limit:"id"`
	Timezone                     string            `json:"timezone,omitempty" limit:"word"`
	Latitude                     *float64          `json:"latitude,omitempty"`
	Longitude                    *float64          `json:"longitude,omitempty"`
	RatedPowerKW                 float64           `json:"rated_power_kw,omitempty"`
	TiltDeg                      *float64          `json:"tilt_deg,omitempty"`
	AzimuthDeg                   *float64          `json:"azimuth_deg,omitempty"`
	DCRatingKW                   float64           `json:"dc_rating_kw,omitempty"`
	ACRatingKW                   float64           `json:"ac_rating_kw,omitempty"`
	ModuleTempCoefficientPctPerK *float64          `json:"module_temp_coefficient_pct_per_k,omitempty"`
	Mounting                     string            `json:"mounting,omitempty" limit:"word"`
	IrradianceRole               string            `json:"irradiance_role,omitempty" limit:"word"`
	IrradianceTiltDeg            *float64          `json:"irradiance_tilt_deg,omitempty"`
	IrradianceAzimuthDeg         *float64          `json:"irradiance_azimuth_deg,omitempty"`
	IrradianceClass              string            `json:"irradiance_class,omitempty" limit:"word"`
	WarrantyExpiryDate           string            `json:"warranty_expiry_date,omitempty" limit:"word"`
	CapacityKWh                  float64           `json:"capacity_kwh,omitempty"`
	WarrantyThroughputKWh        float64           `json:"warranty_throughput_kwh,omitempty"`
	TerminalDeviceID             string            `json:"terminal_device_id,omitempty" limit:"id"`
	StringCount                  int               `json:"string_count,omitempty"`
	FormerComponents             []componentRecord `json:"former_components,omitempty" limit:"200"`
	Version                      int               `json:"version,omitempty"`
	FormerIDs                    []string          `json:"former_ids,omitempty" limit:"100 id"`
}

// componentRecord is a component of a stored asset.
type componentRecord struct {
	OEM           string `json:"oem" limit:"id"`
	Model         string `json:"model" limit:"id"`
	Serial        string `json:"serial" limit:"id"`
	Kind          string `json:"kind,omitempty" limit:"name"`
	InstalledDate string `json:"installed_date,omitempty" limit:"word"`
	RemovedDate   string `json:"removed_date,omitempty" limit:"word"`
}

func newAssetRecord(v api.Asset) assetRecord {
	return assetRecord{
		AssetID: v.AssetID, Name: v.Name, Type: v.Type, CapacityKW: v.CapacityKW, Location: v.Location,
		Components: record.Convert(v.Components, func(v api.Component) componentRecord { return componentRecord(v) }), CreatedAt: v.CreatedAt, UpdatedMS: v.UpdatedAtMS,
		SiteID: v.SiteID, CustomerID: v.CustomerID, Timezone: v.Timezone, Latitude: v.Latitude, Longitude: v.Longitude, RatedPowerKW: v.RatedPowerKW,
		TiltDeg: v.TiltDeg, AzimuthDeg: v.AzimuthDeg, WarrantyExpiryDate: v.WarrantyExpiryDate, TerminalDeviceID: v.TerminalDeviceID,
		StringCount: v.StringCount, FormerComponents: record.Convert(v.FormerComponents, func(v api.Component) componentRecord { return componentRecord(v) }),
		Version: v.Version, FormerIDs: v.FormerIDs, CapacityKWh: v.CapacityKWh, WarrantyThroughputKWh: v.WarrantyThroughputKWh,
		DCRatingKW: v.DCRatingKW, ACRatingKW: v.ACRatingKW, ModuleTempCoefficientPctPerK: v.ModuleTempCoefficientPctPerK,
		Mounting: v.Mounting, IrradianceRole: v.IrradianceRole, IrradianceTiltDeg: v.IrradianceTiltDeg,
		IrradianceAzimuthDeg: v.IrradianceAzimuthDeg, IrradianceClass: v.IrradianceClass,
	}
}

func (r assetRecord) toAPI() api.Asset {
	return api.Asset{
		AssetID: r.AssetID, Name: r.Name, Type: r.Type, CapacityKW: r.CapacityKW, Location: r.Location,
		Components: record.Convert(r.Components, func(v componentRecord) api.Component { return api.Component(v) }), CreatedAt: r.CreatedAt, UpdatedAtMS: r.UpdatedMS, SiteID: r.SiteID,
		CustomerID: r.CustomerID, Timezone: r.Timezone, Latitude: r.Latitude, Longitude: r.Longitude, RatedPowerKW: r.RatedPowerKW, TiltDeg: r.TiltDeg,
		AzimuthDeg: r.AzimuthDeg, WarrantyExpiryDate: r.WarrantyExpiryDate, TerminalDeviceID: r.TerminalDeviceID, StringCount: r.StringCount,
		FormerComponents: record.Convert(r.FormerComponents, func(v componentRecord) api.Component { return api.Component(v) }), Version: r.Version, FormerIDs: r.FormerIDs,
		CapacityKWh: r.CapacityKWh, WarrantyThroughputKWh: r.WarrantyThroughputKWh,
		DCRatingKW: r.DCRatingKW, ACRatingKW: r.ACRatingKW, ModuleTempCoefficientPctPerK: r.ModuleTempCoefficientPctPerK,
		Mounting: r.Mounting, IrradianceRole: r.IrradianceRole, IrradianceTiltDeg: r.IrradianceTiltDeg,
		IrradianceAzimuthDeg: r.IrradianceAzimuthDeg, IrradianceClass: r.IrradianceClass,
	}
}
