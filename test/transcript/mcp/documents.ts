import type { McpDoorOptions } from "../../../src/protocol/mcp/serve/door.ts";
import { Offer } from "../../../src/tool/offer/offer.ts";
import {
  type Arguments,
  errorResult,
  textResult,
  type ToolDefinition,
  type ToolResult,
} from "../../../src/tool/tool.ts";

/**
 * The programs that the documents show, as doors that present themselves as those do. Their tools
 * are scripted: here the wire is on trial, not what the tools do.
 */
export const DOCUMENTS: Readonly<Record<string, () => McpDoorOptions>> = {
  "2025-11-25/remote-juggler": () => ({
    info: { name: "remote-juggler", version: "2.2.0" },
    capabilities: { "2025-11-25": { tools: {} } },
    offer: offerOf(
      tool("juggler_list_identities", "List all configured git identities...", {
        properties: {
          provider: { type: "string", enum: ["gitlab", "github", "bitbucket", "all"] },
        },
      }),
      tool(
        "juggler_switch",
        "Switch to another identity",
        {
          properties: { identity: { type: "string" }, setRemote: { type: "boolean" } },
          required: ["identity"],
        },
        ({ identity }) =>
          identity === "work"
            ? textResult("Switched to identity: work\n...")
            : errorResult("Error: Identity not found"),
      ),
    ),
  }),

  "2024-11-05/lazygit-mcp-bridge": () => {
    const waiting = [
      message(1, "src/main.go", 42, "This function needs error handling", "10:30:00"),
      message(2, "src/utils.go", 15, "Add input validation", "10:32:00"),
    ];
    const offer = offerOf(
      tool("check_lazygit_messages", "Check for new messages from lazygit", { properties: {} }, () => {
        const text = waiting.splice(0).join(`\n\n${"-".repeat(50)}\n\n`);
        return textResult(text === "" ? "No new messages from lazygit" : text);
      }),
    );
    const about = { uri: "lazygit://messages", mimeType: "text/plain" };
    const name = "Lazygit Messages";
    const description = "Messages from lazygit for code improvement";
    offer.resources.add({
      list: () => [{ uri: about.uri, name, description, mimeType: about.mimeType }],
      read: async () => {
        const texts = [
          message(1, "src/main.go", 42, "Add validation here", "10:30:00"),
          message(2, "src/server.go", 89, "Handle timeout properly", "10:33:00"),
        ];
        return { contents: [{ ...about, text: texts.join(`\n\n${"-".repeat(50)}\n\n`) }] };
      },
    });
    return {
      info: { name: "lazygit-mcp-bridge", version: "1.0.0" },
      capabilities: {
        "2024-11-05": {
          resources: { subscribe: true, listChanged: true },
          tools: { listChanged: false },
        },
      },
      offer,
    };
  },

  "2024-11-05/transport-stdio": () => ({
    info: { name: "orchestra", version: "1.0.0" },
    capabilities: { "2024-11-05": { tools: {} } },
    methodNotFound: (method) => `method not found: ${method}`,
    offer: offerOf(
      tool(
        "create_project",
        "Create a new project workspace",
        { properties: { name: { type: "string" } } },
        ({ name }) => textResult(`Created project: ${String(name)} (slug: my-app)`),
      ),
      tool("create_feature", "Create a feature", {}, ({ title }: { title?: string }) =>
        title === undefined
          ? errorResult("tool error: validation_error")
          : textResult(`Created FEAT-ABC: ${title}`),
      ),
    ),
  }),
};

function tool(
  name: string,
  description: string,
  schema: object,
  call: (args: Arguments) => ToolResult = () => textResult(""),
): { definition: ToolDefinition; call: (args: Arguments) => ToolResult } {
  return { definition: { name, description, inputSchema: { type: "object", ...schema } }, call };
}

function offerOf(...tools: ReturnType<typeof tool>[]): Offer {
  const offer = new Offer();
  for (const each of tools) offer.tools.add(each);
  return offer;
}

function message(n: number, file: string, line: number, comment: string, time: string): string {
  const head = `Message ${n}:\nFile: ${file}\nLine: ${line}\nComment: ${comment}`;
  return `${head}\nTime: 2025-07-01T${time}Z\n\nPlease improve this code.`;
}
