//go:build !since_1_36

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// try runs one attempt up to the choice of a node.
func try(ctx context.Context, sched *scheduler.Scheduler, profile framework.Framework, state cycleState, pod *v1.Pod) error {
	_, err := sched.SchedulePod(ctx, profile, state, pod)
	return err
}
