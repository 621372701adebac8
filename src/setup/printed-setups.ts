/** A program whose configuration people write themselves: what to put there is printed. */
export interface PrintedSetup {
  readonly name: string;
  readonly label: string;
  /** The command that shows that it is installed. */
  readonly program: string;
  readonly where: string;
  /** `words` is the command line of Trunkline. */
  readonly text: (words: readonly string[]) => string;
}

export const PRINTED_SETUPS: readonly PrintedSetup[] = [
  {
    ...{ name: "neovim", label: "Neovim", program: "nvim" },
    ...{ where: "into your `init.lua`", text: neovimText },
  },
  {
    ...{ name: "helix", label: "Helix", program: "hx" },
    ...{ where: "into `~/.config/helix/languages.toml`", text: helixText },
  },
  {
    ...{ name: "emacs", label: "Emacs", program: "emacs" },
    ...{ where: "into your `init.el`", text: emacsText },
  },
];

/** For each plugin that can use us. */
function neovimText(words: readonly string[]): string {
  const lua = (more: string): string => [...words, more].map(luaString).join(", ");
  const [command = "", ...args] = words;
  const list = (more: string): string => [...args, more].map(luaString).join(", ");
  const server = { command, args: [...args, "mcp"] };
  return `-- Reviews, as diagnostics and code actions
local trunkline = {
  name = "trunkline",
  cmd = { ${lua("lsp")} },
  root_dir = vim.fn.getcwd(),
  capabilities = vim.tbl_deep_extend("force", vim.lsp.protocol.make_client_capabilities(), {
    window = { showDocument = { support = true } },
  }),
}
vim.lsp.handlers["window/showDocument"] = vim.lsp.handlers["window/showDocument"]
  or function(_, params)
    vim.cmd("split " .. vim.fn.fnameescape(vim.uri_to_fname(params.uri)))
    return { success = true }
  end
vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile" }, {
  callback = function(event)
    if vim.lsp.start then
      vim.lsp.start(trunkline, { bufnr = event.buf })
    else -- before Neovim 0.8
      trunkline_client = trunkline_client or vim.lsp.start_client(trunkline)
      vim.lsp.buf_attach_client(event.buf, trunkline_client)
    end
  end,
})

-- codecompanion.nvim: tools (MCP) and agents (ACP)
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

function helixText([command = "", ...args]: readonly string[]): string {
  const list = [...args, "lsp"].map((arg) => JSON.stringify(arg)).join(", ");
  return `[language-server.trunkline]
command = ${JSON.stringify(command)}
args = [${list}]

# For each language: its own servers, and then this one.
[[language]]
name = "rust"
language-servers = ["rust-analyzer", "trunkline"]
`;
}

function emacsText(words: readonly string[]): string {
  const list = [...words, "lsp"].map((word) => JSON.stringify(word)).join(" ");
  return `;; lsp-mode: beside the server of the language
(with-eval-after-load 'lsp-mode
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection '(${list}))
                    :activation-fn (lambda (&rest _) t)
                    :add-on? t
                    :server-id 'trunkline)))

;; eglot has one server for each mode
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(text-mode . (${list}))))
`;
}
