//go:build since_1_34 && !since_1_35

package main

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Where the framework's types live in 1.34: half in k8s.io/kube-scheduler.
type (
	cycleState       = fwk.CycleState
	nodeInfo         = fwk.NodeInfo
	fwkStatus        = fwk.Status
	preFilterResult  = framework.PreFilterResult
	postFilterResult = framework.PostFilterResult
)
