package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	pb "quicpeer/pluginv1"
)

const tooBig = 17 << 20

// floodTool sends more than anybody asked for.
func floodTool(ctx context.Context, c toolCall) (*pb.ToolResponse, error) {
	switch kind := c.text("kind", "frames"); kind {
	case "frames":
		text := structOf(map[string]any{"text": strings.Repeat("x", 64<<10)})
		response := toolAnswer(&pb.ToolResponse{Success: true, Result: text})
		response.RequestId = c.requestID
		for ctx.Err() == nil {
			if err := c.from.stream.writeMessage(response); err != nil {
				return nil, errAnswered
			}
		}
		return nil, ctx.Err()
	case "stderr":
		line := strings.Repeat("x", 1023) + "\n"
		for written := 0; written < c.number("bytes", 16<<20); written += len(line) {
			fmt.Fprint(os.Stderr, line)
		}
		return success(map[string]any{"text": "written"})
	case "publish":
		return floodEvents(ctx, c)
	default:
		return nil, fmt.Errorf("flood of kind %q: frames, stderr or publish", kind)
	}
}

func floodEvents(ctx context.Context, c toolCall) (*pb.ToolResponse, error) {
	c.plugin.mu.Lock()
	conn := c.plugin.orchestrator
	c.plugin.mu.Unlock()
	if conn == nil {
		return nil, errors.New("no connection to an orchestrator")
	}
	count := c.number("count", 10_000)
	work := workload{calls: count, concurrency: 32, timeout: callTimeout}
	result := work.run(ctx, func(ctx context.Context, number int) error {
		_, err := call(ctx, conn, publishRequest(&pb.Publish{
			Topic: c.text("topic", "flood"), EventType: "flood", SourcePlugin: c.plugin.id,
			Payload: structOf(map[string]any{"number": number}),
		}))
		return err
	})
	return success(map[string]any{"text": fmt.Sprintf("published %d, %d failed", count, result["errors"])})
}

// garbleTool answers what is no answer.
func garbleTool(_ context.Context, c toolCall) (*pb.ToolResponse, error) {
	return nil, garble(c.from, c.requestID, c.text("kind", "garbage"))
}

var garbles = []string{
	"garbage", "truncated", "huge-frame", "wrong-id", "wrong-kind", "empty", "silent", "reset", "extra", "close",
}

// garble writes to a stream what the reader cannot use, and gives errAnswered.
func garble(to *caller, requestID, kind string) error {
	s := to.stream
	switch kind {
	case "garbage":
		_ = s.writeFrame([]byte("\xff\xff\xff this is no message"))
	case "truncated":
		_, _ = s.Write(frame(make([]byte, 100))[:headerBytes+10])
	case "huge-frame":
		_, _ = s.Write(binary.BigEndian.AppendUint32(nil, tooBig))
		_, _ = s.Write(make([]byte, tooBig))
	case "wrong-id":
		response := toolAnswer(&pb.ToolResponse{Success: true})
		response.RequestId = "of nobody"
		_ = s.writeMessage(response)
	case "wrong-kind":
		response := healthAnswer(pb.HealthResult_STATUS_HEALTHY, "not what was asked for")
		response.RequestId = requestID
		_ = s.writeMessage(response)
	case "empty":
		_ = s.writeFrame(nil)
	case "silent":
		// Ends its side without a frame.
	case "reset":
		s.CancelWrite(7)
	case "extra":
		response := toolAnswer(&pb.ToolResponse{Success: true})
		response.RequestId = requestID
		_ = s.writeMessage(response)
		_, _ = s.Write([]byte("and something more"))
	case "close":
		_ = to.conn.CloseWithError(9, "had enough")
	default:
		return fmt.Errorf("garble of kind %q: one of %s", kind, strings.Join(garbles, ", "))
	}
	return errAnswered
}
