package main

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

const (
	prefix = "reactant_mpi_"
	PREFIX = "REACTANT_MPI_"
)

// Header is the public header as far as bindings need it, in its own order.
type Header struct {
	Constants []Constant
	Handles   []string // opaque structs, by C name
	Callbacks []Function
	Structs   []Struct
	Functions []Function
	// Initialisers maps a struct's C name to the items of its REACTANT_MPI_..._INIT macro.
	Initialisers map[string][]string
}

type Constant struct {
	Name  string // without prefix
	Text  string // as in the header where that is a plain number, else the value
	Value int64
}

type Struct struct {
	Name   string
	Fields []Variable
}

type Function struct {
	Name   string // with prefix
	Result string
	Args   []Variable
}

// Variable is a field or an argument. Type is the C type in one spelling: "const char *", "reactant_mpi_comm **".
type Variable struct {
	Type, Name string
}

var (
	comments     = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	continuation = regexp.MustCompile(`\\\n`)
	spaces       = regexp.MustCompile(`\s+`)
	define       = regexp.MustCompile(`^#define (\w+)(\(?)\s*(.*)$`)
	cast         = regexp.MustCompile(`\((?:void \*|u?int\w*_t|int)\)`)
	initialiser  = regexp.MustCompile(`^\{ ?sizeof\((\w+)\), (.*?) ?\}$`)

	opaque   = regexp.MustCompile(`^typedef struct (\w+) (\w+)$`)
	foreign  = regexp.MustCompile(`^struct \w+$`)
	callback = regexp.MustCompile(`^typedef (.+?) ?\(\*(\w+)\) ?\((.*)\)$`)
	record   = regexp.MustCompile(`^typedef struct (\w+) \{(.*)\} (\w+)$`)
	function = regexp.MustCompile(`^([\w *]+?)(\w+) ?\(([^()]*)\)$`)
	variable = regexp.MustCompile(`^((?:const )?(?:struct )?\w+ \**)(\w+)$`)
)

func parse(text string) (*Header, error) {
	h := &Header{Initialisers: map[string][]string{}}
	numbers := types.NewPackage("header", "header")
	// A comment becomes its own line breaks, so that line numbers in messages stay right.
	text = comments.ReplaceAllStringFunc(text, func(c string) string { return " " + strings.Repeat("\n", strings.Count(c, "\n")) })
	text = continuation.ReplaceAllString(text, " ")

	depth, start, declaration := 0, 0, ""
	inC := true // false between #ifdef __cplusplus and #endif
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(spaces.ReplaceAllString(line, " "))
		switch {
		case line == "#ifdef __cplusplus":
			inC = false
		case strings.HasPrefix(line, "#endif"):
			inC = true
		case !inC || line == "":
		case strings.HasPrefix(line, "#define"):
			if err := h.define(line, numbers); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		case strings.HasPrefix(line, "#"):
		default:
			for _, r := range line + " " {
				if declaration == "" {
					start = i + 1
				}
				switch r {
				case '{':
					depth++
				case '}':
					depth--
				}
				if r != ';' || depth > 0 {
					if declaration != "" || r != ' ' {
						declaration += string(r)
					}
					continue
				}
				if err := h.declare(strings.TrimSpace(spaces.ReplaceAllString(declaration, " "))); err != nil {
					return nil, fmt.Errorf("line %d: %w", start, err)
				}
				declaration = ""
			}
		}
	}
	if declaration != "" {
		return nil, fmt.Errorf("line %d: unfinished declaration: %s", start, declaration)
	}
	return h, nil
}

func (h *Header) define(line string, numbers *types.Package) error {
	m := define.FindStringSubmatch(line)
	if m == nil || !strings.HasPrefix(m[1], PREFIX) {
		return fmt.Errorf("a macro outside %s: %s", PREFIX, line)
	}
	name, open, value := strings.TrimPrefix(m[1], PREFIX), m[2], m[3]
	if open != "" {
		return fmt.Errorf("a macro with arguments: %s", line)
	}
	if value == "" { // the include guard
		return nil
	}
	if m := initialiser.FindStringSubmatch(value); m != nil {
		h.Initialisers[m[1]] = strings.Split(m[2], ", ")
		return nil
	}
	// What is left of a C constant expression after its casts reads the same in Go.
	expression := strings.ReplaceAll(cast.ReplaceAllString(value, ""), PREFIX, "")
	result, err := types.Eval(token.NewFileSet(), numbers, token.NoPos, expression)
	if err != nil || result.Value == nil || result.Value.Kind() != constant.Int {
		return fmt.Errorf("not an integer constant: %s", line)
	}
	number, exact := constant.Int64Val(result.Value)
	if !exact {
		return fmt.Errorf("a constant beyond 64 bits: %s", line)
	}
	written := strings.Trim(value, "()")
	if _, err := strconv.ParseInt(written, 0, 64); err != nil {
		written = result.Value.ExactString()
	}
	if numbers.Scope().Insert(types.NewConst(token.NoPos, numbers, name, types.Typ[types.UntypedInt], result.Value)) != nil {
		return fmt.Errorf("defined twice: %s", line)
	}
	h.Constants = append(h.Constants, Constant{Name: name, Text: written, Value: number})
	return nil
}

func (h *Header) declare(text string) error {
	if m := opaque.FindStringSubmatch(text); m != nil && m[1] == m[2] {
		h.Handles = append(h.Handles, m[1])
		return nil
	}
	if foreign.MatchString(text) { // somebody else's struct
		h.Handles = append(h.Handles, text)
		return nil
	}
	if m := callback.FindStringSubmatch(text); m != nil {
		args, err := variables(m[3], ",")
		h.Callbacks = append(h.Callbacks, Function{Name: m[2], Result: m[1], Args: args})
		return err
	}
	if m := record.FindStringSubmatch(text); m != nil && m[1] == m[3] {
		fields, err := variables(strings.TrimSuffix(strings.TrimSpace(m[2]), ";"), ";")
		h.Structs = append(h.Structs, Struct{Name: m[1], Fields: fields})
		return err
	}
	if m := function.FindStringSubmatch(text); m != nil && strings.HasPrefix(m[2], prefix) {
		args, err := variables(m[3], ",")
		h.Functions = append(h.Functions, Function{Name: m[2], Result: strings.TrimSpace(m[1]), Args: args})
		return err
	}
	return fmt.Errorf("neither a prototype of %s..., a struct nor a callback: %s", prefix, text)
}

func variables(text, separator string) ([]Variable, error) {
	text = strings.TrimSpace(text)
	if text == "void" {
		return nil, nil
	}
	var all []Variable
	for item := range strings.SplitSeq(text, separator) {
		m := variable.FindStringSubmatch(strings.TrimSpace(item))
		if m == nil {
			return nil, fmt.Errorf("not a type and a name: %q in %s", strings.TrimSpace(item), text)
		}
		all = append(all, Variable{Type: strings.TrimSpace(m[1]), Name: m[2]})
	}
	return all, nil
}
