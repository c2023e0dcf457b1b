//go:build since_1_28

package main

import (
	"context"

	"k8s.io/kubernetes/pkg/scheduler"
)

// handled waits until the scheduler's event handlers have seen everything that its informers have.
func handled(ctx context.Context, sched *scheduler.Scheduler, _ *server) error {
	return sched.WaitForHandlersSync(ctx)
}
