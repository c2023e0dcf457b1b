//go:build since_1_29

package main

// pluginOf returns the plugin that returned the status.
func pluginOf(status *fwkStatus) string {
	return status.Plugin()
}
