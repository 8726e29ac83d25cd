package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/plant"
)

// upload sends a file to be inspected or imported.
func (m *Model) upload(u view.Upload) tea.Cmd {
	req := u.Metadata
	customer := req.CustomerID
	if customer == "" && m.session.user != nil && len(m.session.user.CustomerIDs) > 0 && m.session.user.CustomerIDs[0] != api.Every {
		customer = m.session.user.CustomerIDs[0]
	}
	if customer == "" {
		customer = "default"
	}
	req.CustomerID, req.Region, req.Location, req.Filename = customer, "local", cmp.Or(req.Location, "unknown"), filepath.Base(u.Path)
	if m.o.Remote { // the path would be read on the server's machine
		m.notify("Not sent: "+remoteImportReason+".", themes.Warning)
		return nil
	}
	m.data.paths[req.Filename] = u.Path
	sent := func(size int64) func(int64) { return func(n int64) { u.From.Sent(n, size) } }
	msg := uploadMsg{file: u.Path, upload: u, request: req}
	return m.runFor(5*requestTimeout, func(ctx context.Context) tea.Msg {
		f, err := os.Open(u.Path)
		if err != nil {
			msg.err = err
			return msg
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			msg.err = errNoFile
			return msg
		}
		msg.file = req.Filename
		if u.Inspected != nil {
			msg.inspection, msg.err = m.o.Client.Inspect(ctx, req, f, sent(info.Size()))
			return msg
		}
		msg.ack, msg.err = m.o.Client.UploadTrain(ctx, req, f, sent(info.Size()))
		return msg
	})
}

// importForm asks for a file of the customer whose site is on screen.
func (m *Model) importForm() *plant.UploadForm {
	return plant.NewImport(m.data.siteRecord().CustomerID, m.data.Sites.Data)
}

// dropped opens the form of an import with a path that was pasted or dropped on
// the terminal.
func (m *Model) dropped(text string) view.Request {
	if !plant.IsPath(text) {
		return view.Notify{Text: "The pasted text is not the path of a file.", Role: themes.Dim}
	}
	if e, ok := m.o.Keys.Entry(keymap.Upload); ok && m.disabled(e) != "" {
		return view.Run{Action: keymap.Upload} // which shows the reason
	}
	d := m.importForm()
	d.SetFile(text)
	return view.OpenDialog{Dialog: d}
}

// errNoFile says that a path names something that cannot be imported.
var errNoFile = errors.New("it is a folder or a device, not a file")

// uploaded passes the result of an inspection or import to the dialog that requested
// it, while it is open, else to the last line.
func (m *Model) uploaded(msg uploadMsg) view.Request {
	var err error
	if msg.err != nil {
		err = errors.New(msg.file + ": " + state.Reason(msg.err) + ".")
	}
	m.frame.dirty = true
	open := m.dialogs.deliver(msg.upload.From, err)
	switch {
	case err != nil:
		if !open {
			m.notify(err.Error(), themes.Warning)
		}
		return nil
	case msg.inspection != nil:
		if open {
			return msg.upload.Inspected(msg.request, state.Printable(*msg.inspection))
		}
		return nil
	}
	m.data.watched = append(m.data.watched, msg.ack.UploadID)
	m.data.wanted = api.SiteRef{CustomerID: msg.request.CustomerID, SiteID: msg.request.SiteID}
	m.data.Planner.Invalidate(state.QueryUploads, state.QueryAllUploads, state.QuerySites)
	if open && msg.upload.Stored != nil {
		return msg.upload.Stored(*msg.ack)
	}
	m.notify(msg.file+" is accepted; Act (4) and g u show the progress.", themes.Accent)
	return nil
}

// importNeeds asks for the state of a file that this console sent.
func (m *Model) importNeeds() []state.Need {
	if len(m.data.watched) == 0 {
		return nil
	}
	return []state.Need{{Query: state.QueryImport, Of: m.data.watched[0], Period: 2 * time.Second, Focused: true}}
}

// notifyImport announces the end of a file that this console sent, unless a dialog
// shows it. The notice is shown again after one that replaced it.
func (m *Model) notifyImport() {
	u := m.data.Admin.Import.Data
	at := slices.Index(m.data.watched, u.UploadID)
	if at < 0 {
		return
	}
	// The site exists from the first stored value on.
	if !slices.ContainsFunc(m.data.Sites.Data, func(s api.Site) bool { return s.CustomerID == u.CustomerID && s.SiteID == u.SiteID }) && u.Stage != "" {
		m.data.Planner.Invalidate(state.QuerySites)
	}
	if !u.Ended() {
		return
	}
	m.data.watched = slices.Delete(m.data.watched, at, at+1)
	m.data.Planner.Invalidate(state.QuerySites, state.QueryUploads, state.QueryAllUploads)
	if slices.ContainsFunc(m.dialogs.stack, func(d view.Dialog) bool {
		p, ok := d.(*plant.ImportPreview)
		return ok && p.UploadID() == u.UploadID
	}) {
		return
	}
	switch {
	case u.Error != "":
		m.notify(plant.FileName(u)+": "+u.Error, themes.Warning)
	default:
		m.notify(fmt.Sprintf("%s is imported: %s. g u shows what was inferred.", plant.FileName(u), display.CountOf(u.RowsStored, "row", "rows")), themes.Accent)
	}
	m.notes.notice.result = true
}
