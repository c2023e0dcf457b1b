//go:build !since_1_27

package main

// No plugin is skipped before 1.27.
func skipsFilter(cycleState, string) bool {
	return false
}

func skipsScore(cycleState, string) bool {
	return false
}
