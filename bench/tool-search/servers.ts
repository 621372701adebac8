/** An MCP server of npm that lists its tools without a real account. */
export interface CatalogueServer {
  /** The name that a person would give it in `mcpServers`. */
  readonly name: string;
  readonly package: string;
  readonly args?: readonly string[];
  /** Placeholders: a server only checks that something is set before it lists its tools. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Used while the ranking and its synonyms were made. */
export const TUNING_SERVERS: readonly CatalogueServer[] = [
  { name: "filesystem", package: "@modelcontextprotocol/server-filesystem", args: ["/tmp"] },
  { name: "memory", package: "@modelcontextprotocol/server-memory" },
  { name: "github", package: "@modelcontextprotocol/server-github" },
  {
    name: "slack",
    package: "@modelcontextprotocol/server-slack",
    env: { SLACK_BOT_TOKEN: "xoxb-1", SLACK_TEAM_ID: "T1" },
  },
  { name: "playwright", package: "@playwright/mcp" },
  { name: "notion", package: "@notionhq/notion-mcp-server", env: { NOTION_TOKEN: "ntn_1" } },
  { name: "linear", package: "@tacticlaunch/mcp-linear", env: { LINEAR_API_TOKEN: "lin_api_1" } },
  { name: "kubernetes", package: "mcp-server-kubernetes" },
  { name: "firecrawl", package: "firecrawl-mcp", env: { FIRECRAWL_API_KEY: "fc-1" } },
  { name: "tavily", package: "tavily-mcp", env: { TAVILY_API_KEY: "tvly-1" } },
  { name: "puppeteer", package: "@modelcontextprotocol/server-puppeteer" },
  { name: "excel", package: "@negokaz/excel-mcp-server" },
];

/** Nobody looked at how their tools are ranked before the ranking was done. */
export const HELD_OUT_SERVERS: readonly CatalogueServer[] = [
  {
    name: "gitlab",
    package: "@zereight/mcp-gitlab",
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: "glpat-1" },
  },
  { name: "mongodb", package: "mongodb-mcp-server" },
  {
    name: "jira",
    package: "@aashari/mcp-server-atlassian-jira",
    env: { ATLASSIAN_SITE_NAME: "a", ATLASSIAN_USER_EMAIL: "a@b.c", ATLASSIAN_API_TOKEN: "1" },
  },
  { name: "chrome", package: "chrome-devtools-mcp" },
  { name: "airtable", package: "airtable-mcp-server", env: { AIRTABLE_API_KEY: "pat.1" } },
  { name: "shortcut", package: "@shortcut/mcp", env: { SHORTCUT_API_TOKEN: "1" } },
  { name: "circleci", package: "@circleci/mcp-server-circleci", env: { CIRCLECI_TOKEN: "1" } },
  { name: "hubspot", package: "@hubspot/mcp-server", env: { PRIVATE_APP_ACCESS_TOKEN: "pat-1" } },
  { name: "mobile", package: "@mobilenext/mobile-mcp" },
  {
    name: "n8n",
    package: "n8n-mcp",
    env: { N8N_API_URL: "http://127.0.0.1:1", N8N_API_KEY: "1", MCP_MODE: "stdio" },
  },
  {
    name: "bitbucket",
    package: "@aashari/mcp-server-atlassian-bitbucket",
    env: { ATLASSIAN_USER_EMAIL: "a@b.c", ATLASSIAN_API_TOKEN: "1" },
  },
  { name: "sentry", package: "@sentry/mcp-server", args: ["--access-token=1"] },
  {
    name: "elasticsearch",
    package: "@elastic/mcp-server-elasticsearch",
    env: { ES_URL: "http://127.0.0.1:1", ES_API_KEY: "1" },
  },
  {
    name: "maps",
    package: "@modelcontextprotocol/server-google-maps",
    env: { GOOGLE_MAPS_API_KEY: "1" },
  },
  { name: "brave", package: "@brave/brave-search-mcp-server", env: { BRAVE_API_KEY: "1" } },
  {
    name: "mapbox",
    package: "@mapbox/mcp-server",
    env: { MAPBOX_ACCESS_TOKEN: "a.eyJ1IjoiYSJ9.b" },
  },
  { name: "netlify", package: "@netlify/mcp" },
  {
    name: "launchdarkly",
    package: "@launchdarkly/mcp-server",
    args: ["start", "--api-key", "api-1"],
  },
  {
    name: "salesforce",
    package: "@salesforce/mcp",
    args: ["--orgs", "DEFAULT_TARGET_ORG", "--toolsets", "all"],
  },
];

/** Their queries were committed before the ranking was given phrases. */
export const FRESH_SERVERS: readonly CatalogueServer[] = [
  {
    name: "trello",
    package: "@delorenj/mcp-server-trello",
    env: { TRELLO_API_KEY: "1", TRELLO_TOKEN: "1" },
  },
  { name: "asana", package: "@roychri/mcp-server-asana", env: { ASANA_ACCESS_TOKEN: "1" } },
  {
    name: "xero",
    package: "@xeroapi/xero-mcp-server",
    env: { XERO_CLIENT_ID: "1", XERO_CLIENT_SECRET: "1" },
  },
  { name: "vercel", package: "vercel-mcp", env: { VERCEL_API_KEY: "1" } },
  { name: "digitalocean", package: "@digitalocean/mcp", env: { DIGITALOCEAN_API_TOKEN: "1" } },
  { name: "pinecone", package: "@pinecone-database/mcp", env: { PINECONE_API_KEY: "1" } },
  { name: "resend", package: "resend-mcp", env: { RESEND_API_KEY: "re_1" } },
  { name: "postman", package: "@postman/postman-mcp-server", env: { POSTMAN_API_KEY: "1" } },
  { name: "obsidian", package: "obsidian-mcp", args: ["."] },
  { name: "git", package: "@cyanheads/git-mcp-server", env: { MCP_TRANSPORT_TYPE: "stdio" } },
  {
    name: "line",
    package: "@line/line-bot-mcp-server",
    env: { CHANNEL_ACCESS_TOKEN: "1", DESTINATION_USER_ID: "U1" },
  },
];
