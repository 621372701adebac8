import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";

import { findTooDeep, TOO_DEEP } from "../../config/file/parse-file.ts";
import { setInJsonc } from "../../config/file/set-in-jsonc.ts";
import { type Format, isMap } from "./format.ts";

/** JSON, with the comments and trailing commas that many programs allow. */
export const json: Format = {
  read(text) {
    if (text.trim() === "") return {};
    if (findTooDeep(text) !== undefined) throw new Error(`it is ${TOO_DEEP}`);
    const errors: ParseError[] = [];
    const value: unknown = parse(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first === undefined && isMap(value)) return value;
    const line = text.slice(0, first?.offset ?? 0).split("\n").length;
    const detail =
      first === undefined ? "" : ` (line ${line}: ${printParseErrorCode(first.error)})`;
    throw new Error(`it is not a JSON object${detail}`);
  },

  set: (text, path, value) => setInJsonc(text.trim() === "" ? "{}\n" : text, path, value),
};
