import { selfCommand } from "../base/process/self-command.ts";
import type { Invocation } from "../cli/shell/command.ts";

/** `trunkline setup neovim`: its plugins are set up in the user's own Lua, which is not ours to edit. */
export async function setupNeovim({ err, data }: Invocation): Promise<number> {
  err("Neovim has no file for this: its plugins are set up in your Lua. Put one of these there:\n");
  data(neovimText(selfCommand()));
  return 0;
}

/** What to put into `init.lua`, for each plugin that can use us. */
export function neovimText(words: readonly string[]): string {
  const lua = (more: string): string => [...words, more].map(luaString).join(", ");
  const [command = "", ...args] = words;
  const list = (more: string): string => [...args, more].map(luaString).join(", ");
  const server = { command, args: [...args, "mcp"] };
  return `-- codecompanion.nvim: tools (MCP) and agents (ACP)
require("codecompanion").setup({
  mcp = { servers = { trunkline = { cmd = { ${lua("mcp")} } } } },
  adapters = {
    acp = {
      trunkline = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = "trunkline",
          commands = { default = { ${lua("acp")} } },
        })
      end,
    },
  },
})

-- avante.nvim: agents (ACP)
require("avante").setup({
  provider = "trunkline",
  acp_providers = {
    trunkline = { command = ${luaString(command)}, args = { ${list("acp")} } },
  },
})

-- mcphub.nvim: tools (MCP), in ~/.config/mcphub/servers.json
-- ${JSON.stringify({ mcpServers: { trunkline: server } })}
`;
}

function luaString(text: string): string {
  return `"${text.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll("\n", String.raw`\n`)}"`;
}
