//go:build !since_1_28

package main

import (
	"context"

	"k8s.io/kubernetes/pkg/scheduler"
)

// handled waits until the scheduler's cache and queue hold all pods that its informers have; handlers do not say before 1.28 that they are done.
func handled(_ context.Context, sched *scheduler.Scheduler, server *server) error {
	return until(func() bool {
		held, err := sched.Cache.PodCount()
		return err == nil && held+pendingPods(sched) >= server.pods()
	})
}
