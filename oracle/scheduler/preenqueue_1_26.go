//go:build since_1_26

package main

// preEnqueue returns what keeps the pod out of the queue, or nothing.
func (q *question) preEnqueue() []string {
	for _, plugin := range q.profile.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(q.ctx, q.pod); !status.IsSuccess() {
			return []string{plugin.Name(), status.Code().String(), status.Message()}
		}
	}
	return nil
}
