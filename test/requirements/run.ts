import { type Requirement, requirement as of } from "../support/requirement.ts";

/** What the remote run server guide asks for, under its headings. */
export const REQUIREMENTS = {
  "run.config.url": of("Configuration Fields", "`remote.NAME.url` is the WebSocket address"),
  "run.config.token": of("Configuration Fields", "`remote.NAME.token` is optional"),
  "run.config.others": of("Example with multiple agents", "Other agents and servers stay"),
  "run.connection.upgrade": of("Connection", "GET /acp with an upgrade to WebSocket, ws and wss"),
  "run.connection.json-rpc": of(
    "Protocol: WebSocket + ACP",
    "ACP as JSON-RPC 2.0, one message a frame",
  ),
  "run.connection.token": of("Connection", "`Authorization` is the token itself"),
  "run.connection.refused": of("Connection", "Nobody is connected without a valid token"),
  "run.connection.timeout": of(
    "Connection",
    "A request is answered within 60 seconds, though the workspace takes longer",
  ),
  "run.new.method": of("Session Creation: Git Info Exchange", "`session/new` begins a run"),
  "run.new.create": of("Step-by-step process", "`session/create` is the same"),
  "run.new.cwd": of("Request: `_meta.remote` field", "`cwd` is empty, and not used"),
  "run.new.mcp-servers": of("Request: `_meta.remote` field", "`mcpServers` may be empty or not"),
  "run.new.plain": of("Request: `_meta.remote` field", "Without it, a session is no run"),
  "run.remote.url": of("RemoteGitInfo Fields", "`url` is an SSH or HTTPS address"),
  "run.remote.branch": of(
    "RemoteGitInfo Fields",
    "`branch` is the name of a remote branch, also with slashes, short or full",
  ),
  "run.remote.revision": of("RemoteGitInfo Fields", "`revision` is a full hash"),
  "run.target.url": of("Response: `_meta.target` field", "`url` is the one of the request"),
  "run.target.branch": of("Response: `_meta.target` field", "`branch` can be fetched from origin"),
  "run.target.revision": of("Response: `_meta.target` field", "`revision` is its last commit"),
  "run.target.responses": of(
    "Response: `_meta.target` field",
    "The responses of a session have it: new, load, resume and prompt",
  ),
  "run.target.pushed": of(
    "Response: `_meta.target` field",
    "The branch is there when it is named, since the IDE fetches it at once",
  ),
  "run.git.fetch": of("Server-side git operations", "1. Clone or fetch the repository"),
  "run.git.checkout": of("Server-side git operations", "2. Check out the exact revision"),
  "run.git.branch": of("Server-side git operations", "3. Create a working branch"),
  "run.git.execute": of("Server-side git operations", "4. Execute the agent's task"),
  "run.git.commit": of("Server-side git operations", "5. Commit all changes"),
  "run.git.push": of("Server-side git operations", "6. Push to a new branch"),
  "run.git.return": of("Server-side git operations", "7. Return the branch in `_meta.target`"),
  "run.ide.fetch": of("Response: `_meta.target` field", "The IDE fetches the branch from `origin`"),
  "run.ide.merge": of("Response: `_meta.target` field", "The IDE can merge it into its branch"),
} as const satisfies Readonly<Record<string, Requirement>>;
