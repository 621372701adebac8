import {
  ANY_TEXT,
  ARGS,
  NAME,
  byName,
  choice,
  flag,
  integer,
  list,
  number,
  path,
  shape,
  text,
  url,
  type Setting,
  type Settings,
} from "../base/capability/settings.ts";
import type { Capability } from "../base/capability/capability.ts";

/** What every MCP server has, whichever way it is reached. */
const SERVER: Settings = {
  instance: choice(
    ["shared", "client"],
    "`shared`, the default: all clients of a gateway use one instance of the server; " +
      "`client`: each has its own. A shared server that asks questions while several clients " +
      "use it changes to `client` by itself.",
  ),
  disabled: flag("Whether the server is left out; `enabled: false` means the same."),
  timeout: number(
    "Seconds that a call may take without progress. Some programs have milliseconds here, " +
      "so 1,000 and more count as those.",
    { minimum: 1 },
  ),
  autoApprove: list(
    NAME,
    "Tools of the server that may be called without a question, unless a rule of " +
      "`policy.tools` says otherwise; `*` stands for any text. `alwaysAllow` means the same.",
  ),
  include: list(
    NAME,
    "The tools to offer, by the server's own names; all by default. `*` stands for any text. With " +
      "`openapi`: operations, such as `issues_*` or `GET /issues/*`. `includeTools`, `enabled_tools` " +
      "and `available_tools` mean the same.",
  ),
  exclude: list(
    NAME,
    "The tools, or operations, to leave out. `excludeTools`, `disabledTools` and `disabled_tools` " +
      "mean the same.",
  ),
};

/** Where requests are sent, and what is sent with each. */
const REACHED: Settings = {
  url: {
    description: "Its address.",
    anyOf: [
      { type: "string", format: "uri", pattern: "^https?://" },
      // With references, it is checked when they are resolved: only this server fails then.
      { type: "string", pattern: String.raw`^(?:https?://.*)?\$\{` },
    ],
  },
  headers: byName(ANY_TEXT, "Headers to send with every request."),
};

const oAuthSettings = shape(
  "OAuthSettings",
  "For servers that want a login (`trunkline server login NAME`). Servers say all of it " +
    "themselves, unless their authorization server does not register clients.",
  {
    issuer: url(
      "Issuer of the tokens, if the server does not name it, if it is in a private network, " +
        "or if `clientId` is set.",
    ),
    clientId: text("Client that you have registered with the issuer."),
    clientSecret: text("Secret of that client, as `${keychain:NAME}`."),
    clientMetadataUrl: url(
      "Client metadata document that you have published, used instead of `clientId`.",
      { pattern: "^https://" },
    ),
    scopes: list(
      { type: "string", pattern: String.raw`^[\x21\x23-\x5B\x5D-\x7E]+$` },
      "Scopes to ask for, instead of those that the server names.",
    ),
    resource: flag(
      "Whether requests for tokens name the server (RFC 8707); true by default. Some " +
        "issuers, such as Microsoft Entra, reject that.",
    ),
    callbackPort: integer(
      "Port of the address that the browser comes back to, `http://127.0.0.1:PORT/callback`, " +
        "if the client is registered with one. By default any free port.",
      { minimum: 1, maximum: 65_535 },
    ),
  },
);

const mcpCommand = shape(
  "McpCommand",
  "An MCP server that is started and used on its standard streams.",
  {
    type: choice(
      ["stdio", "local"],
      "With `command`; optional, for compatibility with other programs.",
    ),
    command: text(
      "Program to start. A path that begins with `./`, `../` or `~/` counts from this file's " +
        "folder or the home folder.",
      { "x-path": "program" },
    ),
    args: ARGS,
    env: byName(
      ANY_TEXT,
      "Environment variables it gets in addition to the usual ones. Here, in `args`, `url` " +
        "and `headers`, `${NAME}`, `${env:NAME}` and `${NAME:-default}` stand for a variable, " +
        "and `${keychain:NAME}` for a secret that `trunkline model key set NAME` has stored; " +
        "in `headers` and `auth`, `${identity:NAME}` for the token of an identity. With " +
        "`${workspaceFolder}`, the project of whoever calls, each client and project has an instance.",
    ),
    cwd: path("Folder it is started in.", { "x-path": "document" }),
    envFile: path(
      "File with further variables, a `NAME=value` in each line; those of `env` count first.",
      { "x-path": "document" },
    ),
    ...SERVER,
  },
  { required: ["command"] },
);

const mcpAddress = shape(
  "McpAddress",
  "An MCP server that is reached over HTTP.",
  {
    type: choice(
      ["http", "sse", "streamable-http"],
      "With `url`; optional, for compatibility with other programs.",
    ),
    ...REACHED,
    headersHelper: text(
      "Command of the shell that prints further headers as a JSON object; run for each connection.",
    ),
    oauth: oAuthSettings,
    ...SERVER,
  },
  { required: ["url"] },
);

const openApiServer = shape(
  "OpenApiServer",
  "An API whose operations are offered as tools.",
  {
    type: choice(["openapi"], "With `openapi`; optional."),
    openapi: path("OpenAPI 3 document, as JSON or YAML: a URL, or a file.", {
      "x-path": "document",
    }),
    ...REACHED,
    auth: byName(
      ANY_TEXT,
      "With `openapi`: credentials by the names of the document's security schemes, as " +
        "`${keychain:NAME}`. `NAME:PASSWORD` for basic authentication.",
    ),
    ...SERVER,
  },
  { required: ["openapi"] },
);

const mcpServer: Setting = {
  "x-name": "McpServer",
  description: "An MCP server: a program to start, a URL, or an API with an OpenAPI document.",
  anyOf: [mcpCommand, mcpAddress, openApiServer],
};

/** Other MCP servers. */
export const servers = {
  name: "servers",
  settings: {
    mcpServers: byName(mcpServer, "Other MCP servers whose tools are offered, by name.", {
      default: {},
    }),
  },
} satisfies Capability;
