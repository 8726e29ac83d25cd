//go:build !gateway

package main

// checkBuild returns nil: this build has all that flags can name.
func (StoreFlags) checkBuild() error { return nil }
