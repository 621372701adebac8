import assert from "node:assert/strict";
import { test } from "node:test";

import { linkTo, parseRoute } from "./router.ts";

test("parseRoute() reads what linkTo() writes, whatever the id contains", () => {
  for (const id of ["s-1", "a/b", "ä ?#%"]) {
    const { page, id: found, tab } = parseRoute(linkTo("sessions", id, "changes"));
    assert.deepEqual([page, found, tab], ["sessions", id, "changes"]);
  }
});

test("parseRoute() starts at the start page and survives a broken address", () => {
  assert.equal(parseRoute("").page, "start");
  assert.equal(parseRoute("#/").page, "start");
  assert.deepEqual(parseRoute("#/sessions/%zz?q=a+b").id, "%zz");
  assert.equal(parseRoute("#/audit?q=a+b").query.get("q"), "a b");
});
