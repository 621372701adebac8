package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// How long a client may take to end its side after it has been answered.
const endWithin = 30 * time.Second

// A server accepts connections, and gives each of their streams to a handler.
type server struct {
	handle         func(ctx context.Context, conn quic.Connection, s *stream) error
	originalDefect bool
	// quiet leaves out the lines about connections.
	quiet bool
	// noStreams takes a request to start a stream for one that nobody knows.
	noStreams bool

	connections, streams, finWithBody, finLater, unfinished, failed atomic.Int64
}

// serve returns when the context ends, after all of its connections have.
func (srv *server) serve(ctx context.Context, listener *quic.Listener) error {
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		conn, err := listener.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("cannot accept connections: %w", err)
		}
		running.Add(1)
		go func() {
			defer running.Done()
			srv.serveConnection(ctx, conn)
		}()
	}
}

func (srv *server) serveConnection(ctx context.Context, conn quic.Connection) {
	number := srv.connections.Add(1)
	if !srv.quiet {
		report(fields{"event": "connection", "number": number, "peer": peerName(conn)})
	}
	// Streams that wait for their client end with it.
	stop := context.AfterFunc(ctx, func() { _ = conn.CloseWithError(0, "") })
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		accepted, err := conn.AcceptStream(ctx)
		if err != nil {
			if !srv.quiet && ctx.Err() == nil {
				line := describe(err)
				line["event"], line["number"] = "connection-end", number
				report(line)
			}
			return
		}
		running.Add(1)
		go func() {
			defer running.Done()
			srv.serveStream(ctx, conn, &stream{Stream: accepted})
		}()
	}
}

func (srv *server) serveStream(ctx context.Context, conn quic.Connection, s *stream) {
	srv.streams.Add(1)
	if err := srv.handle(ctx, conn, s); err != nil {
		srv.failed.Add(1)
		if !srv.quiet && conn.Context().Err() == nil {
			fmt.Fprintf(os.Stderr, "stream %d: %v\n", s.StreamID(), err)
		}
		s.CancelWrite(1)
	} else {
		_ = s.Close()
	}
	srv.end(s)
}

// end counts how the client ended its side. Only reading to the end gives it the credit back.
func (srv *server) end(s *stream) {
	if s.ended {
		srv.finWithBody.Add(1)
		return
	}
	if srv.originalDefect {
		srv.unfinished.Add(1)
		return
	}
	_ = s.SetReadDeadline(time.Now().Add(endWithin))
	if _, err := s.readToEnd(); err != nil {
		s.CancelRead(1)
		srv.unfinished.Add(1)
		return
	}
	srv.finLater.Add(1)
}

func (srv *server) totals() fields {
	return fields{
		"event": "end", "connections": srv.connections.Load(), "streams": srv.streams.Load(),
		"finWithBody": srv.finWithBody.Load(), "finLater": srv.finLater.Load(),
		"unfinished": srv.unfinished.Load(), "failed": srv.failed.Load(),
	}
}
