//go:build !since_1_34

package scheduler

import "k8s.io/kubernetes/pkg/scheduler/framework"

// oracleInfos returns the snapshot's entries of nodes, which releases up to 1.28 return bare.
func oracleInfos[T any](sched *Scheduler, found []T) []*framework.NodeInfo {
	infos := []*framework.NodeInfo{}
	for _, node := range found {
		if info, is := any(node).(*framework.NodeInfo); is {
			infos = append(infos, info)
		} else if info, err := sched.nodeInfoSnapshot.Get(any(node).(interface{ GetName() string }).GetName()); err == nil {
			infos = append(infos, info)
		}
	}
	return infos
}
