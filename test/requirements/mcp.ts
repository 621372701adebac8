import { type Requirement, requirement as of } from "../support/requirement.ts";

const LIFECYCLE = "2025-11-25 basic/lifecycle";
const TRANSPORTS = "2025-11-25 basic/transports";
const TASKS = "2025-11-25 basic/utilities/tasks";
const MODERN = "2026-07-28 basic";
const HTTP = "2026-07-28 basic/transports/streamable-http";
const MRTR = "2026-07-28 basic/patterns/mrtr";
const SUBSCRIPTIONS = "2026-07-28 basic/patterns/subscriptions";

/**
 * What the Model Context Protocol asks of a server and a client like ours: the revision, the page of
 * its specification and the section, then the behaviour. Where several revisions ask the same, the
 * section is that of the newest. Tests cite the names.
 */
export const REQUIREMENTS = {
  // What differs between revisions.
  "mcp.revision.batches": of(
    "2025-03-26 basic § Batching",
    "Batches are received, in this one only",
  ),
  "mcp.revision.batch-answers": of("2025-03-26 basic § Batching", "Answers to a batch come back"),
  "mcp.revision.tool-members": of("all server/tools § Tool", "No members of later revisions"),
  "mcp.revision.content": of("all server/tools § Tool Result", "No content of later revisions"),
  "mcp.revision.progress-message": of(
    "2025-03-26 basic/utilities/progress",
    "Progress has words from here on",
  ),

  // Every revision.
  "mcp.base.same-id": of(`${MODERN} § Responses`, "A response has the id of its request"),
  "mcp.base.notification-silent": of(`${MODERN} § Notifications`, "They are not answered"),
  "mcp.base.method-not-found": of(`${MODERN} § Error Codes`, "-32601 for an unknown method"),
  "mcp.base.schema-2020-12": of(`${MODERN} § JSON Schema Usage`, "2020-12 where none is named"),
  "mcp.base.schema-dialect": of(`${MODERN} § JSON Schema Usage`, "Draft 7 where it is named"),

  // Lifecycle.
  "mcp.lifecycle.same-version": of(`${LIFECYCLE} § Version Negotiation`, "Spoken: the same"),
  "mcp.lifecycle.other-version": of(`${LIFECYCLE} § Version Negotiation`, "Else: our newest"),
  "mcp.lifecycle.client-version": of(
    `${LIFECYCLE} § Version Negotiation`,
    "A client leaves a server whose version it does not speak",
  ),
  "mcp.lifecycle.result": of(
    `${LIFECYCLE} § Initialization`,
    "Version, capabilities, name and instructions",
  ),
  "mcp.lifecycle.client-initialized": of(
    `${LIFECYCLE} § Initialization`,
    "A client says that it is initialized",
  ),
  "mcp.lifecycle.negotiated-only": of(
    `${LIFECYCLE} § Operation`,
    "A client uses only what the server declared",
  ),
  "mcp.lifecycle.timeout": of(`${LIFECYCLE} § Timeouts`, "A request does not wait for ever"),
  "mcp.lifecycle.stdio-shutdown": of(`${LIFECYCLE} § Shutdown`, "Input that ends ends the server"),
  "mcp.ping.answer": of("2025-11-25 basic/utilities/ping", "A server answers with nothing"),
  "mcp.ping.client": of("2025-11-25 basic/utilities/ping", "A client answers with nothing"),
  "mcp.cancellation.stop": of("2025-11-25 basic/utilities/cancellation", "Stopped, not answered"),
  "mcp.cancellation.unknown": of("2025-11-25 basic/utilities/cancellation", "Ignored"),
  "mcp.cancellation.client": of(
    "2025-11-25 basic/utilities/cancellation",
    "A client says that it gave up",
  ),
  "mcp.progress.token": of("2025-11-25 basic/utilities/progress", "Under the caller's token"),
  "mcp.progress.only-with-token": of("2025-11-25 basic/utilities/progress", "None without a token"),
  "mcp.progress.before-answer": of("2025-11-25 basic/utilities/progress", "None after the answer"),
  "mcp.progress.client-tokens": of(
    "2025-11-25 basic/utilities/progress",
    "A client's tokens are unique, and each call hears of its own",
  ),

  // Standard streams.
  "mcp.stdio.lines": of(`${TRANSPORTS} § stdio`, "One message a line, on stdin and stdout"),
  "mcp.stdio.stdout": of(`${TRANSPORTS} § stdio`, "Nothing else on stdout: the log is on stderr"),

  // HTTP, with sessions.
  "mcp.http.origin": of(`${TRANSPORTS} § Security Warning`, "403 for a foreign Origin"),
  "mcp.http.loopback": of(`${TRANSPORTS} § Security Warning`, "Bound to this machine alone"),
  "mcp.http.accept": of(`${TRANSPORTS} § Sending Messages`, "Both types must be acceptable"),
  "mcp.http.notification-202": of(`${TRANSPORTS} § Sending Messages`, "202 without a body"),
  "mcp.http.json-or-events": of(`${TRANSPORTS} § Sending Messages`, "JSON, or events"),
  "mcp.http.priming-event": of(`${TRANSPORTS} § Sending Messages`, "An event with an id first"),
  "mcp.http.poll": of(`${TRANSPORTS} § Sending Messages`, "A client is told when to come back"),
  "mcp.http.disconnect": of(`${TRANSPORTS} § Sending Messages`, "Losing it cancels nothing"),
  "mcp.http.get-stream": of(`${TRANSPORTS} § Listening`, "GET: what belongs to no request"),
  "mcp.http.one-stream": of(`${TRANSPORTS} § Multiple Connections`, "Each message on one stream"),
  "mcp.http.replay": of(`${TRANSPORTS} § Resumability`, "Only of the stream that was lost"),
  "mcp.http.session-id": of(`${TRANSPORTS} § Session Management`, "Given by initialize, ASCII"),
  "mcp.http.session-missing": of(`${TRANSPORTS} § Session Management`, "400 without the id"),
  "mcp.http.session-ended": of(`${TRANSPORTS} § Session Management`, "404 for one that is over"),
  "mcp.http.session-delete": of(`${TRANSPORTS} § Session Management`, "DELETE ends it"),
  "mcp.http.session-owner": of(
    "2025-11-25 basic/security_best_practices § Session Hijacking",
    "A session is there for whoever began it",
  ),
  "mcp.http.version-header": of(`${TRANSPORTS} § Protocol Version Header`, "400 for one unknown"),
  "mcp.http.sse-2024": of("2024-11-05 basic/transports § HTTP with SSE", "GET /sse and POST"),
  "mcp.http-client.session": of(`${TRANSPORTS} § Session Management`, "Its id on every request"),
  "mcp.http-client.session-delete": of(`${TRANSPORTS} § Session Management`, "DELETE at the end"),
  "mcp.http-client.session-lost": of(`${TRANSPORTS} § Session Management`, "404: a new session"),
  "mcp.http-client.version-header": of(`${TRANSPORTS} § Protocol Version Header`, "The agreed one"),
  "mcp.http-client.retry": of(`${TRANSPORTS} § Sending Messages`, "Waits as long as retry says"),
  "mcp.http-client.resume": of(`${TRANSPORTS} § Resumability`, "GET with Last-Event-ID"),
  "mcp.http-client.sse-2024": of(`${TRANSPORTS} § Backwards Compatibility`, "The old transport"),

  // HTTP, at 2026-07-28.
  "mcp.modern-http.post-only": of(`${HTTP} § Sending Messages`, "POST alone, one message each"),
  "mcp.modern-http.notification-202": of(`${HTTP} § Sending Messages`, "202 without a body"),
  "mcp.modern-http.json-or-events": of(`${HTTP} § Receiving Messages`, "JSON, or events"),
  "mcp.modern-http.keep-alive": of(`${HTTP} § Receiving Messages`, "Comments while it is silent"),
  "mcp.modern-http.cancel": of(`${HTTP} § Cancellation`, "Closing the stream cancels"),
  "mcp.modern-http.version": of(`${HTTP} § Protocol Version Header`, "Header as body, else 400"),
  "mcp.modern-http.unknown-method": of(`${HTTP} § Protocol Version Header`, "404 and -32601"),
  "mcp.modern-http.headers": of(`${HTTP} § Standard Request Headers`, "Mcp-Method and Mcp-Name"),
  "mcp.modern-http.encoding": of(`${HTTP} § Value Encoding`, "Base64 between =?base64? and ?="),
  "mcp.modern-http.parameters": of(`${HTTP} § Custom Headers from Tool Parameters`, "As body"),
  "mcp.modern-http.status": of(`${HTTP} § Server Validation`, "400 for what the request lacks"),
  "mcp.modern-http-client.headers": of(`${HTTP} § Standard Request Headers`, "Sent with each"),
  "mcp.modern-http-client.parameters": of(`${HTTP} § Custom Headers`, "Sent where marked"),
  "mcp.modern-http-client.bad-marks": of("2026-07-28 server/tools § x-mcp-header", "Left out"),
  "mcp.modern-http-client.cancel": of(`${HTTP} § Cancellation`, "By closing, without a word"),

  // 2026-07-28: no sessions.
  "mcp.modern.stateless": of(`${MODERN} § Statelessness`, "Each request stands for itself"),
  "mcp.modern.required-meta": of(`${MODERN} § _meta`, "Version and capabilities, else -32602"),
  "mcp.modern.client-meta": of(`${MODERN} § _meta`, "Our requests describe us and our caller"),
  "mcp.modern.result-type": of(`${MODERN} § ResultType`, "Every result has one"),
  "mcp.modern.server-info": of(`${MODERN} § _meta`, "Every result says who answers"),
  "mcp.modern.absent-result-type": of(`${MODERN} § ResultType`, "Taken for complete"),
  "mcp.modern.missing-capability": of(`${MODERN} § Error Codes`, "-32021 with what is required"),
  "mcp.modern.caching": of("2026-07-28 server/utilities/caching", "ttlMs and cacheScope"),
  "mcp.modern.discover": of("2026-07-28 server/discover", "All versions that are spoken"),
  "mcp.modern.unsupported-version": of(
    "2026-07-28 basic/versioning § Protocol Version Negotiation",
    "-32022 with what is supported",
  ),
  "mcp.modern.dual-era": of("2026-07-28 basic/versioning § Compatibility Matrix", "Both at once"),
  "mcp.modern.probe": of(
    "2026-07-28 basic/versioning § Backward Compatibility",
    "server/discover first; any other error, or silence: initialize",
  ),
  "mcp.modern.remembered-era": of(
    "2026-07-28 basic/versioning § Backward Compatibility",
    "What a server speaks is remembered",
  ),
  "mcp.modern.retry-version": of(
    "2026-07-28 basic/versioning § Protocol Version Negotiation",
    "Asked again by a version that the refusal lists",
  ),
  "mcp.modern.removed": of("2026-07-28 changelog", "What was removed is not found"),
  "mcp.modern.resource-not-found": of("2026-07-28 server/resources § Error Handling", "-32602"),
  "mcp.modern.log-level": of("2026-07-28 server/utilities/logging", "No level: no messages"),

  // Questions in rounds.
  "mcp.mrtr.input-required": of(`${MRTR} § InputRequiredResult`, "Questions, and a state"),
  "mcp.mrtr.resume": of(`${MRTR} § Basic Workflow`, "Answers and state go on with the work"),
  "mcp.mrtr.no-server-requests": of(MRTR, "A server sends no requests"),
  "mcp.mrtr.prompts": of(`${MRTR} § Supported Requests`, "Prompts and resources too"),
  "mcp.mrtr.unique-keys": of(`${MRTR} § Server Requirements`, "Keys differ within a request"),
  "mcp.mrtr.state-integrity": of(`${MRTR} § Server Requirements`, "Changed states are refused"),
  "mcp.mrtr.state-principal": of(`${MRTR} § Server Requirements`, "And those of others"),
  "mcp.mrtr.state-expiry": of(`${MRTR} § Server Requirements`, "And those that are too old"),
  "mcp.mrtr.state-request": of(`${MRTR} § Server Requirements`, "And those of other requests"),
  "mcp.mrtr.replay": of(`${MRTR} § Server Requirements`, "And those that were used"),
  "mcp.mrtr.ask-again": of(`${MRTR} § Error Handling`, "What was not answered is asked again"),
  "mcp.mrtr.unknown-responses": of(`${MRTR} § Error Handling`, "What nobody asked is ignored"),
  "mcp.mrtr.client": of(`${MRTR} § Client Requirements`, "Answers, and the state as it came"),
  "mcp.mrtr.client-state": of(`${MRTR} § Client Requirements`, "No state where none was given"),

  // Listening.
  "mcp.subscriptions.acknowledged": of(`${SUBSCRIPTIONS} § Acknowledgment`, "The first message"),
  "mcp.subscriptions.filter": of(`${SUBSCRIPTIONS} § Opening a Stream`, "Only what was asked for"),
  "mcp.subscriptions.id": of(`${SUBSCRIPTIONS} § Receiving Notifications`, "Under its id"),
  "mcp.subscriptions.cancel": of(`${SUBSCRIPTIONS} § Cancellation`, "Nothing more comes"),
  "mcp.subscriptions.shutdown": of(`${SUBSCRIPTIONS} § Cancellation`, "Ended by a result"),
  "mcp.subscriptions.client": of(
    `${SUBSCRIPTIONS} § Cancellation`,
    "Opened again when it was lost",
  ),

  // Tools.
  "mcp.tools.capability": of("2026-07-28 server/tools § Capabilities", "Declared"),
  "mcp.tools.list": of("2026-07-28 server/tools § Listing Tools", "All that there are"),
  "mcp.tools.deterministic-order": of("2026-07-28 server/tools § Capabilities", "In one order"),
  "mcp.tools.schema": of("2026-07-28 server/tools § Tool", "Each with a schema"),
  "mcp.tools.names": of("2026-07-28 server/tools § Tool Names", "At most 128 characters, unique"),
  "mcp.tools.aggregate-names": of("2026-07-28 server/tools § Tool Names", "By server where two"),
  "mcp.tools.list-changed": of("2025-11-25 server/tools § List Changed Notification", "Told"),
  "mcp.tools.execution-error": of("2026-07-28 server/tools § Error Handling", "isError"),
  "mcp.tools.unknown": of("2026-07-28 server/tools § Error Handling", "-32602"),
  "mcp.tools.invalid-arguments": of(
    "2025-11-25 server/tools § Error Handling",
    "The model is told",
  ),
  "mcp.tools.structured-as-text": of("2026-07-28 server/tools § Structured Content", "As text too"),
  "mcp.tools.untrusted": of("2026-07-28 server/tools § Tool", "Annotations are not believed"),
  "mcp.tools.consent": of("2026-07-28 server/tools § User Interaction Model", "A person is asked"),

  // Resources, prompts, completion, pages, messages.
  "mcp.resources.capability": of("2025-11-25 server/resources § Capabilities", "Declared"),
  "mcp.resources.list": of("2025-11-25 server/resources § Listing Resources", "All that there are"),
  "mcp.resources.templates": of("2025-11-25 server/resources § Resource Templates", "Listed"),
  "mcp.resources.read": of("2025-11-25 server/resources § Reading Resources", "Text or bytes"),
  "mcp.resources.not-found": of("2025-11-25 server/resources § Error Handling", "-32002"),
  "mcp.resources.subscribe": of("2025-11-25 server/resources § Subscriptions", "Updates are told"),
  "mcp.resources.unsubscribe": of("2025-11-25 server/resources § Subscriptions", "No more"),
  "mcp.prompts.capability": of("2025-11-25 server/prompts § Capabilities", "Declared"),
  "mcp.prompts.list": of("2025-11-25 server/prompts § Listing Prompts", "All that there are"),
  "mcp.prompts.get": of("2025-11-25 server/prompts § Getting a Prompt", "With its arguments"),
  "mcp.prompts.unknown": of("2025-11-25 server/prompts § Error Handling", "-32602"),
  "mcp.prompts.missing-argument": of("2025-11-25 server/prompts § Error Handling", "-32602"),
  "mcp.prompts.list-changed": of("2025-11-25 server/prompts § List Changed", "Told"),
  "mcp.completion.capability": of(
    "2025-03-26 server/utilities/completion",
    "Declared from here on",
  ),
  "mcp.completion.values": of(
    "2025-11-25 server/utilities/completion",
    "For prompts and templates",
  ),
  "mcp.completion.limit": of("2025-11-25 server/utilities/completion", "100 values at most"),
  "mcp.completion.invalid": of("2025-11-25 server/utilities/completion § Error Handling", "-32602"),
  "mcp.pagination.cursor": of("2025-11-25 server/utilities/pagination", "Leads to the next page"),
  "mcp.pagination.end": of("2025-11-25 server/utilities/pagination", "None after the last page"),
  "mcp.pagination.invalid-cursor": of("2025-11-25 server/utilities/pagination", "-32602"),
  "mcp.pagination.client": of("2025-11-25 server/utilities/pagination", "All pages, none twice"),
  "mcp.logging.capability": of("2025-11-25 server/utilities/logging § Capabilities", "Declared"),
  "mcp.logging.least-level": of("2025-11-25 server/utilities/logging", "That level and above"),
  "mcp.logging.invalid-level": of("2025-11-25 server/utilities/logging § Error Handling", "-32602"),
  "mcp.logging.rate": of("2025-11-25 server/utilities/logging", "Messages are limited in rate"),

  // What a client can be asked.
  "mcp.elicitation.needs-capability": of(
    "2025-11-25 client/elicitation § Capabilities",
    "Declared",
  ),
  "mcp.elicitation.mode": of("2025-11-25 client/elicitation § Capabilities", "No mode before"),
  "mcp.elicitation.form": of("2025-11-25 client/elicitation § Form Mode", "Asked and answered"),
  "mcp.elicitation.page-required": of("2025-11-25 client/elicitation § URL Required", "-32042"),
  "mcp.elicitation.page-done": of("2025-11-25 client/elicitation § Completion", "To whom it shows"),
  "mcp.sampling.needs-capability": of("2025-11-25 client/sampling § Capabilities", "Declared"),
  "mcp.elicitation.passed-on": of("2025-11-25 client/elicitation", "To the caller that is meant"),
  "mcp.roots.list": of("2025-11-25 client/roots § Listing Roots", "Asked for when needed"),
  "mcp.roots.changed": of("2025-11-25 client/roots § Root List Changes", "Asked for anew"),
  "mcp.roots.file-only": of("2025-11-25 client/roots § Root", "file:// alone"),

  // Tasks of 2025-11-25.
  "mcp.tasks.capability": of(`${TASKS} § Capabilities`, "Declared in this revision only"),
  "mcp.tasks.create": of(`${TASKS} § Creating Tasks`, "Answered with the task"),
  "mcp.tasks.poll-interval": of(`${TASKS} § Getting Tasks`, "Says when to look again"),
  "mcp.tasks.required": of(
    `${TASKS} § Tool-Level Negotiation`,
    "-32601 where no task is asked for",
  ),
  "mcp.tasks.optional": of(`${TASKS} § Tool-Level Negotiation`, "The client chooses"),
  "mcp.tasks.ignored-before": of(`${TASKS} § Task Support and Handling`, "Ignored without tasks"),
  "mcp.tasks.begin-working": of(`${TASKS} § Task Status Lifecycle`, "Working first"),
  "mcp.tasks.terminal": of(`${TASKS} § Task Status Lifecycle`, "No change after the end"),
  "mcp.tasks.input-required": of(`${TASKS} § Input Required Status`, "And back to working"),
  "mcp.tasks.result": of(`${TASKS} § Result Retrieval`, "What the call would have answered"),
  "mcp.tasks.tool-error": of(`${TASKS} § Task Execution Errors`, "isError: failed"),
  "mcp.tasks.status-told": of(`${TASKS} § Task Status Notification`, "The whole task"),
  "mcp.tasks.list": of(`${TASKS} § Task Listing`, "Those of this client"),
  "mcp.tasks.cancel": of(`${TASKS} § Task Cancellation`, "Cancelled"),
  "mcp.tasks.cancel-terminal": of(`${TASKS} § Task Cancellation`, "-32602 after the end"),
  "mcp.tasks.cancelled-stays": of(`${TASKS} § Task Cancellation`, "Cancelled for good"),
  "mcp.tasks.isolation": of(`${TASKS} § Task Isolation and Access Control`, "For their principal"),
  "mcp.tasks.client": of(`${TASKS} § Creating Tasks`, "We ask for tasks where a tool needs one"),
  "mcp.tasks.asked-as-task": of(`${TASKS} § Client Capabilities`, "We are asked as tasks"),

  // Tasks of 2026-07-28.
  "mcp.tasks-extension.capability": of("2026-07-28 extension tasks", "Declared as extension"),
  "mcp.tasks-extension.server-decides": of(
    "2026-07-28 extension tasks",
    "If the client declares it",
  ),
  "mcp.tasks-extension.result-type": of("2026-07-28 extension tasks", "resultType task"),
  "mcp.tasks-extension.outcome": of("2026-07-28 extension tasks", "tasks/get has the result"),
  "mcp.tasks-extension.input-required": of("2026-07-28 extension tasks", "And the questions"),
  "mcp.tasks-extension.cancel": of("2026-07-28 extension tasks", "Acknowledged in any status"),
  "mcp.tasks-extension.listen": of("2026-07-28 extension tasks", "Told to who listens"),
  "mcp.tasks-extension.client": of("2026-07-28 extension tasks", "Followed to its end"),
  "mcp.tasks-extension.client-cancel": of("2026-07-28 extension tasks", "Cancelled with its call"),

  // Authorization, as far as we serve it.
  "mcp.authorization.challenge": of("2025-11-25 basic/authorization", "401 says where to sign in"),
  "mcp.authorization.metadata": of("2025-11-25 basic/authorization (RFC 9728)", "Metadata"),
  "mcp.authorization.header-only": of(
    "2025-11-25 basic/authorization § Token Requirements",
    "No URL",
  ),
  "mcp.authorization.audience": of("2025-11-25 basic/authorization § Token Handling", "Ours alone"),
  "mcp.authorization.scope": of(
    "2025-11-25 basic/authorization § Scope Challenge",
    "403 or unseen",
  ),
} as const satisfies Readonly<Record<string, Requirement>>;
