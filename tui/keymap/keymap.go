// Package keymap is every key of the console, with its words. Help, palette,
// footer and the table in the README are made from it; a user's own bindings
// replace those of an action, and a clash is an error that names both sides.
package keymap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// Action names what a key does.
type Action string

// Scope is where a binding counts. A key may mean two things only in scopes
// that are never active together.
type Scope string

// The scopes. Global is active everywhere but in dialogs and text fields, List
// there as well; Panes while the panes have the keys, with the scope of the
// focused one; a further screen has its own instead. A dialog has its own keys
// alone.
const (
	Global        Scope = "everywhere"
	List          Scope = "lists"
	Panes         Scope = "the panes"
	InObserve     Scope = "Observe"
	InOrient      Scope = "Orient"
	InDecide      Scope = "Decide"
	InAct         Scope = "Act"
	AlarmList     Scope = "the alarms"
	KeyList       Scope = "the list of API keys"
	UserList      Scope = "the list of users"
	AuditList     Scope = "the audit trail"
	InLog         Scope = "the log"
	UploadList    Scope = "the list of uploads"
	AssetList     Scope = "the list of units"
	ComponentList Scope = "the list of components"
	PlanList      Scope = "the list of plans"
	ModelList     Scope = "the models"
	KPIList       Scope = "the key figures"
	GapList       Scope = "the gaps"
	StockList     Scope = "the stock"

	SubscriptionList Scope = "the list of subscriptions"
	DeliveryList     Scope = "the list of deliveries"
	Dialog           Scope = "dialogs"
)

// place is where on the screen a scope counts.
type place uint8

const (
	anywhere place = iota // but in dialogs
	panes
	onePane
	oneScreen
	dialogs
)

// scopes are all of them, in the order in which they are shown.
var scopes = []struct {
	scope Scope
	place place
}{
	{Global, anywhere}, {List, anywhere}, {Panes, panes},
	{InObserve, onePane}, {InOrient, onePane}, {InDecide, onePane}, {InAct, onePane},
	{KeyList, oneScreen},
	{UserList, oneScreen}, {AssetList, oneScreen}, {UploadList, oneScreen}, {InLog, oneScreen}, {AuditList, oneScreen}, {ComponentList, oneScreen},
	{AlarmList, oneScreen},
	{InSettings, oneScreen},
	{ModelList, oneScreen},
	{KPIList, oneScreen},
	{GapList, oneScreen},
	{PlanList, oneScreen}, {StockList, oneScreen}, {SubscriptionList, oneScreen}, {DeliveryList, oneScreen},
	{Dialog, dialogs},
}

// Scopes are all of them, in the order in which they are shown.
func Scopes() []Scope {
	all := make([]Scope, len(scopes))
	for i, s := range scopes {
		all[i] = s.scope
	}
	return all
}

func (s Scope) place() place {
	for _, known := range scopes {
		if known.scope == s {
			return known.place
		}
	}
	return anywhere
}

// Need is what must hold for an action to be possible; the palette shows the
// reason when it does not.
type Need uint8

// The needs.
const (
	NeedsNothing   Need = 0
	NeedsSelection Need = 1 << iota // something in hand
	NeedsService                    // an answer from the service
	NeedsWrite                      // a role that may change things
	NeedsUsers                      // a role that manages users and API keys
	NeedsAudit                      // a role that reads the audit trail
	NeedsFiles                      // files of the person's own
	NeedsShell                      // a shell of the person's own
)

// Entry is one action with its binding.
type Entry struct {
	Action    Action
	Scope     Scope
	Binding   key.Binding
	Footer    string // word for the bottom line; empty keeps it out
	Needs     Need
	Dangerous bool // asks before it acts
	// Takes is the action of lists whose key this one has in its own scope;
	// empty for none. Such an action has a second key.
	Takes   Action
	Palette bool // listed in the palette
}

// Map is a set of entries without clashes.
type Map struct{ entries []Entry }

// The actions.
const (
	FocusObserve Action = "focus-observe"
	FocusOrient  Action = "focus-orient"
	FocusDecide  Action = "focus-decide"
	FocusAct     Action = "focus-act"
	FocusNext    Action = "focus-next"
	FocusPrev    Action = "focus-previous"
	Zoom         Action = "zoom"
	Palette      Action = "palette"
	Help         Action = "help"
	Themes       Action = "themes"
	Sites        Action = "sites"
	Upload       Action = "upload"
	Uploads      Action = "uploads"
	Models       Action = "models"
	Forecast     Action = "forecast"
	APIKeys      Action = "api-keys"
	Users        Action = "users"
	Assets       Action = "assets"
	Fleet        Action = "fleet"
	Audit        Action = "audit"
	Log          Action = "log"
	Refresh      Action = "refresh"
	RunDetection Action = "run-detection"
	Mouse        Action = "mouse"
	SignOut      Action = "sign-out"
	Quit         Action = "quit"
	QuitNow      Action = "quit-now"
	Suspend      Action = "suspend"
	Back         Action = "back"

	MakeOrder     Action = "make-order"
	AssignOrder   Action = "assign-order"
	StartOrder    Action = "start-order"
	HoldOrder     Action = "hold-order"
	ResumeOrder   Action = "resume-order"
	CompleteOrder Action = "complete-order"
	CancelOrder   Action = "cancel-order"
	ReopenOrder   Action = "reopen-order"

	Up         Action = "up"
	Down       Action = "down"
	PageUp     Action = "page-up"
	PageDown   Action = "page-down"
	Top        Action = "top"
	Bottom     Action = "bottom"
	Left       Action = "left"
	Right      Action = "right"
	Open       Action = "open"
	Sort       Action = "sort"
	Filter     Action = "filter"
	Copy       Action = "copy"
	Export     Action = "export"
	NextInHand Action = "next-finding"
	NextStep   Action = "next-step"

	OpenUnit     Action = "unit"
	Alarms       Action = "alarms"
	ZoomIn       Action = "zoom-in"
	ZoomOut      Action = "zoom-out"
	PanBack      Action = "pan-back"
	PanOn        Action = "pan-on"
	WholeDay     Action = "whole-day"
	Cursor       Action = "cursor"
	OtherList    Action = "other-list"
	Acknowledge  Action = "acknowledge"
	Shelve       Action = "shelve"
	Unshelve     Action = "unshelve"
	AckAlarm     Action = "acknowledge-alarm"
	ShelveAlarm  Action = "shelve-alarm"
	UnshelveOne  Action = "unshelve-alarm"
	AlarmStates  Action = "alarm-states"
	AlarmFigures Action = "alarm-figures"
	MakePlan     Action = "make-plan"
	RecurPlan    Action = "recurring-plan"
	ConfirmPlan  Action = "confirm-plan"
	CompletePlan Action = "complete-plan"
	CancelPlan   Action = "cancel-plan"
	PlanChoices  Action = "plan-choices"
	OrderWhole   Action = "order"
	ResolveIssue Action = "resolve-issue"
	Schedules    Action = "schedules"

	Stock         Action = "stock"
	Subscriptions Action = "subscriptions"
	StockReceive  Action = "stock-receive"
	StockCount    Action = "stock-count"
	StockBelow    Action = "stock-below"

	Subscribe          Action = "subscribe"
	PauseSubscription  Action = "pause-subscription"
	ResumeSubscription Action = "resume-subscription"
	RotateSecret       Action = "rotate-secret"
	Unsubscribe        Action = "delete-subscription"
	ReplayDelivery     Action = "replay-delivery"
	ReplayAll          Action = "replay-all"

	ListedMakePlan     Action = "schedules-plan"
	ListedRecurPlan    Action = "schedules-recurring"
	ListedConfirmPlan  Action = "schedules-confirm"
	ListedCompletePlan Action = "schedules-complete"
	ListedCancelPlan   Action = "schedules-cancel"

	TakeIssue  Action = "take-issue"
	CloseIssue Action = "close-issue"
	ShowLosses Action = "show-losses"
	ModelCard  Action = "model-card"

	KPIs       Action = "kpis"
	Gaps       Action = "gaps"
	NextPeriod Action = "next-period"

	PromoteModel   Action = "promote-model"
	EvaluateModel  Action = "evaluate-model"
	RollbackModel  Action = "rollback-model"
	CancelTraining Action = "cancel-training"

	CreateKey Action = "create-key"
	RotateKey Action = "rotate-key"
	RevokeKey Action = "revoke-key"

	AddAsset         Action = "add-asset"
	EditAsset        Action = "edit-asset"
	Components       Action = "components"
	InstallComponent Action = "install-component"
	ReplaceComponent Action = "replace-component"
	RemoveComponent  Action = "remove-component"

	ImportFile   Action = "import-file"
	CancelUpload Action = "cancel-upload"
	RetryUpload  Action = "retry-upload"

	AskTrail    Action = "ask-trail"
	FurtherBack Action = "further-back"
	TrailOf     Action = "trail-of"
	WholeTrail  Action = "whole-trail"

	FollowLog Action = "follow-log"
	LogLevel  Action = "log-level"
	OtherLog  Action = "other-log"
	SaveLog   Action = "save-log"

	AddUser     Action = "add-user"
	EditUser    Action = "edit-user"
	BlockUser   Action = "block-user"
	UnlockUser  Action = "unlock-user"
	ResetFactor Action = "reset-second-factor"
	SetPassword Action = "set-password"
	UserSSHKey  Action = "user-ssh-key"
	DeleteUser  Action = "delete-user"

	Accept    Action = "accept"
	Dismiss   Action = "dismiss"
	NextField Action = "next-field"
	PrevField Action = "previous-field"
)

// Default is the map as shipped.
func Default() Map {
	entry := func(a Action, s Scope, footer, words string, keys ...string) Entry {
		return Entry{Action: a, Scope: s, Footer: footer, Palette: s == Global || s == Panes,
			Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(label(keys), words))}
	}
	needs := func(e Entry, n Need) Entry { e.Needs = n; return e }
	hidden := func(e Entry) Entry { e.Palette = false; return e }
	takes := func(e Entry, a Action) Entry { e.Takes = a; return e }
	dangerous := func(e Entry) Entry { e.Dangerous = true; return e }
	return Map{[]Entry{
		entry(FocusObserve, Global, "", "focus Observe: power, units, alarms", "1"),
		entry(FocusOrient, Global, "", "focus Orient: findings and their evidence", "2"),
		entry(FocusDecide, Global, "", "focus Decide: the days ahead, best times, plans", "3"),
		entry(FocusAct, Global, "", "focus Act: work orders and what was done", "4"),
		hidden(entry(FocusNext, Panes, "", "focus the next pane", "tab")),
		hidden(entry(FocusPrev, Panes, "", "focus the pane before", "shift+tab")),
		entry(Zoom, Panes, "zoom", "give the pane the whole screen, or back", "z"),
		entry(Palette, Global, "palette", "find any action, site, unit or finding", ":", "ctrl+k"),
		entry(Help, Global, "help", "keys for where you are", "?"),
		entry(Sites, Global, "site", "choose the site", "S"),
		needs(entry(Upload, Global, "upload", "import a file from a portal, logger or meter", "U"), NeedsService|NeedsWrite|NeedsFiles),
		entry(Themes, Global, "", "choose the colours", "T"),
		entry(Fleet, Global, "", "show all sites: power, alarms, age of data", "g v"),
		entry(Assets, Global, "", "show the units and what they are made of", "g e"),
		entry(Uploads, Global, "", "show the uploads and what was inferred", "g u"),
		entry(Forecast, Global, "", "show the forecast, those before it and how good they were", "g f"),
		entry(KPIs, Global, "", "show the key figures, energy by day and month, losses", "g p"),
		entry(Gaps, Global, "", "show how gaps in the data were filled", "g i"),
		entry(Models, Global, "", "show the model registry", "g m"),
		entry(Schedules, Global, "", "show all planned maintenance", "g d"),
		entry(Stock, Global, "", "show the spare parts and their stock", "g t"),
		entry(Subscriptions, Global, "", "show who is told of work orders, and each delivery", "g h"),
		needs(entry(APIKeys, Global, "", "manage API keys (administrators)", "g k"), NeedsUsers),
		needs(entry(Users, Global, "", "manage users (administrators)", "g r"), NeedsUsers),
		needs(entry(Audit, Global, "", "show who changed what (administrators)", "g a"), NeedsAudit),
		entry(Log, Global, "", "show the log of the console and of the service", "g l"),
		entry(Alarms, Global, "", "show the alarms of all states and the alarm system's health", "g w"),
		needs(entry(OpenUnit, Panes, "", "look at the unit in hand closely", "i"), NeedsSelection),
		entry(Settings, Global, "", "settings: look, alarms, layout, data, keys", "g s"),
		entry(Presets, Panes, "", "choose how the panes are arranged, or keep it", "P"),
		entry(Silence, Global, "", "silence the bell for an hour, or let it ring again", "B"),
		needs(entry(RunDetection, Panes, "", "run fault detection on the unit in hand", "D"), NeedsSelection|NeedsService|NeedsWrite),
		needs(entry(Refresh, Global, "", "ask the service again, now", "r"), NeedsService),
		entry(NextStep, Panes, "next", "do the next step: detect, diagnose, plan, parts, order, or the order's next move", "n"),
		entry(NextInHand, Panes, "", "take the next finding in hand", "N"),
		needs(entry(MakeOrder, Panes, "order", "make a work order of the finding in hand", "o"), NeedsSelection|NeedsService|NeedsWrite),
		needs(entry(AssignOrder, Panes, "assign", "give the work order a technician", "t"), NeedsService|NeedsWrite),
		needs(entry(StartOrder, Panes, "begin", "begin the work of the order", "b"), NeedsService|NeedsWrite),
		needs(entry(HoldOrder, Panes, "hold", "put the work order on hold", "w"), NeedsService|NeedsWrite),
		needs(entry(ResumeOrder, Panes, "go on", "go on with a work order on hold", "C"), NeedsService|NeedsWrite),
		needs(entry(CompleteOrder, Panes, "finish", "finish the work order, with notes", "F"), NeedsService|NeedsWrite),
		needs(entry(CancelOrder, Panes, "cancel", "cancel the work order, with a reason", "x"), NeedsService|NeedsWrite),
		needs(entry(ReopenOrder, Panes, "reopen", "open a completed work order again", "O"), NeedsService|NeedsWrite),
		entry(Copy, Global, "", "copy the thing in hand to the clipboard", "y"),
		entry(CopyShown, Global, "", "copy all that the pane shows to the clipboard", "Y"),
		needs(entry(Export, Global, "", "write what the pane shows to a CSV file", "e"), NeedsFiles),
		needs(entry(ExportJSON, Global, "", "write what the pane shows to a JSON file", "J"), NeedsFiles),
		entry(Mouse, Global, "", "give the mouse back to the terminal, or take it", "M"),
		entry(SignOut, Global, "", "sign out", "g o"),
		entry(Quit, Global, "quit", "leave", "q"),
		hidden(entry(QuitNow, Global, "", "leave, pressed twice", "ctrl+c")),
		hidden(needs(entry(Suspend, Global, "", "suspend to the shell", "ctrl+z"), NeedsShell)),
		hidden(entry(Back, Global, "", "back, or let go of the thing in hand", "esc")),

		entry(Up, List, "", "up", "up", "k"),
		entry(Down, List, "", "down", "down", "j"),
		entry(PageUp, List, "", "a page up", "pgup", "ctrl+u"),
		entry(PageDown, List, "", "a page down", "pgdown", "ctrl+d"),
		entry(Top, List, "", "to the top", "home", "g g"),
		entry(Bottom, List, "", "to the bottom", "end", "G"),
		entry(Left, List, "", "left: the day before, the view before", "left", "h"),
		entry(Right, List, "", "right: the day after, the view after", "right", "l"),
		entry(Open, List, "open", "take in hand, open", "enter"),
		entry(Sort, List, "", "sort by the next column", "s", ","),
		entry(Filter, List, "", "filter the list; column:word looks in one column", "/"),
		entry(Columns, List, "", "choose and arrange the columns", "|"),
		entry(ScrollLeft, List, "", "columns to the left", "<"),
		entry(ScrollRight, List, "", "columns to the right, where the table is wider", ">"),

		entry(ResetSetting, InSettings, "reset", "put the chosen setting or key back to its default", "x"),

		needs(entry(Acknowledge, InObserve, "ack", "acknowledge the alarm in hand", "a"), NeedsService|NeedsWrite),
		takes(needs(entry(Shelve, InObserve, "shelve", "shelve the alarm in hand for a time", "s"), NeedsService|NeedsWrite), Sort),
		needs(entry(Unshelve, InObserve, "", "take the alarm in hand off the shelf", "u"), NeedsService|NeedsWrite),
		entry(ZoomIn, InObserve, "", "look at a shorter time", "+", "="),
		entry(ZoomOut, InObserve, "", "look at a longer time", "-", "_"),
		entry(PanBack, InObserve, "", "move the time on screen back", "[", "shift+left"),
		entry(PanOn, InObserve, "", "move the time on screen on", "]", "shift+right"),
		entry(WholeDay, InObserve, "", "look at the whole day again", "0"),
		entry(Cursor, InObserve, "cursor", "read the values at a time, which the arrows move", "c"),
		entry(OtherList, InObserve, "units/alarms", "go to the alarms, or back to the units", "v"),

		needs(entry(AckAlarm, AlarmList, "ack", "acknowledge the chosen alarm", "a"), NeedsService|NeedsWrite),
		takes(needs(entry(ShelveAlarm, AlarmList, "shelve", "shelve the chosen alarm for a time", "s"), NeedsService|NeedsWrite), Sort),
		needs(entry(UnshelveOne, AlarmList, "unshelve", "take the chosen alarm off the shelf", "u"), NeedsService|NeedsWrite),
		entry(AlarmStates, AlarmList, "states", "show the alarms of the next state", "f"),
		entry(AlarmFigures, AlarmList, "figures", "show the alarm system's health, or the alarm's details", "v"),
		needs(entry(MakePlan, InDecide, "plan", "plan maintenance of the unit in hand", "p"), NeedsSelection|NeedsService|NeedsWrite),
		needs(entry(RecurPlan, InDecide, "", "plan preventive work that comes again", "R"), NeedsSelection|NeedsService|NeedsWrite),
		needs(entry(ConfirmPlan, InDecide, "", "confirm the plan of the day", "c"), NeedsService|NeedsWrite),
		needs(entry(CompletePlan, InDecide, "", "complete the plan of the day", "d"), NeedsService|NeedsWrite),
		needs(entry(CancelPlan, InDecide, "", "cancel the plan of the day, with a reason", "X"), NeedsService|NeedsWrite),
		entry(OrderWhole, InAct, "", "the order with its whole trail", "v"),
		needs(entry(ResolveIssue, InAct, "", "resolve the issue that the order has mended", "V"), NeedsService|NeedsWrite),
		entry(PlanChoices, InDecide, "", "the ways to do it side by side", "v"),
		needs(entry(StockReceive, StockList, "receive", "book what came or went of the part", "a"), NeedsService|NeedsWrite),
		needs(entry(StockCount, StockList, "count", "set what was counted, and the minimum", "c"), NeedsService|NeedsWrite),
		entry(StockBelow, StockList, "to buy", "show only what is below its minimum, or all", "b"),
		needs(entry(Subscribe, SubscriptionList, "subscribe", "post the changes of an order to an address", "c"), NeedsService|NeedsWrite),
		needs(entry(PauseSubscription, SubscriptionList, "pause", "keep its events until it is resumed", "p"), NeedsService|NeedsWrite),
		needs(entry(ResumeSubscription, SubscriptionList, "resume", "post again, beginning with what was kept", "u"), NeedsService|NeedsWrite),
		dangerous(needs(entry(RotateSecret, SubscriptionList, "rotate", "make a new secret for the subscription", "R"), NeedsService|NeedsWrite)),
		dangerous(needs(entry(Unsubscribe, SubscriptionList, "delete", "end the subscription for good", "X"), NeedsService|NeedsWrite)),
		needs(entry(ReplayDelivery, DeliveryList, "post again", "post the chosen delivery again", "p"), NeedsService|NeedsWrite),
		needs(entry(ReplayAll, DeliveryList, "all again", "post again all that were not received", "P"), NeedsService|NeedsWrite),
		needs(entry(ListedMakePlan, PlanList, "plan", "plan maintenance of the unit in hand", "p"), NeedsSelection|NeedsService|NeedsWrite),
		needs(entry(ListedRecurPlan, PlanList, "recurring", "plan preventive work that comes again", "R"), NeedsSelection|NeedsService|NeedsWrite),
		needs(entry(ListedConfirmPlan, PlanList, "confirm", "confirm the chosen plan", "c"), NeedsService|NeedsWrite),
		needs(entry(ListedCompletePlan, PlanList, "complete", "complete the chosen plan", "d"), NeedsService|NeedsWrite),
		needs(entry(ListedCancelPlan, PlanList, "cancel", "cancel the chosen plan, with a reason", "X"), NeedsService|NeedsWrite),

		needs(entry(TakeIssue, InOrient, "take on", "take on the issue of the finding in hand, with a note", "a"), NeedsService|NeedsWrite),
		needs(dangerous(entry(CloseIssue, InOrient, "close", "close the issue of the finding in hand: what it turned out to be", "X")), NeedsService|NeedsWrite),
		entry(ShowLosses, InOrient, "losses", "show what the site lost in 7, 30, 90, 365 days, or the finding", "v"),
		entry(ModelCard, InOrient, "", "show the models behind what was expected", "m"),

		entry(NextPeriod, KPIList, "period", "take the next period: 7, 30, 90, 365 days", "p"),
		needs(dangerous(entry(PromoteModel, ModelList, "promote", "put the chosen challenger into production, with a reason", "p")), NeedsService|NeedsWrite),
		needs(entry(EvaluateModel, ModelList, "evaluate", "hold the chosen challenger against the model in production", "v"), NeedsService|NeedsWrite),
		needs(dangerous(entry(RollbackModel, ModelList, "go back", "go back to the chosen archived model, with a reason", "R")), NeedsService|NeedsWrite),
		needs(dangerous(entry(CancelTraining, ModelList, "", "cancel the training that is under way", "x")), NeedsService|NeedsWrite),

		entry(CreateKey, KeyList, "create", "create an API key", "c"),
		dangerous(entry(RotateKey, KeyList, "rotate", "make a new key in the place of the chosen one", "R")),
		dangerous(entry(RevokeKey, KeyList, "revoke", "end the chosen key for good", "X")),

		needs(entry(AddAsset, AssetList, "add", "add a unit", "c"), NeedsService|NeedsWrite),
		dangerous(needs(entry(EditAsset, AssetList, "change", "change the chosen unit", "E"), NeedsService|NeedsWrite)),
		entry(Components, AssetList, "components", "show the components of the chosen unit", "p"),
		needs(entry(InstallComponent, ComponentList, "install", "install a component", "c"), NeedsService|NeedsWrite),
		dangerous(needs(entry(ReplaceComponent, ComponentList, "replace", "put another in the place of the chosen component", "R"), NeedsService|NeedsWrite)),
		dangerous(needs(entry(RemoveComponent, ComponentList, "remove", "take the chosen component out", "X"), NeedsService|NeedsWrite)),

		needs(entry(ImportFile, UploadList, "import", "import a file", "c"), NeedsService|NeedsWrite|NeedsFiles),
		dangerous(needs(entry(RetryUpload, UploadList, "retry", "import the chosen file again, when it failed", "R"), NeedsService|NeedsWrite)),
		dangerous(needs(entry(CancelUpload, UploadList, "cancel", "end the import of the chosen file", "X"), NeedsService|NeedsWrite)),

		entry(AskTrail, AuditList, "ask", "ask for what one did, at a site, of a kind, in a time", "f"),
		entry(FurtherBack, AuditList, "older", "ask for older records", "m"),
		dangerous(entry(TrailOf, AuditList, "its trail", "show all that was done with the same thing", "o")),
		entry(WholeTrail, AuditList, "all", "show the whole trail again", "a"),

		entry(FollowLog, InLog, "follow", "follow what is logged, or stand still", "f"),
		entry(LogLevel, InLog, "level", "show the next level and above", "v"),
		entry(OtherLog, InLog, "other", "the service's log, or the console's", "o"),
		needs(entry(SaveLog, InLog, "save", "write all of the log to a file", "w"), NeedsFiles),

		entry(AddUser, UserList, "add", "add a user", "c"),
		dangerous(entry(EditUser, UserList, "change", "change role, customers and sites of the chosen user", "E")),
		dangerous(entry(BlockUser, UserList, "disable", "keep the chosen user out, or let in again", "d")),
		dangerous(entry(UnlockUser, UserList, "unlock", "forget the wrong passwords and codes of the chosen user", "u")),
		dangerous(entry(SetPassword, UserList, "password", "set the password of the chosen user", "p")),
		dangerous(entry(ResetFactor, UserList, "2nd factor", "reset the second factor of the chosen user", "m")),
		dangerous(entry(UserSSHKey, UserList, "ssh key", "give the chosen user a public key for SSH", "K")),
		dangerous(entry(DeleteUser, UserList, "delete", "delete the chosen user for good", "X")),

		entry(Accept, Dialog, "", "accept", "enter"),
		entry(Dismiss, Dialog, "", "close without a change", "esc"),
		entry(NextField, Dialog, "", "next field", "tab", "down"),
		entry(PrevField, Dialog, "", "field before", "shift+tab", "up"),
	}}
}

// label is how keys are written for people.
func label(keys []string) string {
	names := map[string]string{"up": "↑", "down": "↓", "left": "←", "right": "→", "pgdown": "pgdn"}
	shown := make([]string, len(keys))
	for i, k := range keys {
		if n := names[k]; n != "" {
			k = n
		}
		shown[i] = k
	}
	return strings.Join(shown, "  ")
}

// Entries are all of the map, in the order of its file.
func (m Map) Entries() []Entry { return slices.Clone(m.entries) }

// Entry is the entry of an action.
func (m Map) Entry(a Action) (Entry, bool) {
	for _, e := range m.entries {
		if e.Action == a {
			return e, true
		}
	}
	return Entry{}, false
}

// Match is the action of a key in any of the scopes: one that takes a key of
// lists goes before. A binding of two keys ("g u") matches when given as
// "g u"; pending says that pressed is the start of such a binding.
func (m Map) Match(pressed string, scopes ...Scope) (a Action, ok, pending bool) {
	for _, e := range m.entries {
		if !slices.Contains(scopes, e.Scope) {
			continue
		}
		for _, k := range e.Binding.Keys() {
			if k == pressed && (!ok || e.Takes == a) {
				a, ok = e.Action, true
			}
			if strings.HasPrefix(k, pressed+" ") {
				pending = true
			}
		}
	}
	return a, ok, pending && !ok
}

// unusable are keys that terminals cannot tell from others, or keep.
var unusable = map[string]string{
	"ctrl+m": "it is enter", "ctrl+i": "it is tab", "ctrl+h": "it is backspace", "ctrl+[": "it is esc",
	"ctrl+enter": "terminals do not send it", "alt+enter": "terminals use it for full screen", "f1": "desktops keep it for their help",
}

// Rebind replaces the keys of actions, as a configuration file names them.
// It refuses unknown actions, keys that terminals do not deliver, and clashes.
func (m Map) Rebind(keys map[string][]string) (Map, error) {
	out := Map{slices.Clone(m.entries)}
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.IndexFunc(out.entries, func(e Entry) bool { return e.Action == Action(name) })
		if i < 0 {
			return m, fmt.Errorf("keys: there is no action %q", name)
		}
		if len(keys[name]) == 0 {
			return m, fmt.Errorf("keys: %s has no key", name)
		}
		for _, k := range keys[name] {
			if why := unusable[strings.ToLower(k)]; why != "" {
				return m, fmt.Errorf("keys: %s cannot be %s: %s", name, k, why)
			}
		}
		e := &out.entries[i]
		e.Binding = key.NewBinding(key.WithKeys(keys[name]...), key.WithHelp(label(keys[name]), e.Binding.Help().Desc))
	}
	return out, out.Check()
}

// together says whether two entries are ever active at once.
func together(a, b Entry) bool {
	x, y := a.Scope.place(), b.Scope.place()
	switch {
	case a.Takes == b.Action || b.Takes == a.Action:
		return false // meant so
	case x == dialogs || y == dialogs:
		return x == y
	case x == oneScreen && y == oneScreen, x == onePane && y == onePane:
		return a.Scope == b.Scope
	case x == oneScreen:
		return y == anywhere
	case y == oneScreen:
		return x == anywhere
	}
	return true
}

// Check finds a key that would mean two things at once.
func (m Map) Check() error {
	type place struct {
		entry Entry
		key   string
	}
	var all []place
	for _, e := range m.entries {
		for _, k := range e.Binding.Keys() {
			all = append(all, place{e, k})
		}
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.entry.Action == b.entry.Action || !together(a.entry, b.entry) {
				continue
			}
			if a.key == b.key || strings.HasPrefix(a.key, b.key+" ") || strings.HasPrefix(b.key, a.key+" ") {
				return fmt.Errorf("keys: %q is both %s (%s) and %s (%s)", a.key, a.entry.Action, a.entry.Binding.Help().Desc, b.entry.Action, b.entry.Binding.Help().Desc)
			}
		}
	}
	return nil
}

// Markdown is the table of the README.
func (m Map) Markdown() string {
	var b strings.Builder
	for _, s := range Scopes() {
		fmt.Fprintf(&b, "| in %s | does | action |\n|---|---|---|\n", s)
		for _, e := range m.entries {
			if e.Scope != s {
				continue
			}
			keys := make([]string, 0, 2)
			for _, k := range e.Binding.Keys() {
				keys = append(keys, "`"+k+"`")
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` |\n", strings.Join(keys, " "), e.Binding.Help().Desc, e.Action)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
