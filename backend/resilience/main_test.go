package resilience

import (
	"os"
	"testing"

	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store/pgtest"
)

func TestMain(m *testing.M) { os.Exit(servetest.Main(pgtest.Main(m).Run)) }
