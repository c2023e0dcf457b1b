//go:build !since_1_26

package main

// No plugin is skipped before 1.26.
func skipsFilter(cycleState, string) bool {
	return false
}

func skipsScore(cycleState, string) bool {
	return false
}
