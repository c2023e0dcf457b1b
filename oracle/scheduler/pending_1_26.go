//go:build since_1_26 && !since_1_28

package main

import "k8s.io/kubernetes/pkg/scheduler"

// pendingPods returns how many pods the queue holds.
func pendingPods(sched *scheduler.Scheduler) int {
	pods, _ := sched.SchedulingQueue.PendingPods()
	return len(pods)
}
