package maintenance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// workView returns a view of planned work, fetched just now; the unit that is down
// is selected.
func workView(t testing.TB, ascii bool) view.Context {
	t.Helper()
	v := stage.ScreenContext(t, ascii)
	p := plant.New()
	fillWork(v.Site, p, stage.Noon)
	v.Selection = view.Selection{AssetID: p.UnitID(plant.DeadUnit), FindingID: "f-dead"}
	v.User = &api.User{Username: "anna", RoleID: api.RoleAdmin}
	return v
}

func fillWork(s *state.Site, p *plant.Plant, at time.Time) {
	s.Assets.Set(p.Assets(), at)
	s.Forecast.Set(p.Forecast(at), at)
	s.Findings.Set(p.Findings(at), at)
	s.Activities.Set(p.Activities(at), at)
	s.Orders.Set(p.Orders(at), at)
	s.Schedules.Set(p.Schedules(at), at)
	s.Parts.Set(p.Parts(at), at)
	s.BOMs.Set([]api.BOM{p.Bill(at, p.UnitID(plant.DeadUnit))}, at)
	s.BOM.Set(p.Bill(at, p.UnitID(plant.DeadUnit)), at)
	s.Subscriptions.Set(p.Subscriptions(at), at)
	store := state.Store{Site: s}
	store.Want(state.QueryWindows, p.UnitID(plant.DeadUnit))
	s.Windows.Set(p.Windows(at, p.UnitID(plant.DeadUnit)), at)
	store.Want(state.QueryDeliveries, "sub_bad")
	s.Deliveries.Set(p.Deliveries(at, "sub_bad"), at)
	o, _ := p.Order(at, "ord_way")
	store.Want(state.QueryOrder, "ord_way")
	s.Order.Set(o, at)
}

func workScreens() map[string]func() view.View {
	return map[string]func() view.View{
		"stock": func() view.View { return NewStock() }, "subscriptions": func() view.View { return NewSubscriptions() }, "schedules": func() view.View { return NewSchedules() },
		"deliveries": func() view.View { return NewDeliveries(api.Subscription{SubscriptionID: "sub_bad"}) },
		"choices":    func() view.View { return NewPlanChoices(plant.New().Midnight(stage.Noon).AddDate(0, 0, 2)) }, "order": func() view.View { return NewOrderScreen() },
	}
}

func TestWorkScreens(t *testing.T) {
	for name, s := range workScreens() {
		for _, size := range stage.Sizes {
			v := workView(t, false)
			if name == "order" {
				v.Selection = view.Selection{AssetID: "INV-05", FindingID: "f-weak", OrderID: "ord_way"}
			}
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.W, size.H), stage.ScreenText(v, s(), size.W, size.H))
		}
	}
}

// The five faces of the lists, and each screen in ASCII, light and without
// colours.
func TestFacesOfWorkScreens(t *testing.T) {
	p := plant.New()
	refused := fmt.Errorf("ask: %w", &api.Error{Status: 503, Message: "Service unavailable", RequestID: "req-7"})
	bad := func(s *state.Site, err error) {
		s.Parts.SetError(err, stage.Noon, stage.Noon.Add(20*time.Second))
		s.Subscriptions.SetError(err, stage.Noon, stage.Noon.Add(20*time.Second))
		s.Schedules.SetError(err, stage.Noon, stage.Noon.Add(20*time.Second))
	}
	for face, fill := range map[string]func(*state.Site){
		"loading": func(*state.Site) {},
		"empty": func(s *state.Site) {
			s.Parts.Set(nil, stage.Noon)
			s.Subscriptions.Set(nil, stage.Noon)
			s.Schedules.Set(nil, stage.Noon)
		},
		"stale":  func(s *state.Site) { fillWork(s, p, stage.Noon.Add(-time.Hour)); bad(s, refused) },
		"failed": func(s *state.Site) { bad(s, errors.New("ask: dial: connection refused")) },
	} {
		var b strings.Builder
		for _, name := range []string{"stock", "subscriptions", "schedules"} {
			v := stage.ScreenContext(t, false)
			v.Site = &state.Site{Site: p.Site(), Zone: p.Zone}
			fill(v.Site)
			fmt.Fprintf(&b, "%s\n%s\n", name, stage.ScreenText(v, workScreens()[name](), 80, 16))
		}
		picture.Golden(t, "work-"+face, b.String())
	}
	for name, s := range workScreens() {
		v := workView(t, true)
		if text := stage.ScreenText(v, s(), 80, 24); strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }) >= 0 {
			i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e })
			t.Errorf("%s is not ASCII: %.30q", name, text[i:])
		}
		for themeName, profile := range map[string]terminal.Profile{themes.Daylight: themes.TrueColor, themes.Mono: themes.NoColor} {
			theme, ok := themes.Find(themes.Builtin(), themeName)
			if !ok {
				t.Fatal(themeName)
			}
			v := workView(t, false)
			text := stage.ScreenText(v, s(), 120, 36)
			v.Palette = terminal.NewPalette(&theme, profile)
			if other := stage.ScreenText(v, s(), 120, 36); other != text {
				t.Errorf("%s says something else in %s:\n%s", name, themeName, other)
			}
		}
	}
}

// The forms of all steps and moves.
func TestWorkForms(t *testing.T) {
	v := workView(t, false)
	p := plant.New()
	o, _ := p.Order(stage.Noon, "ord_way")
	late, _ := p.Order(stage.Noon, "ord_late")
	done, _ := p.Order(stage.Noon, "ord_done")
	done.Proposals = []api.Proposal{{Kind: api.ProposeReopen, Text: "The unit is at 91 % of expected power. Consider reopening the work order."}}
	filledWith := func(d *widget.StepForm, fill func(*widget.StepForm, outline)) *widget.StepForm {
		out := outlineOf(v, time.Time{})
		bill, windows := p.Bill(stage.Noon, out.selection.AssetID), p.Windows(stage.Noon, out.selection.AssetID)
		out.bill, out.windows = &bill, &windows
		d.Waits = ""
		fill(d, out)
		return d
	}
	waiting := stage.Opened(t, NewOrderForm(v, time.Time{})).(*widget.StepForm)
	order := stage.Opened(t, NewOrderForm(v, time.Time{})).(*widget.StepForm)
	plan := stage.Opened(t, NewPlanForm(v, time.Time{})).(*widget.StepForm)
	move := func(o api.Order, action string) view.Dialog { return stage.Opened(t, MoveOrder(o, action, v)) }
	schedule := v.Site.Schedules.Data[1]
	schedule.EveryMonths = 6
	part := v.Site.Parts.Data[0]
	var b strings.Builder
	for _, d := range []view.Dialog{
		waiting, filledWith(order, fillOrder), filledWith(plan, fillPlan), NewRecurringForm(v, time.Time{}), NewPartsForm(v),
		move(o, api.ActionAssign), move(late, api.ActionStart), move(o, api.ActionHold), move(o, api.ActionComplete), move(o, api.ActionCancel), move(done, api.ActionReopen), NewResolve(done),
		NewPlanMove(schedule, api.ActionConfirm, v), NewPlanMove(schedule, api.ActionComplete, v), NewPlanMove(schedule, api.ActionCancel, v),
		NewReceiveForm(part, v), NewCountForm(part, v), NewSubscribeForm(v), newSure("Delete the subscription", "delete it", "It hears no more.", nil),
	} {
		fmt.Fprintf(&b, "%s\n%s\n", d.Title(), stage.DialogText(v, d, 80, 24))
	}
	picture.Golden(t, "work-forms", b.String())
}

// A question whose answer cannot be taken back changes nothing by enter alone.
func TestSure(t *testing.T) {
	asked := 0
	d := newSure("Delete", "delete it", "It hears no more.", func(*widget.StepForm) view.Call { asked++; return view.Call{} })
	if r := stage.Press(d, "enter"); r != nil || asked != 0 || !strings.Contains(d.Wrong, "Nothing was changed") {
		t.Errorf("enter alone: %+v, %q", r, d.Wrong)
	}
	d.Fields[0].Set("delete it")
	if r := stage.Press(d, "enter"); r == nil || asked != 1 {
		t.Errorf("the other answer: %+v", r)
	}
}

// What is below its minimum is shown alone, or with all.
func TestOnlyWhatIsToBuy(t *testing.T) {
	v := workView(t, false)
	s := NewStock()
	all := len(s.partRows(v))
	s.Do(keymap.StockBelow, v)
	if rows := s.partRows(v); len(rows) != 1 || rows[0].ID != "FAN-KIT" || all != 4 {
		t.Errorf("%d of %d rows: %+v", len(rows), all, rows)
	}
}
