package main

import (
	"reflect"

	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// How often devices are looked for. Slices come in the order of Go's maps: what is the same each time does not hang on it.
const deviceRounds = 24

// devices writes which devices the pod's claims get on the nodes that fit, where that is not random.
func (q *question) devices(answer *Answer) {
	var certain map[string][][]string
	for round := 0; round < deviceRounds; round++ {
		found := q.deviceRound(answer.Feasible)
		if round == 0 {
			certain = found
		}
		for node := range certain {
			if !reflect.DeepEqual(certain[node], found[node]) {
				delete(certain, node)
			}
		}
	}
	answer.Devices = certain
}

// deviceRound returns the devices on each of the nodes, as one attempt finds them.
func (q *question) deviceRound(nodes []string) map[string][][]string {
	state := framework.NewCycleState()
	found := map[string][][]string{}
	if _, refusal := preFilter(q.ctx, q.profile, state, q.pod); !refusal.IsSuccess() {
		return found
	}
	for _, name := range nodes {
		if info := q.node(name); info != nil && q.profile.RunFilterPluginsWithNominatedPods(q.ctx, state, q.pod, info).IsSuccess() {
			if devices := allocations(state, name); len(devices) > 0 {
				found[name] = devices
			}
		}
	}
	return found
}
