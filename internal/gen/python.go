package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed python.tmpl
var pythonTemplate string

// C types as ctypes sees them. Handles, structs and callbacks of the header are added by pythonTypes.
var ctypes = map[string]string{
	"void":            "None",
	"int":             "c_int",
	"int32_t":         "c_int32",
	"int64_t":         "c_int64",
	"uint32_t":        "c_uint32",
	"uint64_t":        "c_uint64",
	"size_t":          "c_size_t",
	"double":          "c_double",
	"uintptr_t":       "c_size_t",
	"void *":          "c_void_p",
	"const void *":    "c_void_p",
	"char *":          "c_char_p",
	"const char *":    "c_char_p",
	"const size_t *":  "POINTER(c_size_t)",
	"int *":           "POINTER(c_int)",
	"const int *":     "POINTER(c_int)",
	"const int64_t *": "POINTER(c_int64)",
	"int32_t *":       "POINTER(c_int32)",
	"uintptr_t *":     "POINTER(c_size_t)",
	"void **":         "POINTER(c_void_p)",
	"unsigned":        "c_uint",
}

func pythonTypes(h *Header) map[string]string {
	all := map[string]string{}
	for c, p := range ctypes {
		all[c] = p
	}
	for _, name := range h.Handles {
		all[name+" *"], all["const "+name+" *"], all[name+" **"] = "c_void_p", "c_void_p", "POINTER(c_void_p)"
	}
	for _, s := range h.Structs {
		all[s.Name+" *"], all["const "+s.Name+" *"] = "POINTER("+class(s.Name)+")", "POINTER("+class(s.Name)+")"
	}
	for _, c := range h.Callbacks {
		all[c.Name] = strings.ToUpper(strings.TrimPrefix(c.Name, prefix))
	}
	return all
}

// class is the name of a struct in the bindings.
func class(name string) string {
	name = strings.TrimPrefix(name, prefix)
	return strings.ToUpper(name[:1]) + name[1:]
}

func isResult(c Constant) bool { return c.Name == "SUCCESS" || strings.HasPrefix(c.Name, "ERR_") }

func python(h *Header) ([]byte, error) {
	known := pythonTypes(h)
	functions := template.FuncMap{
		"class": class,
		"short": func(name string) string { return strings.TrimPrefix(name, prefix) },
		"upper": strings.ToUpper,
		"type": func(c string) (string, error) {
			if p, ok := known[c]; ok {
				return p, nil
			}
			return "", fmt.Errorf("no ctypes for the C type %q: add it to internal/gen/python.go", c)
		},
		"initial": func(s Struct, i int) (string, error) {
			items := h.Initialisers[s.Name]
			if len(items)+1 != len(s.Fields) {
				return "", fmt.Errorf("%s has %d fields, its initialiser %d items", s.Name, len(s.Fields), len(items)+1)
			}
			if items[i-1] != "NULL" {
				return items[i-1], nil
			}
			for _, c := range h.Callbacks { // ctypes refuses None where a function is declared
				if c.Name == s.Fields[i].Type {
					return known[c.Name] + "()", nil
				}
			}
			return "None", nil
		},
		"result": isResult,
	}
	return render(pythonTemplate, functions, h)
}
