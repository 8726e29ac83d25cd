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
	Counted    bool     `json:"counted"` // what nobody has counted is not said to be short
	Minimum    *int     `json:"minimum,omitempty"`
	UpdatedAt  api.Time `json:"updated_at,omitzero"`
}

var stocks = store.Table[stock]{
	Bucket: "stock",
	Key:    func(v stock) []byte { return store.Key(v.CustomerID, v.PartNumber) },
}

// free is how many of the part another order may have; all it wants where
// nobody has counted.
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
	v.UpdatedAt = api.At(s.Now())
	if err := stocks.Put(tx, v); err != nil {
		return fmt.Errorf("store the stock of part %s: %w", v.PartNumber, err)
	}
	return nil
}

// seenStock is a part with its stock as it is answered.
func (s *Service) seenStock(p *Part, v stock) api.Part {
	out := api.Part{PartNumber: p.Number, Description: p.Description, UnitCost: p.UnitCost.Amount(), Currency: s.Catalogue.Currency, Essential: p.Essential,
		Counted: v.Counted, OnHand: v.OnHand, Reserved: v.Reserved, Available: max(v.OnHand-v.Reserved, 0), Minimum: p.Minimum, UpdatedAt: v.UpdatedAt}
	if v.Minimum != nil {
		out.Minimum = *v.Minimum
	}
	out.BelowMinimum = v.Counted && out.Available < out.Minimum
	return out
}

// storeroom is the customer whose stock a request is about. Who may see one of
// a customer's sites may see its stock.
func (s *Service) storeroom(ctx context.Context, scope api.Scope, customerID, siteID string) (string, error) {
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
	customer, err := s.storeroom(ctx, scope, r.CustomerID, r.SiteID)
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
			part := s.seenStock(p, v)
			if r.Below && !part.BelowMinimum {
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
	customer, err := s.storeroom(ctx, scope, r.CustomerID, r.SiteID)
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
	v.UpdatedAt = api.At(s.Now())
	return s.seenStock(p, v), err
}
