package api

// SourcesRequest asks for the devices of a site that the service reads itself.
type SourcesRequest = GatewaysRequest

// SourcesResponse has the devices that the service reads itself, or the values of one.
// Devices of gateways that send to the service are not among them.
type SourcesResponse struct {
	Success bool           `json:"success"`
	SiteID  string         `json:"site_id"`
	Reads   bool           `json:"reads"` // the service reads devices of the site
	Error   string         `json:"error,omitempty"`
	Sources []SourceDevice `json:"sources"`
	Brokers []SourceBroker `json:"brokers,omitempty"`
	Files   []SourceFiles  `json:"files,omitempty"`
	Count   int            `json:"count"`

	Values    []SourceValue     `json:"values,omitempty"`         // of the device that was asked for, as read last
	Registers []SourceRegisters `json:"registers_read,omitempty"` // from which they come
}

// States of a device that is read.
const (
	SourceReading     = "reading"
	SourceWaiting     = "not read yet"
	SourceAsleep      = "asleep"
	SourceUnreachable = "not responding"
	SourceSuspect     = "values dropped"
)

// SourceDevice is a device that the service reads.
type SourceDevice struct {
	AssetID      string         `json:"asset_id"`
	Name         string         `json:"name,omitempty"`
	Kind         string         `json:"kind"` // inverter, meter, weather, battery or other
	Manufacturer string         `json:"manufacturer,omitempty"`
	Model        string         `json:"model,omitempty"`
	Serial       string         `json:"serial,omitempty"`
	Protocol     string         `json:"protocol"`   // SunSpec, the map of its registers, or the dialect of its messages
	Connection   string         `json:"connection"` // address, and unit or name there
	State        string         `json:"state"`
	LastReadAt   Time           `json:"last_read_at,omitzero"`
	AgeS         *float64       `json:"age_s"`            // of the last reading that was believed
	PerMinute    *float64       `json:"readings_per_min"` // of the last ten readings; null without them
	Readings     int            `json:"readings"`
	Errors       int            `json:"errors"`
	Error        string         `json:"error,omitempty"` // the last one
	ErrorAt      Time           `json:"error_at,omitzero"`
	Dropped      map[string]int `json:"dropped,omitempty"` // values that were not stored, by reason
	PowerKW      *float64       `json:"power_kw"`          // null unless the device is being read
	Stored       bool           `json:"stored"`            // as a unit of the site
}

// SourceBroker is a broker of messages from which the service reads.
type SourceBroker struct {
	Address   string         `json:"address"`
	Dialect   string         `json:"dialect"`
	Connected bool           `json:"connected"`
	Version   string         `json:"mqtt_version,omitempty"` // of the connection: 5 or 3.1.1
	Error     string         `json:"error,omitempty"`
	Messages  int            `json:"messages"`
	Refused   map[string]int `json:"refused,omitempty"`        // messages that were not taken, by reason
	Others    []string       `json:"not_configured,omitempty"` // devices whose messages come
}

// SourceFiles is a folder, SFTP server or mailbox from which the service takes files in.
// Its counts are since the start of the service; the list of uploads has each file.
type SourceFiles struct {
	Name         string `json:"name"`  // that of the source in the records of uploads
	Kind         string `json:"kind"`  // folder, sftp or imap
	Place        string `json:"place"` // path or address
	State        string `json:"state"`
	LastReadAt   Time   `json:"last_read_at,omitzero"`
	Error        string `json:"error,omitempty"`
	ErrorAt      Time   `json:"error_at,omitzero"`
	RetryAt      Time   `json:"retry_at,omitzero"`
	Taken        int    `json:"taken"`   // files
	Refused      int    `json:"refused"` // of these
	Waiting      int    `json:"waiting"` // files that may still be written, or whose import has not ended
	Skipped      int    `json:"skipped"` // messages of other senders
	LastFile     string `json:"last_file,omitempty"`
	LastUploadID string `json:"last_upload_id,omitempty"`

	Refusals []SourceRefusal `json:"refusals,omitempty"` // the last ones
	Sending  *SourceSending  `json:"sending,omitempty"`  // absent: files are not sent to another service
}

// Who refused a file, besides the import of the service that took it.
const (
	RefusedByImport  = "import"
	RefusedByGateway = "gateway" // it cannot be sent
	RefusedByService = "service" // to which it was sent
)

// SourceRefusal is a file that was refused.
type SourceRefusal struct {
	File     string `json:"file"`
	At       Time   `json:"at"`
	By       string `json:"by"`
	Reason   string `json:"reason"`
	UploadID string `json:"upload_id,omitempty"` // at who refused it
}

// SourceSending is how the files of a source are sent to another service.
type SourceSending struct {
	State   string `json:"state"` // of the connection, for all sources
	Error   string `json:"error,omitempty"`
	RetryAt Time   `json:"retry_at,omitzero"`
	Waiting int    `json:"waiting"` // files of this source
}

// SourceValue is a value as it was read.
type SourceValue struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // null: the device does not have it
}

// SourceRegisters are registers in a row, as a response had them.
type SourceRegisters struct {
	Address int   `json:"address"`
	Words   []int `json:"words"` // of 16 bits
}

// ActionSources lists the devices that the service reads itself.
const ActionSources = "sources"

// ErrSourceNotFound is the error for a device that is not read.
var ErrSourceNotFound = UnknownID("No such device is read here")

// ListSources lists the devices of a site that the service reads itself. With a device it
// has its values too.
var ListSources = define[SourcesRequest, SourcesResponse](&gateways, Operation{Action: ActionSources, Permission: PermissionRead, ReadOnly: true, Fields: Fields{required("site_id")}})

// Actions of a search for devices.
const (
	ActionDiscover      = "discover"
	ActionDiscovery     = "discovery"
	ActionStopDiscovery = "stop_discovery"
	ActionAddDevices    = "add_devices"
)

// States of a search for devices.
const (
	DiscoveryRunning = "running"
	DiscoveryEnded   = "ended"
	DiscoveryStopped = "stopped"
)

// DiscoveryResponse is how far a search for devices is, and what it found.
type DiscoveryResponse struct {
	Success    bool          `json:"success"`
	State      string        `json:"state,omitempty"` // absent: nothing was searched since the start of the service
	StartedAt  Time          `json:"started_at,omitzero"`
	EndedAt    Time          `json:"ended_at,omitzero"`
	Targets    []string      `json:"targets,omitempty"`
	Units      string        `json:"units,omitempty"`
	Addresses  int           `json:"addresses"` // to be searched
	Searched   int           `json:"searched"`  // of these
	At         string        `json:"at,omitempty"`
	AtUnit     int           `json:"at_unit,omitempty"` // unit id that is asked
	Error      string        `json:"error,omitempty"`
	Missed     []string      `json:"missed,omitempty"` // addresses without a device, with the reason
	Devices    []FoundDevice `json:"devices"`
	Count      int           `json:"count"`
	NewDevices int           `json:"new_devices,omitempty"` // add_devices: that the sources file did not have
}

// FoundDevice is a device that a search found.
type FoundDevice struct {
	AssetID      string   `json:"asset_id"` // that its unit would have
	Address      string   `json:"address"`
	Unit         int      `json:"unit"`
	Kind         string   `json:"kind"`
	Manufacturer string   `json:"manufacturer,omitempty"`
	Model        string   `json:"model,omitempty"`
	Serial       string   `json:"serial,omitempty"`
	Version      string   `json:"version,omitempty"`
	Map          string   `json:"map,omitempty"` // of its registers; absent: SunSpec
	RatingKW     float64  `json:"rating_kw,omitempty"`
	PowerW       *float64 `json:"power_w"`
	Models       []int    `json:"models,omitempty"` // of SunSpec that would be read
	Readable     bool     `json:"readable"`
	Added        bool     `json:"added"` // in this search
}

// ErrNoDiscovery is the error of a service that does not read devices of the site.
var ErrNoDiscovery = InvalidTransition("This service does not read devices of the site: start it with --sources")

// Search for devices.
var (
	DiscoverDevices = define[GatewaysRequest, DiscoveryResponse](&gateways, Operation{Action: ActionDiscover, Permission: PermissionUsers,
		Fields: Fields{required("site_id"), required("targets"), optional("port").between(1, 65535)}})
	GetDiscovery  = define[GatewaysRequest, DiscoveryResponse](&gateways, Operation{Action: ActionDiscovery, Permission: PermissionUsers, ReadOnly: true, Fields: Fields{required("site_id")}})
	StopDiscovery = define[GatewaysRequest, DiscoveryResponse](&gateways, Operation{Action: ActionStopDiscovery, Permission: PermissionUsers, Fields: Fields{required("site_id")}})
	AddDevices    = define[GatewaysRequest, DiscoveryResponse](&gateways, Operation{Action: ActionAddDevices, Permission: PermissionUsers, Fields: Fields{required("site_id")}})
)
