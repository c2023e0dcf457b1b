package runtime

import "k8s.io/kubernetes/pkg/scheduler/framework"

// OracleFilters returns the profile's Filter plugins in the order they run.
func OracleFilters(profile framework.Framework) []OracleFilter {
	return profile.(*frameworkImpl).filterPlugins
}

// OracleScores returns the profile's Score plugins in the order they run.
func OracleScores(profile framework.Framework) []OracleScore {
	return profile.(*frameworkImpl).scorePlugins
}
