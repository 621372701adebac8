import { type Requirement, requirement as of } from "../support/requirement.ts";

/** What the protocol document of lazygit-mcp-bridge asks for, under its headings. */
export const REQUIREMENTS = {
  "review.protocol.version": of("Protocol Version", "MCP 2024-11-05 over JSON-RPC 2.0"),
  "review.protocol.flow": of(
    "Message Flow Diagram",
    "initialize, initialized, tools/list and tools/call, in this order",
  ),
  "review.initialize.request": of("1. Initialize", "A client may leave its name out"),
  "review.initialize.answer": of(
    "1. Initialize",
    "Version, the capabilities of resources and tools, name and version of the server",
  ),
  "review.tools.list": of("2. Tools List", "check_lazygit_messages with its description and input"),
  "review.call.messages": of("3. Tool Call", "One text with all messages, numbered"),
  "review.call.none": of("3. Tool Call", "'No new messages from lazygit' where nothing waits"),
  "review.resources.list": of("Resource List", "lazygit://messages with name and MIME type"),
  "review.resources.read": of("Resource Read", "The same text, with its URI and text/plain"),
  "review.queue.accumulate": of("Multiple Message Support", "Messages wait until they are read"),
  "review.queue.deduplicate": of(
    "Multiple Message Support",
    "The same file, comment and time is one message",
  ),
  "review.queue.limit": of(
    "Multiple Message Support",
    "Ten messages in one answer; the original forgets the others, here they come next",
  ),
  "review.queue.batch": of("Multiple Message Support", "One answer has all messages that wait"),
  "review.queue.clear": of(
    "Multiple Message Support",
    "A message that was read does not come again",
  ),
  "review.format.message": of(
    "Message Format in Responses",
    "Message, File, Line, Comment and Time, then the request to improve the code",
  ),
  "review.format.separator": of("Message Format in Responses", "Fifty dashes between two messages"),
  "review.file.kept": of(
    "File Cleanup Behavior",
    "A dropped file is removed only once its messages are safe; here that is the store",
  ),
  "review.file.rapid": of(
    "File Cleanup Behavior",
    "Comments that follow each other fast all count",
  ),
  "review.error.shape": of("Standard Error Response", "-32601 with 'Method not found', no data"),
  "review.error.parse": of("Error Codes", "-32700 for what is not JSON"),
  "review.error.invalid-request": of("Error Codes", "-32600 for what is no request"),
  "review.error.method-not-found": of("Error Codes", "-32601 for an unknown method"),
  "review.error.invalid-params": of("Error Codes", "-32602 for wrong parameters"),
  "review.notify.message": of(
    "Planned: Notifications",
    "notifications/message with level, message and the file in data",
  ),
  "review.notify.subscribe": of(
    "Planned: Subscriptions",
    "resources/subscribe to lazygit://messages, and updates to whoever did",
  ),
} as const satisfies Readonly<Record<string, Requirement>>;
