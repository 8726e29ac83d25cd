package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/plant"
)

// upload sends a file; the uploads list shows what becomes of it.
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
	if m.o.Remote { // whose path it is, is known; whose file, is not
		m.notify("Not sent: "+remoteFilesReason+".", themes.Warning)
		return nil
	}
	m.data.paths[req.Filename] = u.Path
	return m.runFor(5*requestTimeout, func(ctx context.Context) tea.Msg {
		f, err := os.Open(u.Path)
		if err != nil {
			return uploadMsg{file: u.Path, from: u.From, err: err}
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return uploadMsg{file: u.Path, from: u.From, err: errNoFile}
		}
		ack, err := m.o.Client.UploadTrain(ctx, req, f, func(sent int64) { u.From.Sent(sent, info.Size()) })
		return uploadMsg{file: req.Filename, site: api.SiteRef{CustomerID: req.CustomerID, SiteID: req.SiteID}, from: u.From, ack: ack, err: err}
	})
}

// dropped opens the form of an import with a path that was pasted or dropped on
// the terminal.
func (m *Model) dropped(text string) view.Request {
	if !plant.IsPath(text) {
		return view.Notify{Text: "What was pasted is no path of a file.", Role: themes.Dim}
	}
	if e, ok := m.o.Keys.Entry(keymap.Upload); ok && m.disabled(e) != "" {
		return view.Run{Action: keymap.Upload} // which says why not
	}
	d := plant.NewUpload(m.data.siteRecord())
	d.SetFile(text)
	return view.OpenDialog{Dialog: d}
}

// errNoFile says that a path names something that cannot be imported.
var errNoFile = errors.New("it is no file, but a folder or a device")

// uploaded shows how the sending ended: in the form that sent the file, while it
// is open, else in the last line.
func (m *Model) uploaded(msg uploadMsg) {
	var err error
	if msg.err != nil {
		err = errors.New(msg.file + ": " + state.Reason(msg.err) + ".")
	}
	m.frame.dirty = true
	open := m.dialogs.deliver(msg.from, err)
	switch {
	case err == nil:
		m.data.watched[msg.ack.UploadID] = true
		m.data.wanted = msg.site
		m.notify(msg.file+" is taken; Act (4) and g u show how far it is.", themes.Accent)
		m.data.Planner.Invalidate(state.QueryUploads, state.QuerySites)
	case !open:
		m.notify(err.Error(), themes.Warning)
	}
}

// notifyUploads announces the end of the files that this console sent.
func (m *Model) notifyUploads() {
	for _, u := range m.data.Site.Uploads.Data {
		if !m.data.watched[u.UploadID] || !u.Ended() {
			continue
		}
		delete(m.data.watched, u.UploadID)
		switch {
		case u.Error != "":
			m.notify(plant.FileName(u)+": "+u.Error, themes.Warning)
		default:
			m.notify(fmt.Sprintf("%s is imported: %d rows. g u shows what was inferred.", plant.FileName(u), u.RowsStored), themes.Accent)
		}
	}
}
