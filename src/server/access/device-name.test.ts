import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { deviceName } from "./device-name.ts";

describe("deviceName()", () => {
  it("names the browser and the system", () => {
    const names = {
      "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1":
        "Safari on iPhone",
      "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36":
        "Chrome on Android",
      "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox on Linux",
      "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0":
        "Edge on Windows",
      "curl/8\u001b[31m": "Unknown browser",
    };
    for (const [agent, name] of Object.entries(names)) assert.equal(deviceName(agent), name);
  });
});
