import { type Method, method } from "../../../rpc/method.ts";
import { isObject, type JsonObject } from "../json-object.ts";

const methods = new Map<string, Method<JsonObject, JsonObject>>();

/** The method of a name, all of which answer with an object. Only names that we write get here. */
export function anObject(name: string): Method<JsonObject, JsonObject> {
  let known = methods.get(name);
  if (known === undefined) {
    known = method<JsonObject, JsonObject>(name, {
      checkResult: (value) =>
        isObject(value) ? undefined : { path: [], says: "must be an object" },
    });
    methods.set(name, known);
  }
  return known;
}
