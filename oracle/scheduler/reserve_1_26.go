//go:build since_1_26 && !since_1_32

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// reserve returns what Reserve or PreBind says on each node that fits, where there are claims: in these releases drivers allocate, and the pod waits for them.
func reserve(file *File, pod *v1.Pod, nodes []string) (map[string][]string, error) {
	if !utilfeature.DefaultFeatureGate.Enabled("DynamicResourceAllocation") {
		return nil, nil
	}
	reasons := map[string][]string{}
	for _, node := range nodes {
		cluster, err := start(file)
		if err != nil {
			return nil, err
		}
		asked := &question{context.Background(), cluster, cluster.Profiles[pod.Spec.SchedulerName], pod}
		reasons[node], err = asked.reserveOn(node)
		cluster.stop()
		if err != nil {
			return nil, err
		}
	}
	return reasons, nil
}

// reserveOn makes an attempt that chooses the node.
func (q *question) reserveOn(node string) ([]string, error) {
	if err := scheduler.OracleUpdateSnapshot(q.cluster.Scheduler); err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	result, status := preFilter(q.ctx, q.profile, state, q.pod)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	fitting := []nodeInfo{}
	for _, info := range q.infos() {
		if !result.AllNodes() && !result.NodeNames.Has(info.Node().Name) {
			continue
		}
		if q.profile.RunFilterPluginsWithNominatedPods(q.ctx, state, q.pod, info).IsSuccess() {
			fitting = append(fitting, info)
		}
	}
	if len(fitting) > 1 {
		if status := q.profile.RunPreScorePlugins(q.ctx, state, q.pod, scored(fitting)); !status.IsSuccess() {
			return nil, status.AsError()
		}
	}
	status = q.profile.RunReservePluginsReserve(q.ctx, state, q.pod, node)
	if status.IsSuccess() {
		status = q.profile.RunPreBindPlugins(q.ctx, state, q.pod, node)
	}
	return []string{status.Code().String(), status.Message()}, nil
}
