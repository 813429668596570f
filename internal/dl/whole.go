package dl

import (
	"debug/elf"
	"fmt"
	"os"
)

// whole refuses a file that is shorter than its ELF headers say: dlopen would map what is not there, and the first touch of it ends the
// process with SIGBUS. A bare name is for the loader to find, and an unreadable file for it to explain.
func whole(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is not a whole shared library: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Off+p.Filesz > uint64(info.Size()) {
			return fmt.Errorf("%s is cut off: %d bytes, and its headers speak of %d", path, info.Size(), p.Off+p.Filesz)
		}
	}
	return nil
}

// Defines reads the dynamic symbols of the file; what is no ELF file defines nothing.
func (Host) Defines(path, symbol string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return false
	}
	for _, s := range symbols {
		if s.Name == symbol && s.Section != elf.SHN_UNDEF {
			return true
		}
	}
	return false
}
