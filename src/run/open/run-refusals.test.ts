import { gatewaySources } from "../../../test/support/gateway-sources.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { AcpSocket } from "../../../test/support/acp-socket.ts";
import { AppContext } from "../../config/app-context.ts";
import { openHttpServer } from "../../app/serve/http-server.ts";

const REVISION = "0123456789abcdef0123456789abcdef01234567";

describe("a remote run that is refused", { timeout: 60_000 }, () => {
  const cases: readonly (readonly [what: string, remote: object, code: number, says: RegExp])[] = [
    ["a revision that is none", { revision: "main" }, -32602, /'params\._meta\.remote\.revision'/],
    ["another protocol", { url: "ftp://example.org/a" }, -32031, /Cannot work on 'ftp:/],
    ["a private address", { url: "https://127.0.0.1/a" }, -32031, /not a public address/],
    ["an option", { url: "--upload-pack=x" }, -32031, /Cannot work on/],
  ];
  for (const [what, given, code, says] of cases) {
    it(`has a code and words of its own: ${what}`, async () => {
      await using home = await SampleHome.create();
      await home.write(
        home.userFile,
        `{ "remote": { "sandbox": "unsafe-off" }, "log": { "level": "error" } }`,
      );
      const { config } = await home.load({ flags: { port: "0" } });
      const server = await openHttpServer(new AppContext(config), {
        noAuth: true,
        sources: gatewaySources(),
      });
      try {
        using client = await AcpSocket.connect(`${server.localUrl}/acp`.replace("http", "ws"));
        const remote = {
          url: "https://example.org/a",
          branch: "main",
          revision: REVISION,
          ...given,
        };
        const params = { cwd: "", mcpServers: [], _meta: { remote } };
        const { error } = await client.answer("session/new", params);
        assert.equal(error.code, code, error.message);
        assert.match(error.message, says);
      } finally {
        await server.close(0);
      }
    });
  }
});
