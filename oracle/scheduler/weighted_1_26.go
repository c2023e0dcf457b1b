//go:build since_1_26

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// weighted runs PreScore and Score, and notes what they add up to.
func weighted(ctx context.Context, profile framework.Framework, state cycleState, pod *v1.Pod, nodes []nodeInfo, answer *Answer) error {
	infos := scored(nodes)
	if status := profile.RunPreScorePlugins(ctx, state, pod, infos); !status.IsSuccess() {
		return status.AsError()
	}
	scores, status := profile.RunScorePlugins(ctx, state, pod, infos)
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range scores {
		answer.Total[node.Name] = node.TotalScore
		for _, score := range node.Scores {
			note(answer.Weighted, score.Name, node.Name, score.Score)
		}
	}
	return nil
}
