package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	pb "quicpeer/pluginv1"
)

// events subscribes, publishes what matches and what does not, waits for the one that does, and
// unsubscribes.
func (c *client) events(ctx context.Context) error {
	events, err := c.subscribe(ctx, &pb.Subscribe{
		SubscriptionId: "peer-1", Topic: c.topic, Filters: map[string]string{"kind": "wanted"},
	})
	if err != nil {
		return err
	}
	for _, event := range []struct{ topic, kind string }{
		{c.topic, "unwanted"}, {c.topic + ".other", "wanted"}, {c.topic, "wanted"},
	} {
		payload := structOf(map[string]any{"kind": event.kind})
		publish := &pb.Publish{
			Topic: event.topic, EventType: "test", SourcePlugin: "transport.stdio", Payload: payload,
		}
		if _, err := c.ask(ctx, publishRequest(publish)); err != nil {
			return err
		}
	}
	if _, open, err := c.await(events); err != nil || !open {
		return fmt.Errorf("no event was delivered: %w", err)
	}
	unsubscribe := &pb.Unsubscribe{SubscriptionId: "peer-1"}
	request := &pb.PluginRequest{Request: &pb.PluginRequest_Unsubscribe{Unsubscribe: unsubscribe}}
	if _, err := c.ask(ctx, request); err != nil {
		return err
	}
	if event, open, err := c.await(events); err != nil || open {
		return fmt.Errorf("the subscription did not end (%v): %w", event, err)
	}
	report(fields{"event": "unsubscribed"})
	return nil
}

func (c *client) await(events <-chan *pb.EventDelivery) (*pb.EventDelivery, bool, error) {
	select {
	case event, open := <-events:
		return event, open, nil
	case <-time.After(c.wait):
		return nil, false, fmt.Errorf("nothing came within %s", c.wait)
	}
}

// subscribe prints the confirmation, then each event as it comes on the same stream. What it returns
// is closed with that stream.
func (c *client) subscribe(ctx context.Context, subscribe *pb.Subscribe) (<-chan *pb.EventDelivery, error) {
	request := &pb.PluginRequest{
		RequestId: rand.Text(), Request: &pb.PluginRequest_Subscribe{Subscribe: subscribe},
	}
	body, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	s, err := openStream(ctx, c.conn)
	if err != nil {
		return nil, err
	}
	if err := s.request(body, c.how); err != nil {
		return nil, err
	}
	next := func() (*pb.PluginResponse, error) {
		frame, err := s.readFrame()
		if err != nil {
			return nil, err
		}
		return readResponse(frame, request.RequestId)
	}
	_ = s.SetReadDeadline(time.Now().Add(c.work.timeout))
	confirmed, err := next()
	if err != nil {
		return nil, fmt.Errorf("no confirmation: %w", err)
	}
	_ = s.SetReadDeadline(time.Time{})
	report(fields{"response": asJSON(confirmed)})
	events := make(chan *pb.EventDelivery, 1024)
	go func() {
		defer close(events)
		for {
			response, err := next()
			if err != nil {
				return
			}
			// The last answer says no more than that there are no more.
			if event := response.GetEventDelivery(); event != nil {
				report(fields{"event": "delivered", "delivery": asJSON(event)})
				events <- event
			}
		}
	}()
	return events, nil
}
