package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	pb "quicpeer/pluginv1"
)

// events subscribes, publishes what matches and what does not, and waits for the one that does.
func (c *client) events(ctx context.Context) error {
	delivered := make(chan struct{}, 16)
	go c.serveEvents(ctx, delivered)
	subscribe := &pb.Subscribe{SubscriptionId: "peer-1", Topic: c.topic, Filters: map[string]string{"kind": "wanted"}}
	publish := func(topic, kind string) *pb.PluginRequest {
		return publishRequest(&pb.Publish{
			Topic: topic, EventType: "test", SourcePlugin: "transport.stdio",
			Payload: structOf(map[string]any{"kind": kind}),
		})
	}
	for _, request := range []*pb.PluginRequest{
		{Request: &pb.PluginRequest_Subscribe{Subscribe: subscribe}},
		publish(c.topic, "unwanted"),
		publish(c.topic+".other", "wanted"),
		publish(c.topic, "wanted"),
	} {
		if _, err := c.ask(ctx, request); err != nil {
			return err
		}
	}
	select {
	case <-delivered:
	case <-time.After(c.wait):
		return fmt.Errorf("no event was delivered within %s", c.wait)
	}
	unsubscribe := &pb.Unsubscribe{SubscriptionId: "peer-1"}
	_, err := c.ask(ctx, &pb.PluginRequest{Request: &pb.PluginRequest_Unsubscribe{Unsubscribe: unsubscribe}})
	return err
}

// serveEvents answers the streams that the other side opens, and prints what came.
func (c *client) serveEvents(ctx context.Context, delivered chan<- struct{}) {
	for {
		accepted, err := c.conn.AcceptStream(ctx)
		if err != nil {
			return
		}
		s := &stream{Stream: accepted}
		body, err := s.readFrame()
		request := &pb.PluginRequest{}
		if err != nil || proto.Unmarshal(body, request) != nil {
			s.CancelWrite(1)
			continue
		}
		report(fields{"event": "delivered", "request": asJSON(request)})
		_ = s.writeMessage(&pb.PluginResponse{RequestId: request.RequestId})
		_ = s.Close()
		_, _ = s.readToEnd()
		if delivered != nil {
			delivered <- struct{}{}
		}
	}
}
