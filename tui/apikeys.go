package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/state"
)

// keyMsg is what came of an action on an API key. It may hold a key in plain:
// nothing but the dialog that shows it keeps that.
type keyMsg struct {
	sent  screen.SendKey
	owner string // whose session asked
	reply *api.KeysResponse
	err   error
}

// may says whether a person has an administrator's permission, as far as the
// console knows: by the permissions of the sign-in, with a kept token by its
// role. Of a credential that says nothing, the service knows.
func may(u *api.User, p api.Permission) bool {
	switch {
	case u == nil:
		return true
	case u.ApplicationPermissions != nil:
		return slices.Contains(u.ApplicationPermissions, string(p))
	}
	return u.RoleID == api.RoleAdmin
}

// manageKey opens the dialog of an action on a key.
func (m *Model) manageKey(do screen.ManageKey) tea.Cmd {
	site, zone := m.siteRecord(), time.UTC
	if m.store.Site != nil {
		zone = m.store.Site.Zone
	}
	if do.Action == keymap.CreateKey {
		m.dialogs = append(m.dialogs, screen.NewKeyForm(site, m.store.Sites.Data, zone, m.o.Now))
		return nil
	}
	keys := m.store.Admin.Keys.Data
	i := slices.IndexFunc(keys, func(k api.KeyRecord) bool { return k.APIKeyID == do.APIKeyID })
	switch {
	case i < 0: // no key is chosen
	case do.Action == keymap.RotateKey:
		m.dialogs = append(m.dialogs, screen.NewRotateForm(keys[i], zone, m.o.Now))
	case do.Action == keymap.RevokeKey:
		m.dialogs = append(m.dialogs, screen.NewRevoke(keys[i]))
	}
	return nil
}

// sendKey sends an action on a key.
func (m *Model) sendKey(do screen.SendKey) tea.Cmd {
	owner := m.owner
	return m.run(func(ctx context.Context) (msg tea.Msg) {
		answer := keyMsg{sent: do, owner: owner}
		defer func() {
			if p := recover(); p != nil { // the dialog must hear of it
				answer.err = fmt.Errorf("the console failed inside: %v", p)
			}
			msg = answer
		}()
		switch do.Request.Action {
		case api.ActionCreate:
			answer.reply, answer.err = m.o.Client.CreateKey(ctx, do.Request)
		case api.ActionRotate:
			answer.reply, answer.err = m.o.Client.RotateKey(ctx, do.Request)
		case api.ActionRevoke:
			answer.reply, answer.err = m.o.Client.RevokeKey(ctx, do.Request.APIKeyID)
		}
		return answer
	})
}

// keyAnswered ends the dialog that asked, or lets it say what the service
// refused. A new key is shown also when its form was left: it was asked for,
// and cannot be shown later.
func (m *Model) keyAnswered(msg keyMsg) {
	i := slices.IndexFunc(m.dialogs, func(d screen.Dialog) bool { return d == screen.Dialog(msg.sent.From) })
	if msg.err != nil {
		m.o.Log.Warn("an action on an API key failed", "action", msg.sent.Request.Action, "error", msg.err)
		msg.sent.From.Refused(msg.err)
		return
	}
	m.store.Planner.Forget(state.QueryKeys)
	if i >= 0 {
		m.dialogs = slices.Delete(m.dialogs, i, i+1)
	}
	if msg.owner != m.owner || m.user == nil && msg.owner != "" {
		m.o.Log.Warn("an action on an API key ended after its session: a key that it made was seen by nobody, revoke it", "action", msg.sent.Request.Action, "api_key_id", msg.reply.APIKeyID)
		return
	}
	if s := m.sheet(); s != nil && msg.reply.APIKeyID != "" {
		s.Select(msg.reply.APIKeyID)
	}
	if msg.reply.APIKey != "" && msg.reply.Key != nil {
		m.dialogs = append(m.dialogs, screen.NewKeyShown(msg.reply.Key.Name, msg.reply.Message, msg.reply.APIKey))
	}
}
