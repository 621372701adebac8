package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	headerBytes = 4
	maxFrame    = 16 << 20
)

// A sending is how a request goes out.
type sending string

const (
	// The frame and the end of this side at once, as far as quic-go lets that be said.
	sendWhole sending = "whole"
	// The header, the body and the end apart, each in a packet of its own.
	sendSplit sending = "split"
	// The end only after the answer.
	sendLateEnd sending = "late-end"

	splitPause = time.Millisecond
)

func (how *sending) String() string { return string(*how) }

func (how *sending) Set(text string) error {
	*how = sending(text)
	if *how != sendWhole && *how != sendSplit && *how != sendLateEnd {
		return errors.New("whole, split or late-end")
	}
	return nil
}

func (how *sending) register(flags *flag.FlagSet) {
	*how = sendWhole
	flags.Var(how, "sending", "whole, split (header, body and end apart) or late-end (after the answer)")
}

// A stream is a QUIC stream that remembers whether its end has been read.
type stream struct {
	quic.Stream
	ended bool
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	if errors.Is(err, io.EOF) {
		s.ended = true
	}
	return n, err
}

// readFrame gives io.EOF only where the stream ended between frames.
func (s *stream) readFrame() ([]byte, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(s, header[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes: at most %d", size, maxFrame)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(s, body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("frame of %d bytes: %w", size, err)
	}
	return body, nil
}

// readToEnd takes what is left, so that the credit for this stream goes back to the other side.
func (s *stream) readToEnd() (int64, error) {
	return io.Copy(io.Discard, s)
}

func (s *stream) writeFrame(body []byte) error {
	_, err := s.Write(frame(body))
	return err
}

// request sends a frame and, unless that is for later, the end of this side.
func (s *stream) request(body []byte, how sending) error {
	parts := [][]byte{frame(body)}
	if how == sendSplit {
		parts = [][]byte{parts[0][:headerBytes], body}
	}
	for _, part := range parts {
		if _, err := s.Write(part); err != nil {
			return err
		}
		if how == sendSplit {
			time.Sleep(splitPause)
		}
	}
	if how == sendLateEnd {
		return nil
	}
	return s.Close()
}

func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
