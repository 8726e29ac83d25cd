package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// reserveAll writes the parts of the bill into the order and reserves those
// that are at hand.
func (s *Service) reserveAll(tx store.Tx, o *order, b bom) error {
	for _, i := range b.Items {
		at := o.part(i.PartNumber)
		if at == nil {
			o.Parts = append(o.Parts, api.OrderPart{PartNumber: i.PartNumber, Description: i.Description, Essential: i.Essential})
			at = &o.Parts[len(o.Parts)-1]
		}
		at.Quantity += i.Quantity
	}
	_, err := s.topUp(tx, o)
	return err
}

// expired says whether the order has kept its parts for too long.
func (s *Service) expired(o order) bool {
	held := o.Status == api.OrderPending || o.Status == api.OrderOnHold && o.HeldFrom == api.OrderPending
	return held && s.Now().After(o.PlannedStart.Add(api.ReservationLasts)) && slices.ContainsFunc(o.Parts, func(p api.OrderPart) bool { return p.Reserved > 0 })
}

// expireReservations gives back the parts of orders that should have begun
// long ago, so that others may have them.
func (s *Service) expireReservations(ctx context.Context) error {
	for cursor, first := "", true; first || cursor != ""; first = false {
		var late []order
		err := s.Records.View(ctx, func(tx store.Tx) error {
			list, next, err := orders.List(tx, store.Query{Index: "all", Prefix: store.Key(rankOpen), Limit: api.MaxLimit, Cursor: cursor})
			cursor, late = next, slices.DeleteFunc(list, func(o order) bool { return !s.expired(o) })
			return err
		})
		if err != nil {
			return fmt.Errorf("list open orders: %w", err)
		}
		for _, o := range late {
			if err := s.Records.Update(ctx, func(tx store.Tx) error { return s.expire(tx, o.SiteID, o.OrderID) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) expire(tx store.Tx, siteID, orderID string) error {
	o, err := orders.Get(tx, store.Key(siteID, orderID))
	if err != nil {
		return fmt.Errorf("read order %s: %w", orderID, err)
	}
	if !s.expired(o) { // it moved meanwhile
		return nil
	}
	if err := s.release(tx, &o); err != nil {
		return err
	}
	o.ExpiredAt = api.At(s.Now())
	o.moved(o.Status, s.Now(), "service", fmt.Sprintf("parts given back: planned for %s", o.PlannedStart))
	return s.putOrder(tx, o, "Reservation expired", "service")
}

// part is the order's line of a part; nil when it has none.
func (o *order) part(number string) *api.OrderPart {
	for i := range o.Parts {
		if o.Parts[i].PartNumber == number {
			return &o.Parts[i]
		}
	}
	return nil
}

// topUp reserves what is missing, as far as it is at hand, and answers the
// essential parts that are still short.
func (s *Service) topUp(tx store.Tx, o *order) (short []api.OrderPart, err error) {
	o.ExpiredAt = api.Time{}
	for i := range o.Parts {
		p := &o.Parts[i]
		missing := p.Quantity - p.Reserved - p.Used
		if missing <= 0 {
			continue
		}
		v, err := s.stockOf(tx, o.CustomerID, p.PartNumber)
		if err != nil {
			return nil, err
		}
		if n := v.free(missing); n > 0 {
			v.Reserved, p.Reserved, missing = v.Reserved+n, p.Reserved+n, missing-n
			if err := s.putStock(tx, v); err != nil {
				return nil, err
			}
		}
		if missing > 0 && p.Essential {
			left := *p
			left.Short = missing
			short = append(short, left)
		}
	}
	return short, nil
}

// shortages in words.
func shortages(short []api.OrderPart) string {
	var list []string
	for _, p := range short {
		list = append(list, fmt.Sprintf("%d × %s", p.Short, p.PartNumber))
	}
	return strings.Join(list, ", ")
}

// consume takes what was used out of the stock and releases the rest. Without
// a list it is what was reserved. More than that comes from what is at hand;
// more than the order plans needs a scope over all sites of the customer.
func (s *Service) consume(tx store.Tx, scope api.Scope, o *order, list []api.PartCount) error {
	used := map[string]int{}
	for i, c := range list {
		if o.part(c.PartNumber) == nil {
			p := s.Catalogue.byNumber[c.PartNumber]
			if p == nil {
				return api.InvalidField(fmt.Sprintf("parts_used[%d].part_number", i), fmt.Sprintf("there is no part %q", c.PartNumber))
			}
			o.Parts = append(o.Parts, api.OrderPart{PartNumber: p.Number, Description: p.Description})
		}
		used[c.PartNumber] += c.Quantity
	}
	for i := range o.Parts {
		p := &o.Parts[i]
		n := used[p.PartNumber]
		if list == nil {
			n = p.Reserved
		}
		if n > p.Quantity-p.Used && !scope.CanWholeCustomer(o.CustomerID) {
			return errWholeCustomer.With("part_number", p.PartNumber)
		}
		v, err := s.stockOf(tx, o.CustomerID, p.PartNumber)
		if err != nil {
			return err
		}
		if extra := n - p.Reserved; extra > v.free(extra) {
			return api.Conflict("Part %s: %d were used, %d are at hand for order %s: adjust the stock first", p.PartNumber, n, p.Reserved+v.free(extra), o.OrderID).
				With("part_number", p.PartNumber)
		}
		if n == 0 && p.Reserved == 0 {
			continue
		}
		v.Reserved = max(v.Reserved-p.Reserved, 0)
		if v.Counted {
			v.OnHand = max(v.OnHand-n, 0)
		}
		p.Reserved, p.Used = 0, p.Used+n
		if err := s.putStock(tx, v); err != nil {
			return err
		}
	}
	return nil
}

// release gives back all that is reserved.
func (s *Service) release(tx store.Tx, o *order) error {
	for i := range o.Parts {
		p := &o.Parts[i]
		if p.Reserved == 0 {
			continue
		}
		v, err := s.stockOf(tx, o.CustomerID, p.PartNumber)
		if err != nil {
			return err
		}
		v.Reserved = max(v.Reserved-p.Reserved, 0)
		p.Reserved = 0
		if err := s.putStock(tx, v); err != nil {
			return err
		}
	}
	return nil
}
