package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
	"app.sunloop/internal/display"
)

// bom is the record of a bill of materials. Costs are what the catalogue said
// when it was made.
type bom struct {
	BOMID           string   `json:"bom_id" limit:"id"`
	CustomerID      string   `json:"customer_id" limit:"id"`
	SiteID          string   `json:"site_id" limit:"id"`
	AssetID         string   `json:"asset_id" limit:"id"`
	GeneratedAt     api.Time `json:"generated_at"`
	MaintenanceType string   `json:"maintenance_type" limit:"word"`
	ScheduleID      string   `json:"schedule_id,omitempty" limit:"id"`
	FaultFamily     string   `json:"fault_family,omitempty" limit:"word"`
	SummaryID       string   `json:"summary_id,omitempty" limit:"id"`
	Priority        string   `json:"priority,omitempty" limit:"word"` // that the finding deserves
	Hours           float64  `json:"hours"`
	Isolating       bool     `json:"isolating"`
	Measuring       bool     `json:"measuring"`
	Currency        string   `json:"currency" limit:"word"`
	SiteCurrency    string   `json:"site_currency,omitempty" limit:"word"`
	PriceCurrency   string   `json:"price_currency,omitempty" limit:"word"` // of the catalogue; empty: Currency
	Rate            float64  `json:"rate,omitempty"`                        // one unit of PriceCurrency in Currency
	Items           []item   `json:"items" limit:"500 cut"`
	OrderID         string   `json:"order_id,omitempty" limit:"id"` // the order that takes it, until that is cancelled
}

// item is a line of a bill of materials.
type item struct {
	PartNumber  string      `json:"part_number" limit:"id"`
	Description string      `json:"description" limit:"text cut"`
	Quantity    int         `json:"quantity"`
	UnitCost    Cents       `json:"unit_cost"`
	Price       Cents       `json:"price,omitempty"` // in the bill's PriceCurrency, if it has one
	Essential   bool        `json:"essential"`
	Components  []component `json:"components,omitempty" limit:"200 cut"`
}

// component is a component of the asset that the item fits, as it was then.
type component struct {
	OEM           string `json:"oem" limit:"id"`
	Model         string `json:"model" limit:"id"`
	Serial        string `json:"serial" limit:"id"`
	Kind          string `json:"kind,omitempty" limit:"name"`
	InstalledDate string `json:"installed_date,omitempty" limit:"word"`
	RemovedDate   string `json:"removed_date,omitempty" limit:"word"`
}

func (i item) total() Cents { return Cents(i.Quantity) * i.UnitCost }

func (b bom) owner() (customer, site string) { return b.CustomerID, b.SiteID }

var boms = store.Table[bom]{
	Bucket: "boms",
	Key:    func(b bom) []byte { return store.Key(b.SiteID, b.BOMID) },
	Indexes: append(listed(
		func(b bom) (customer, site, asset string) { return b.CustomerID, b.SiteID, b.AssetID },
		func(b bom) []string { return []string{later(b.GeneratedAt.Time), b.BOMID} }),
		store.Index[bom]{Name: "id", Key: func(b bom) []byte { return store.Key(b.BOMID) }}),
}

// toAPI returns the bill for a response, with its items.
func (b bom) toAPI() api.BOM {
	out := api.BOM{BOMID: b.BOMID, AssetID: b.AssetID, SiteID: b.SiteID, GeneratedAt: b.GeneratedAt, ItemCount: len(b.Items), Items: []api.BOMItem{},
		Currency: b.Currency, MaintenanceType: b.MaintenanceType, ScheduleID: b.ScheduleID, FaultFamily: b.FaultFamily, SummaryID: b.SummaryID,
		EstimatedHours: b.Hours, Isolating: b.Isolating, Measuring: b.Measuring, OrderID: b.OrderID}
	var sum, prices Cents
	for _, i := range b.Items {
		sum, prices = sum+i.total(), prices+Cents(i.Quantity)*i.Price
		out.Items = append(out.Items, api.BOMItem{PartNumber: i.PartNumber, Description: i.Description, Quantity: i.Quantity, UnitCost: i.UnitCost.Amount(),
			TotalCost: i.total().Amount(), Essential: i.Essential, Components: record.Convert(i.Components, func(c component) api.Component { return api.Component(c) })})
	}
	out.TotalCost = sum.Amount()
	if b.PriceCurrency != "" {
		out.CatalogueCurrency, out.ExchangeRate = b.PriceCurrency, b.Rate
	} else if b.SiteCurrency != "" && b.SiteCurrency != b.Currency {
		out.CurrencyNote = fmt.Sprintf("Costs are in %s: no exchange rate to %s is known, so they cannot be compared with the site's other amounts.", b.Currency, b.SiteCurrency)
	}
	switch {
	case b.Currency == "USD":
		out.TotalCostUSD = &out.TotalCost
	case b.PriceCurrency == "USD":
		usd := prices.Amount()
		out.TotalCostUSD = &usd
	}
	return out
}

// convertedTo converts the bill's costs to the site's currency, each piece to the
// nearest cent, if the rate is known. Else they stay as the catalogue has them.
func (b *bom) convertedTo(site api.Site, rates site.Rates) {
	b.SiteCurrency = site.Currency
	rate := rates.Between(b.Currency, site.Currency)
	if site.Currency == "" || site.Currency == b.Currency || rate == 0 {
		return
	}
	b.PriceCurrency, b.Rate, b.Currency = b.Currency, rate, site.Currency
	for i := range b.Items {
		one := &b.Items[i]
		one.Price, one.UnitCost = one.UnitCost, one.UnitCost.times(rate)
	}
}

// GenerateBOM makes the bill of materials of work at an asset: of the type of
// maintenance, of the family of the worst fault that is active there, of the
// asset's type and size and of its components.
func (s *Service) GenerateBOM(ctx context.Context, scope api.Scope, r api.BOMRequest) (api.BOM, error) {
	asset, err := s.Domain.Sites.Asset(ctx, scope, api.AssetRef{AssetID: r.AssetID, SiteID: r.SiteID, CustomerID: r.CustomerID})
	if err != nil {
		return api.BOM{}, err
	}
	b := bom{CustomerID: asset.CustomerID, SiteID: asset.SiteID, AssetID: asset.AssetID, ScheduleID: r.ScheduleID,
		MaintenanceType: r.MaintenanceType, FaultFamily: r.FaultFamily, Currency: s.Catalogue.Currency}
	if r.ScheduleID != "" {
		plan, err := s.Schedule(ctx, scope, r.ScheduleID)
		if err != nil {
			return api.BOM{}, err
		}
		if plan.AssetID != asset.AssetID || plan.SiteID != asset.SiteID {
			return api.BOM{}, api.InvalidField("schedule_id", fmt.Sprintf("schedule %s is of asset %s", plan.ScheduleID, plan.AssetID))
		}
		b.MaintenanceType = cmp.Or(b.MaintenanceType, plan.MaintenanceType)
	}
	b.MaintenanceType = cmp.Or(b.MaintenanceType, api.MaintenanceCorrective)
	units := 1
	if b.MaintenanceType != api.MaintenancePreventive {
		f, ok, err := s.findingOf(ctx, scope, asset, r.FaultFamily)
		if err != nil {
			return api.BOM{}, err
		}
		if ok {
			b.FaultFamily, b.SummaryID, b.Priority, units = f.FaultFamily, f.SummaryID, s.Catalogue.priority(f, s.Rates), len(f.AssetIDs)
		}
	}
	s.fill(&b, asset, units)
	site, err := s.Domain.Sites.Site(ctx, scope, asset.SiteID)
	if err != nil {
		return api.BOM{}, err
	}
	b.convertedTo(site, s.Rates)
	b.BOMID, b.GeneratedAt = s.id("bom"), api.At(s.Now())
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		if err := room(tx, boms, b.SiteID, b.AssetID, api.MaxBOMs, "bills of materials"); err != nil {
			return err
		}
		if err := boms.Insert(tx, b); err != nil {
			return fmt.Errorf("store bill of materials %s: %w", b.BOMID, err)
		}
		return s.note(tx, b.CustomerID, b.SiteID, b.AssetID, api.PhaseDecide, "Bill of materials created",
			fmt.Sprintf("%s, %.2f %s", display.CountOf(len(b.Items), "item", "items"), b.toAPI().TotalCost, b.Currency), scope.Actor)
	})
	return b.toAPI(), err
}

// priority of work on a finding: high when it is critical, or loses what a
// journey costs within a week; medium when it does so within a month; else low.
// Where the money is not known, or of a currency without a rate, the severity
// alone counts.
func (c *Catalogue) priority(f api.Finding, rates site.Rates) string {
	journey := c.TruckRoll.Amount() * rates.Between(c.Currency, f.Currency)
	switch {
	case f.SeverityLabel == api.SeverityCritical:
		return api.PriorityHigh
	case journey == 0 || f.RevenueAtRisk == 0:
		return map[string]string{api.SeverityWarning: api.PriorityMedium, api.SeverityNormal: api.PriorityLow}[f.SeverityLabel]
	case 7*f.RevenueAtRisk >= journey:
		return api.PriorityHigh
	case 30*f.RevenueAtRisk >= journey:
		return api.PriorityMedium
	}
	return api.PriorityLow
}

// findingOf returns the finding that work at an asset concerns: the worst active one,
// of a family where one is named.
func (s *Service) findingOf(ctx context.Context, scope api.Scope, asset api.Asset, family string) (f api.Finding, ok bool, err error) {
	list, _, err := s.Domain.Findings.Findings(ctx, scope, api.ListQuery{CustomerID: asset.CustomerID, SiteID: asset.SiteID, AssetID: asset.AssetID, Page: api.Page{Limit: api.MaxLimit}})
	if errors.Is(err, api.ErrNoSummaries) {
		return f, false, nil
	}
	for _, f := range list {
		if f.Active && (family == "" || family == f.FaultFamily) {
			return f, true, nil
		}
	}
	return f, false, err
}

// fill writes the items of the kit that fits the work.
func (s *Service) fill(b *bom, asset api.Asset, units int) {
	kit := s.Catalogue.kit(b.MaintenanceType, b.FaultFamily, asset)
	hours, _ := times(kit.HoursPer, asset, units)
	b.Hours, b.Isolating, b.Measuring = min(kit.Hours*float64(hours), api.MaxOrderHours), kit.Isolating, kit.Measuring
	for _, it := range kit.Items {
		general := s.Catalogue.byNumber[it.Part]
		n, _ := times(it.Per, asset, units)
		if !it.OwnMake || len(asset.Components) == 0 {
			b.add(general, it.Quantity*n, nil)
			continue
		}
		makes := ofOneMake(asset.Components)
		if it.Per != "component" {
			// One piece: who goes there reads off which of the makes it is.
			b.add(s.Catalogue.own(general, makes[0][0]), it.Quantity*n, asset.Components)
			continue
		}
		for _, same := range makes {
			b.add(s.Catalogue.own(general, same[0]), it.Quantity*len(same), same)
		}
	}
}

// add writes a line. The description names the make that it must fit.
func (b *bom) add(p *Part, quantity int, fit []api.Component) {
	i := item{PartNumber: p.Number, Description: p.Description, Quantity: quantity, UnitCost: p.UnitCost, Essential: p.Essential,
		Components: record.Convert(fit, func(c api.Component) component { return component(c) })}
	if makes := ofOneMake(fit); len(makes) == 1 && p.InsteadOf == "" {
		i.Description += fmt.Sprintf(", for %s %s", fit[0].OEM, fit[0].Model)
	}
	b.Items = append(b.Items, i)
}

// ofOneMake groups components by maker and model, in their order.
func ofOneMake(list []api.Component) (groups [][]api.Component) {
	for _, c := range list {
		at := slices.IndexFunc(groups, func(g []api.Component) bool { return g[0].OEM == c.OEM && g[0].Model == c.Model })
		if at < 0 {
			groups = append(groups, []api.Component{c})
			continue
		}
		groups[at] = append(groups[at], c)
	}
	return groups
}

// BOM is a bill of materials; [api.ErrBOMNotFound] for an unknown id.
func (s *Service) BOM(ctx context.Context, scope api.Scope, bomID string) (api.BOM, error) {
	b, err := get(ctx, s, boms, scope, bomID, api.ErrBOMNotFound, bom.owner)
	return b.toAPI(), err
}

// BOMs lists the newest first, without their items.
func (s *Service) BOMs(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.BOM, string, error) {
	list, next, err := record.List(ctx, s.Records, boms, listing(q), q.Page, func(b bom) bool {
		return within(scope, q, b.CustomerID, b.SiteID, b.AssetID) && q.Since(b.GeneratedAt.Time) && record.Is(q.Filter.Type, b.MaintenanceType)
	})
	out := make([]api.BOM, len(list))
	for i, b := range list {
		out[i] = b.toAPI()
		out[i].Items = nil
	}
	return out, next, err
}
