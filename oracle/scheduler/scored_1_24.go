//go:build !since_1_30

package main

import v1 "k8s.io/api/core/v1"

// scored returns the nodes as scores are asked about them.
func scored(infos []nodeInfo) []*v1.Node {
	nodes := []*v1.Node{}
	for _, info := range infos {
		nodes = append(nodes, info.Node())
	}
	return nodes
}
