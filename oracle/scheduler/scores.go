package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// score runs the scores on the nodes that fit: with weights as the scheduler does, then each by itself for what it says before NormalizeScore.
func score(ctx context.Context, profile framework.Framework, state cycleState, pod *v1.Pod, nodes []nodeInfo, answer *Answer) error {
	if err := weighted(ctx, profile, state, pod, nodes, answer); err != nil {
		return err
	}
	for _, plugin := range runtime.OracleScores(profile) {
		if skipsScore(state, plugin.Name()) {
			continue
		}
		for _, node := range nodes {
			raw, status := points(ctx, plugin, state, pod, node)
			if !status.IsSuccess() {
				return status.AsError()
			}
			note(answer.Raw, plugin.Name(), node.Node().Name, raw)
		}
	}
	return nil
}

func note(table map[string]map[string]int64, plugin, node string, points int64) {
	if table[plugin] == nil {
		table[plugin] = map[string]int64{}
	}
	table[plugin][node] = points
}
