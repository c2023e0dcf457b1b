//go:build !since_1_34

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// OracleFindNodes returns the nodes an attempt finds to fit before it stops, in its order, and why others do not.
func OracleFindNodes(ctx context.Context, sched *Scheduler, profile framework.Framework, state *framework.CycleState, pod *v1.Pod) ([]*framework.NodeInfo, framework.Diagnosis, error) {
	found, diagnosis, err := sched.findNodesThatFitPod(ctx, profile, state, pod)
	return oracleInfos(sched, found), diagnosis, err
}
