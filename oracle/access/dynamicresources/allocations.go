//go:build since_1_34

package dynamicresources

import (
	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// OracleAllocations returns the devices that Filter found for the pod's claims on a node.
func OracleAllocations(state fwk.CycleState, node string) []resourceapi.DeviceRequestAllocationResult {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	devices := []resourceapi.DeviceRequestAllocationResult{}
	for _, allocation := range data.(*stateData).nodeAllocations[node].allocationResults {
		devices = append(devices, allocation.Devices.Results...)
	}
	return devices
}
