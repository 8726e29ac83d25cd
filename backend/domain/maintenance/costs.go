package maintenance

import (
	"context"
	"errors"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Order returns an order with its parts and history; a completed one also with its
// costs.
func (s *Service) Order(ctx context.Context, scope api.Scope, orderID string) (api.Order, error) {
	var out api.Order
	err := s.Records.View(ctx, func(tx store.Tx) error {
		o, err := byID(tx, orders, scope, orderID, api.ErrOrderNotFound, order.owner)
		if err != nil {
			return err
		}
		out = s.orderResponse(o)
		out.Costs, err = s.costsOf(tx, scope, o)
		return err
	})
	return out, err
}

// costsOf returns what a completed order took, and what its fault cost; nil for any other.
// Prices are those of the order's bill of materials, for further parts those of the
// catalogue if its currency is the same.
func (s *Service) costsOf(tx store.Tx, scope api.Scope, o order) (*api.OrderCosts, error) {
	if o.Status != api.OrderCompleted {
		return nil, nil
	}
	out := &api.OrderCosts{Hours: o.ActualHours, Parts: []api.OrderPartCost{}, Currency: s.Catalogue.Currency}
	price := map[string]Cents{}
	if o.BOMID != "" {
		b, err := byID(tx, boms, scope, o.BOMID, api.ErrBOMNotFound, bom.owner)
		if err != nil && !errors.Is(err, api.ErrBOMNotFound) {
			return nil, fmt.Errorf("read the bill of materials of order %s: %w", o.OrderID, err)
		}
		if err == nil {
			out.Currency = b.Currency
			for _, i := range b.Items {
				price[i.PartNumber] = i.UnitCost
			}
		}
	}
	sum, known := Cents(0), true
	for _, p := range o.Parts {
		if p.Used == 0 {
			continue
		}
		one, ok := price[p.PartNumber]
		if part := s.Catalogue.byNumber[p.PartNumber]; !ok && part != nil && out.Currency == s.Catalogue.Currency {
			one, ok = part.UnitCost, true
		}
		line := api.OrderPartCost{PartNumber: p.PartNumber, Description: p.Description, Used: p.Used}
		if known = known && ok; ok {
			cost := (Cents(p.Used) * one).Amount()
			line.Cost, sum = &cost, sum+Cents(p.Used)*one
		}
		out.Parts = append(out.Parts, line)
	}
	if known {
		cost := sum.Amount()
		out.PartsCost = &cost
	}
	return out, s.addLoss(tx, scope, o, out)
}

// addLoss adds the energy and the money that the fault of an order cost, and the sum if
// both amounts have one currency.
func (s *Service) addLoss(tx store.Tx, scope api.Scope, o order, out *api.OrderCosts) error {
	if o.SummaryID == "" {
		return nil
	}
	f, ok, err := s.Domain.Findings.Find(tx, o.SiteID, o.SummaryID)
	if err != nil || !ok {
		return err
	}
	at, err := s.Domain.Sites.SiteIn(tx, scope, o.SiteID)
	if err != nil {
		return err
	}
	lost := f.LostKWh
	out.LostKWh, out.LostFrom, out.LostTo = &lost, f.StartedAt, f.EndedAt
	if at.TariffPerKWh <= 0 || at.Currency == "" {
		return nil
	}
	money := tenth(10*lost*at.TariffPerKWh) / 10
	out.LostMoney, out.LostCurrency = &money, at.Currency
	if out.PartsCost != nil && (at.Currency == out.Currency || len(out.Parts) == 0) {
		total := tenth(10*(*out.PartsCost+money)) / 10
		out.Total, out.Currency = &total, at.Currency
	}
	return nil
}
