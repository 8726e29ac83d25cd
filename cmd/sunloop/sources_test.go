//go:build !windows

package main

import (
	"bytes"
	"context"
	wire "encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"app.sunloop/backend/gateway"
)

// servedInverter is the address of a Modbus server with one SunSpec inverter that has
// 5 kW.
func servedInverter(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	words := make([]uint16, 2+68+52+2)
	copy(words, []uint16{0x5375, 0x6E53, 1, 66})
	m := words[70:122]
	for i := range m {
		m[i] = 0xFFFF
	}
	for at, v := range map[int]uint16{0: 103, 1: 50, 10: 2300, 13: 0xFFFF, 14: 5000, 15: 0, 16: 5000, 17: 0xFFFE, 24: 15, 25: 0, 26: 0, 38: 4, 40: 0, 41: 0} {
		m[at] = v
	}
	words[122], words[123] = 0xFFFF, 0
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for request := make([]byte, 12); ; {
					if _, err := io.ReadFull(c, request); err != nil {
						return
					}
					from, count := int(wire.BigEndian.Uint16(request[8:]))-40000, int(wire.BigEndian.Uint16(request[10:]))
					answer := []byte{request[7] | 0x80, 2}
					if request[7] == 3 && from >= 0 && from+count <= len(words) {
						answer = []byte{3, byte(2 * count)}
						for _, w := range words[from : from+count] {
							answer = wire.BigEndian.AppendUint16(answer, w)
						}
					}
					out := slices.Concat(request[:4], []byte{0, 0, request[6]})
					wire.BigEndian.PutUint16(out[4:], uint16(len(answer)+1))
					if _, err := c.Write(append(out, answer...)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestConsoleReadsSources: a console over the service of the same process reads the devices
// of a sources file while it runs, on a terminal, in lines and over SSH; it ends without
// an error, and the values are in its data folder.
func TestConsoleReadsSources(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf("poll = \"1s\"\nstep = \"1s\"\ncommit = \"1s\"\n[site]\nid = \"roof\"\ntimezone = \"UTC\"\n[[source]]\naddress = \"tcp://%s\"\n[[source.device]]\nasset = \"INV-1\"\nkind = \"inverter\"\nunit = 1\nbase = 40000\ncapacity_kw = 10\n", servedInverter(t))
	for name, args := range map[string][]string{"terminal": {}, "lines": {"--plain"}, "ssh": {"ssh", "--listen", "127.0.0.1:0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, err := os.MkdirTemp("", "cs") // a short path: a socket has at most 100 bytes
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(folder) })
			file, data := filepath.Join(folder, "s.toml"), filepath.Join(folder, "d")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			std := streams{os.Stdin, &out, &out}
			if name == "terminal" {
				master, slave, err := pty.Open()
				if err != nil {
					t.Fatal(err)
				}
				defer master.Close()
				defer slave.Close()
				if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
					t.Fatal(err)
				}
				go func() { _, _ = io.Copy(io.Discard, master) }()
				std = streams{slave, slave, &out}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			ended := make(chan int, 1)
			go func() { ended <- run(ctx, append(args, "--sources", file, "--data", data), std) }()
			for {
				s, err := gateway.AskStatus(ctx, data)
				if err == nil && len(s.Devices) == 1 && s.Devices[0].State == gateway.StateReading && s.Devices[0].PowerW != nil && *s.Devices[0].PowerW == 5000 && s.Devices[0].Reads > 1 {
					break
				}
				select {
				case status := <-ended:
					t.Fatalf("ended with %d before the device was read (%+v, %v): %s", status, s, err, &out)
				case <-time.After(20 * time.Millisecond):
				}
			}
			cancel()
			if status := <-ended; status != 0 {
				t.Fatalf("exit status %d: %s", status, &out)
			}
			if got := output(t, "sites", "--data", data); !strings.Contains(got, "roof") {
				t.Errorf("the site was not stored: %q", got)
			}
		})
	}
}

// TestConsoleRefusesSources: wrong sources end a console with one sentence, before it makes
// a data folder, and sources of the command line do not go with a remote service.
func TestConsoleRefusesSources(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	none := filepath.Join(folder, "none.toml")
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--sources", none}, 1, "none.toml"},
		{[]string{"--plain", "--sources", none}, 1, "none.toml"},
		{[]string{"ssh", "--sources", none}, 1, "none.toml"},
		{[]string{"--plant-metrics", "127.0.0.1:0"}, 2, "--plant-metrics: requires --sources"},
		{[]string{"ssh", "--plant-metrics", "127.0.0.1:0"}, 2, "--plant-metrics: requires --sources"},
		{[]string{"--remote", "https://192.0.2.1", "--sources", none}, 2, "--sources: devices are read by a service of this process"},
		{[]string{"ssh", "--remote", "https://192.0.2.1", "--sources", none}, 2, "--sources: devices are read by a service of this process"},
	} {
		var out, errs bytes.Buffer
		data := filepath.Join(folder, "data")
		status := run(t.Context(), append(tt.args, "--data", data), streams{os.Stdin, &out, &errs})
		if got := errs.String(); status != tt.status || !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: exit status %d: %q, want %d: %q", tt.args, status, got, tt.status, tt.want)
		}
		if _, err := os.Stat(data); err == nil {
			t.Fatalf("%q made the data folder", tt.args)
		}
	}
}
