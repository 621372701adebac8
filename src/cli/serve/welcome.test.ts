import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { serveWelcome } from "./serve.ts";

const BASE = {
  url: "http://127.0.0.1:4180",
  tokenFile: "/home/me/state/owner-token",
  color: false,
  command: { program: "trunkline", options: [] },
};

describe("serveWelcome()", () => {
  it("shows a link in a terminal, and otherwise how to get one", () => {
    const login = "http://127.0.0.1:4180/login#CODE";
    const shown = serveWelcome({ ...BASE, login });
    assert.match(
      shown,
      /Browser {2}http:\/\/127\.0\.0\.1:4180\/login#CODE\n.*once.*trunkline open/,
    );
    assert.match(serveWelcome(BASE), /Browser {2}run `trunkline open`/);
  });

  it("has a command that connects an assistant, and shows no token", () => {
    const text = serveWelcome(BASE);
    assert.match(text, /^ {2}trunkline setup claude-code --http$/m);
    assert.doesNotMatch(text, /Bearer/);
  });

  it("has commands that run where no trunkline is in PATH, on the same files", () => {
    const command = { program: "'/my clone/trunkline.js'", options: ["--data=/my data"] };
    const text = serveWelcome({ ...BASE, command });
    const words = String.raw`'\/my clone\/trunkline\.js'`;
    const files = "'--data=/my data'";
    assert.match(text, new RegExp(`^ {2}${words} setup claude-code --http ${files}$`, "m"));
    assert.match(text, new RegExp(`run .${words} open ${files}.$`, "m"));
  });

  it("shows the public address", () => {
    const text = serveWelcome({ ...BASE, publicUrl: "https://tools.example.com" });
    assert.match(text, /MCP {6}https:\/\/tools\.example\.com\/mcp/);
    assert.match(text, /Other machines.*trunkline token create NAME/);
  });

  it("shows no token if none is required", () => {
    const text = serveWelcome({ ...BASE, noAuth: true });
    assert.doesNotMatch(text, /owner-token|Bearer/);
  });
});
