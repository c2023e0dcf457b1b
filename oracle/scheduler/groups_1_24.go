//go:build !since_1_36

package main

import (
	"errors"
	"io"
)

// answerGroups is not written for these releases: before 1.36 there is no group cycle.
func answerGroups(*File, io.Writer) error {
	return errors.New("there is no group cycle before 1.36")
}
