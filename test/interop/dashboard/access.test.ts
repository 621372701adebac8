import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";

import { AcpSocket } from "../../support/acp-socket.ts";
import { begin, CONFIG, folderIn, said } from "../../support/dashboard-home.ts";
import { GuardedHome } from "../../support/guarded-gateway.ts";
import {
  chromiumPath,
  DashboardBrowser,
  NO_CHROMIUM,
  type WatchedPage,
} from "../../browser/dashboard-browser.ts";

/** Another website: one page, on another port and another name of this machine. */
async function otherSite(html: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(html);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe(
  "the way into the dashboard, in Chromium",
  { timeout: 240_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    it("tells a browser that is not let in how to get in, and takes a link once", async () => {
      using home = new GuardedHome(CONFIG);
      await using gateway = await home.serve();
      await using stranger = await browser.open();
      await stranger.page.goto(gateway.ready.url);
      await stranger.page.getByText("trunkline open", { exact: true }).waitFor();
      await using _ = await browser.enter(gateway);
      await stranger.page.goto(gateway.ready.login);
      await stranger.page.getByText("This link has been used, or is too old").waitFor();
      // The browser itself tells of the status.
      stranger.expectClean(/status of 401/);
    });

    it("is opened by a link on another website, which can do nothing else here", async () => {
      using home = new GuardedHome(CONFIG);
      await using gateway = await home.serve();
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      const sessionId = await begin(editor, folderIn(home));
      await editor.ask("session/prompt", { sessionId, prompt: said("say from afar") });
      const { url } = gateway.ready;
      await using site = await otherSite(`<a href="${url}/#/sessions/${sessionId}">Open</a>
        <a id="login" href="${await loginLink(home)}">Log in</a>
        <iframe src="${url}/"></iframe>
        <form method="post" action="${url}/"><button>Post</button></form>
        <form action="${url}/"><button>Get</button></form>
        <script>
          const tell = (text) => document.body.append(Object.assign(document.createElement("p"), { textContent: text }));
          for (const path of ["/", "/api/me", "/api/tokens"]) {
            fetch("${url}" + path, { credentials: "include" }).then(
              async (answer) => tell(path + " answered " + await answer.text()),
              () => tell(path + " refused"),
            );
          }
        </script>`);
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      const framed = page.waitForResponse(
        (response) => response.frame() !== page.mainFrame() && response.url() === `${url}/`,
      );
      await page.goto(site.url);
      assert.equal((await framed).status(), 403);
      for (const path of ["/", "/api/me", "/api/tokens"]) {
        await page.getByText(`${path} refused`, { exact: true }).waitFor();
      }
      for (const name of ["Post", "Get"]) {
        await page.goto(site.url);
        await page.getByRole("button", { name, exact: true }).click();
        await page
          .getByText("may not use this server")
          .or(page.getByText("is not allowed"))
          .waitFor();
      }
      await page.goto(site.url);
      await page.getByRole("link", { name: "Open" }).click();
      await page.getByText("from afar", { exact: true }).waitFor();
      assert.equal(page.url(), `${url}/#/sessions/${sessionId}`, "the address is as it was");
      await page.goBack();
      await page.getByRole("link", { name: "Open" }).waitFor();

      // A login link that was sent in a chat.
      await using phone = await browser.open();
      await phone.page.goto(site.url);
      await phone.page.locator("#login").click();
      await phone.page.getByRole("status").filter({ hasText: "live" }).waitFor();
    });

    it("comes back by itself after the server was restarted, and shows what happened since", async () => {
      using home = new GuardedHome(CONFIG);
      const folder = folderIn(home);
      let sessionId = "";
      let port = "";
      let watched: WatchedPage;
      {
        await using gateway = await home.serve();
        ({ port } = gateway);
        watched = await browser.enter(gateway);
        using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
        sessionId = await begin(editor, folder);
        await editor.ask("session/prompt", { sessionId, prompt: said("say before") });
        await watched.page.goto(`${gateway.ready.url}/#/sessions/${sessionId}`);
        await watched.page.getByText("before", { exact: true }).waitFor();
      }
      await using entered = watched;
      const { page } = entered;
      await page.getByText("The connection to Trunkline is lost").waitFor();
      await using gateway = await home.serve("--port", port);
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      await editor.ask("session/load", { sessionId, cwd: folder, mcpServers: [] });
      await editor.ask("session/prompt", { sessionId, prompt: said("say after") });
      await page.getByText("after", { exact: true }).waitFor();
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      assert.equal(await page.getByText("before", { exact: true }).count(), 1);

      // Logged out, the page says so, and a fresh link lets it in again.
      const devices = await home.run("token", "rotate");
      assert.equal(devices.code, 0, devices.err);
      await page.getByText("This browser is not signed in any more").waitFor();
      await page.goto(await loginLink(home));
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      // The browser itself says that there was no server, and later that it is not let in.
      entered.expectClean(/net::ERR_|status of 401/);
    });
  },
);

/** A fresh link, as `trunkline open` prints it. */
async function loginLink(home: GuardedHome): Promise<string> {
  const { out, err } = await home.run("open", "--print");
  const [link] = /http\S+/.exec(out) ?? [];
  assert.ok(link !== undefined, err);
  return link;
}
