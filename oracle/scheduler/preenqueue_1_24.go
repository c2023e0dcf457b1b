//go:build !since_1_26

package main

// preEnqueue returns nothing: there is no such point before 1.26.
func (q *question) preEnqueue() []string {
	return nil
}
