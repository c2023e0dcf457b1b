//go:build since_1_27 && !since_1_34

package main

func skipsFilter(state cycleState, plugin string) bool {
	return state.SkipFilterPlugins.Has(plugin)
}

func skipsScore(state cycleState, plugin string) bool {
	return state.SkipScorePlugins.Has(plugin)
}
