//go:build since_1_34

package main

// skips reports which plugins PreFilter and PreScore return Skip for.
func skipsFilter(state cycleState, plugin string) bool {
	return state.GetSkipFilterPlugins().Has(plugin)
}

func skipsScore(state cycleState, plugin string) bool {
	return state.GetSkipScorePlugins().Has(plugin)
}
