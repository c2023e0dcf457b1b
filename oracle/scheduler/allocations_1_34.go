//go:build since_1_34

package main

import "k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"

// allocations returns the devices that Filter found on a node: request, driver, pool and device of each.
func allocations(state cycleState, node string) [][]string {
	rows := [][]string{}
	for _, device := range dynamicresources.OracleAllocations(state, node) {
		rows = append(rows, []string{device.Request, device.Driver, device.Pool, device.Device})
	}
	return rows
}
