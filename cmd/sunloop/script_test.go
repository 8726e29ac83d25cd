package main

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"sunloop": func() { os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})) },
	})
}

// TestScripts runs the command line as a person would: each script of
// testdata/script in a folder of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../../testdata/script",
		Setup: func(e *testscript.Env) error {
			for _, kv := range [][2]string{
				{"HOME", e.WorkDir}, {"XDG_CONFIG_HOME", e.WorkDir + "/config"}, {"XDG_DATA_HOME", e.WorkDir + "/data"},
				{"NO_COLOR", "1"}, {"TZ", "UTC"},
			} {
				e.Setenv(kv[0], kv[1])
			}
			return nil
		},
	})
}
