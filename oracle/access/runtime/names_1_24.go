//go:build !since_1_35

package runtime

import "k8s.io/kubernetes/pkg/scheduler/framework"

// The types of plugins, where they live up to 1.34.
type (
	OracleFilter = framework.FilterPlugin
	OracleScore  = framework.ScorePlugin
)
