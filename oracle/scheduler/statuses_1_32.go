//go:build since_1_32

package main

import "k8s.io/kubernetes/pkg/scheduler/framework"

// eachRefusal calls back for every node that an attempt looked at and refused.
func eachRefusal(diagnosis framework.Diagnosis, call func(node string, status *fwkStatus)) {
	diagnosis.NodeToStatus.ForEachExplicitNode(call)
}

// statusOf is what preemption reads of the nodes.
func statusOf(diagnosis framework.Diagnosis) *framework.NodeToStatus {
	return diagnosis.NodeToStatus
}
