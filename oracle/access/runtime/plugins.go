package runtime

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// OracleFilters returns the profile's Filter plugins in the order they run.
func OracleFilters(profile framework.Framework) []fwk.FilterPlugin {
	return profile.(*frameworkImpl).filterPlugins
}

// OracleScores returns the profile's Score plugins in the order they run.
func OracleScores(profile framework.Framework) []fwk.ScorePlugin {
	return profile.(*frameworkImpl).scorePlugins
}
