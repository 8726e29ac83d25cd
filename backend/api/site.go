package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
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
	UpdatedAtMS  int64                 `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
	ArchivedAt   Time                  `json:"archived_at,omitzero"`    // absent: the site is not archived
	// Change is a change of the whole site that runs, or the last one if it failed.
	Change *SiteChange `json:"change,omitempty"`
}

// Kinds of changes of a whole site.
const (
	ChangeRemove = "remove" // of the site with all its data
	ChangeZone   = "zone"   // of the time zone, with its files read again
	ChangeMerge  = "merge"  // of two units
)

// SiteChange is a change of a whole site that runs in the background. While it
// runs, the site takes no other change.
type SiteChange struct {
	Kind        string `json:"kind" limit:"word"`                  // one of ChangeRemove, ChangeZone, ChangeMerge
	Timezone    string `json:"timezone,omitempty" limit:"word"`    // of zone: the new one
	AssetID     string `json:"asset_id,omitempty" limit:"id"`      // of merge: the unit that stays
	FromAssetID string `json:"from_asset_id,omitempty" limit:"id"` // of merge: the unit that goes
	Actor       string `json:"actor" limit:"id"`
	StartedAt   Time   `json:"started_at"`
	Error       string `json:"error,omitempty" limit:"line cut"` // why it failed and changed nothing; empty: it runs
}

// Running reports whether the change has neither ended nor failed.
func (c *SiteChange) Running() bool { return c != nil && c.Error == "" }

// CheckState refuses a request by the state of its site: a site that is being
// removed is unknown, and an archived one is not written to.
func (s Site) CheckState(writes bool) error {
	switch {
	case s.Change.Running() && s.Change.Kind == ChangeRemove:
		return ErrSiteNotFound
	case writes && !s.ArchivedAt.IsZero():
		return Conflict("Site %s is archived, thus read-only", PublicSiteID(s.SiteID))
	}
	return nil
}

// SiteEffects are what a change of a site does, shown before it is made.
type SiteEffects struct {
	Uploads       int      `json:"uploads"`                // of the site, with their kept files
	UploadsRead   int      `json:"uploads_read,omitempty"` // zone: files that are read again
	UploadsOwn    int      `json:"uploads_own,omitempty"`  // zone: of these, files whose times do not change, as they carry a zone or an offset
	UploadsGone   int      `json:"uploads_gone,omitempty"` // zone: uploads whose files are not kept; their values stay at their times
	RowsMoved     int      `json:"rows_moved,omitempty"`   // zone: stamps of units that get another time
	Units         int      `json:"units,omitempty"`        // remove
	Findings      int      `json:"findings,omitempty"`     // remove
	Alerts        int      `json:"alerts,omitempty"`       // remove
	Orders        int      `json:"orders,omitempty"`       // remove
	Models        int      `json:"models,omitempty"`       // remove
	FirstRecord   Time     `json:"first_record,omitzero"`  // of the telemetry now
	LastRecord    Time     `json:"last_record,omitzero"`
	NewFirst      Time     `json:"new_first_record,omitzero"` // zone: afterwards
	NewLast       Time     `json:"new_last_record,omitzero"`
	RowsFilled    int      `json:"rows_filled,omitempty"`                // merge: stamps at which the second unit gives values that the first lacks
	RowsEqual     int      `json:"rows_equal,omitempty"`                 // merge: stamps at which both have the same values
	RowsConflict  int      `json:"rows_conflict,omitempty"`              // merge: stamps at which both have different values; those of the first stay
	FirstConflict Time     `json:"first_conflict,omitzero"`              // merge
	Notes         []string `json:"notes,omitempty" limit:"100 line cut"` // sentences
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
// get, set, add, rename, archive, unarchive, zone or remove. set creates a site or
// changes the fields that are given.
type SitesRequest struct {
	Action     string `json:"action" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	Site       *Site  `json:"site,omitempty"`
	Name       string `json:"name,omitempty" limit:"name"`     // rename
	Timezone   string `json:"timezone,omitempty" limit:"word"` // zone: IANA name
	Confirm    string `json:"confirm,omitempty" limit:"id"`    // remove: the site's id once more
	DryRun     bool   `json:"dry_run,omitempty"`               // zone and remove: only say what they would do
	Archived   bool   `json:"archived,omitempty"`              // list: archived sites too
	// Clear are fields whose values set removes, before it sets those that are given:
	// of [ClearableSettings].
	Clear []string `json:"clear,omitempty" limit:"20 word"`
	Page
}

// SitesResponse answers /terminal/sites.
type SitesResponse struct {
	Success    bool         `json:"success"`
	Message    string       `json:"message,omitempty"`
	Sites      []Site       `json:"sites,omitzero"` // list: there even when empty
	Site       *Site        `json:"site,omitempty"`
	Effects    *SiteEffects `json:"effects,omitempty"` // zone and remove
	Count      int          `json:"count"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// Page asks for a part of a list.
type Page struct {
	Limit  int    `json:"limit,omitempty"` // 1..1000, default 100
	Cursor string `json:"cursor,omitempty" limit:"token"`
	// UpdatedSince narrows a list to the records that were made or changed at this instant or
	// later; a record that keeps no time of its changes counts with the time at which it was made.
	UpdatedSince Instant `json:"updated_since,omitzero"`
}

// Since reports whether a record that was changed at a time belongs to a list with
// updated_since.
func (p Page) Since(changed time.Time) bool {
	return p.UpdatedSince.IsZero() || !changed.Before(p.UpdatedSince.Time)
}

// SinceUnix is Since for a time in milliseconds since 1970; for 0, which is unknown, it is that for
// the time at which the record was made.
func (p Page) SinceUnix(ms int64, made Time) bool {
	if ms == 0 {
		return p.Since(made.Time)
	}
	return p.Since(time.UnixMilli(ms))
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
	UpdatedAtMS  int64       `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
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
	FormerIDs                    []string    `json:"former_ids,omitempty" limit:"100 id"`     // of units that were merged into it; files that name them are of it
}

// AssetsRequest is the body of POST /terminal/assets: action add, list or get,
// and as extensions set, install, remove and merge. The fields of the asset stand at
// the top level of the body. A change with a version is refused when the asset
// has another by now.
type AssetsRequest struct {
	Action string `json:"action" limit:"word"`
	Asset
	Component    *Component `json:"component,omitempty"`                // install
	FormerSerial string     `json:"former_serial,omitempty" limit:"id"` // remove; install: of the component in whose place
	FromAssetID  string     `json:"from_asset_id,omitempty" limit:"id"` // merge: the unit whose values are added, and which goes
	DryRun       bool       `json:"dry_run,omitempty"`                  // merge: only say what it would do
	// Clear are fields whose values set removes, before it sets those that are given:
	// of [ClearableSettings].
	Clear []string `json:"clear,omitempty" limit:"20 word"`
	Page
}

// AssetsResponse answers /terminal/assets.
type AssetsResponse struct {
	Success    bool         `json:"success"`
	Message    string       `json:"message,omitempty"`
	AssetID    string       `json:"asset_id,omitempty"` // add
	Assets     []Asset      `json:"assets,omitzero"`    // list: there even when empty
	Asset      *Asset       `json:"asset,omitempty"`    // all but list
	Effects    *SiteEffects `json:"effects,omitempty"`  // merge
	Count      int          `json:"count"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

var assets = Route{
	Name: "assets", Path: PathAssets,
	Summary: "Add, list, get and change units", Description: "The fields of a unit are at the top level of the body. A unit is added to the site that site_id names, which must exist; without it to the customer's only site, to the site with its location, or to a new site of this location. A change keeps fields that are omitted; one with a version is refused if the unit's version differs. To replace a component, name the serial of the replaced one. Merge moves the values of the unit `from_asset_id` into `asset_id` where that has none, in the background; `dry_run` counts what it would do.",
	Example: AssetsRequest{Action: ActionGet, Asset: Asset{AssetID: exampleAsset}},
	Reply: AssetsResponse{Success: true, Count: 1, Asset: &Asset{
		AssetID: exampleAsset, Name: "Inverter 1", Type: "inverter", CapacityKW: 50, Location: "Roof", SiteID: exampleSite, CustomerID: exampleCustomer,
		Components: []Component{{OEM: "SMA", Model: "STP 50-40", Serial: "1901234567"}},
	}},
	Errors: append(assetErrors[:3:3], ErrOwnSiteNotFound, ErrCustomerNotFound, ErrComponentNotFound, AlreadyExists("Asset %s exists already", exampleAsset), VersionConflict("Asset %s is at version 4 by now", exampleAsset)),
}

// Units of sites and their components.
var (
	AddAsset = define[AssetsRequest, AssetsResponse](&assets, Operation{Action: ActionAdd, Permission: PermissionAssets, Idempotent: true, Target: Target{NewSite: true}, Fields: Fields{
		required("asset_id"), required("name"), required("type"), required("capacity_kw").givenAsZero(), required("location"),
		optional("capacity_kw").givenAsZero().above0(math.Inf(1)).withReason("more than 0"), rule(checkNewComponents)}})
	SetAsset         = assetMove(ActionSet, rule(func(r *AssetsRequest) error { return checkClear(r.Clear) }))
	InstallComponent = assetMove(ActionInstall, required("component"))
	RemoveComponent  = assetMove(ActionRemove, required("former_serial"))
	MergeAssets      = assetMove(ActionMerge, required("from_asset_id"), rule(func(r *AssetsRequest) error {
		if r.FromAssetID == r.AssetID {
			return InvalidField("from_asset_id", "is another unit than asset_id")
		}
		return nil
	}))
	ListAssets = define[AssetsRequest, AssetsResponse](&assets, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Fields: Fields{since(), pageLimit()}})
	GetAsset   = define[AssetsRequest, AssetsResponse](&assets, Operation{Action: ActionGet, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"},
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
	Summary: "Add, list, get, change, archive and remove sites",
	Description: "Set creates a site, or changes the given fields; add only creates one. An archived site is read-only: it takes no data, is neither forecast nor " +
		"monitored, and is in lists only with `archived`. Zone reads all kept files of the site again in another time zone; remove deletes the site with all its data. Both run in the " +
		"background, all or nothing, and `dry_run` says what they would do.",
	Errors: []*Error{ErrInvalidAction, MissingField("site_id"), ErrSiteNotFound, Conflict("Site %s belongs to another customer", exampleSite), AlreadyExists("Site %s exists already", exampleSite),
		Conflict("Site %s is archived, thus read-only", exampleSite)},
}

// Sites.
var (
	SetSite = define[SitesRequest, SitesResponse](&sites, Operation{Action: ActionSet, Permission: PermissionSites, Idempotent: true, Target: Target{NewSite: true},
		Fields: Fields{required("site"), rule(nameSite), rule(func(r *SitesRequest) error { return checkClear(r.Clear) })}})
	AddSite = define[SitesRequest, SitesResponse](&sites, Operation{Action: ActionAdd, Permission: PermissionSites, Idempotent: true, Target: Target{NewSite: true},
		Fields: Fields{required("site"), rule(nameSite)}})
	ListSites     = define[SitesRequest, SitesResponse](&sites, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Target: Target{NoSite: true}, Fields: Fields{since(), pageLimit()}})
	GetSite       = define[SitesRequest, SitesResponse](&sites, Operation{Action: ActionGet, Permission: PermissionRead, Cacheable: true, Target: Target{AnyState: true}, Fields: Fields{required("site_id")}})
	RenameSite    = siteMove(ActionRename, required("name").about("The new name that is shown; the id stays.", "Roof of the town hall"))
	ArchiveSite   = siteMove(ActionArchive)
	UnarchiveSite = siteMove(ActionUnarchive)
	ZoneSite      = siteMove(ActionZone, required("timezone").about("An IANA time zone.", "Europe/Vienna"))
	RemoveSite    = siteMove(ActionRemove, rule(confirmSite))
)

// siteMove is a change of a site that exists, which may be archived.
func siteMove(action string, fields ...Field) Endpoint[SitesRequest, SitesResponse] {
	return define[SitesRequest, SitesResponse](&sites, Operation{Action: action, Permission: PermissionSites, Target: Target{AnyState: true}, Fields: append(Fields{required("site_id")}, fields...)})
}

// confirmSite requires the id of a site that is removed a second time.
func confirmSite(r *SitesRequest) error {
	if !r.DryRun && r.Confirm != PublicSiteID(r.SiteID) {
		return InvalidField("confirm", "repeat the site's id to delete it with all its data")
	}
	return nil
}

// nameSite sets the ids of a request to those of its site, which may have them
// or leave them to the request.
func nameSite(r *SitesRequest) error {
	r.SiteID, r.CustomerID = cmp.Or(r.Site.SiteID, r.SiteID), cmp.Or(r.Site.CustomerID, r.CustomerID)
	if r.SiteID == "" {
		return MissingField("site_id")
	}
	return nil
}
