package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Site is a plant: a place with assets, a zone and money. Extension of the
// specification, which knows sites only by id.
type Site struct {
	SiteID     string   `json:"site_id" limit:"id"`
	CustomerID string   `json:"customer_id" limit:"id"`
	Name       string   `json:"name" limit:"name"`
	Location   string   `json:"location,omitempty" limit:"name"`
	Latitude   *float64 `json:"latitude,omitempty"`
	Longitude  *float64 `json:"longitude,omitempty"`
	Timezone   string   `json:"timezone" limit:"word"` // IANA name
	CapacityKW float64  `json:"capacity_kw,omitempty"`
	TiltDeg    *float64 `json:"tilt_deg,omitempty"`
	AzimuthDeg *float64 `json:"azimuth_deg,omitempty"`  // from north, clockwise
	DCRatingKW float64  `json:"dc_rating_kw,omitempty"` // of all modules, standard test conditions
	ACRatingKW float64  `json:"ac_rating_kw,omitempty"` // of all inverters
	// ModuleTempCoefficientPctPerK is the change of the modules' power in percent
	// per kelvin, as -0.35.
	ModuleTempCoefficientPctPerK *float64 `json:"module_temp_coefficient_pct_per_k,omitempty"`
	Mounting                     string   `json:"mounting,omitempty" limit:"word"`         // one of [Mountings]
	IrradianceRole               string   `json:"irradiance_role,omitempty" limit:"word"`  // of the irradiance that is reported: one of [IrradianceRoles]
	IrradianceTiltDeg            *float64 `json:"irradiance_tilt_deg,omitempty"`           // of the sensor; absent: that of its role
	IrradianceAzimuthDeg         *float64 `json:"irradiance_azimuth_deg,omitempty"`        // of the sensor
	IrradianceClass              string   `json:"irradiance_class,omitempty" limit:"word"` // A or B: of the monitoring, by IEC 61724-1
	Currency                     string   `json:"currency,omitempty" limit:"word"`         // ISO 4217
	TariffPerKWh                 float64  `json:"tariff_per_kwh,omitempty"`
	TerminalDeviceID             string   `json:"terminal_device_id,omitempty" limit:"id"`
	// Availability is how the site's contract defines availability. A new one replaces
	// the former as a whole.
	Availability *AvailabilityContract `json:"availability,omitempty"`
	AssetCount   int                   `json:"asset_count"`
	CreatedAt    Time                  `json:"created_at,omitzero"`
}

// Mountings are how modules are mounted: on open racks (glass and polymer, or
// glass-glass modules), close to a roof, in a roof or facade without air behind
// them, or on trackers that follow the sun.
func Mountings() []string {
	return []string{"open_rack", "open_rack_glass", "close_roof", "insulated", "tracker"}
}

// IrradianceRoles are what a sensor of irradiance may measure.
func IrradianceRoles() []string {
	return []string{IrradiancePlane, IrradianceReference, IrradianceFlat, IrradianceSatellite}
}

// ClearableSettings are the fields of sites and units that a change can clear.
func ClearableSettings() []string {
	return []string{"dc_rating_kw", "ac_rating_kw", "module_temp_coefficient_pct_per_k", "mounting", "irradiance_role", "irradiance_class", "irradiance_tilt_deg", "irradiance_azimuth_deg"}
}

// checkClear refuses names that are not of [ClearableSettings].
func checkClear(names []string) error {
	for i, name := range names {
		if !slices.Contains(ClearableSettings(), name) {
			return InvalidField(fmt.Sprintf("clear[%d]", i), fmt.Sprintf("%q is not one of %s", name, strings.Join(ClearableSettings(), ", ")))
		}
	}
	return nil
}

// IrradianceClasses are the classes of monitoring of IEC 61724-1.
func IrradianceClasses() []string { return []string{"A", "B"} }

// SitesRequest is the body of POST /terminal/sites (extension): action list,
// get or set. set creates a site or changes the fields that are given.
type SitesRequest struct {
	Action     string `json:"action" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	Site       *Site  `json:"site,omitempty"`
	// Clear are fields whose values set removes, before it sets those that are given:
	// of [ClearableSettings].
	Clear []string `json:"clear,omitempty" limit:"20 word"`
	Page
}

// SitesResponse answers /terminal/sites.
type SitesResponse struct {
	Success    bool   `json:"success"`
	Message    string `json:"message,omitempty"`
	Sites      []Site `json:"sites,omitzero"` // list: there even when empty
	Site       *Site  `json:"site,omitempty"`
	Count      int    `json:"count"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// Page asks for a part of a list.
type Page struct {
	Limit  int    `json:"limit,omitempty"` // 1..1000, default 100
	Cursor string `json:"cursor,omitempty" limit:"token"`
}

// Component is a part of an asset, or the machine itself. Kind and dates are
// extensions; dates are days of the site, as 2026-11-28.
type Component struct {
	OEM           string `json:"oem" limit:"id"`
	Model         string `json:"model" limit:"id"`
	Serial        string `json:"serial" limit:"id"`
	Kind          string `json:"kind,omitempty" limit:"name"` // as inverter, string box, fan
	InstalledDate string `json:"installed_date,omitempty" limit:"word"`
	RemovedDate   string `json:"removed_date,omitempty" limit:"word"` // of a former one
}

// Asset is a unit of a site, for example an inverter.
type Asset struct {
	AssetID      string      `json:"asset_id" limit:"id"`
	Name         string      `json:"name" limit:"name cut"`
	Type         string      `json:"type" limit:"name"`
	CapacityKW   float64     `json:"capacity_kw"`
	Location     string      `json:"location" limit:"name cut"`
	Components   []Component `json:"components,omitempty" limit:"200"`
	CreatedAt    Time        `json:"created_at,omitzero"`
	SiteID       string      `json:"site_id,omitempty" limit:"id"`
	CustomerID   string      `json:"customer_id,omitempty" limit:"id"`
	Timezone     string      `json:"timezone,omitempty" limit:"word"`
	Latitude     *float64    `json:"latitude,omitempty"`
	Longitude    *float64    `json:"longitude,omitempty"`
	RatedPowerKW float64     `json:"rated_power_kw,omitempty"`
	TiltDeg      *float64    `json:"tilt_deg,omitempty"`
	AzimuthDeg   *float64    `json:"azimuth_deg,omitempty"`
	DCRatingKW   float64     `json:"dc_rating_kw,omitempty"` // of its modules, standard test conditions
	ACRatingKW   float64     `json:"ac_rating_kw,omitempty"` // of the inverter
	// ModuleTempCoefficientPctPerK is the change of the modules' power in percent
	// per kelvin, as -0.35.
	ModuleTempCoefficientPctPerK *float64    `json:"module_temp_coefficient_pct_per_k,omitempty"`
	Mounting                     string      `json:"mounting,omitempty" limit:"word"`         // one of [Mountings]; empty: the site's
	IrradianceRole               string      `json:"irradiance_role,omitempty" limit:"word"`  // of the irradiance that it reports: one of [IrradianceRoles]; empty: the site's
	IrradianceTiltDeg            *float64    `json:"irradiance_tilt_deg,omitempty"`           // of the sensor; absent: that of its role
	IrradianceAzimuthDeg         *float64    `json:"irradiance_azimuth_deg,omitempty"`        // of the sensor
	IrradianceClass              string      `json:"irradiance_class,omitempty" limit:"word"` // A or B: of the monitoring, by IEC 61724-1
	WarrantyExpiryDate           string      `json:"warranty_expiry_date,omitempty" limit:"word"`
	CapacityKWh                  float64     `json:"capacity_kwh,omitempty"`                  // of a battery
	WarrantyThroughputKWh        float64     `json:"warranty_throughput_kwh,omitempty"`       // energy through a battery that its warranty covers
	TerminalDeviceID             string      `json:"terminal_device_id,omitempty" limit:"id"` // that watches it; when empty the site's
	StringCount                  int         `json:"string_count,omitempty"`                  // strings of modules at it
	FormerComponents             []Component `json:"former_components,omitempty" limit:"200"` // that were taken out, newest first
	Version                      int         `json:"version,omitempty"`                       // rises with each change
}

// AssetsRequest is the body of POST /terminal/assets: action add, list or get,
// and as extensions set, install and remove. The fields of the asset stand at
// the top level of the body. A change with a version is refused when the asset
// has another by now.
type AssetsRequest struct {
	Action string `json:"action" limit:"word"`
	Asset
	Component    *Component `json:"component,omitempty"`                // install
	FormerSerial string     `json:"former_serial,omitempty" limit:"id"` // remove; install: of the component in whose place
	// Clear are fields whose values set removes, before it sets those that are given:
	// of [ClearableSettings].
	Clear []string `json:"clear,omitempty" limit:"20 word"`
	Page
}

// AssetsResponse answers /terminal/assets.
type AssetsResponse struct {
	Success    bool    `json:"success"`
	Message    string  `json:"message,omitempty"`
	AssetID    string  `json:"asset_id,omitempty"` // add
	Assets     []Asset `json:"assets,omitzero"`    // list: there even when empty
	Asset      *Asset  `json:"asset,omitempty"`    // all but list
	Count      int     `json:"count"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

var assets = Route{
	Name: "assets", Path: PathAssets,
	Summary: "Add, list, get and change units", Description: "The fields of a unit are at the top level of the body. A unit is added to the site that site_id names, which must exist; without it to the customer's only site, to the site with its location, or to a new site of this location. A change keeps fields that are omitted; one with a version is refused if the unit's version differs. To replace a component, name the serial of the replaced one.",
	Example: AssetsRequest{Action: ActionGet, Asset: Asset{AssetID: exampleAsset}},
	Reply: AssetsResponse{Success: true, Count: 1, Asset: &Asset{
		AssetID: exampleAsset, Name: "Inverter 1", Type: "inverter", CapacityKW: 50, Location: "Roof", SiteID: exampleSite, CustomerID: exampleCustomer,
		Components: []Component{{OEM: "SMA", Model: "STP 50-40", Serial: "1901234567"}},
	}},
	Errors: append(assetErrors[:3:3], ErrOwnSiteNotFound, ErrCustomerNotFound, ErrComponentNotFound, Conflict("Asset %s exists already", exampleAsset), Conflict("Asset %s is at version 4 by now", exampleAsset)),
}

// Units of sites and their components.
var (
	AddAsset = define[AssetsRequest, AssetsResponse](&assets, Operation{Action: ActionAdd, Permission: PermissionAssets, Idempotent: true, Target: Target{NewSite: true}, Fields: Fields{
		required("asset_id"), required("name"), required("type"), required("capacity_kw").givenAsZero(), required("location"),
		optional("capacity_kw").givenAsZero().above0(math.Inf(1)).withReason("more than 0"), rule(checkNewComponents)}})
	SetAsset         = assetMove(ActionSet, rule(func(r *AssetsRequest) error { return checkClear(r.Clear) }))
	InstallComponent = assetMove(ActionInstall, required("component"))
	RemoveComponent  = assetMove(ActionRemove, required("former_serial"))
	ListAssets       = define[AssetsRequest, AssetsResponse](&assets, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Fields: Fields{pageLimit()}})
	GetAsset         = define[AssetsRequest, AssetsResponse](&assets, Operation{Action: ActionGet, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{required("asset_id")}})
)

func assetMove(action string, fields ...Field) Endpoint[AssetsRequest, AssetsResponse] {
	return define[AssetsRequest, AssetsResponse](&assets, Operation{Action: action, Permission: PermissionAssets, Target: Target{Asset: "asset_id"},
		Fields: append(Fields{required("asset_id"), optional("version").between(0, math.Inf(1)).withReason("a whole number above 0")}, fields...)})
}

// checkNewComponents requires the fields of each component of a new unit.
func checkNewComponents(r *AssetsRequest) error {
	for i, c := range r.Components {
		for _, f := range []struct{ name, value string }{{"oem", c.OEM}, {"model", c.Model}, {"serial", c.Serial}} {
			if f.value == "" {
				return MissingField(fmt.Sprintf("components[%d].%s", i, f.name))
			}
		}
	}
	return nil
}

var sites = Route{
	Name: "sites", Path: PathSites,
	Summary: "Set, list and get sites", Description: "Set creates a site, or changes the given fields.",
	Errors: []*Error{ErrInvalidAction, MissingField("site_id"), ErrSiteNotFound, Conflict("Site %s belongs to another customer", exampleSite)},
}

// Sites.
var (
	SetSite = define[SitesRequest, SitesResponse](&sites, Operation{Action: ActionSet, Permission: PermissionSites, Idempotent: true, Target: Target{NewSite: true},
		Fields: Fields{required("site"), rule(nameSite), rule(func(r *SitesRequest) error { return checkClear(r.Clear) })}})
	ListSites = define[SitesRequest, SitesResponse](&sites, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Target: Target{NoSite: true}, Fields: Fields{pageLimit()}})
	GetSite   = define[SitesRequest, SitesResponse](&sites, Operation{Action: ActionGet, Permission: PermissionRead, Cacheable: true, Fields: Fields{required("site_id")}})
)

// nameSite sets the ids of a request to those of its site, which may have them
// or leave them to the request.
func nameSite(r *SitesRequest) error {
	r.SiteID, r.CustomerID = cmp.Or(r.Site.SiteID, r.SiteID), cmp.Or(r.Site.CustomerID, r.CustomerID)
	if r.SiteID == "" {
		return MissingField("site_id")
	}
	return nil
}
