//go:build since_1_34 && !since_1_35

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// OracleFindNodes returns the nodes an attempt finds to fit before it stops, in its order, and why others do not.
func OracleFindNodes(ctx context.Context, sched *Scheduler, profile framework.Framework, state fwk.CycleState, pod *v1.Pod) ([]fwk.NodeInfo, framework.Diagnosis, error) {
	return sched.findNodesThatFitPod(ctx, profile, state, pod)
}
