// The oracle: feeds a cluster to the released scheduler it is built with, and writes what the scheduler says.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

var commands = map[string]func(*File, io.Writer) error{
	"releases": answerPods,
	"sampling": answerSamples,
	"groups":   answerGroups,
}

func main() {
	quiet()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// run answers the cluster on standard input with the command of that name; gates needs none.
func run(args []string) error {
	if len(args) == 1 && args[0] == "gates" {
		return writeGates(os.Stdout)
	}
	if len(args) != 1 || commands[args[0]] == nil {
		return fmt.Errorf("want the kind of file to make, got %q", args)
	}
	file, err := readFile(os.Stdin)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	if err := commands[args[0]](file, out); err != nil {
		return err
	}
	return out.Flush()
}

// quiet drops the scheduler's log: it is long, and nothing in it is an answer.
func quiet() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if os.Getenv("ORACLE_LOG") != "" {
		return
	}
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
}
