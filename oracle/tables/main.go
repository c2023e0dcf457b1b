// tables prints objects with the released printers it is built with, kind by kind: testdata/tables.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cliprinters "k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"
	"k8s.io/kubernetes/pkg/printers/internalversion"
)

func main() {
	wide := len(os.Args) > 1 && os.Args[1] == "--wide"
	if err := run(wide, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// section is the table of one kind.
type section struct {
	heading string
	table   *metav1.Table
}

// run prints a section for each kind, in the order of their first objects.
func run(wide bool, in io.Reader, out io.Writer) error {
	generator := printers.NewTableGenerator().With(internalversion.AddHandlers)
	sections := []*section{}
	byHeading := map[string]*section{}
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		heading, table, err := tableOf(generator, line)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, line)
		}
		if own := byHeading[heading]; own != nil {
			own.table.Rows = append(own.table.Rows, table.Rows...)
			continue
		}
		byHeading[heading] = &section{heading, table}
		sections = append(sections, byHeading[heading])
	}
	for _, section := range sections {
		fmt.Fprintf(out, "# %s\n", section.heading)
		if err := cliprinters.NewTablePrinter(cliprinters.PrintOptions{Wide: wide}).PrintObj(section.table, out); err != nil {
			return err
		}
	}
	return nil
}

// tableOf returns the table of one object as an API server sends it, wide or not, and its kind as headings spell it.
func tableOf(generator *printers.HumanReadableGenerator, text []byte) (string, *metav1.Table, error) {
	var meta metav1.TypeMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		return "", nil, err
	}
	object, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return "", nil, err
	}
	table, err := generator.GenerateTable(object, printers.GenerateOptions{Wide: true})
	kind := schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind).GroupKind()
	return kind.String(), table, err
}
