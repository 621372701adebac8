import type { CheckEmitter, Mode } from "./emit-check.ts";
import { indent, is, isNot, readMember } from "./code-text.ts";
import { type Kind, findTag, isAnything, isOnlyList, kindsOf, KINDS, requiredOf } from "./kinds.ts";
import { type Schema, type TypeName, listedValues, namedTypes, target } from "./schema.ts";
import { sentences, typesOf } from "./sentences.ts";
import { VariableNames } from "./variable-names.ts";

/** A value in the emitted code: the variable that holds it, and the steps to it as expressions. */
interface Place {
  readonly value: string;
  readonly path: readonly string[];
}

/** What is already known about a value before its schema is emitted. */
interface Known {
  readonly kind?: Kind;
  /** A member that was already checked. */
  readonly tag?: string;
}

/** The code for values of some types. */
interface Branch {
  readonly types: readonly TypeName[];
  readonly body: readonly string[];
}

/** Emits the body of one function. Every method returns lines of code. */
export class FunctionEmitter {
  readonly #emitter: CheckEmitter;
  readonly #owner: string;
  readonly #mode: Mode;
  readonly #variables = new VariableNames();

  constructor(emitter: CheckEmitter, owner: string, mode: Mode) {
    this.#emitter = emitter;
    this.#owner = owner.replace(/_\d+$/, "");
    this.#mode = mode;
  }

  body(schema: Schema): string[] {
    return this.#schema(schema, { value: "value", path: [] });
  }

  #schema(schema: Schema, at: Place, known: Known = {}): string[] {
    return [
      ...this.#reference(schema, at),
      ...this.#listed(listedValues(schema), at),
      ...this.#types(schema, at, known),
      ...this.#anyOf(schema, at),
      ...this.#oneOf(schema, at, known),
    ];
  }

  #reference(schema: Schema, at: Place): string[] {
    if (schema.$ref === undefined) return [];
    const name = this.#emitter.function({ $ref: schema.$ref }, this.#mode, this.#owner);
    if (this.#mode === "test") return [`if (!${name}(${at.value})) return false;`];
    const problem = this.#variables.add("problem");
    return [
      `const ${problem} = ${name}(${at.value});`,
      `if (${problem} !== undefined) return ${this.#within(problem, at)};`,
    ];
  }

  #listed(values: ReturnType<typeof listedValues>, at: Place): string[] {
    if (values === undefined) return [];
    const differs = values.map((value) => `${at.value} !== ${JSON.stringify(value)}`);
    return this.#failIf(differs.join(" && "), at, sentences.listed(values));
  }

  #types(schema: Schema, at: Place, known: Known): string[] {
    const named = namedTypes(schema);
    const types = named.filter((type) => type !== "integer" || !named.includes("number"));
    const branches = types.map((type): Branch => {
      return { types: [type], body: this.#ofType(type, schema, at, known) };
    });
    const isListed = listedValues(schema) !== undefined;
    if (isListed && branches.every(({ body }) => body.length === 0)) return [];
    return this.#byType(branches, at, sentences.types(types), known.kind);
  }

  /** Branches by type. A value of none of the types fails. */
  #byType(branches: readonly Branch[], at: Place, says: string, known?: Kind): string[] {
    const [only] = branches;
    if (only === undefined) return [];
    const otherThan = (types: readonly TypeName[]): string => {
      return types.map((type) => isNot(type, at.value, types.length > 1)).join(" && ");
    };
    if (branches.length === 1) {
      const isKnown = only.types.length === 1 && only.types[0] === known;
      const test = isKnown ? [] : this.#failIf(otherThan(only.types), at, says);
      return [...test, ...only.body];
    }
    const passing = branches.filter(({ body }) => body.length === 0).flatMap(({ types }) => types);
    const lines = branches
      .filter(({ body }) => body.length > 0)
      .flatMap(({ types, body }, i) => {
        const condition = types.map((type) => is(type, at.value)).join(" || ");
        return [`${i === 0 ? "" : "} else "}if (${condition}) {`, ...indent(body)];
      });
    if (lines.length === 0) return this.#failIf(otherThan(passing), at, says);
    const rest = passing.length === 0 ? "} else {" : `} else if (${otherThan(passing)}) {`;
    return [...lines, rest, `  ${this.#fail(at, says)}`, "}"];
  }

  /** The checks of a schema for values of one type. */
  #ofType(type: TypeName, schema: Schema, at: Place, known: Known): string[] {
    if (type === "string") return this.#string(schema, at);
    if (type === "number" || type === "integer") return this.#number(schema, at);
    if (type === "array") return this.#array(schema, at);
    if (type === "object") return this.#object(schema, at, known.tag);
    return [];
  }

  #string(schema: Schema, at: Place): string[] {
    const { minLength, maxLength, pattern, format } = schema;
    const { value } = at;
    const lines: string[] = [];
    if (minLength === 1) lines.push(...this.#failIf(`${value} === ""`, at, sentences.minLength(1)));
    else if (minLength !== undefined && minLength > 0) {
      // A character takes at most two units, so most texts need no counting.
      const isShort = `${value}.length < ${minLength * 2} && countCharacters(${value}) < ${minLength}`;
      lines.push(...this.#failIf(isShort, at, sentences.minLength(minLength)));
    }
    if (maxLength !== undefined) {
      const isLong = `${value}.length > ${maxLength} && countCharacters(${value}) > ${maxLength}`;
      lines.push(...this.#failIf(isLong, at, sentences.maxLength(maxLength)));
    }
    if (pattern !== undefined) {
      const test = `!${this.#emitter.pattern(pattern)}.test(${value})`;
      lines.push(...this.#failIf(test, at, sentences.pattern(pattern, schema["x-form"])));
    }
    if (format !== undefined) {
      const test = { "absolute-path": "isAbsolutePath", uuid: "isUuid", uri: "isUri" }[format];
      lines.push(...this.#failIf(`!${test}(${value})`, at, sentences.format(format)));
    }
    return lines;
  }

  #number({ minimum, maximum }: Schema, at: Place): string[] {
    const low = `${at.value} < ${minimum}`;
    const high = `${at.value} > ${maximum}`;
    return [
      ...(minimum === undefined ? [] : this.#failIf(low, at, sentences.minimum(minimum))),
      ...(maximum === undefined ? [] : this.#failIf(high, at, sentences.maximum(maximum))),
    ];
  }

  #array({ minItems, maxItems, items }: Schema, at: Place): string[] {
    const lines: string[] = [];
    const length = `${at.value}.length`;
    if (minItems !== undefined && minItems > 0) {
      lines.push(...this.#failIf(`${length} < ${minItems}`, at, sentences.minItems(minItems)));
    }
    if (maxItems !== undefined) {
      lines.push(...this.#failIf(`${length} > ${maxItems}`, at, sentences.maxItems(maxItems)));
    }
    if (items === undefined) return lines;
    const index = this.#variables.add("i");
    const item = this.#variables.add("item");
    const body = this.#schema(items, { value: item, path: [...at.path, index] });
    if (body.length === 0) return lines;
    const head = `for (let ${index} = 0; ${index} < ${length}; ${index}++) {`;
    const read = `const ${item}: unknown = ${at.value}[${index}];`;
    return [...lines, head, ...indent([read, ...body]), "}"];
  }

  #object(schema: Schema, at: Place, tag: string | undefined): string[] {
    const { properties = {}, required = [], additionalProperties } = schema;
    const lines = additionalProperties === false ? this.#closed(Object.keys(properties), at) : [];
    for (const [key, property] of Object.entries(properties)) {
      if (key !== tag) lines.push(...this.#property(key, property, required.includes(key), at));
    }
    for (const key of required) {
      if (key === tag || Object.hasOwn(properties, key)) continue;
      lines.push(...this.#property(key, {}, true, at));
    }
    if (additionalProperties === undefined || additionalProperties === false) return lines;
    return [...lines, ...this.#others(additionalProperties, Object.keys(properties), at)];
  }

  #property(key: string, schema: Schema, isRequired: boolean, at: Place): string[] {
    const path = [...at.path, JSON.stringify(key)];
    const variable = this.#variables.add(key);
    const read = readMember(at.value, key);
    const body = this.#schema(schema, { value: variable, path });
    if (body.length === 0 && !isRequired) return [];
    const lines = [`const ${variable}: unknown = ${read};`];
    if (!isRequired) return [...lines, `if (${variable} !== undefined) {`, ...indent(body), "}"];
    const missing = this.#failIf(
      `${variable} === undefined`,
      { value: "", path },
      sentences.missing,
    );
    return [...lines, ...missing, ...body];
  }

  #closed(known: readonly string[], at: Place): string[] {
    const key = this.#variables.add("key");
    const path = [...at.path, key].join(", ");
    const says = `unknownKey(${key}, ${JSON.stringify(known).replaceAll(",", ", ")})`;
    const fail =
      this.#mode === "test" ? "return false;" : `return { path: [${path}], says: ${says} };`;
    const cases = known.map((name) => `case ${JSON.stringify(name)}:`);
    const pass = known.length === 0 ? [] : [...cases, "  continue;"];
    const choose = [`switch (${key}) {`, ...indent([...pass, "default:", `  ${fail}`]), "}"];
    return [`for (const ${key} in ${at.value}) {`, ...indent(choose), "}"];
  }

  #others(schema: Schema, known: readonly string[], at: Place): string[] {
    const key = this.#variables.add("key");
    const item = this.#variables.add("item");
    const body = this.#schema(schema, { value: item, path: [...at.path, key] });
    if (body.length === 0) return [];
    const isKnown = known.map((name) => `${key} === ${JSON.stringify(name)}`).join(" || ");
    const skip = known.length === 0 ? [] : [`if (${isKnown}) continue;`];
    const read = `const ${item}: unknown = ${at.value}[${key}];`;
    return [`for (const ${key} in ${at.value}) {`, ...indent([...skip, read, ...body]), "}"];
  }

  #anyOf(schema: Schema, at: Place): string[] {
    const alternatives = schema.anyOf;
    if (alternatives === undefined || alternatives.some(isAnything)) return [];
    const lists = alternatives.map((one) => (isOnlyList(one) ? listedValues(one) : undefined));
    if (!lists.includes(undefined))
      return this.#listed(
        lists.flatMap((list) => list ?? []),
        at,
      );
    const { schemas } = this.#emitter;
    const groups = Map.groupBy(KINDS, (kind) => {
      const fits = alternatives.map((one) => kindsOf(one, schemas).includes(kind));
      return fits.flatMap((isFit, i) => (isFit ? [i] : [])).join();
    });
    groups.delete("");
    const branches = [...groups].map(([fits, types]): Branch => {
      const fitting = fits.split(",").flatMap((i) => alternatives[Number(i)] ?? []);
      return { types, body: this.#several(fitting, at, types) };
    });
    const says = sentences.types(typesOf(alternatives, schemas));
    // No value can pass if all alternatives contradict themselves.
    return branches.length === 0 ? [this.#fail(at, says)] : this.#byType(branches, at, says);
  }

  #several(alternatives: readonly Schema[], at: Place, kinds: readonly Kind[]): string[] {
    const [only] = alternatives;
    const [kind] = kinds;
    const known: Known = kinds.length === 1 && kind !== undefined ? { kind } : {};
    if (alternatives.length === 1 && only !== undefined) return this.#schema(only, at, known);
    const tag = findTag(alternatives, this.#emitter.schemas);
    return tag === undefined ? this.#tried(alternatives, at) : this.#tagged(alternatives, tag, at);
  }

  #oneOf(schema: Schema, at: Place, known: Known): string[] {
    if (schema.oneOf === undefined) return [];
    const tag = findTag(schema.oneOf, this.#emitter.schemas);
    if (tag === undefined) {
      const need = "needs a required member with a different 'const' in each alternative";
      throw new Error(`Cannot compile schema '${this.#owner}': keyword 'oneOf' ${need}`);
    }
    const isObject = schema.type === "object" || known.kind === "object";
    const says = sentences.types(["object"]);
    const test = isObject ? [] : this.#failIf(isNot("object", at.value, false), at, says);
    return [...test, ...this.#tagged(schema.oneOf, tag, at)];
  }

  #tagged(alternatives: readonly Schema[], tag: string, at: Place): string[] {
    const { schemas } = this.#emitter;
    const path = [...at.path, JSON.stringify(tag)];
    const tags = alternatives.map((one) => target(one, schemas).properties?.[tag]?.const ?? null);
    const cases = alternatives.flatMap((alternative, i) => {
      const head = `case ${JSON.stringify(tags[i])}:`;
      const body = this.#schema(alternative, at, { kind: "object", tag });
      return body.length === 0
        ? [head, "  break;"]
        : [`${head} {`, ...indent([...body, "break;"]), "}"];
    });
    const missing = ["case undefined:", `  ${this.#fail({ value: "", path }, sentences.missing)}`];
    const other = ["default:", `  ${this.#fail({ value: "", path }, sentences.listed(tags))}`];
    const rest = this.#mode === "test" ? other : [...missing, ...other];
    return [`switch (${readMember(at.value, tag)}) {`, ...indent([...cases, ...rest]), "}"];
  }

  /** Alternatives without a distinguishing member: each is tested, and only if all fail is the problem determined. */
  #tried(alternatives: readonly Schema[], at: Place): string[] {
    const named = (one: Schema, mode: Mode): string =>
      this.#emitter.function(one, mode, this.#owner);
    const fits = alternatives.map((one) => `!${named(one, "test")}(${at.value})`).join(" && ");
    if (this.#mode === "test") return [`if (${fits}) return false;`];
    const choices = alternatives.map((one) => {
      const required = JSON.stringify(requiredOf(one, this.#emitter.schemas));
      return `{ required: ${required}, check: ${named(one, "check")} },`;
    });
    const problem = this.#variables.add("problem");
    const ask = [`const ${problem} = closest(${at.value}, [`, ...indent(choices), "]);"];
    return [`if (${fits}) {`, ...indent([...ask, `return ${this.#within(problem, at)};`]), "}"];
  }

  #within(problem: string, at: Place): string {
    return at.path.length === 0 ? problem : `within(${[problem, ...at.path].join(", ")})`;
  }

  #failIf(condition: string, at: Place, says: string): string[] {
    const fail = this.#fail(at, says);
    const line = `if (${condition}) ${fail}`;
    return line.length <= 90 ? [line] : [`if (${condition}) {`, `  ${fail}`, "}"];
  }

  #fail(at: Place, says: string): string {
    if (this.#mode === "test") return "return false;";
    return `return { path: [${at.path.join(", ")}], says: ${JSON.stringify(says)} };`;
  }
}
