//go:build !since_1_26 || since_1_32

package main

import v1 "k8s.io/api/core/v1"

// reserve returns nothing: before 1.26 there are no claims, and since 1.32 no driver is waited for.
func reserve(*File, *v1.Pod, []string) (map[string][]string, error) {
	return nil, nil
}
