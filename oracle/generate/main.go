// generate writes a random cluster, the same for the same seed: the first two lines of an expectation file.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(2)
	}
}

// size says how large a cluster of a kind of file is.
type size struct{ nodes, moreNodes, running, pending int }

var sizes = map[string]size{
	"releases": {nodes: 5, moreNodes: 6, running: 50, pending: 30},
	"sampling": {nodes: 110, moreNodes: 40, running: 130, pending: 12},
	"groups":   {nodes: 5, moreNodes: 6, running: 30, pending: 30},
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want the kind of file, the release and the seed")
	}
	seed, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	size, known := sizes[args[0]]
	if !known {
		return fmt.Errorf("no cluster is made for %q", args[0])
	}
	cluster := newCluster(seed)
	header := object{"version": args[1], "config": nil}
	if args[0] == "groups" {
		header["gates"] = "GenericWorkload=true"
		if strings.HasPrefix(args[1], "1.36") {
			header["gates"] = "GenericWorkload=true,GangScheduling=true"
		}
	}
	cluster.fill(size, args[0] == "groups")
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(header); err != nil {
		return err
	}
	return out.Encode(object{"objects": cluster.objects})
}
