import { type Command, json, project } from "../shell/command.ts";

const NAME = { name: "NAME", describe: "Name of the server in `mcpServers`" } as const;

export const server: Command = {
  name: "server",
  summary: "Add, remove, list and test MCP servers, and log in to them",
  description:
    "Tools of these servers are offered to every assistant, beside Trunkline's own. Running " +
    "gateways and assistants apply a change within a second.",
  examples: [
    {
      run: "trunkline server add files -- npx -y @modelcontextprotocol/server-filesystem .",
      explains: "Add a program.",
    },
    { run: "trunkline server test files", explains: "Start it and list its tools." },
  ],
  commands: [
    {
      name: "add",
      summary: "Add an MCP server to your configuration file",
      description:
        "Give a URL, or `--` and a command line. A header or a variable without a value is a " +
        "secret: it is asked for, or read from standard input, and not shown.",
      args: [
        NAME,
        {
          name: "COMMAND_OR_URL",
          describe: "Program and its arguments, after `--`; or a URL",
          variadic: true,
        },
      ],
      options: {
        env: {
          type: "string",
          value: "NAME=VALUE",
          multiple: true,
          describe: "Environment variable for the program; may be repeated",
        },
        header: {
          type: "string",
          value: "NAME=VALUE",
          multiple: true,
          describe: "Header to send to the URL; may be repeated",
        },
        transport: {
          type: "string",
          value: "KIND",
          describe: "Transport of the URL, if it is the old one",
          choices: ["http", "sse"],
        },
        cwd: { type: "string", value: "DIR", describe: "Folder that the program is started in" },
        replace: { type: "boolean", describe: "Replace a server with the same name" },
        project,
        json,
      },
      examples: [
        {
          run: "trunkline server add files -- npx -y @modelcontextprotocol/server-filesystem .",
          explains: "Add a program.",
        },
        {
          run: "trunkline server add issues https://mcp.example.com/mcp --header x-team=web",
          explains: "Add a URL.",
        },
        {
          run: "pass show wiki | trunkline server add wiki https://mcp.example.com/wiki --header Authorization",
          explains: "Read the value of a header from another program.",
        },
      ],
      load: async () => ({ run: (await import("./edit.ts")).add }),
    },
    {
      name: "remove",
      summary: "Remove an MCP server from your configuration file",
      args: [NAME],
      options: { project, json },
      examples: [{ run: "trunkline server remove files", explains: "Its tools are gone at once." }],
      load: async () => ({ run: (await import("./edit.ts")).remove }),
    },
    {
      name: "list",
      summary: "List the configured MCP servers, without starting them",
      options: { json },
      examples: [
        { run: "trunkline server list", explains: "Also shows how many tools wait for approval." },
      ],
      load: async () => ({ run: (await import("./list.ts")).list }),
    },
    {
      name: "test",
      summary: "Start or connect to an MCP server and list its tools",
      args: [NAME],
      options: { json },
      examples: [
        { run: "trunkline server test files", explains: "Exits with 1 if it does not work." },
      ],
      load: async () => ({ run: (await import("./test.ts")).test }),
    },
    {
      name: "login",
      summary: "Log in to an MCP server that wants a login",
      description:
        "Opens the login page in a browser, and prints its link. Where the browser is on another " +
        "machine, paste the address of its last page here. The login is stored in the system's " +
        "keychain and renewed by itself. Running gateways use it at once.",
      args: [NAME],
      options: {
        print: { type: "boolean", describe: "Print the link, and open no browser" },
        json,
      },
      examples: [{ run: "trunkline server login issues", explains: "Log in with a browser." }],
      load: async () => ({ run: (await import("./login.ts")).login }),
    },
    {
      name: "logout",
      summary: "Remove the login at an MCP server",
      description: "Its tokens are ended, too, if the issuer of the tokens can do that.",
      args: [NAME],
      options: { json },
      examples: [{ run: "trunkline server logout issues", explains: "Its tools are gone." }],
      load: async () => ({ run: (await import("./login.ts")).logout }),
    },
  ],
};
