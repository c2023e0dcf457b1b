//go:build since_1_33

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// points asks one Score plugin about one node.
func points(ctx context.Context, plugin runtime.OracleScore, state cycleState, pod *v1.Pod, node nodeInfo) (int64, *fwkStatus) {
	return plugin.Score(ctx, state, pod, node)
}
