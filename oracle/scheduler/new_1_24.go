//go:build !since_1_27

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

func newScheduler(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory,
	dynamicFactory dynamicinformer.DynamicSharedInformerFactory, recorders profile.RecorderFactory, options []scheduler.Option,
) (*scheduler.Scheduler, error) {
	return scheduler.New(client, factory, dynamicFactory, recorders, ctx.Done(), options...)
}

func snapshot(sched *scheduler.Scheduler) error {
	return sched.Cache.UpdateSnapshot(scheduler.OracleSnapshot(sched))
}

func assumePod(sched *scheduler.Scheduler, pod *v1.Pod) error {
	return sched.Cache.AssumePod(pod)
}
