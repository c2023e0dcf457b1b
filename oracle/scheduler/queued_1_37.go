//go:build since_1_37

package main

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// queued returns the group as the queue would give it, without taking others out of the queue: whose nominated pods that would forget.
// Pods that are gated or being deleted are left out.
func (a *groupAttempt) queued(file *File, name string, pods []*v1.Pod, gated map[string][]string) *framework.QueuedPodGroupInfo {
	kind := fwk.PodGroupKey(a.namespace, name)
	if a.isTree {
		kind = fwk.CompositePodGroupKey(a.namespace, name)
	}
	root := &framework.QueuedPodGroupInfo{PodGroupInfo: a.info(kind, map[fwk.EntityKey]bool{}), QueuedPodInfos: map[fwk.EntityKey][]*framework.QueuedPodInfo{}}
	for _, pod := range pods {
		if gated[pod.Name] != nil || pod.DeletionTimestamp != nil || !a.isMember(file, pod, name) {
			continue
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			continue
		}
		key := fwk.PodGroupKey(a.namespace, *pod.Spec.SchedulingGroup.PodGroupName)
		queued := &framework.QueuedPodInfo{PodInfo: info, QueueingParams: framework.QueueingParams{Timestamp: pod.CreationTimestamp.Time}}
		root.QueuedPodInfos[key] = append(root.QueuedPodInfos[key], queued)
	}
	eachLeaf(root.PodGroupInfo, func(leaf *framework.PodGroupInfo) {
		infos := root.QueuedPodInfos[fwk.PodGroupKey(leaf.Namespace, leaf.Name)]
		slices.SortFunc(infos, framework.PodGroupMemberPodsOrderingFunc)
		for _, info := range infos {
			leaf.UnscheduledPods = append(leaf.UnscheduledPods, info.Pod)
		}
	})
	if len(root.QueuedPodInfos) == 0 {
		return nil
	}
	return root
}

// info returns a group with those under it, as the snapshot knows them.
func (a *groupAttempt) info(key fwk.EntityKey, seen map[fwk.EntityKey]bool) *framework.PodGroupInfo {
	seen[key] = true
	snapshot := scheduler.OracleSnapshot(a.Scheduler)
	info := &framework.PodGroupInfo{Namespace: key.Namespace, Name: key.Name, Type: key.Type}
	if key.Type == fwk.PodGroupKeyType {
		info.PodGroup, _ = snapshot.PodGroups().Get(key.Namespace, key.Name)
		return info
	}
	info.CompositePodGroup, _ = snapshot.CompositePodGroups().Get(key.Namespace, key.Name)
	if state, err := snapshot.CompositePodGroupStates().Get(key.Namespace, key.Name); err == nil {
		for _, child := range state.GetChildren() {
			if !seen[child] {
				info.Children = append(info.Children, a.info(child, seen))
			}
		}
	}
	return info
}

func eachLeaf(group *framework.PodGroupInfo, call func(*framework.PodGroupInfo)) {
	if group.CompositePodGroup == nil {
		call(group)
	}
	for _, child := range group.Children {
		eachLeaf(child, call)
	}
}

// orders returns the pods of each group of pods in the order they are tried.
func orders(group *framework.QueuedPodGroupInfo) map[string][]string {
	orders := map[string][]string{}
	eachLeaf(group.PodGroupInfo, func(leaf *framework.PodGroupInfo) {
		orders[leaf.Name] = []string{}
		for _, pod := range leaf.UnscheduledPods {
			orders[leaf.Name] = append(orders[leaf.Name], pod.Name)
		}
	})
	return orders
}
