//go:build !since_1_34

package main

// allocations returns nothing: the files of these releases do not say which devices a claim gets.
func allocations(cycleState, string) [][]string {
	return nil
}
