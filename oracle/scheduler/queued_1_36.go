//go:build since_1_36 && !since_1_37

package main

import (
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// queued returns the group as the scheduler would gather it from the queue. Pods that are gated or being deleted are left out.
func (a *groupAttempt) queued(file *File, name string, pods []*v1.Pod, gated map[string][]string) *framework.QueuedPodGroupInfo {
	group := &framework.QueuedPodGroupInfo{PodGroupInfo: &framework.PodGroupInfo{Namespace: a.namespace, Name: name}}
	members := []*v1.Pod{}
	for _, pod := range pods {
		if gated[pod.Name] == nil && pod.DeletionTimestamp == nil && a.isMember(file, pod, name) {
			members = append(members, pod)
		}
	}
	sort.SliceStable(members, func(i, j int) bool { return older(members[i], members[j]) })
	for _, pod := range members {
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			continue
		}
		group.UnscheduledPods = append(group.UnscheduledPods, pod)
		group.QueuedPodInfos = append(group.QueuedPodInfos, &framework.QueuedPodInfo{PodInfo: info})
	}
	if len(members) == 0 {
		return nil
	}
	return group
}

// older reports which pod comes first: by priority, age and name.
func older(a, b *v1.Pod) bool {
	switch own, other := priority(a), priority(b); {
	case own != other:
		return own > other
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// orders returns the pods of the group in the order they are tried.
func orders(group *framework.QueuedPodGroupInfo) map[string][]string {
	order := []string{}
	for _, pod := range group.UnscheduledPods {
		order = append(order, pod.Name)
	}
	return map[string][]string{group.Name: order}
}
