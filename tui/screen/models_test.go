package screen

import (
	"strings"
	"testing"

	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/view"
)

// A challenger is evaluated and promoted, an archived model is gone back to,
// and what is not possible says why.
func TestModelMovesOffered(t *testing.T) {
	v, b := bookView(t, false), NewModels()
	drawBook(v, b, 118, 32)
	for model, want := range map[string]map[keymap.Action]string{
		"sunloop-blend 1.2.0": {keymap.PromoteModel: "", keymap.EvaluateModel: "", keymap.RollbackModel: "is challenger: only an archived model is gone back to"},
		"sunloop-blend 1.1.0": {keymap.PromoteModel: "is production: only a challenger", keymap.EvaluateModel: "only a challenger", keymap.RollbackModel: "is production"},
		"sunloop-blend 1.0.0": {keymap.PromoteModel: "is archived: only a challenger", keymap.RollbackModel: "", keymap.CancelTraining: ""},
	} {
		b.SelectRow(model)
		drawBook(v, b, 118, 32)
		for a, why := range want {
			if got := b.Disabled(a, v); why == "" && got != "" || !strings.Contains(got, why) {
				t.Errorf("%s, %s: %q, want %q", model, a, got, why)
			}
		}
	}
	do(b, v, keymap.Right)
	drawBook(v, b, 118, 32)
	if why := b.Disabled(keymap.PromoteModel, v); why != "choose a model of the registry" {
		t.Errorf("in the history: %q", why)
	}
	v.Site.Uploads.Data = nil
	if why := b.Disabled(keymap.CancelTraining, v); why != "no training is under way" {
		t.Errorf("cancel: %q", why)
	}
}

// A promotion wants a reason of some length; against the verdict it is not
// forced unless that is chosen.
func TestPromotionForm(t *testing.T) {
	v, b := bookView(t, false), NewModels()
	drawBook(v, b, 118, 32)
	open, ok := do(b, v, keymap.PromoteModel).(view.OpenDialog)
	if !ok {
		t.Fatal("no dialog")
	}
	d := open.Dialog.(*WorkForm)
	picture.Golden(t, "models-promote", screenText(v, d, 80, 24))
	if r := press(d, "better", "enter"); r != nil || d.wrongAt != 0 || !strings.Contains(d.wrong, "At least 10 characters") {
		t.Errorf("a short reason led to %v: %q", r, d.wrong)
	}
	if d.value("force") != "no" {
		t.Errorf("forced by default")
	}
	if r := press(d, " in three weeks", "enter"); r == nil || !d.busy {
		t.Errorf("a reason of %q was refused: %s", d.value("reason"), d.wrong)
	}
	picture.Golden(t, "models-cancel", screenText(v, NewCancelTraining(*trainingOf(v)), 80, 24))
	if r := press(NewCancelTraining(*trainingOf(v)), "enter"); r != view.Request(view.Close{}) {
		t.Error("the marked answer is not the harmless one")
	}
}
