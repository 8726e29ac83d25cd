package resilience

import (
	"os"
	"testing"

	"app.sunloop/backend/servetest"
)

func TestMain(m *testing.M) { os.Exit(servetest.Main(m.Run)) }
