package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	pb "quicpeer/pluginv1"
)

// activeStreams are those that have been started and can be cancelled, by their ids.
type activeStreams struct {
	mu      sync.Mutex
	cancels map[string]context.CancelFunc
}

func newActiveStreams() *activeStreams {
	return &activeStreams{cancels: map[string]context.CancelFunc{}}
}

func (a *activeStreams) cancel(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.cancels[id]; cancel != nil {
		cancel()
	}
}

// run streams to its end. A cancel comes on a stream of its own or, if this side reads on, on the
// same one.
func (a *activeStreams) run(
	ctx context.Context, svc service, from *caller, request *pb.PluginRequest, readOn bool,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := request.GetStreamStart()
	a.mu.Lock()
	a.cancels[start.StreamId] = cancel
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.cancels, start.StreamId)
	}()
	done := make(chan struct{})
	if readOn {
		go func() {
			defer close(done)
			a.watch(from.stream)
		}()
	} else {
		close(done)
	}
	var sent int64
	end, err := svc.stream(ctx, from, start, func(data []byte) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		chunk := &pb.StreamChunk{
			StreamId: start.StreamId, Data: data, ContentType: "application/octet-stream", Sequence: sent,
		}
		sent++
		return from.stream.writeMessage(&pb.PluginResponse{
			RequestId: request.RequestId,
			Response:  &pb.PluginResponse_StreamChunk{StreamChunk: chunk},
		})
	})
	if err != nil {
		end = &pb.StreamEnd{ErrorCode: "handler_error", ErrorMessage: err.Error()}
	}
	if end == nil {
		return fmt.Errorf("stream %s was left without an end", start.StreamId)
	}
	end.StreamId, end.TotalChunks = start.StreamId, sent
	err = from.stream.writeMessage(&pb.PluginResponse{
		RequestId: request.RequestId,
		Response:  &pb.PluginResponse_StreamEnd{StreamEnd: end},
	})
	_ = from.stream.Close()
	_ = from.stream.SetReadDeadline(time.Now().Add(endWithin))
	<-done
	return err
}

func (a *activeStreams) watch(s *stream) {
	for {
		body, err := s.readFrame()
		if err != nil {
			return
		}
		request := &pb.PluginRequest{}
		if proto.Unmarshal(body, request) == nil && request.GetStreamCancel() != nil {
			a.cancel(request.GetStreamCancel().StreamId)
		}
	}
}
