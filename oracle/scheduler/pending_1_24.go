//go:build !since_1_26

package main

import "k8s.io/kubernetes/pkg/scheduler"

// pendingPods returns how many pods the queue holds.
func pendingPods(sched *scheduler.Scheduler) int {
	return len(sched.SchedulingQueue.PendingPods())
}
