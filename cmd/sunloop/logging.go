package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"app.sunloop/backend/regularfile"
)

// level is the configured log level.
func (g *Globals) level() slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(g.LogLevel)); err != nil {
		return slog.LevelInfo
	}
	return l
}

// headlessLog writes to w: text for a person at a terminal, JSON otherwise.
func (g *Globals) headlessLog(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: g.level()}
	if f, ok := fileOf(w); ok && term.IsTerminal(int(f.Fd())) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// consoleLog writes to a file in the data folder while the console has the
// terminal, and keeps the newest lines for its log screen. The file is
// truncated at 4 MiB.
func (g *Globals) consoleLog(dir string) (*slog.Logger, *tail, io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, nil, err
	}
	path := filepath.Join(dir, "console.log")
	if info, err := os.Stat(path); err == nil && info.Size() > 4<<20 {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, nil, nil, err
		}
	}
	f, err := regularfile.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, nil, err
	}
	t := &tail{keep: 1000}
	h := slog.NewTextHandler(io.MultiWriter(f, t), &slog.HandlerOptions{Level: g.level()})
	return slog.New(h), t, f, nil
}

// tail keeps the newest lines written to it.
type tail struct {
	keep  int
	mu    sync.Mutex
	lines []string
}

// Write takes whole lines, as slog writes them.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range bytes.Lines(p) {
		t.lines = append(t.lines, strings.TrimRight(string(line), "\n"))
	}
	if over := len(t.lines) - t.keep; over > 0 {
		t.lines = slices.Delete(t.lines, 0, over)
	}
	return len(p), nil
}

// Lines are the newest lines, oldest first.
func (t *tail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}
