import { describe, it } from "node:test";

import { DashboardBrowser, chromiumPath, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { folderIn } from "../../support/dashboard-home.ts";
import { GuardedHome, INITIALIZE } from "../../support/guarded-gateway.ts";
import { Program } from "../../support/program.ts";

const INITIALIZED = { jsonrpc: "2.0", method: "notifications/initialized" };

describe(
  "the start page, in Chromium",
  { timeout: 300_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    it("says who is connected and what is down as it happens, without a reload", async () => {
      using home = new GuardedHome({
        mcpServers: { gone: { command: "/no/such/program" }, other: { command: "/none" } },
      });
      await using gateway = await home.serve();
      await using browser = await DashboardBrowser.launch();
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      await page.evaluate("window.isSamePage = true");
      const step = (title: string) => page.getByRole("listitem").filter({ hasText: title }).first();
      const assistant = step("Connect an assistant");
      await assistant.getByText("not seen yet").waitFor();
      await step("Add a server").getByText("2 servers", { exact: true }).waitFor();
      // One is relayed; with --verbose it serves by itself.
      for (const options of [[], ["--verbose"]]) {
        const env = { ...home.files, HOME: gateway.program.home };
        await using mcp = new Program(["mcp", ...options], { env });
        mcp.write(INITIALIZE);
        await mcp.answers(1);
        mcp.write(INITIALIZED, { jsonrpc: "2.0", id: 1, method: "tools/list" });
        await mcp.until(({ lines }) => lines.some((line) => JSON.parse(line).id === 1));
        await assistant.getByText("stranger: connected").waitFor();
        mcp.child.stdin.end();
        await mcp.exit;
        await assistant.getByText("stranger · now").waitFor();
      }
      // They were started when somebody wanted their tools.
      await step("Add a server").getByText("2 servers, 2 down").waitFor();
      await page.getByRole("link", { name: "Servers 2" }).waitFor();
      const editor = step("Connect an editor");
      const agent = step("Talk with an agent");
      await using acp = home.start("acp");
      const clientInfo = { name: "zed", title: "Zed", version: "1" };
      const ask = async (id: number, method: string, params: object) => {
        const isAnswer = (line: string): boolean => JSON.parse(line).id === id;
        acp.write({ jsonrpc: "2.0", id, method, params });
        await acp.until(({ lines }) => lines.some(isAnswer));
        return JSON.parse(acp.lines.find(isAnswer) ?? "").result;
      };
      await ask(1, "initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo });
      await editor.getByText("not seen yet").waitFor();
      const cwd = folderIn(home);
      const { sessionId } = await ask(2, "session/new", { cwd, mcpServers: [] });
      await editor.getByText("Zed: connected").waitFor();
      await agent.getByText("not seen yet").waitFor();
      await ask(3, "session/prompt", { sessionId, prompt: [{ type: "text", text: "/help" }] });
      await agent.getByText("trunkline · now").waitFor();
      // Nothing says that a killed process has ended, but the lock does.
      acp.child.kill("SIGKILL");
      await acp.exit;
      await editor.getByText("Zed: connected").waitFor({ state: "detached" });
      await page.waitForFunction("window.isSamePage === true");
      watched.expectClean();
    });
  },
);
