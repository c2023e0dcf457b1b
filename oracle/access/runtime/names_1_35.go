//go:build since_1_35

package runtime

import fwk "k8s.io/kube-scheduler/framework"

// The types of plugins, where they live since 1.35.
type (
	OracleFilter = fwk.FilterPlugin
	OracleScore  = fwk.ScorePlugin
)
