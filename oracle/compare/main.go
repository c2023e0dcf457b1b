// compare holds two expectation files against each other: value for value, whatever the order of keys.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"sort"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "compare: want two files")
		os.Exit(2)
	}
	differences, err := run(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if differences > 0 {
		os.Exit(1)
	}
}

// run writes what differs, and returns how many values do.
func run(first, second string) (int, error) {
	left, err := read(first)
	if err != nil {
		return 0, err
	}
	right, err := read(second)
	if err != nil {
		return 0, err
	}
	comparison := &comparison{out: os.Stdout}
	for _, place := range keys(byTitle(left), byTitle(right)) {
		comparison.values(place, byTitle(left)[place], byTitle(right)[place])
	}
	fmt.Printf("%d values compared, %d differ\n", comparison.compared, comparison.different)
	return comparison.different, nil
}

// read returns the lines of a file, which may be compressed; a line that is not JSON is a string.
func read(path string) ([]any, error) {
	text, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".zst") {
		text, err = exec.Command("zstdcat", path).Output()
	}
	if err != nil {
		return nil, err
	}
	lines := []any{}
	for in := bufio.NewReader(strings.NewReader(string(text))); ; {
		line, err := in.ReadString('\n')
		if line != "" {
			var value any = line
			_ = json.Unmarshal([]byte(line), &value)
			lines = append(lines, value)
		}
		if err == io.EOF {
			return lines, nil
		}
	}
}

// byTitle returns the lines by the pod or group they are about, else by their number.
func byTitle(lines []any) map[string]any {
	titled := map[string]any{}
	for number, line := range lines {
		title := fmt.Sprintf("line %d", number+1)
		if fields, ok := line.(map[string]any); ok {
			for _, key := range []string{"pod", "group"} {
				if name, ok := fields[key].(string); ok {
					title = name
				}
			}
		}
		titled[title] = line
	}
	return titled
}

type comparison struct {
	out                 io.Writer
	compared, different int
}

// values compares what stands at one place of both files.
func (c *comparison) values(place string, left, right any) {
	if strings.HasSuffix(place, ".objects") {
		c.whole(place, left, right)
		return
	}
	leftFields, leftIs := left.(map[string]any)
	rightFields, rightIs := right.(map[string]any)
	if leftIs && rightIs {
		for _, key := range keys(leftFields, rightFields) {
			c.values(place+"."+key, leftFields[key], rightFields[key])
		}
		return
	}
	leftItems, leftIs := left.([]any)
	rightItems, rightIs := right.([]any)
	if leftIs && rightIs && len(leftItems) == len(rightItems) {
		for i := range leftItems {
			c.values(fmt.Sprintf("%s[%d]", place, i), leftItems[i], rightItems[i])
		}
		return
	}
	c.whole(place, left, right)
}

// whole compares two values as one.
func (c *comparison) whole(place string, left, right any) {
	c.compared++
	if found := reasons(place, left); found != nil && reflect.DeepEqual(found, reasons(place, right)) {
		return
	}
	if !reflect.DeepEqual(left, right) {
		c.different++
		fmt.Fprintf(c.out, "%s\n  - %s\n  + %s\n", place, spell(left), spell(right))
	}
}

// reasons returns a plugin's reasons for a node, sorted: reasons about extended resources come in the order of Go's maps.
func reasons(place string, value any) []string {
	text, is := value.(string)
	if !is || !strings.Contains(place, ".filters.") && !strings.Contains(place, ".first.") && !strings.Contains(place, ".refused.") {
		return nil
	}
	split := strings.Split(text, ", ")
	sort.Strings(split)
	return split
}

func keys(tables ...map[string]any) []string {
	seen := map[string]bool{}
	for _, table := range tables {
		for key := range table {
			seen[key] = true
		}
	}
	sorted := []string{}
	for key := range seen {
		sorted = append(sorted, key)
	}
	sort.Strings(sorted)
	return sorted
}

func spell(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
