// A server of MCP Apps by the official library, whose answers carry the name that it is given.
import { registerAppResource, registerAppTool } from "@modelcontextprotocol/ext-apps/server";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const [name = "server"] = process.argv.slice(2);
const PAGE = "ui://shop/cart.html";

serveStdio(() => {
  const server = new McpServer({ name, version: "1.0.0" });
  const ui = { resourceUri: PAGE };
  const says = (text) => () => ({ content: [{ type: "text", text: `${name}: ${text}` }] });
  registerAppTool(
    server,
    "show-cart",
    { description: "Shows the cart", _meta: { ui } },
    says("cart"),
  );
  registerAppTool(
    server,
    "update-quantity",
    {
      description: "Updates a quantity",
      inputSchema: z.object({ quantity: z.number() }),
      _meta: { ui: { ...ui, visibility: ["app"] } },
    },
    ({ quantity }) => says(`${quantity}`)(),
  );
  registerAppResource(server, "Cart", PAGE, {}, () => ({
    contents: [
      {
        uri: PAGE,
        mimeType: "text/html;profile=mcp-app",
        text: `<h1>${name}</h1>`,
        _meta: { ui: { csp: { connectDomains: [`https://${name}.example.com`] } } },
      },
    ],
  }));
  return server;
});
