//go:build !since_1_34

package main

import "k8s.io/kubernetes/pkg/scheduler/framework"

// Where the framework's types live up to 1.33: all in k8s.io/kubernetes.
type (
	cycleState       = *framework.CycleState
	nodeInfo         = *framework.NodeInfo
	fwkStatus        = framework.Status
	preFilterResult  = framework.PreFilterResult
	postFilterResult = framework.PostFilterResult
)
