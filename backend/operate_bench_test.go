package backend

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/store"
	"app.sunloop/engine/simulate"
)

// BenchmarkBackup backs up, and restores with its check, a folder of 24 units
// with a year of 5 minutes and the files that it came in.
func BenchmarkBackup(b *testing.B) {
	now := time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC)
	h := open(b, Config{DataDir: b.TempDir(), Now: func() time.Time { return now }})
	fleet, from := simulate.Clean(1, now.AddDate(-1, 0, 0), 8), now.AddDate(-1, 0, 0)
	if testing.Short() {
		from = now.AddDate(0, 0, -10)
	}
	for _, site := range fleet.Sites {
		var csv bytes.Buffer
		if err := site.WriteCSV(&csv, from, now, 5*time.Minute); err != nil {
			b.Fatal(err)
		}
		if err := h.service.objects.Put(b.Context(), "historical/"+site.ID+".csv", &csv); err != nil {
			b.Fatal(err)
		}
		var frames []store.AssetFrame
		for id, f := range site.Frames(from, now, 5*time.Minute) {
			frames = append(frames, store.AssetFrame{AssetID: id, Frame: f})
		}
		if err := h.service.opened.Load().records.Append(b.Context(), store.SiteKey{ID: site.ID, Zone: time.UTC}, frames); err != nil {
			b.Fatal(err)
		}
	}
	file := filepath.Join(b.TempDir(), "backup")
	b.Run("backup", func(b *testing.B) {
		for b.Loop() {
			f, err := os.Create(file)
			if err != nil {
				b.Fatal(err)
			}
			done, err := h.service.Admin().Backup(b.Context(), f)
			if err != nil {
				b.Fatal(err)
			}
			size, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
			b.ReportMetric(float64(done.Bytes)/1e6, "MB")
			b.ReportMetric(float64(size)/1e6, "MB-packed")
		}
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			f, err := os.Open(file)
			if err != nil {
				b.Fatal(err)
			}
			dir := filepath.Join(b.TempDir(), "restored")
			if _, err := admin.Restore(b.Context(), f, dir, nil, false); err != nil {
				b.Fatal(err)
			}
			f.Close()
			if err := os.RemoveAll(dir); err != nil {
				b.Fatal(err)
			}
		}
	})
}
