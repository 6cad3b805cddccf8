package windlass

/*
#include "handles.h"
*/
import "C"

import (
	"errors"
	"io"
	"math"
	"runtime/cgo"
	"time"
	"unsafe"
)

// Restored is what a restored structure goes on from.
type Restored struct {
	// The tick of now: that of the snapshot, and the time that has passed since by the system's clock. (Where ticks are numbers of events: the
	// snapshot's.) Ticks count from the same origin as before; those of Now begin anew with each process: add what is missing.
	Resumed Ticks
	// The time since the snapshot; 0 if the system's clock went back.
	Elapsed time.Duration
	// Entries that were restored: all that the snapshot has.
	Entries uint64
}

// nanoseconds are those since 1970, as far as there are such.
func nanoseconds(wall time.Time) C.uint64_t {
	seconds := wall.Unix()
	if seconds < 0 {
		return 0
	}
	if uint64(seconds) >= math.MaxUint64/1_000_000_000 {
		return math.MaxUint64
	}
	return C.uint64_t(uint64(seconds)*1e9 + uint64(wall.Nanosecond()))
}

// A stream is what C writes to or reads from while a call lasts. The calls back come one after the other.
type stream struct {
	w   io.Writer
	r   io.Reader
	err error
	// What it has panicked with. That is not to go through the library, which would not clean up: so it comes again when that has returned.
	panicked any
}

// call calls C, which finds the stream by the handle.
func (s *stream) call(with func(C.uintptr_t)) {
	handle := cgo.NewHandle(s)
	defer handle.Delete()
	with(C.uintptr_t(handle))
	if s.panicked != nil {
		panic(s.panicked)
	}
}

func (s *stream) write(bytes []byte) (fine bool) {
	defer func() {
		if !fine && s.err == nil {
			s.panicked = recover()
		}
	}()
	n, err := s.w.Write(bytes)
	if err == nil && n < len(bytes) {
		err = io.ErrShortWrite
	}
	s.err = err
	return err == nil
}

var errCount = errors.New("windlass: the reader returned more than there is room for")

// read is -1 if it has failed, and 0 at the end.
func (s *stream) read(room []byte) (n int) {
	n = -1
	defer func() {
		if n < 0 && s.err == nil {
			s.panicked = recover()
		}
	}()
	// What came with bytes comes after them.
	for tries := 0; s.err == nil; tries++ {
		got, err := s.r.Read(room)
		if got < 0 || got > len(room) {
			err = errCount
			got = 0
		}
		if err == nil && got == 0 && tries == 100 {
			err = io.ErrNoProgress
		}
		s.err = err
		if got > 0 {
			return got
		}
	}
	if s.err == io.EOF {
		return 0
	}
	return -1
}

//export windlassGoWrite
func windlassGoWrite(handle C.uintptr_t, bytes *C.uint8_t, len C.size_t) C.int32_t {
	if !cgo.Handle(handle).Value().(*stream).write(unsafe.Slice((*byte)(bytes), int(len))) {
		return 1
	}
	return 0
}

//export windlassGoRead
func windlassGoRead(handle C.uintptr_t, bytes *C.uint8_t, capacity C.size_t) C.int64_t {
	return C.int64_t(cgo.Handle(handle).Value().(*stream).read(unsafe.Slice((*byte)(bytes), int(capacity))))
}

// written calls what writes a snapshot. What the writer says goes before what is said of it.
func written(w io.Writer, snapshot func(C.uintptr_t, *C.windlass_error) C.windlass_status) error {
	s := stream{w: w}
	e := newError()
	var code C.windlass_status
	s.call(func(handle C.uintptr_t) { code = snapshot(handle, &e) })
	if code == 0 {
		return nil
	}
	if s.err != nil {
		return s.err
	}
	return failure(code, &e)
}

// read calls what restores a structure.
func read(r io.Reader, restore func(C.uintptr_t, *C.windlass_restored, *C.windlass_error) C.windlass_status) (Restored, error) {
	s := stream{r: r}
	e := newError()
	var c C.windlass_restored
	c.struct_size = C.uint32_t(unsafe.Sizeof(c))
	var code C.windlass_status
	s.call(func(handle C.uintptr_t) { code = restore(handle, &c, &e) })
	if code == 0 {
		return Restored{Ticks(c.resumed), duration(c.elapsed_ns), uint64(c.entries)}, nil
	}
	if s.err != nil && s.err != io.EOF {
		return Restored{}, s.err
	}
	return Restored{}, failure(code, &e)
}
