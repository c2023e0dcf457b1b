//go:build !since_1_32

package scheduler

import internalcache "k8s.io/kubernetes/pkg/scheduler/internal/cache"

// OracleSnapshot returns the snapshot that the scheduler's plugins read.
func OracleSnapshot(sched *Scheduler) *internalcache.Snapshot {
	return sched.nodeInfoSnapshot
}
