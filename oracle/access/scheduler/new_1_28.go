//go:build since_1_28

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// OracleNew makes a scheduler that has seen nothing.
func OracleNew(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory,
	dynamicFactory dynamicinformer.DynamicSharedInformerFactory, recorders profile.RecorderFactory, options []Option,
) (*Scheduler, error) {
	return New(ctx, client, factory, dynamicFactory, recorders, options...)
}

// OracleUpdateSnapshot brings the snapshot up to the cache, as every attempt does first.
func OracleUpdateSnapshot(sched *Scheduler) error {
	return sched.Cache.UpdateSnapshot(klog.Background(), OracleSnapshot(sched))
}

// OracleAssume puts a pod on its node in the cache.
func OracleAssume(sched *Scheduler, pod *v1.Pod) error {
	return sched.Cache.AssumePod(klog.Background(), pod)
}
