//go:build since_1_31

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// preFilter returns the nodes that PreFilter leaves, or what refuses the pod.
func preFilter(ctx context.Context, profile framework.Framework, state cycleState, pod *v1.Pod) (*preFilterResult, *fwkStatus) {
	result, status, _ := profile.RunPreFilterPlugins(ctx, state, pod)
	return result, status
}
