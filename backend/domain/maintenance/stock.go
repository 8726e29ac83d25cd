package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// stock is what a customer has of a part.
type stock struct {
	CustomerID string   `json:"customer_id" limit:"id"`
	PartNumber string   `json:"part_number" limit:"id"`
	OnHand     int      `json:"on_hand"`
	Reserved   int      `json:"reserved"`
	Counted    bool     `json:"counted"` // a part that was never counted is not reported as short
	Minimum    *int     `json:"minimum,omitempty"`
	UpdatedAt  api.Time `json:"updated_at,omitzero"`
	UpdatedMS  int64    `json:"updated_ms,omitempty"`
}

var stocks = store.Table[stock]{
	Bucket: "stock",
	Key:    func(v stock) []byte { return store.Key(v.CustomerID, v.PartNumber) },
}

// free is how many of the part another order may have; all it requires if
// the part was never counted.
func (v stock) free(want int) int {
	if !v.Counted {
		return want
	}
	return max(min(v.OnHand-v.Reserved, want), 0)
}

// stockOf is the customer's stock of a part; at first the catalogue's.
func (s *Service) stockOf(tx store.Tx, customerID, number string) (stock, error) {
	v, err := stocks.Get(tx, store.Key(customerID, number))
	if errors.Is(err, store.ErrNotFound) {
		v = stock{CustomerID: customerID, PartNumber: number}
		if p := s.Catalogue.byNumber[number]; p != nil && p.OnHand != nil {
			v.OnHand, v.Counted = *p.OnHand, true
		}
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("read the stock of part %s: %w", number, err)
	}
	return v, nil
}

func (s *Service) putStock(tx store.Tx, v stock) error {
	v.UpdatedAt, v.UpdatedMS = api.At(s.Now()), s.Now().UnixMilli()
	if err := stocks.Put(tx, v); err != nil {
		return fmt.Errorf("store the stock of part %s: %w", v.PartNumber, err)
	}
	return nil
}

// stockResponse returns a part with its stock for a response.
func (s *Service) stockResponse(p *Part, v stock) api.Part {
	out := api.Part{PartNumber: p.Number, Description: p.Description, UnitCost: p.UnitCost.Amount(), Currency: s.Catalogue.Currency, Essential: p.Essential,
		Counted: v.Counted, OnHand: v.OnHand, Reserved: v.Reserved, Available: max(v.OnHand-v.Reserved, 0), Minimum: p.Minimum, UpdatedAt: v.UpdatedAt, UpdatedAtMS: v.UpdatedMS}
	if v.Minimum != nil {
		out.Minimum = *v.Minimum
	}
	out.BelowMinimum = v.Counted && out.Available < out.Minimum
	return out
}

// stockOwner is the customer whose stock a request is about. Who may see one of
// a customer's sites may see its stock.
func (s *Service) stockOwner(ctx context.Context, scope api.Scope, customerID, siteID string) (string, error) {
	if siteID != "" {
		site, err := s.Domain.Sites.Site(ctx, scope, siteID)
		return site.CustomerID, err
	}
	if !scope.CanCustomer(customerID) {
		return "", api.ErrForbidden
	}
	if scope.CanSite(api.Every) {
		return customerID, nil
	}
	own, _, err := s.Domain.Sites.Sites(ctx, scope, api.ListQuery{CustomerID: customerID, Page: api.Page{Limit: 1}})
	if err == nil && len(own) == 0 {
		err = api.ErrForbidden
	}
	return customerID, err
}

// Parts lists the catalogue with a customer's stock, by part number.
func (s *Service) Parts(ctx context.Context, scope api.Scope, r api.PartsRequest) (out []api.Part, next string, err error) {
	customer, err := s.stockOwner(ctx, scope, r.CustomerID, r.SiteID)
	if err != nil {
		return nil, "", err
	}
	err = s.Records.View(ctx, func(tx store.Tx) error {
		out, next = []api.Part{}, ""
		from, there := slices.BinarySearchFunc(s.Catalogue.Parts, r.Cursor, func(p *Part, number string) int { return strings.Compare(p.Number, number) })
		if there {
			from++
		}
		for _, p := range s.Catalogue.Parts[from:] {
			v, err := s.stockOf(tx, customer, p.Number)
			if err != nil {
				return err
			}
			part := s.stockResponse(p, v)
			if r.Below && !part.BelowMinimum || !r.SinceUnix(v.UpdatedMS, v.UpdatedAt) {
				continue
			}
			if r.Limit > 0 && len(out) == r.Limit {
				next = out[len(out)-1].PartNumber
				return nil
			}
			out = append(out, part)
		}
		return nil
	})
	return out, next, err
}

// errWholeCustomer refuses a change of a customer's stock to a caller who has
// some of the customer's sites only.
var errWholeCustomer = api.ErrForbidden.With("reason", "the stock is the customer's: it needs a credential for all of the customer's sites")

// AdjustStock counts a part, or books what came or went. Stock never falls
// below 0: that is a 409. The scope must cover all sites of the customer.
func (s *Service) AdjustStock(ctx context.Context, scope api.Scope, r api.PartsRequest) (api.Part, error) {
	customer, err := s.stockOwner(ctx, scope, r.CustomerID, r.SiteID)
	if err != nil {
		return api.Part{}, err
	}
	if !scope.CanWholeCustomer(customer) {
		return api.Part{}, errWholeCustomer
	}
	p := s.Catalogue.byNumber[r.PartNumber]
	if p == nil {
		return api.Part{}, api.ErrPartNotFound
	}
	var v stock
	err = s.Records.Update(ctx, func(tx store.Tx) (err error) {
		if v, err = s.stockOf(tx, customer, p.Number); err != nil {
			return err
		}
		was := v.OnHand
		if r.OnHand != nil {
			v.OnHand, v.Counted = *r.OnHand, true
		}
		if r.Change != nil {
			v.OnHand, v.Counted = v.OnHand+*r.Change, true
		}
		switch {
		case v.OnHand < 0:
			return api.Conflict("Part %s: %d are on hand, %d cannot go", p.Number, was, -*r.Change).With("on_hand", was)
		case v.OnHand > api.MaxStock:
			return api.InvalidField("change", fmt.Sprintf("the stock would be more than %d", api.MaxStock))
		}
		if r.Minimum != nil {
			v.Minimum = r.Minimum
		}
		if err := s.putStock(tx, v); err != nil {
			return err
		}
		return s.note(tx, customer, r.SiteID, "", api.PhaseAct, "Stock adjusted", fmt.Sprintf("%s: %d → %d. %s", p.Number, was, v.OnHand, r.Reason), scope.Actor)
	})
	v.UpdatedAt, v.UpdatedMS = api.At(s.Now()), s.Now().UnixMilli()
	return s.stockResponse(p, v), err
}

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

// expireReservations releases the parts of orders that should have begun
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
	o.moved(o.Status, s.Now(), "service", fmt.Sprintf("parts released: planned for %s", o.PlannedStart))
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

// topUp reserves what is missing, as far as it is at hand, and returns the
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

// shortages lists the missing parts as a sentence.
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

// release releases all reserved parts.
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
