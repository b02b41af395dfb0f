// A histogram of one column of a data set, through the C interface:
//
//	go run . FILE COLUMN BINS LOW HIGH
package main

/*
#cgo LDFLAGS: -lcolonnade
#include <colonnade.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"
)

// check makes an error of a status.
func check(status C.colonnade_status) error {
	if status == C.COLONNADE_OK {
		return nil
	}
	return errors.New(C.GoString(C.colonnade_last_error().message))
}

func histogram(file, column string, bins int, low, high float64) ([]float64, uint64, error) {
	uri, name := C.CString(file), C.CString(column)
	defer C.free(unsafe.Pointer(uri))
	defer C.free(unsafe.Pointer(name))

	var frame *C.colonnade_frame
	if err := check(C.colonnade_frame_open(nil, &uri, 1, nil, &frame)); err != nil {
		return nil, 0, err
	}
	defer C.colonnade_frame_release(frame)

	axis := C.colonnade_axis{bins: C.uint32_t(bins), low: C.double(low), high: C.double(high)}
	var result *C.colonnade_result
	if err := check(C.colonnade_frame_histogram(frame, &axis, &name, 1, nil, &result)); err != nil {
		return nil, 0, err
	}
	defer C.colonnade_result_release(result)

	var found C.colonnade_histogram
	if err := check(C.colonnade_result_histogram(result, &found)); err != nil {
		return nil, 0, err
	}
	cells := unsafe.Slice((*float64)(unsafe.Pointer(found.values)), int(found.num_cells))
	return append([]float64(nil), cells...), uint64(found.entries), nil
}

func run(arguments []string) error {
	if len(arguments) != 5 {
		return errors.New("usage: FILE COLUMN BINS LOW HIGH")
	}
	bins, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	low, err := strconv.ParseFloat(arguments[3], 64)
	if err != nil {
		return err
	}
	high, err := strconv.ParseFloat(arguments[4], 64)
	if err != nil {
		return err
	}
	cells, entries, err := histogram(arguments[0], arguments[1], bins, low, high)
	if err != nil {
		return err
	}
	fmt.Println(entries, cells)
	return nil
}

func main() {
	// Errors are kept per thread, and Go moves its routines between threads unless it is told not to.
	runtime.LockOSThread()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
