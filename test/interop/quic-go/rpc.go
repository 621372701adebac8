package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/quic-go/quic-go"
	"google.golang.org/protobuf/proto"

	pb "quicpeer/pluginv1"
)

// call sends one request and reads its answer.
func call(
	ctx context.Context, conn quic.Connection, request *pb.PluginRequest,
) (*pb.PluginResponse, error) {
	return send(ctx, conn, request, sendWhole)
}

func send(
	ctx context.Context, conn quic.Connection, request *pb.PluginRequest, how sending,
) (*pb.PluginResponse, error) {
	if request.RequestId == "" {
		request.RequestId = rand.Text()
	}
	body, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	answer, err := exchange(ctx, conn, body, how)
	if err != nil {
		return nil, err
	}
	return readResponse(answer, request.RequestId)
}

func readResponse(body []byte, requestID string) (*pb.PluginResponse, error) {
	response := &pb.PluginResponse{}
	if err := proto.Unmarshal(body, response); err != nil {
		return nil, err
	}
	if response.RequestId != requestID {
		return nil, fmt.Errorf("the answer is to %q, not to %q", response.RequestId, requestID)
	}
	return response, nil
}

// callStream starts a stream and gives what comes to each, the end included. As the original's, this
// side stays open until then, and a cancel is a second frame on it; each returns false to cancel.
func callStream(
	ctx context.Context, conn quic.Connection, start *pb.PluginRequest, each func(*pb.PluginResponse) bool,
) error {
	body, err := proto.Marshal(start)
	if err != nil {
		return err
	}
	s, err := openStream(ctx, conn)
	if err != nil {
		return err
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { s.CancelRead(1) })
	defer stop()
	if err := s.writeFrame(body); err != nil {
		return ended(ctx, fmt.Errorf("cannot send: %w", err))
	}
	cancelled := false
	for {
		frame, err := s.readFrame()
		if err != nil {
			return ended(ctx, fmt.Errorf("no end of the stream: %w", err))
		}
		response, err := readResponse(frame, start.RequestId)
		if err != nil {
			return err
		}
		goOn := each(response)
		if response.GetStreamChunk() == nil {
			return nil
		}
		if !goOn && !cancelled {
			cancelled = true
			if err := s.writeMessage(cancelOf(start)); err != nil {
				return err
			}
		}
	}
}

func cancelOf(start *pb.PluginRequest) *pb.PluginRequest {
	cancel := &pb.StreamCancel{StreamId: start.GetStreamStart().GetStreamId()}
	return &pb.PluginRequest{
		RequestId: start.RequestId,
		Request:   &pb.PluginRequest_StreamCancel{StreamCancel: cancel},
	}
}

func (s *stream) writeMessage(message proto.Message) error {
	body, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	return s.writeFrame(body)
}

// A service answers requests.
type service interface {
	// answer gives nil when it has dealt with the stream itself.
	answer(ctx context.Context, from *caller, request *pb.PluginRequest) (*pb.PluginResponse, error)
	// stream sends chunks and returns what ends them.
	stream(ctx context.Context, from *caller, start *pb.StreamStart, send sendChunk) (*pb.StreamEnd, error)
}

type sendChunk func(data []byte) error

// A caller is who sent a request, and where the answer goes.
type caller struct {
	conn   quic.Connection
	stream *stream
}

// serveRequests makes a service the handler of a server's streams.
func serveRequests(srv *server, svc service) {
	active := newActiveStreams()
	srv.handle = func(ctx context.Context, conn quic.Connection, s *stream) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(conn.Context(), cancel)()
		body, err := s.readFrame()
		if err != nil {
			return err
		}
		request := &pb.PluginRequest{}
		if err := proto.Unmarshal(body, request); err != nil {
			return err
		}
		from := &caller{conn: conn, stream: s}
		if request.GetStreamStart() != nil && !srv.noStreams {
			return active.run(ctx, svc, from, request, !srv.originalDefect)
		}
		if other := request.GetStreamCancel(); other != nil {
			active.cancel(other.StreamId)
			return nil
		}
		response, err := svc.answer(ctx, from, request)
		if err != nil || response == nil {
			return err
		}
		response.RequestId = request.RequestId
		return s.writeMessage(response)
	}
}

const callTimeout = 30 * time.Second

func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callTimeout)
}
