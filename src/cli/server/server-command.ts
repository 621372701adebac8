import { arg, type Command, commandsIn, flag, project, text } from "../shell/command.ts";

const NAME = arg("NAME", "Name of the server in `mcpServers`", { names: "server" });

export const server: Command = {
  name: "server",
  summary: "Add, remove, list and test MCP servers, and log in to them",
  description:
    "Tools of these servers are offered to every assistant, beside Trunkline's own. Running " +
    "gateways and assistants apply a change within a second.",
  examples: {
    "trunkline server add files -- npx -y @modelcontextprotocol/server-filesystem .":
      "Add a program.",
    "trunkline server test files": "Start it and list its tools.",
  },
  commands: commandsIn(() => import("./server.ts"), {
    add: {
      summary: "Add an MCP server to your configuration file",
      description:
        "Give a URL, or `--` and a command line. A header or a variable without a value is a " +
        "secret: it is asked for, or read from standard input, and not shown.",
      args: [NAME, arg("COMMAND_OR_URL...", "Program and its arguments, after `--`; or a URL")],
      options: {
        env: text("NAME=VALUE...", "Environment variable for the program; may be repeated"),
        header: text("NAME=VALUE...", "Header to send to the URL; may be repeated"),
        transport: text("KIND", "Transport of the URL, if it is the old one", {
          choices: ["http", "sse"],
        }),
        cwd: text("DIR", "Folder that the program is started in"),
        replace: flag("Replace a server with the same name"),
        project,
      },
      examples: {
        "trunkline server add files -- npx -y @modelcontextprotocol/server-filesystem .":
          "Add a program.",
        "trunkline server add issues https://mcp.example.com/mcp --header x-team=web": "Add a URL.",
        "pass show wiki | trunkline server add wiki https://mcp.example.com/wiki --header Authorization":
          "Read the value of a header from another program.",
      },
    },
    remove: {
      summary: "Remove an MCP server from your configuration file",
      args: [NAME],
      options: { project },
      examples: { "trunkline server remove files": "Its tools are gone at once." },
    },
    list: {
      summary: "List the configured MCP servers, without starting them",
      options: { people: flag("List the logins that people have of their own, instead") },
      examples: { "trunkline server list": "Also shows how many tools wait for approval." },
    },
    test: {
      summary: "Start or connect to an MCP server and list its tools",
      args: [NAME],
      examples: { "trunkline server test files": "Exits with 1 if it does not work." },
    },
    login: {
      summary: "Log in to an MCP server that wants a login",
      description:
        "Opens the login page in a browser, and prints its link. Where the browser is on another " +
        "machine, paste the address of its last page here. The login is stored in the system's " +
        "keychain and renewed by itself. Running gateways use it at once.",
      args: [NAME],
      options: {
        print: flag("Print the link, and open no browser"),
      },
      examples: { "trunkline server login issues": "Log in with a browser." },
    },
    logout: {
      summary: "Remove the login at an MCP server",
      description:
        "Its tokens are ended, too, if the issuer of the tokens can do that. With --person it is " +
        "the login of somebody else; without NAME, all of theirs. The audit has it.",
      args: [{ ...NAME, optional: true }],
      options: { person: text("PERSON", "Whose, as `trunkline server list --people` names them") },
      examples: {
        "trunkline server logout issues": "Its tools are gone.",
        "trunkline server logout --person ada": "Ada has left.",
      },
    },
  }),
};
