//go:build gateway

package notification_test

import "testing"

// onStorages runs a test over a file: this build has no PostgreSQL.
func onStorages(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Run("file", func(t *testing.T) { test(t, newDesk(t)) })
}
