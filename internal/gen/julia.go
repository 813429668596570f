package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed julia.tmpl
var juliaTemplate string

// C types that are no pointers as Julia sees them.
var juliaTypes = map[string]string{
	"void":      "Cvoid",
	"char":      "UInt8",
	"int":       "Cint",
	"unsigned":  "Cuint",
	"int32_t":   "Int32",
	"int64_t":   "Int64",
	"uint32_t":  "UInt32",
	"uint64_t":  "UInt64",
	"size_t":    "Csize_t",
	"double":    "Cdouble",
	"uintptr_t": "UInt",
}

// juliaType says what ccall takes for a C type. Handles are opaque words, structs are passed by address, const strings are
// Julia's, and char * is a buffer that is written.
func juliaType(h *Header, c string) (string, error) {
	if c == "const char *" {
		return "Cstring", nil
	}
	for _, callback := range h.Callbacks {
		if c == callback.Name {
			return "Ptr{Cvoid}", nil
		}
	}
	base := strings.TrimSuffix(c, "*")
	if base == c {
		if t, ok := juliaTypes[c]; ok {
			return t, nil
		}
		return "", fmt.Errorf("no Julia type for the C type %q: add it to internal/gen/julia.go", c)
	}
	base = strings.TrimPrefix(strings.TrimSpace(base), "const ")
	for _, name := range h.Handles {
		if base == name {
			return "Ptr{Cvoid}", nil
		}
	}
	for _, s := range h.Structs {
		if base == s.Name {
			return "Ptr{" + class(s.Name) + "}", nil
		}
	}
	inner, err := juliaType(h, base)
	return "Ptr{" + inner + "}", err
}

func julia(h *Header) ([]byte, error) {
	functions := template.FuncMap{
		"class":  class,
		"short":  func(name string) string { return strings.TrimPrefix(name, prefix) },
		"upper":  strings.ToUpper,
		"type":   func(c string) (string, error) { return juliaType(h, c) },
		"result": isResult,
		"initial": func(s Struct, i int) (string, error) {
			items := h.Initialisers[s.Name]
			if len(items)+1 != len(s.Fields) {
				return "", fmt.Errorf("%s has %d fields, its initialiser %d items", s.Name, len(s.Fields), len(items)+1)
			}
			if items[i-1] == "NULL" {
				return "C_NULL", nil
			}
			return items[i-1], nil
		},
	}
	return render(juliaTemplate, functions, h)
}
