package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// Header is the first line of a file: which release answers, and what it is started with.
type Header struct {
	Version string          `json:"version"`
	Patch   string          `json:"patch,omitempty"`
	Config  json.RawMessage `json:"config"`
	Gates   *string         `json:"gates,omitempty"`
}

// Object is one object of the cluster: its text, and what the oracle itself needs of it.
type Object struct {
	raw      json.RawMessage
	Kind     string
	Metadata struct {
		Name            string
		Namespace       string
		ResourceVersion string
	}
}

// Recorded is what a file already holds of a pod: which nodes were looked at, and of those that are equally good, which one was drawn.
type Recorded struct {
	Pod     string
	Group   string
	Node    string
	Sample  []string
	Refused map[string]any
}

// File is what the oracle reads of a file: the first two lines, and where pods went.
type File struct {
	header  Header
	objects []Object
	answers map[string]Recorded
	// Names of groups, in their order.
	groupNames []string
}

// readFile reads a file, or its first two lines where there are no answers yet.
func readFile(in io.Reader) (*File, error) {
	lines := bufio.NewReader(in)
	file := &File{answers: map[string]Recorded{}}
	if err := readLine(lines, &file.header); err != nil {
		return nil, fmt.Errorf("the first line: %w", err)
	}
	var second struct{ Objects []json.RawMessage }
	if err := readLine(lines, &second); err != nil {
		return nil, fmt.Errorf("the second line: %w", err)
	}
	for _, raw := range second.Objects {
		object := Object{raw: raw}
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, err
		}
		file.objects = append(file.objects, object)
	}
	for {
		var recorded Recorded
		if err := readLine(lines, &recorded); err == io.EOF {
			return file, nil
		} else if err != nil {
			return nil, err
		}
		if recorded.Group != "" {
			file.groupNames = append(file.groupNames, recorded.Group)
			continue
		}
		file.answers[recorded.Pod] = recorded
	}
}

func readLine(lines *bufio.Reader, into any) error {
	line, err := lines.ReadBytes('\n')
	if err != nil && len(line) == 0 {
		return err
	}
	return json.Unmarshal(line, into)
}

// write writes the lines that were read; the answers follow them.
func (file *File) write(out io.Writer) error {
	objects := []json.RawMessage{}
	for _, object := range file.objects {
		objects = append(objects, object.raw)
	}
	if err := writeLine(out, file.header); err != nil {
		return err
	}
	return writeLine(out, map[string]any{"objects": objects})
}

func writeLine(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// pending returns the pods that have no node, in the order of their resourceVersion.
func (file *File) pending() ([]*v1.Pod, error) {
	pods := []*v1.Pod{}
	for _, object := range file.objects {
		if object.Kind != "Pod" {
			continue
		}
		pod := &v1.Pod{}
		if err := json.Unmarshal(object.raw, pod); err != nil {
			return nil, fmt.Errorf("pod %s/%s: %w", object.Metadata.Namespace, object.Metadata.Name, err)
		}
		if pod.Spec.NodeName == "" {
			pods = append(pods, pod)
		}
	}
	sort.SliceStable(pods, func(i, j int) bool { return revision(pods[i].ResourceVersion) < revision(pods[j].ResourceVersion) })
	return pods, nil
}

func revision(text string) int {
	number, _ := strconv.Atoi(text)
	return number
}
