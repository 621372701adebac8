package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/quic-go/quic-go"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "quicpeer/pluginv1"
)

// A subscription is delivered to a plugin's server, or on the stream it was made on.
type subscription struct {
	topic   string
	filters map[string]string
	conn    quic.Connection
	// Of one who is no plugin:
	events chan *pb.Publish
}

// The events that may wait for one subscriber; it loses those that come after them.
const mostWaiting = 1000

// subscribe answers, or serves the stream until the subscription or its connection ends.
func (o *orchestrator) subscribe(
	ctx context.Context, from *caller, requestID string, request *pb.Subscribe,
) (*pb.PluginResponse, error) {
	id := request.SubscriptionId
	if id == "" {
		id = rand.Text()
	}
	o.mu.Lock()
	s := subscription{topic: request.Topic, filters: request.Filters, conn: o.pluginOf(from.conn)}
	if s.conn == nil {
		s.conn, s.events = from.conn, make(chan *pb.Publish, mostWaiting)
	}
	o.end(id)
	o.subscriptions[id] = s
	o.mu.Unlock()
	confirmation := subscribeAnswer(id, request.Topic)
	if s.events == nil {
		return confirmation, nil
	}
	confirmation.RequestId = requestID
	if err := from.stream.writeMessage(confirmation); err != nil {
		return nil, err
	}
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case event, open := <-s.events:
			if !open {
				return nil, nil
			}
			if err := from.stream.writeMessage(deliveryOf(requestID, id, event)); err != nil {
				return nil, err
			}
		}
	}
}

// end drops a subscription, and with it the stream it is served on. The lock is held.
func (o *orchestrator) end(id string) {
	if s := o.subscriptions[id]; s.events != nil {
		close(s.events)
	}
	delete(o.subscriptions, id)
}

func deliveryOf(requestID, id string, event *pb.Publish) *pb.PluginResponse {
	delivery := &pb.EventDelivery{
		SubscriptionId: id, Topic: event.Topic, EventType: event.EventType, Payload: event.Payload,
		SourcePlugin: event.SourcePlugin, Timestamp: timestamppb.Now(),
	}
	return &pb.PluginResponse{
		RequestId: requestID,
		Response:  &pb.PluginResponse_EventDelivery{EventDelivery: delivery},
	}
}

// pluginOf is the connection to the server of the plugin that dialled, if it is one.
func (o *orchestrator) pluginOf(conn quic.Connection) quic.Connection {
	id := o.registered[conn]
	if id == "" {
		id = strings.TrimSuffix(peerName(conn), "-client")
	}
	for _, plugin := range o.plugins {
		if plugin.spec.ID == id {
			return plugin.conn
		}
	}
	return nil
}

func (o *orchestrator) publish(ctx context.Context, event *pb.Publish) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, s := range o.subscriptions {
		switch {
		case !s.matches(event):
		case s.events != nil:
			select {
			case s.events <- event:
			default:
			}
		default:
			go func() {
				ctx, cancel := withTimeout(context.WithoutCancel(ctx))
				defer cancel()
				if _, err := call(ctx, s.conn, publishRequest(event)); err != nil {
					fmt.Fprintf(os.Stderr, "cannot deliver an event: %v\n", err)
				}
			}()
		}
	}
}

func (s subscription) matches(event *pb.Publish) bool {
	if s.topic != event.Topic {
		return false
	}
	for key, wanted := range s.filters {
		if event.Payload.GetFields()[key].GetStringValue() != wanted {
			return false
		}
	}
	return true
}

// forget drops what was bound to a connection that has ended.
func (o *orchestrator) forget(conn quic.Connection) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.registered, conn)
	for id, s := range o.subscriptions {
		if s.conn == conn {
			o.end(id)
		}
	}
}
