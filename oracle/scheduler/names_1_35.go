//go:build since_1_35

package main

import fwk "k8s.io/kube-scheduler/framework"

// Where the framework's types live since 1.35: all in k8s.io/kube-scheduler.
type (
	cycleState       = fwk.CycleState
	nodeInfo         = fwk.NodeInfo
	fwkStatus        = fwk.Status
	preFilterResult  = fwk.PreFilterResult
	postFilterResult = fwk.PostFilterResult
)
