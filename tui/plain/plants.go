package plain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// Plants are the requested sites, and the client to request them from.
type Plants struct {
	Client *client.Client
	Sites  []api.Site
	Zones  Zones
	Named  bool // one site, by its name
}

// NoSite is the error for a site or a customer without sites that does not exist.
type NoSite struct{ SiteID, CustomerID string }

// Error returns a sentence.
func (e *NoSite) Error() string {
	words := "there is no site"
	if e.SiteID != "" {
		words += fmt.Sprintf(" %q", e.SiteID)
	}
	if e.CustomerID != "" {
		words += fmt.Sprintf(" of customer %q", e.CustomerID)
	}
	return words
}

// AmbiguousSite is the error for a site id that several customers use.
type AmbiguousSite struct{ SiteID string }

// Error says what to do.
func (e *AmbiguousSite) Error() string {
	return fmt.Sprintf("several customers have a site %q; name one with --customer", e.SiteID)
}

// Find finds a site, or with an empty id all of a customer, or with two empty
// ids all accessible ones. A named site that does not exist is a [NoSite] error, an id
// of several customers without a customer an [AmbiguousSite] error.
func Find(ctx context.Context, c *client.Client, siteID, customerID string) (*Plants, error) {
	p := &Plants{Client: c, Named: siteID != ""}
	if p.Named {
		site, err := c.Site(ctx, api.SiteRef{CustomerID: customerID, SiteID: siteID})
		if errors.Is(err, api.ErrSiteNotFound) {
			return nil, &NoSite{siteID, customerID}
		}
		if refusal := (*api.Error)(nil); errors.As(err, &refusal) && refusal.Message == api.ErrAmbiguousSite.Message {
			return nil, &AmbiguousSite{siteID}
		}
		if err != nil {
			return nil, err
		}
		p.Sites = []api.Site{*site}
	} else {
		sites, err := gather(func(page api.Page) ([]api.Site, string, error) {
			r, err := c.Sites(ctx, api.ListQuery{CustomerID: customerID, Page: page})
			if err != nil {
				return nil, "", err
			}
			return r.Sites, r.NextCursor, nil
		}, nil)
		if err != nil {
			return nil, err
		}
		if p.Sites = sites; len(sites) == 0 && customerID != "" {
			return nil, &NoSite{"", customerID}
		}
	}
	p.Zones = ZonesOf(p.Sites)
	return p, nil
}

// Sited is an object of a site, such as an alert.
type Sited[T any] struct {
	Site api.SiteRef
	Fact T
}

// Facts returns the facts without their sites.
func Facts[T any](list []Sited[T]) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = v.Fact
	}
	return out
}

// gather requests all pages of a list, to its end or to the first item for which done
// returns true; if done is nil, to the end.
func gather[T any](ask func(api.Page) (part []T, next string, err error), done func(T) bool) ([]T, error) {
	all := []T{}
	for page := (api.Page{Limit: api.MaxLimit}); ; {
		part, next, err := ask(page)
		if err != nil {
			return nil, err
		}
		if done != nil {
			if i := slices.IndexFunc(part, done); i >= 0 {
				return append(all, part[:i]...), nil
			}
		}
		all = append(all, part...)
		if page.Cursor = next; next == "" {
			return all, nil
		}
	}
}

// ofCustomers gathers a list that is asked for by customer; siteID returns the
// site of an item.
func ofCustomers[T any](p *Plants, siteID func(T) string, ask func(api.ListQuery) (part []T, next string, err error), done func(T) bool) ([]Sited[T], error) {
	all := []Sited[T]{}
	for _, customer := range p.Customers() {
		q := api.ListQuery{CustomerID: customer}
		if p.Named {
			q.SiteID = p.Sites[0].SiteID
		}
		part, err := gather(func(page api.Page) ([]T, string, error) {
			q.Page = page
			return ask(q)
		}, done)
		if err != nil {
			return nil, err
		}
		for _, v := range part {
			all = append(all, Sited[T]{api.SiteRef{CustomerID: customer, SiteID: siteID(v)}, v})
		}
	}
	return all, nil
}

// Customers are whose sites these are.
func (p *Plants) Customers() (ids []string) {
	for _, s := range p.Sites {
		if !slices.Contains(ids, s.CustomerID) {
			ids = append(ids, s.CustomerID)
		}
	}
	return ids
}

// Alerts returns the alerts in a state, empty for all but cleared ones, by
// customer, most urgent first, and how many there are in all.
func (p *Plants) Alerts(ctx context.Context, state string) ([]Sited[api.Alert], api.AlertCounts, error) {
	counts := api.AlertCounts{Unacknowledged: map[string]int{}}
	all, err := ofCustomers(p, func(a api.Alert) string { return a.SiteID }, func(q api.ListQuery) ([]api.Alert, string, error) {
		r, err := p.Client.Alerts(ctx, q, state)
		if err != nil {
			return nil, "", err
		}
		if c := r.Counts; r.NextCursor == "" && c != nil { // each page has those of the whole list
			for severity, n := range c.Unacknowledged {
				counts.Unacknowledged[severity] += n
			}
			counts.Acknowledged += c.Acknowledged
			counts.Shelved += c.Shelved
			counts.Suppressed += c.Suppressed
		}
		return r.Alerts, r.NextCursor, nil
	}, nil)
	return all, counts, err
}

// Findings are active ones first, each sorted by power at risk; only active
// ones if requested.
func (p *Plants) Findings(ctx context.Context, active bool) ([]Sited[api.Finding], error) {
	var done func(api.Finding) bool
	if active { // they are first
		done = func(v api.Finding) bool { return !v.Active }
	}
	all, err := ofCustomers(p, func(f api.Finding) string { return f.SiteID }, func(q api.ListQuery) ([]api.Finding, string, error) {
		r, err := p.Client.Findings(ctx, q)
		if errors.Is(err, api.ErrNoSummaries) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		return r.MLEnhancedActivities, r.NextCursor, nil
	}, done)
	slices.SortStableFunc(all, func(a, b Sited[api.Finding]) int {
		if a.Fact.Active != b.Fact.Active {
			if a.Fact.Active {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Fact.EnergyAtRiskKW, a.Fact.EnergyAtRiskKW)
	})
	return all, err
}

// Orders returns those that narrow asks for, open ones first.
func (p *Plants) Orders(ctx context.Context, narrow api.OrderRequest) ([]Sited[api.Order], error) {
	return ofCustomers(p, func(o api.Order) string { return o.SiteID }, func(q api.ListQuery) ([]api.Order, string, error) {
		r, err := p.Client.Orders(ctx, q, narrow)
		if err != nil {
			return nil, "", err
		}
		return r.Orders, r.NextCursor, nil
	}, nil)
}
