package api

import "net/http"

// Refusals of bills of materials and parts.
var (
	ErrBOMNotFound  = UnknownID("BOM not found")
	ErrPartNotFound = newError(http.StatusNotFound, "Part not found")
)

// BOMItem is a line of a bill of materials. The fields after TotalCost are
// extensions.
type BOMItem struct {
	PartNumber  string  `json:"part_number"`
	Description string  `json:"description"`
	Quantity    int     `json:"quantity"`
	UnitCost    float64 `json:"unit_cost"`
	TotalCost   float64 `json:"total_cost"`

	Essential  bool        `json:"essential"`            // work does not start while it is short
	Components []Component `json:"components,omitempty"` // of the unit, that it must fit
}

// BOM is a bill of materials of an asset: what a piece of work takes. The
// fields after ItemCount are extensions.
type BOM struct {
	BOMID       string  `json:"bom_id"`
	AssetID     string  `json:"asset_id"`
	GeneratedAt Time    `json:"generated_at"`
	TotalCost   float64 `json:"total_cost"`
	ItemCount   int     `json:"item_count"`

	SiteID          string    `json:"site_id"`
	Items           []BOMItem `json:"items,omitzero"`           // not in lists
	Currency        string    `json:"currency"`                 // of the costs: the site's where a rate to it is known, else the catalogue's
	TotalCostUSD    *float64  `json:"total_cost_usd,omitempty"` // when that is the currency, or the catalogue's
	MaintenanceType string    `json:"maintenance_type"`
	ScheduleID      string    `json:"schedule_id,omitempty"`
	FaultFamily     string    `json:"fault_family,omitempty"` // of the selected finding
	SummaryID       string    `json:"summary_id,omitempty"`   // the finding
	EstimatedHours  float64   `json:"estimated_hours"`        // of work at the unit
	Isolating       bool      `json:"isolating"`              // the unit is down during the work
	Measuring       bool      `json:"measuring"`              // it requires strong sun
	OrderID         string    `json:"order_id,omitempty"`     // the work order that takes it

	CatalogueCurrency string  `json:"catalogue_currency,omitempty"` // of the prices, where they were converted
	ExchangeRate      float64 `json:"exchange_rate,omitempty"`      // one unit of catalogue_currency in currency, when the bill was made
	CurrencyNote      string  `json:"currency_note,omitempty"`      // that the costs are not in the site's currency, and cannot be compared with its other amounts
}

// BOMRequest is the body of POST /terminal/bom: action generate (also called
// build), list or get.
type BOMRequest struct {
	Action          string `json:"action" limit:"word"`
	AssetID         string `json:"asset_id,omitempty" limit:"id"`
	SiteID          string `json:"site_id,omitempty" limit:"id"`
	CustomerID      string `json:"customer_id,omitempty" limit:"id"`
	MaintenanceType string `json:"maintenance_type,omitempty" limit:"word"` // with customer_id, empty: the schedule's, else corrective
	ScheduleID      string `json:"schedule_id,omitempty" limit:"id"`
	FaultFamily     string `json:"fault_family,omitempty" limit:"word"` // empty: of the worst finding of the asset that is active
	BOMID           string `json:"bom_id,omitempty" limit:"id"`         // get
	Page
}

// BOMResponse answers /terminal/bom. A list has the newest first.
type BOMResponse struct {
	Success      bool      `json:"success"`
	Message      string    `json:"message,omitempty"`
	BOMID        string    `json:"bom_id,omitempty"`
	AssetID      string    `json:"asset_id,omitempty"`
	Items        []BOMItem `json:"items,omitzero"`
	TotalCost    *float64  `json:"total_cost,omitempty"`
	TotalCostUSD *float64  `json:"total_cost_usd,omitempty"`
	Currency     string    `json:"currency,omitempty"`
	CurrencyNote string    `json:"currency_note,omitempty"`
	BOM          *BOM      `json:"bom,omitempty"`
	BOMs         []BOM     `json:"boms,omitzero"` // list: there even when empty
	Count        int       `json:"count"`
	NextCursor   string    `json:"next_cursor,omitempty"`
}

// MaxStock bounds a count of parts.
const MaxStock = 10_000_000

// Part is a kind of spare part with a customer's stock of it.
type Part struct {
	PartNumber   string  `json:"part_number"`
	Description  string  `json:"description"`
	UnitCost     float64 `json:"unit_cost"`
	Currency     string  `json:"currency"`
	Essential    bool    `json:"essential"`
	Counted      bool    `json:"counted"` // counted at least once; a part that was never counted is not reported as short
	OnHand       int     `json:"on_hand"`
	Reserved     int     `json:"reserved"`  // by work orders
	Available    int     `json:"available"` // on hand and not reserved
	Minimum      int     `json:"minimum"`   // stock to keep
	BelowMinimum bool    `json:"below_minimum"`
	UpdatedAt    Time    `json:"updated_at,omitzero"`
	UpdatedAtMS  int64   `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
}

// PartsRequest is the body of POST /terminal/parts (extension): action list or
// adjust. The stock is a customer's: of customer_id, or of the site's.
type PartsRequest struct {
	Action     string `json:"action" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	Below      bool   `json:"below_minimum,omitempty"`          // list: only what must be bought
	PartNumber string `json:"part_number,omitempty" limit:"id"` // adjust
	OnHand     *int   `json:"on_hand,omitempty"`                // adjust: what was counted
	Change     *int   `json:"change,omitempty"`                 // adjust: what came or went, instead of on_hand
	Minimum    *int   `json:"minimum,omitempty"`                // adjust
	Reason     string `json:"reason,omitempty" limit:"text"`    // adjust
	Page
}

// PartsResponse answers /terminal/parts, by part number.
type PartsResponse struct {
	Success    bool   `json:"success"`
	Message    string `json:"message,omitempty"`
	Part       *Part  `json:"part,omitempty"`
	Parts      []Part `json:"parts,omitzero"` // list: there even when empty
	Count      int    `json:"count"`
	NextCursor string `json:"next_cursor,omitempty"`
}

var boms = Route{
	Name: "bom", Path: PathBOM,
	Summary: "Create bills of materials", Description: "Derived from the maintenance type, the selected fault, and the type, size and components of the unit. A list has the newest first.",
	Example: BOMRequest{Action: ActionGenerate, AssetID: exampleAsset, MaintenanceType: MaintenanceCorrective},
	Errors:  append(assetErrors[:3:3], MissingField("maintenance_type"), ErrBOMNotFound, ErrScheduleNotFound),
}

// Bills of materials.
var (
	GenerateBOM = bomOperation(ActionGenerate)
	BuildBOM    = bomOperation(ActionBuild)
	ListBOMs    = define[BOMRequest, BOMResponse](&boms, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{since(), pageLimit(), required("asset_id").or("site_id", "customer_id")}})
	GetBOM = define[BOMRequest, BOMResponse](&boms, Operation{Action: ActionGet, Permission: PermissionRead, Cacheable: true, Fields: Fields{required("bom_id")}})
)

func bomOperation(action string) Endpoint[BOMRequest, BOMResponse] {
	return define[BOMRequest, BOMResponse](&boms, Operation{Action: action, Permission: PermissionOrders, Idempotent: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{required("asset_id"), required("maintenance_type").unless("customer_id").anyCase(MaintenanceTypes()...)}})
}

var parts = Route{
	Name: "parts", Path: PathParts,
	Summary: "List spare parts with their stock, and adjust it", Description: "By part number. Available is the stock that is not reserved; a part that was never counted is not reported as short.",
	Example: PartsRequest{Action: ActionList, CustomerID: exampleCustomer},
	Errors:  []*Error{ErrInvalidAction, MissingField("customer_id"), ErrPartNotFound, Conflict("Part FAN-AX-24V: 1 are on hand, 2 cannot go")},
}

// Parts and their stock.
var (
	ListParts   = define[PartsRequest, PartsResponse](&parts, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Fields: Fields{required("customer_id").or("site_id"), since(), pageLimit()}})
	AdjustStock = define[PartsRequest, PartsResponse](&parts, Operation{Action: ActionAdjust, Permission: PermissionOrders, Idempotent: true, Fields: Fields{
		required("customer_id").or("site_id"), required("part_number"),
		rule(func(r *PartsRequest) error {
			switch {
			case r.OnHand == nil && r.Change == nil && r.Minimum == nil:
				return MissingField("on_hand")
			case r.OnHand != nil && r.Change != nil:
				return InvalidField("change", "it goes with no on_hand")
			}
			return nil
		}),
		required("reason").text(), optional("on_hand").between(0, MaxStock), optional("change").between(-MaxStock, MaxStock), optional("minimum").between(0, MaxStock)}})
)
