// Command gen writes everything that repeats the names and values of include/reactant_mpi.h: the list of exported symbols, the
// linker's version script, and the tables of the bindings. It understands just the C that the header is written in, and refuses
// the rest: a prototype that a binding cannot carry is an error here and not a crash there.
//
//	gen          write the files
//	gen -check   write nothing; exit 1 and name the files that differ
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// Another binding is one more line here and one more file beside python.go.
var outputs = []struct {
	path   string
	render func(*Header) ([]byte, error)
}{
	{"capi/symbols.txt", symbols},
	{"capi/exports.map", exports},
	{"bindings/python/reactant_mpi/_abi.py", python},
	{"bindings/julia/src/abi.jl", julia},
}

func main() {
	check := flag.Bool("check", false, "compare instead of write")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	const name = "include/reactant_mpi.h"
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err
	}
	header, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	stale := false
	for _, output := range outputs {
		want, err := output.render(header)
		if err != nil {
			return fmt.Errorf("%s: %w", output.path, err)
		}
		path := filepath.Join(root, output.path)
		have, _ := os.ReadFile(path)
		switch {
		case bytes.Equal(have, want): // untouched, so that make sees no change
		case check:
			stale = true
			fmt.Fprintf(os.Stderr, "gen: %s does not match %s\n", output.path, name)
		default:
			if err := os.WriteFile(path, want, 0o644); err != nil {
				return err
			}
		}
	}
	if stale {
		return fmt.Errorf("run make generate")
	}
	return nil
}

// findRoot lets go generate run this from any package.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "include/reactant_mpi.h")); err == nil {
			return dir, nil
		}
		if up := filepath.Dir(dir); up != dir {
			dir = up
			continue
		}
		return "", fmt.Errorf("no include/reactant_mpi.h here or above")
	}
}

// render fills a table's template with what the header has.
func render(text string, functions template.FuncMap, h *Header) ([]byte, error) {
	t, err := template.New("table").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, h); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
