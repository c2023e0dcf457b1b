// configurations gives KubeSchedulerConfigurations to the released code it is built with, and writes what that makes of each.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/klog/v2"
)

// Line is one line of testdata/configurations.
type Line struct {
	Version  string             `json:"version"`
	Config   json.RawMessage    `json:"config"`
	Profiles map[string]Profile `json:"profiles,omitempty"`
	Refused  []string           `json:"refused,omitempty"`
}

func main() {
	quiet()
	if err := run(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// run answers the lines of one release and leaves the others out.
func run(release string, in io.Reader, out io.Writer) error {
	lines, encoder := bufio.NewReader(in), json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		text, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var line Line
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&line); err != nil {
			return err
		}
		if line.Version != release {
			continue
		}
		line.Profiles, line.Refused = nil, nil
		if err := answer(&line); err != nil {
			return err
		}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
}

// quiet drops what the scheduler logs.
func quiet() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
}
