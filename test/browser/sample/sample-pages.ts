/** Every page, and a text that is there once it has its rows. */
export const PAGES: readonly (readonly [name: string, hash: string, text: string])[] = [
  ["start", "#/start", "Connect an assistant"],
  ["sessions", "#/sessions", "Replace moment with Temporal"],
  ["session", "#/sessions/s-0", "It needs a generator"],
  ["changes", "#/sessions/s-0/changes", "PATTERN.lastIndex"],
  ["traffic", "#/sessions/s-0/traffic", "model cache is cold"],
  ["runs", "#/runs", "Upgrade to Node 26"],
  ["run", "#/runs/r-1", "Running the tests"],
  ["review", "#/review", "This swallows the error"],
  ["identities", "#/identities", "ann@acme.example"],
  ["toolbox", "#/toolbox", "github_search"],
  ["approvals", "#/toolbox/approvals", "Always copy the contents"],
  ["calls", "#/toolbox/calls", "Calls a minute"],
  ["servers", "#/servers", "acme.tickets"],
  ["audit", "#/audit", "policy: deny"],
  ["logins", "#/logins", "https://mail.example"],
  ["tokens", "#/tokens", "laptop-of-ann"],
];
