//go:build since_1_29

package main

// pluginOf returns the plugin that said so.
func pluginOf(status *fwkStatus) string {
	return status.Plugin()
}
