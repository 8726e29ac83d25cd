package notification

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// changed are the queries whose answers a change of the configuration changes.
var changed = []state.Query{state.QueryNotifyConfig, state.QueryOnCall, state.QueryShifts, state.QueryNotifyDeliveries}

// set stores an item.
func set(from view.Caller, owner, id, notice string, r api.NotificationsRequest) view.Call {
	r.CustomerID = state.OwnerID(owner)
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		if _, err := client.Call(ctx, c, api.SetNotificationItem, r); err != nil {
			return view.Result{}, err
		}
		return view.Result{Row: id, Notice: view.Notice(notice), Refresh: changed}, nil
	}}
}

// NewRemove asks whether an item is to be removed.
func NewRemove(kind, owner string, c api.NotificationConfig, id string) *widget.Confirm {
	version := 0
	switch kind {
	case api.NotificationRouteKind:
		if v := widget.Find(c.Routes, func(v api.NotificationRoute) bool { return v.RouteID == id }); v != nil {
			version = v.Version
		}
	case api.NotificationRotationKind:
		if v := widget.Find(c.Rotations, func(v api.NotificationRotation) bool { return v.RotationID == id }); v != nil {
			version = v.Version
		}
	case api.NotificationChannelKind:
		if v := widget.Find(c.Channels, func(v api.NotificationChannel) bool { return v.ChannelID == id }); v != nil {
			version = v.Version
		}
	case api.NotificationPersonKind:
		if v := widget.Find(c.People, func(v api.NotificationPerson) bool { return v.PersonID == id }); v != nil {
			version = v.Version
		}
	}
	consequence := map[string]string{
		api.NotificationRouteKind: "No one is notified of alarms that only this route selects.", api.NotificationRotationKind: "A rotation that a route uses cannot be removed.",
		api.NotificationChannelKind: "A channel that a person or a route uses cannot be removed.", api.NotificationPersonKind: "A person that a route or a rotation names cannot be removed.",
	}[kind]
	return &widget.Confirm{Heading: "Remove " + kind + " " + id, Question: consequence, No: "keep it", Yes: "remove it", Send: func(from view.Caller) view.Request {
		return view.Call{From: from, Do: func(ctx context.Context, cl *client.Client) (view.Result, error) {
			r := api.NotificationsRequest{CustomerID: state.OwnerID(owner), Kind: kind, ItemID: id, Version: version}
			if _, err := client.Call(ctx, cl, api.RemoveNotificationItem, r); err != nil {
				return view.Result{}, err
			}
			return view.Result{Notice: view.Notice("Removed " + kind + " " + id + "."), Refresh: changed}, nil
		}}
	}}
}

// Choices of forms.
const (
	yes      = "yes"
	no       = "no"
	standard = "default"
)

func yesNo(is bool) string {
	if is {
		return yes
	}
	return no
}

// priorities are the priorities of alarms after a first choice.
func priorities(first string) []string { return append([]string{first}, api.AlertSeverities()...) }

func priorityField(label, first, firstWords, value string) widget.Field {
	return widget.ChoiceField(label, priorities(first), func(s string) string {
		if s == first {
			return firstWords
		}
		return widget.AlarmPriority(s)
	}, value)
}

// choice is a value of a field, empty for the standard one.
func choice(value string) string {
	if value == standard {
		return ""
	}
	return value
}

// newItemForm is the form of an item; a new one without an id.
func newItemForm(kind, owner string, c api.NotificationConfig, id string) view.Dialog {
	switch kind {
	case api.NotificationRouteKind:
		return NewRouteForm(owner, c, id)
	case api.NotificationRotationKind:
		return NewRotationForm(owner, c, id)
	case api.NotificationChannelKind:
		return NewChannelForm(owner, c, id)
	}
	return NewPersonForm(owner, c, id)
}

// itemForm begins the form of an item. The id of one that exists cannot be changed.
func itemForm(kind, id string) *widget.StepForm {
	d := &widget.StepForm{Heading: "Add a " + kind, Verb: "store"}
	if id != "" {
		d.Heading = "Change " + kind + " " + id
		return d
	}
	d.Add(kind+"_id", widget.NewField("Id", "letters, digits, - and _; it cannot be changed later", ""))
	return d
}

// itemID reads the id of a form; ok is false if it is missing or taken.
func itemID(d *widget.StepForm, kind, id string, taken func(id string) bool) (string, bool) {
	if id != "" {
		return id, true
	}
	if !d.Need(kind+"_id", "Which id?") {
		return "", false
	}
	id = d.Value(kind + "_id")
	if taken(id) {
		d.Refuse(0, "There is a "+kind+" "+id+" already: select it and press E to change it.")
		return "", false
	}
	return id, true
}

// refuse shows an error at a field.
func refuse(d *widget.StepForm, name string, err error) {
	text := err.Error()
	d.Refuse(slices.Index(d.Names, name), strings.ToUpper(text[:1])+text[1:]+".")
}

// count reads a whole number; empty is 0.
func count(d *widget.StepForm, name, what string, least, most int) (int, bool) {
	text := d.Value(name)
	if text == "" {
		return 0, true
	}
	n, ok := d.Count(name, what, least)
	if ok && n > most {
		d.Refuse(slices.Index(d.Names, name), fmt.Sprintf("%s is at most %d.", what, most))
		return 0, false
	}
	return n, ok
}

// amount reads a number from 0; empty is 0.
func amount(d *widget.StepForm, name string) (float64, bool) {
	n, ok := d.Number(name)
	switch {
	case !ok:
		return 0, false
	case n == nil:
		return 0, true
	case *n < 0:
		d.Refuse(slices.Index(d.Names, name), "The minimum is 0.")
		return 0, false
	}
	return *n, true
}

func numberText(n float64) string {
	if n == 0 {
		return ""
	}
	return display.Number(n)
}

func countText(n int) string {
	if n == 0 {
		return ""
	}
	return itoa(n)
}

// NewRouteForm asks for a route.
func NewRouteForm(owner string, c api.NotificationConfig, id string) *widget.StepForm {
	was := api.NotificationRoute{}
	if r := widget.Find(c.Routes, func(r api.NotificationRoute) bool { return r.RouteID == id }); r != nil && id != "" {
		was = *r
	}
	d := itemForm(api.NotificationRouteKind, id)
	d.Intro = []string{"Empty fields select all alarms. Steps are separated by semicolons, their recipients by commas; a number is minutes without acknowledgement."}
	d.Add("name", widget.NewField("Name", "optional", was.Name))
	if owner == api.Every {
		d.Add("customer_ids", widget.NewField("Customers", "ids between commas; empty: all", strings.Join(was.CustomerIDs, ", ")))
	}
	d.Add("site_ids", widget.NewField("Sites", "ids between commas; empty: all", strings.Join(was.SiteIDs, ", ")))
	d.Add("families", widget.NewField("Families", "such as inverter_outage, data_silence; empty: all", strings.Join(was.Families, ", ")))
	d.Add("priority", priorityField("Priority from", standard, "medium (default)", was.Priority))
	d.Add("min_kw", widget.NewField("At risk kW", "least power at risk", numberText(was.MinKW)))
	d.Add("min_kwh", widget.NewField("Lost kWh", "least energy lost", numberText(was.MinKWh)))
	d.Add("min_money", widget.NewField("Money a day", "least money at risk, in the currency of the site", numberText(was.MinMoney)))
	d.Add("hours", widget.NewField("Raised in", "such as mon-fri 08:00-17:00; empty: always", hoursText(was.Hours)))
	d.Add("timezone", widget.NewField("Zone of hours", "such as Europe/Vienna; empty: UTC", was.Timezone))
	d.Add("steps", widget.NewField("Steps", "person:anna; 30 rotation:solar, channel:hook", stepsText(was.Steps)))
	d.Add("repeat_minutes", widget.NewField("Repeat min", "of the last step; empty: as its minutes; -1: never", countText(was.RepeatMinutes)))
	d.Add("urgent_from", priorityField("In quiet hours", standard, "critical (default)", was.UrgentFrom))
	d.Add("disabled", widget.ChoiceField("Disabled", []string{no, yes}, widget.Verbatim, yesNo(was.Disabled)))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		key, ok := itemID(d, api.NotificationRouteKind, id, func(id string) bool {
			return slices.ContainsFunc(c.Routes, func(r api.NotificationRoute) bool { return r.RouteID == id })
		})
		if !ok {
			return view.Call{}, false
		}
		r := was
		r.RouteID, r.Name, r.SiteIDs, r.Families, r.Timezone = key, d.Value("name"), widget.SplitList(d.Value("site_ids")), widget.SplitList(d.Value("families")), d.Value("timezone")
		if owner == api.Every {
			r.CustomerIDs = widget.SplitList(d.Value("customer_ids"))
		}
		r.Priority, r.UrgentFrom, r.Disabled = choice(d.Value("priority")), choice(d.Value("urgent_from")), d.Value("disabled") == yes
		var err error
		if r.MinKW, ok = amount(d, "min_kw"); !ok {
			return view.Call{}, false
		}
		if r.MinKWh, ok = amount(d, "min_kwh"); !ok {
			return view.Call{}, false
		}
		if r.MinMoney, ok = amount(d, "min_money"); !ok {
			return view.Call{}, false
		}
		if r.Hours, err = parseHours(d.Value("hours")); err != nil {
			refuse(d, "hours", err)
			return view.Call{}, false
		}
		if r.Steps, err = parseSteps(d.Value("steps"), c); err != nil {
			refuse(d, "steps", err)
			return view.Call{}, false
		}
		if r.RepeatMinutes, ok = count(d, "repeat_minutes", "The repetition", -1, 7*24*60); !ok || !d.Need("steps", "Who is notified?") {
			return view.Call{}, false
		}
		return set(d, owner, key, "Stored route "+key+".", api.NotificationsRequest{Route: &r}), true
	}
	return d
}

// NewRotationForm asks for a rotation. Overrides and absences stay as they are.
func NewRotationForm(owner string, c api.NotificationConfig, id string) *widget.StepForm {
	was := api.NotificationRotation{Handovers: []string{"09:00"}}
	if r := widget.Find(c.Rotations, func(r api.NotificationRotation) bool { return r.RotationID == id }); r != nil && id != "" {
		was = *r
	}
	d := itemForm(api.NotificationRotationKind, id)
	d.Intro = []string{"People are on call in turn, from the date of the first handover on. Several handovers a day are shifts."}
	d.Add("name", widget.NewField("Name", "optional", was.Name))
	d.Add("people", widget.NewField("People", "ids in turn, between commas", strings.Join(was.People, ", ")))
	d.Add("start", widget.NewField("First handover", "date, such as 2026-01-05", was.Start))
	d.Add("handovers", widget.NewField("Handover at", "times between commas, such as 09:00", strings.Join(was.Handovers, ", ")))
	d.Add("every_days", widget.NewField("Every days", "empty: 7; 1 with several handovers a day", countText(was.EveryDays)))
	d.Add("timezone", widget.NewField("Time zone", "of handovers, such as Europe/Vienna; empty: UTC", was.Timezone))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		key, ok := itemID(d, api.NotificationRotationKind, id, func(id string) bool {
			return slices.ContainsFunc(c.Rotations, func(r api.NotificationRotation) bool { return r.RotationID == id })
		})
		if !ok || !d.Need("people", "Who is on call?") || !d.Need("start", "On which date is the first handover?") {
			return view.Call{}, false
		}
		r := was
		r.RotationID, r.Name, r.People, r.Start, r.Timezone = key, d.Value("name"), widget.SplitList(d.Value("people")), d.Value("start"), d.Value("timezone")
		r.Handovers = widget.SplitList(d.Value("handovers"))
		if r.EveryDays, ok = count(d, "every_days", "The number of days", 1, 366); !ok {
			return view.Call{}, false
		}
		return set(d, owner, key, "Stored rotation "+key+".", api.NotificationsRequest{Rotation: &r}), true
	}
	return d
}

// NewOverrideForm asks for an override of a rotation: another person for a time; or for
// an absence, in which the next in turn replaces a person.
func NewOverrideForm(v view.Context, owner string, c api.NotificationConfig, r api.NotificationRotation, absence bool) *widget.StepForm {
	zone := zoneOf(r.Timezone)
	d := &widget.StepForm{Heading: "Override in " + cmp.Or(r.Name, r.RotationID), Verb: "store", Intro: []string{"In this time the person is on call instead of the one in turn. Times are those of " + cmp.Or(r.Timezone, "UTC") + "."}}
	people := []string{}
	for _, p := range c.People {
		people = append(people, p.PersonID)
	}
	if absence {
		d.Heading, people = "Absence in "+cmp.Or(r.Name, r.RotationID), r.People
		d.Intro = []string{"In this time the next person in turn is on call instead. Times are those of " + cmp.Or(r.Timezone, "UTC") + "."}
	}
	d.Zone = zone
	if len(people) == 0 {
		people = []string{""}
	}
	from := v.Now.In(zone).Truncate(time.Hour)
	d.Add("person_id", widget.NewChoice("Person", people, func(id string) string { return personName(c, id) }))
	d.Add("from", widget.NewField("From", "date and time", display.DateTime(from)))
	d.Add("to", widget.NewField("To", "date and time", display.DateTime(from.AddDate(0, 0, 1))))
	d.Add("reason", widget.NewField("Reason", "optional", ""))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		begin, ok := d.Date("from", "The start", from)
		if !ok {
			return view.Call{}, false
		}
		end, ok := d.Date("to", "The end", from)
		if !ok {
			return view.Call{}, false
		}
		if !end.After(begin.Time) {
			d.Refuse(slices.Index(d.Names, "to"), "The end must be after the start.")
			return view.Call{}, false
		}
		next, o := r, api.NotificationOverride{PersonID: d.Value("person_id"), From: begin, To: end, Reason: d.Value("reason")}
		notice := "Stored the override."
		if absence {
			next.Absences, notice = append(slices.Clone(r.Absences), o), "Stored the absence."
		} else {
			next.Overrides = append(slices.Clone(r.Overrides), o)
		}
		return set(d, owner, r.RotationID, notice, api.NotificationsRequest{Rotation: &next}), true
	}
	return d
}

// NewClearForm asks which override or absence of a rotation is removed.
func NewClearForm(owner string, c api.NotificationConfig, r api.NotificationRotation) *widget.StepForm {
	zone := zoneOf(r.Timezone)
	words := map[string]string{}
	var ids []string
	for n, o := range slices.Concat(r.Overrides, r.Absences) {
		what := "override: "
		if n >= len(r.Overrides) {
			what = "absent: "
		}
		ids = append(ids, itoa(n))
		words[itoa(n)] = what + personName(c, o.PersonID) + ", " + whenLocal(o.From.Time, zone) + " to " + whenLocal(o.To.Time, zone)
	}
	slices.Reverse(ids)
	d := &widget.StepForm{Heading: "Remove an override or absence", Verb: "remove", Intro: []string{"Rotation " + cmp.Or(r.Name, r.RotationID) + ", times of " + cmp.Or(r.Timezone, "UTC") + "."}}
	d.Add("item", widget.NewChoice("Remove", ids, func(id string) string { return words[id] }))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		next, n := r, slices.Index(ids, d.Value("item"))
		n = len(ids) - 1 - n
		if n < len(r.Overrides) {
			next.Overrides = slices.Delete(slices.Clone(r.Overrides), n, n+1)
		} else {
			n -= len(r.Overrides)
			next.Absences = slices.Delete(slices.Clone(r.Absences), n, n+1)
		}
		return set(d, owner, r.RotationID, "Removed.", api.NotificationsRequest{Rotation: &next}), true
	}
	return d
}

// channelKinds are the kinds of channels with the form of their URL.
var channelKinds = []struct{ kind, url string }{
	{"email", "none: the mail server of the service"}, {"webhook", "https://example.org/hooks/sunloop"}, {"alertmanager", "https://USER:PASSWORD@alertmanager.example.org"},
	{"ntfy", "https://:TOKEN@ntfy.sh/TOPIC"}, {"slack", "https://hooks.slack.com/services/..."}, {"teams", "https://....logic.azure.com/workflows/..."},
	{"telegram", "https://:TOKEN@api.telegram.org"}, {"matrix", "https://:ACCESSTOKEN@matrix.example.org"}, {"pagerduty", "https://:INTEGRATIONKEY@events.pagerduty.com"},
	{"opsgenie", "https://:APIKEY@api.opsgenie.com"}, {"gotify", "https://:APPTOKEN@gotify.example.org"}, {"pushover", "https://:APPTOKEN@api.pushover.net"},
	{"sms", "https://USER:PASSWORD@gateway.example.org/send?to={to}&text={text}"},
}

// NewChannelForm asks for a channel. URL and secret are never shown; empty ones stay as
// they are stored.
func NewChannelForm(owner string, c api.NotificationConfig, id string) *widget.StepForm {
	was := api.NotificationChannel{}
	if ch := widget.Find(c.Channels, func(ch api.NotificationChannel) bool { return ch.ChannelID == id }); ch != nil && id != "" {
		was = *ch
	}
	d := itemForm(api.NotificationChannelKind, id)
	d.Intro = []string{"The URL holds the credentials. It is encrypted and never shown; an empty URL or secret leaves the stored one as it is."}
	var kinds []string
	words := map[string]string{}
	for _, k := range channelKinds {
		kinds, words[k.kind] = append(kinds, k.kind), k.kind+", URL "+k.url
	}
	d.Add("kind", widget.ChoiceField("Kind", kinds, func(kind string) string { return words[kind] }, was.Kind))
	d.Add("name", widget.NewField("Name", "optional", was.Name))
	d.Add("url", widget.NewSecret("URL"))
	d.Add("secret", widget.NewSecret("Secret"))
	d.Add("address", widget.NewField("Address", "of messages to the channel itself, such as a chat or topic", was.Address))
	d.Add("limit", widget.NewField("Limit", "messages to the channel itself in ten minutes; empty: 3", countText(was.Limit)))
	d.Add("disabled", widget.ChoiceField("Disabled", []string{no, yes}, widget.Verbatim, yesNo(was.Disabled)))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		key, ok := itemID(d, api.NotificationChannelKind, id, func(id string) bool {
			return slices.ContainsFunc(c.Channels, func(ch api.NotificationChannel) bool { return ch.ChannelID == id })
		})
		if !ok {
			return view.Call{}, false
		}
		ch := was
		ch.ChannelID, ch.Kind, ch.Name, ch.Address, ch.Disabled = key, d.Value("kind"), d.Value("name"), d.Value("address"), d.Value("disabled") == yes
		ch.URL, ch.Secret = strings.TrimSpace(d.Value("url")), strings.TrimSpace(d.Value("secret"))
		ch.HasURL, ch.HasSecret = false, false // of responses
		if ch.Limit, ok = count(d, "limit", "The limit", 2, 1000); !ok {
			return view.Call{}, false
		}
		return set(d, owner, key, "Stored channel "+key+". Press t to test it.", api.NotificationsRequest{Channel: &ch}), true
	}
	return d
}

// NewPersonForm asks for a person.
func NewPersonForm(owner string, c api.NotificationConfig, id string) *widget.StepForm {
	was := api.NotificationPerson{}
	if p := widget.Find(c.People, func(p api.NotificationPerson) bool { return p.PersonID == id }); p != nil && id != "" {
		was = *p
	}
	d := itemForm(api.NotificationPersonKind, id)
	d.Intro = []string{"Addresses are separated by semicolons: the channel, the address in it, and a priority if only urgent alarms are sent to it."}
	d.Add("name", widget.NewField("Name", "optional", was.Name))
	d.Add("username", widget.NewField("User", "account of the person, for the audit trail", was.Username))
	d.Add("addresses", widget.NewField("Addresses", "mail anna@example.com; sms +43660123 critical", addressesText(was.Addresses)))
	d.Add("timezone", widget.NewField("Time zone", "such as Europe/Vienna; empty: UTC", was.Timezone))
	d.Add("working_hours", widget.NewField("Working hours", "such as mon-fri 08:00-17:00; empty: always", hoursText(was.WorkingHours)))
	d.Add("quiet_hours", widget.NewField("Quiet hours", "such as 22:00-06:00", hoursText(was.QuietHours)))
	d.Add("threshold", priorityField("Alarms from", standard, "all priorities", was.Threshold))
	d.Add("limit", widget.NewField("Limit", "messages in ten minutes; empty: 3", countText(was.Limit)))
	d.Add("reports", widget.NewField("Reports", "daily, weekly, monthly", strings.Join(was.Reports, ", ")))
	d.Add("numbers", widget.ChoiceField("Numbers", []string{standard, "point", "comma", "space"}, func(s string) string {
		return map[string]string{standard: "1,234.5 (default)", "point": "1,234.5", "comma": "1.234,5", "space": "1 234,5"}[s]
	}, was.Numbers))
	d.Add("disabled", widget.ChoiceField("Disabled", []string{no, yes}, widget.Verbatim, yesNo(was.Disabled)))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		key, ok := itemID(d, api.NotificationPersonKind, id, func(id string) bool {
			return slices.ContainsFunc(c.People, func(p api.NotificationPerson) bool { return p.PersonID == id })
		})
		if !ok || !d.Need("addresses", "By which channel is the person reached?") {
			return view.Call{}, false
		}
		p := was
		p.PersonID, p.Name, p.Username, p.Timezone = key, d.Value("name"), d.Value("username"), d.Value("timezone")
		p.Threshold, p.Numbers, p.Disabled, p.Reports = choice(d.Value("threshold")), choice(d.Value("numbers")), d.Value("disabled") == yes, widget.SplitList(d.Value("reports"))
		for _, one := range []struct {
			name string
			to   *[]api.NotificationHours
		}{{"working_hours", &p.WorkingHours}, {"quiet_hours", &p.QuietHours}} {
			hours, err := parseHours(d.Value(one.name))
			if err != nil {
				refuse(d, one.name, err)
				return view.Call{}, false
			}
			*one.to = hours
		}
		var err error
		if p.Addresses, err = parseAddresses(d.Value("addresses")); err != nil {
			refuse(d, "addresses", err)
			return view.Call{}, false
		}
		if p.Limit, ok = count(d, "limit", "The limit", 2, 1000); !ok {
			return view.Call{}, false
		}
		return set(d, owner, key, "Stored person "+key+".", api.NotificationsRequest{Person: &p}), true
	}
	return d
}

// families are the families of faults that the form of a simulation offers first.
var families = []string{"inverter_outage", "site_outage_grid", "data_silence", "communication_gap", "string_outage", "ground_or_insulation_fault", "arc_fault", "thermal_derating", "partial_shading",
	"soiling", "repeated_data"}

// NewWhoForm asks for an alarm of which is shown who would be notified.
func NewWhoForm(v view.Context, owner string, q state.NotifyQuestion) *widget.FieldsForm {
	d := &widget.FieldsForm{Heading: "Who would be notified now if ...", Verb: "show", Intro: "An alarm that is not raised: nothing is sent. Empty fields are unknown."}
	d.Zone = v.Zone()
	sites, refs := []string{}, map[string]api.SiteRef{}
	label := state.SiteLabels(v.Sites)
	first := ""
	add := func(text string, ref api.SiteRef) {
		text = terminal.Printable(text)
		sites, refs[text] = append(sites, text), ref
		if ref.SiteID == cmp.Or(q.SiteID, v.Site.SiteID) && ref.CustomerID == cmp.Or(q.Customer, v.Site.CustomerID) {
			first = text
		}
	}
	for _, s := range v.Sites {
		add(label(s.Ref()), s.Ref())
	}
	if len(sites) == 0 {
		add(v.Site.SiteID, v.Site.Ref())
	}
	all := families
	if q.Family != "" && !slices.Contains(all, q.Family) {
		all = append([]string{q.Family}, all...)
	}
	at, kw := "", ""
	if !q.At.IsZero() {
		at = display.DateTime(q.At.In(d.Zone))
	}
	if q.KW != nil && !math.IsNaN(*q.KW) {
		kw = display.Number(*q.KW)
	}
	field := func(name string, f widget.Field) { d.Names, d.Fields = append(d.Names, name), append(d.Fields, f) }
	field("site_id", widget.ChoiceField("Site", sites, widget.Verbatim, first))
	field("family", widget.ChoiceField("Family", all, widget.Family, q.Family))
	field("priority", widget.ChoiceField("Priority", api.AlertSeverities(), widget.AlarmPriority, cmp.Or(q.Priority, api.AlertMajor)))
	field("asset_id", widget.NewField("Unit", "optional", q.AssetID))
	field("energy_at_risk_kw", widget.NewField("At risk kW", "optional", kw))
	field("at", widget.NewField("At", "empty: now; else date and time of the site, as "+display.DateTime(v.SiteNow), at))
	d.Accept = func() view.Request {
		kw, ok := d.Number("energy_at_risk_kw")
		if !ok {
			return nil
		}
		ref := refs[d.Value("site_id")]
		next := state.NotifyQuestion{Owner: owner, SiteID: ref.SiteID, Customer: ref.CustomerID, AssetID: d.Value("asset_id"), Family: d.Value("family"), Priority: d.Value("priority"), KW: kw}
		if text := d.Value("at"); text != "" {
			t, err := api.ParseTime(strings.Replace(text, " ", "T", 1), d.Zone)
			if err != nil {
				d.Refuse(slices.Index(d.Names, "at"), err.Error()+": give a date and time, as 2026-11-01 08:00.")
				return nil
			}
			next.At = t
		}
		open := view.OpenScreen{Screen: NewSimulation(owner, next), Over: true}
		if q.SiteID != "" { // the question of the screen below is changed
			return view.Batch{view.Close{}, view.Close{}, open}
		}
		return view.Batch{view.Close{}, open}
	}
	return d
}

// NewExplainForm asks for an alarm of the site and a person. The alarm and the recipient
// of a delivery come first.
func NewExplainForm(v view.Context, owner string, c api.NotificationConfig, of *api.NotificationDelivery) *widget.FieldsForm {
	d := &widget.FieldsForm{Heading: "Explain an alarm", Verb: "explain", Intro: "What was sent of the alarm, to whom and when, or what held or suppressed it."}
	var alarms []string
	words := map[string]string{}
	add := func(id, text string) {
		if words[id] == "" {
			alarms, words[id] = append(alarms, id), text
		}
	}
	if of != nil {
		for _, id := range of.AlertIDs[:min(len(of.AlertIDs), 50)] {
			add(id, alertWords(v, id))
		}
	}
	for _, list := range [][]api.Alert{v.Site.Alerts.Data.Alerts, v.Site.AlertLog.Data} {
		for _, a := range list {
			add(a.AlertID, alarmWords(v, a))
		}
	}
	people := []string{standard}
	for _, p := range c.People {
		people = append(people, p.PersonID)
	}
	person := ""
	if of != nil {
		person, _ = strings.CutPrefix(of.Recipient, api.NotificationPersonKind+":")
	}
	if len(alarms) == 0 {
		add("", "no alarm is known")
	}
	d.Names = []string{"alert_id", "person_id"}
	d.Fields = []widget.Field{widget.NewChoice("Alarm", alarms, func(id string) string { return words[id] }), widget.ChoiceField("Person", people, func(id string) string {
		if id == standard {
			return "all recipients"
		}
		return personName(c, id)
	}, person)}
	d.Accept = func() view.Request {
		id := d.Value("alert_id")
		if id == "" {
			d.Refuse(0, "There is no alarm to explain.")
			return nil
		}
		return view.Batch{view.Close{}, view.OpenScreen{Screen: NewExplanation(owner, id, choice(d.Value("person_id"))), Over: true}}
	}
	return d
}
