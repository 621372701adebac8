import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";
import type { ApiCall } from "../../base/capability/api-route.ts";
import { auditRoutes } from "./audit-routes.ts";

describe("the search in the audit", () => {
  it("has a share for each token, which others cannot use up", async () => {
    await using folder = await SampleFolder.create();
    {
      using log = new AuditLog(folder.path);
      for (const principal of ["token a", "token b"]) log.record({ time: "t", principal });
    }
    const [route] = auditRoutes(folder.path);
    const search = (id: string): Promise<{ rows: object[] }> => {
      const call = { principal: { id, scopes: [] }, query: new URLSearchParams() };
      return route?.handle(call as unknown as ApiCall) as Promise<{ rows: object[] }>;
    };
    const many = Promise.allSettled(Array.from({ length: 20 }, () => search("token a")));
    assert.equal((await search("token b")).rows.length, 1);
    const refused = (await many).filter(({ status }) => status === "rejected");
    assert.equal(refused.length, 3, "one runs, and sixteen wait");
    assert.match(String((refused[0] as PromiseRejectedResult).reason), /Too many searches/);
    assert.equal((await search("token a")).rows.length, 1);
  });
});
