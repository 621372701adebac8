package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/quic-go/quic-go"
)

func runEchoServer(ctx context.Context, flags *flag.FlagSet, args []string) error {
	where := listening{flagOfAddr: "listen", certificateDefault: "orchestrator"}
	where.register(flags)
	if err := parse(flags, args, "certs-dir"); err != nil {
		return err
	}
	listener, err := where.listen()
	if err != nil {
		return err
	}
	srv := &server{handle: echo, originalDefect: where.originalDefect}
	report(fields{"event": "ready", "addr": listener.Addr().String()})
	err = srv.serve(untilInputEnds(ctx, where.untilEOF), listener)
	report(srv.totals())
	return err
}

func echo(_ context.Context, _ quic.Connection, s *stream) error {
	body, err := s.readFrame()
	if err != nil {
		return err
	}
	return s.writeFrame(body)
}

func runLoad(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var to dialer
	to.register(flags, "transport.stdio-client")
	var work workload
	work.register(flags)
	size := flags.Int("size", 1024, "bytes of each body")
	var how sending
	how.register(flags)
	if err := parse(flags, args, "addr", "certs-dir"); err != nil {
		return err
	}
	conns, err := to.dialAll(ctx, work.connections)
	if err != nil {
		return err
	}
	defer hangUpAll(conns)
	pattern := make([]byte, *size)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(pattern)
	result := work.run(ctx, func(ctx context.Context, call int) error {
		return echoCall(ctx, conns[call%len(conns)], numbered(pattern, call), how)
	})
	result["size"] = *size
	report(result)
	return failedCalls(result)
}

// numbered makes each body one of its kind, so that answers that are mixed up are seen.
func numbered(pattern []byte, call int) []byte {
	body := bytes.Clone(pattern)
	if len(body) >= 8 {
		binary.BigEndian.PutUint64(body, uint64(call))
	}
	return body
}

func echoCall(ctx context.Context, conn quic.Connection, body []byte, how sending) error {
	answer, err := exchange(ctx, conn, body, how)
	if err != nil {
		return err
	}
	if !bytes.Equal(answer, body) {
		return errors.New("the answer is not what was sent")
	}
	return nil
}

// exchange sends one frame on a stream of its own, and reads one and the end.
func exchange(ctx context.Context, conn quic.Connection, body []byte, how sending) ([]byte, error) {
	s, err := openStream(ctx, conn)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		s.CancelRead(1)
		s.CancelWrite(1)
	})
	defer stop()
	if err := s.request(body, how); err != nil {
		return nil, ended(ctx, fmt.Errorf("cannot send: %w", err))
	}
	answer, err := s.readFrame()
	if err != nil {
		return nil, ended(ctx, fmt.Errorf("no answer: %w", err))
	}
	_ = s.Close()
	if extra, err := s.readToEnd(); err != nil {
		return nil, ended(ctx, fmt.Errorf("no end after the answer: %w", err))
	} else if extra > 0 {
		return nil, fmt.Errorf("%d bytes after the answer", extra)
	}
	return answer, nil
}

// ended prefers the reason why a call was given up to what that did to its stream.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func openStream(ctx context.Context, conn quic.Connection) (*stream, error) {
	opened, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot open a stream: %w", err)
	}
	return &stream{Stream: opened}, nil
}

func (d *dialer) dialAll(ctx context.Context, count int) ([]quic.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conns := make([]quic.Connection, 0, count)
	for range count {
		conn, err := d.dial(ctx)
		if err != nil {
			hangUpAll(conns)
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func hangUpAll(conns []quic.Connection) {
	for _, conn := range conns {
		hangUp(conn)
	}
}
