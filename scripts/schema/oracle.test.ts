import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Ajv, type ValidateFunction } from "ajv";

import { loadChecks } from "./load-checks.ts";
import { isAbsolutePath, isUri, isUuid } from "../../src/base/check.ts";
import { RandomSchema } from "./random-schema.ts";
import type { Schemas } from "./schema.ts";

const SEEDS = [1, 2, 3, 4, 1005, 1089];
const SCHEMAS = 40;
const VALUES = 100;

/** The same schemas, checked by Ajv. */
function oracles(schemas: Schemas): (name: string) => ValidateFunction {
  const ajv = new Ajv({ strict: false, strictNumbers: true, ownProperties: true, logger: false });
  ajv.addFormat("absolute-path", isAbsolutePath);
  ajv.addFormat("uuid", isUuid);
  ajv.addFormat("uri", isUri);
  const text = JSON.stringify(schemas).replaceAll(/"\$ref":"#(\w+)"/g, '"$ref":"all#/$defs/$1"');
  ajv.addSchema({ $id: "all", $defs: JSON.parse(text) });
  return (name) => ajv.compile({ $ref: `all#/$defs/${name}` });
}

describe("generated checks", () => {
  for (const seed of SEEDS) {
    it(`accept exactly what Ajv accepts (seed ${seed})`, async () => {
      const random = new RandomSchema(seed);
      const schemas = random.schemas(SCHEMAS);
      const checks = await loadChecks(schemas);
      const oracle = oracles(schemas);
      const seen = { right: 0, wrong: 0 };
      for (const [name, schema] of Object.entries(schemas)) {
        const validate = oracle(name);
        for (let i = 0; i < VALUES; i++) {
          const value = random.value(schema, schemas);
          const isRight = validate(value);
          const problem = checks[name]?.(value);
          seen[isRight ? "right" : "wrong"]++;
          assert.equal(
            problem === undefined,
            isRight,
            `${name} ${JSON.stringify(schema)}\nvalue ${JSON.stringify(value)}\nAjv: ` +
              `${JSON.stringify(validate.errors)}\nours: ${JSON.stringify(problem)}`,
          );
        }
      }
      // Otherwise the values, not the checks, would be what agrees.
      assert(seen.right > 800 && seen.wrong > 500, JSON.stringify(seen));
    });
  }
});
