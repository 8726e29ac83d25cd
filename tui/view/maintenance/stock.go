package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Stock is the table of spare parts; it can show only those below their minimum.
type Stock struct {
	*widget.TableView
	below bool // only parts below their minimum
}

// NewStock lists the parts with the customer's stock of each: what is short
// first.
func NewStock() *Stock {
	s := &Stock{}
	s.TableView = &widget.TableView{
		Heading: "Stock", Query: state.QueryParts, Period: workPeriod, Keys: keymap.StockList,
		Empty: "No parts. They come from the parts catalogue of the service.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "part", Width: 18, Min: 12}, {Title: "description", Min: 16, Rank: 1}, {Title: "on hand", Width: 7, Right: true}, {Title: "reserved", Width: 8, Right: true, Rank: 2},
			{Title: "free", Width: 5, Right: true}, {Title: "minimum", Width: 7, Right: true, Rank: 2}, {Title: "unit price", Width: 12, Right: true, Rank: 3}, {Title: "state", Width: 12},
		},
		Rows: s.partRows, Detail: partDetail, Act: s.partAct,
		Status: func(v view.Context) widget.ValueStatus {
			return siteStatus(v, func(site *state.Site) widget.ValueStatus { return workStatus(v, site.Parts, len(site.Parts.Data) == 0) })
		},
		Reason: func(a keymap.Action, id string, v view.Context) string {
			if a != keymap.StockBelow && id == "" {
				return "nothing is selected"
			}
			return ""
		},
	}
	return s
}

// stockState describes the state of a part, and its urgency.
func stockState(p api.Part) (words string, role themes.Role, rank int) {
	switch {
	case !p.Counted:
		return "not counted", themes.Muted, 3
	case p.Available < 0:
		return fmt.Sprintf("%d short", -p.Available), themes.Warning, 0
	case p.BelowMinimum:
		return fmt.Sprintf("buy %d", max(p.Minimum-p.Available, 1)), themes.Warning, 1
	}
	return "enough", themes.Dim, 2
}

func (s *Stock) partRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	parts := slices.Clone(v.Site.Parts.Data)
	slices.SortStableFunc(parts, func(a, b api.Part) int {
		_, _, x := stockState(a)
		_, _, y := stockState(b)
		return x - y
	})
	rows := make([]widget.Row, 0, len(parts))
	for _, p := range parts {
		if s.below && !p.BelowMinimum {
			continue
		}
		words, role, _ := stockState(p)
		text, count := themes.Text, strconv.Itoa
		if !p.Counted {
			text, count = themes.Dim, func(int) string { return view.Drawable("–", v.ASCII) }
		}
		least := strconv.Itoa(p.Minimum)
		if !p.Counted && p.Minimum == 0 {
			least = count(0)
		}
		price := display.Money(p.UnitCost, p.Currency)
		rows = append(rows, widget.Row{ID: p.PartNumber, Sort: []any{p.PartNumber, p.Description, float64(p.OnHand), float64(p.Reserved), float64(p.Available), float64(p.Minimum), p.UnitCost, words},
			Cells: []widget.Cell{{Text: p.PartNumber, Role: text}, {Text: p.Description, Role: text}, {Text: count(p.OnHand), Role: text}, {Text: strconv.Itoa(p.Reserved), Role: text},
				{Text: count(p.Available), Role: text}, {Text: least, Role: themes.Dim}, {Text: price, Role: themes.Dim}, {Text: words, Role: role}}})
	}
	return rows
}

func partByNumber(v view.Context, number string) *api.Part {
	if v.Site == nil {
		return nil
	}
	return widget.Find(v.Site.Parts.Data, func(p api.Part) bool { return p.PartNumber == number })
}

func partDetail(v view.Context, id string) []widget.Detail {
	p := partByNumber(v, id)
	if p == nil {
		return nil
	}
	words, role, _ := stockState(*p)
	lines := []widget.Detail{{Heading: p.Description}, {Label: "state", Text: words, Role: role}}
	add := widget.FactsOf(&lines)
	add("part", p.PartNumber)
	if p.Counted {
		add("on hand", strconv.Itoa(p.OnHand))
		add("free", strconv.Itoa(p.Available))
	} else {
		add("on hand", "never counted: not reported as short")
	}
	add("reserved", fmt.Sprintf("%d, by work orders", p.Reserved))
	add("minimum", strconv.Itoa(p.Minimum))
	add("price", display.Money(p.UnitCost, p.Currency))
	if p.Essential {
		add("essential", "work does not start while it is short")
	}
	if !p.UpdatedAt.IsZero() {
		add("changed", display.DateTime(p.UpdatedAt.In(v.Zone())))
	}
	if o := v.Site.Order.Data; slices.ContainsFunc(o.Parts, func(op api.OrderPart) bool { return op.PartNumber == id }) {
		add("selected", "the order of "+o.AssetID+" takes it")
	}
	if d := v.Site.BOM.Data; slices.ContainsFunc(d.Items, func(i api.BOMItem) bool { return i.PartNumber == id }) {
		add("planned", "the bill of materials of "+d.AssetID+" takes it")
	}
	if mayAudit(v) {
		lines = append(lines, auditOf(v, id)...)
	}
	return lines
}

// Queries also asks for the audit trail, where it may be read.
func (s *Stock) Queries(v view.Context) []state.Need { return withAudit(s.TableView.Queries(v), v) }

func withAudit(needs []state.Need, v view.Context) []state.Need {
	if mayAudit(v) {
		needs = append(needs, state.Need{Query: state.QueryAudit, Period: 3 * workPeriod, Focused: true})
	}
	return needs
}

// partAct returns what a key of the list leads to.
func (s *Stock) partAct(a keymap.Action, id string, v view.Context) view.Request {
	if a == keymap.StockBelow {
		s.below = !s.below
		return nil
	}
	p := partByNumber(v, id)
	if p == nil {
		return nil
	}
	switch a {
	case keymap.StockReceive:
		return view.OpenDialog{Dialog: NewReceiveForm(*p, v)}
	case keymap.StockCount:
		return view.OpenDialog{Dialog: NewCountForm(*p, v)}
	}
	return nil
}

// sendStock books a change of stock.
func sendStock(from view.Caller, r api.PartsRequest) view.Call {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := c.AdjustStock(ctx, r)
		if err != nil {
			return view.Result{}, err
		}
		p := *answer.Part
		return view.Result{Row: p.PartNumber, Refresh: workQueries(), Notice: view.Notice(fmt.Sprintf("%s: %d on hand, %d free.", p.Description, p.OnHand, p.Available))}, nil
	}}
}

func stockRequest(p api.Part, v view.Context) api.PartsRequest {
	return api.PartsRequest{CustomerID: v.Site.CustomerID, SiteID: v.Site.SiteID, PartNumber: p.PartNumber}
}

// NewReceiveForm asks how many of a part came, or went.
func NewReceiveForm(p api.Part, v view.Context) *widget.StepForm {
	base := stockRequest(p, v)
	d := &widget.StepForm{Heading: "Receive or issue " + p.PartNumber, Verb: "book it", Intro: []string{fmt.Sprintf("%s: %d on hand, %d reserved by work orders. Parts that an order used are booked when it is completed.", p.Description, p.OnHand, p.Reserved)}}
	d.Add("change", widget.NewField("Came", "such as 20; negative for issued parts: -3", ""))
	d.Add("reason", widget.NewField("Reason", "delivery note, lent to, broken", ""))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		n, err := strconv.Atoi(strings.TrimPrefix(d.Value("change"), "+"))
		if err != nil || n == 0 {
			d.Refuse(0, "Enter a whole number, negative for issued parts.")
			return view.Call{}, false
		}
		r := base
		r.Change, r.Reason = &n, d.Value("reason")
		return sendStock(d, r), d.Need("reason", "Where from, or where to?")
	}
	return d
}

// NewCountForm asks what was counted of a part, and what is to be kept.
func NewCountForm(p api.Part, v view.Context) *widget.StepForm {
	base := stockRequest(p, v)
	d := &widget.StepForm{Heading: "Count " + p.PartNumber, Verb: "set the stock", Intro: []string{p.Description + ". Include stock that is reserved by work orders."}}
	d.Add("on_hand", widget.NewField("On hand", "as counted", strconv.Itoa(p.OnHand)))
	d.Add("minimum", widget.NewField("Minimum", "to keep free", strconv.Itoa(p.Minimum)))
	d.Add("reason", widget.NewField("Reason", "", "counted"))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		onHand, ok := d.Count("on_hand", "The stock", 0)
		if !ok {
			return view.Call{}, false
		}
		least, ok := d.Count("minimum", "The minimum", 0)
		r := base
		r.OnHand, r.Minimum, r.Reason = &onHand, &least, d.Value("reason")
		return sendStock(d, r), ok && d.Need("reason", "Who counted, or why?")
	}
	return d
}
