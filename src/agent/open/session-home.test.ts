import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";
import { digestSettings, sessionHome } from "./session-home.ts";

const ENV = { PATH: "/bin", ANTHROPIC_API_KEY: "k" };
const PLACE = { url: "http://127.0.0.1:1", browser: "http://127.0.0.1:1" };

describe("sessionHome()", () => {
  it("is a gateway of the data folder with the same settings", async () => {
    await using home = await SampleHome.create();
    const { config } = await home.load();
    assert.equal(await sessionHome(config, ENV), undefined);
    const settings = digestSettings(config, ENV);
    using _other = await announceGateway(config.data, { ...PLACE, holder: "other", settings: "x" });
    assert.equal(await sessionHome(config, ENV), undefined);
    {
      using _same = await announceGateway(config.data, { ...PLACE, holder: "same", settings });
      assert.equal(await sessionHome(config, ENV), "same");
      const otherServer = { ...config, serve: { ...config.serve, port: 1 } };
      assert.equal(await sessionHome(otherServer, ENV), "same");
    }
    assert.equal(await sessionHome(config, ENV), undefined);
  });

  it("is no gateway with another configuration, key or ssh-agent", async () => {
    await using home = await SampleHome.create();
    const { config } = await home.load();
    const settings = digestSettings(config, ENV);
    using _one = await announceGateway(config.data, { ...PLACE, holder: "one", settings });
    for (const env of [
      { ...ENV, ANTHROPIC_API_KEY: "other" },
      { ...ENV, SSH_AUTH_SOCK: "/s" },
    ]) {
      assert.equal(await sessionHome(config, env), undefined);
    }
    assert.equal(
      await sessionHome({ ...config, agent: { ...config.agent, name: "goose" } }, ENV),
      undefined,
    );
  });

  it("reveals nothing of a key", async () => {
    await using home = await SampleHome.create();
    const { config } = await home.load();
    assert.match(digestSettings(config, ENV), /^[\w-]{43}$/);
  });
});
