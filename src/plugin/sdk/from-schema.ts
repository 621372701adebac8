type TypeName = "string" | "number" | "integer" | "boolean" | "null" | "object" | "array";

/** JSON Schema as it is written for a tool. Keywords that are not listed are kept, and checked. */
export interface Schema {
  readonly type?: TypeName | readonly TypeName[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly nullable?: boolean;
  readonly [keyword: string]: unknown;
}

/** The type of the values that a schema lets through, as far as types can tell. */
export type FromSchema<S> = S extends { readonly nullable: true }
  ? NonNullableValue<S> | null
  : NonNullableValue<S>;

type NonNullableValue<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly oneOf: readonly (infer Option)[] }
      ? EachOf<Option>
      : S extends { readonly anyOf: readonly (infer Option)[] }
        ? EachOf<Option>
        : S extends { readonly type: readonly (infer Name)[] }
          ? OfType<Name, S>
          : S extends { readonly type: infer Name }
            ? OfType<Name, S>
            : S extends { readonly properties: object }
              ? ObjectOf<S>
              : unknown;

type EachOf<Option> = Option extends unknown ? FromSchema<Option> : never;

type OfType<Name, S> = Name extends "string"
  ? string
  : Name extends "number" | "integer"
    ? number
    : Name extends "boolean"
      ? boolean
      : Name extends "null"
        ? null
        : Name extends "array"
          ? ListOf<S>
          : Name extends "object"
            ? ObjectOf<S>
            : unknown;

type ListOf<S> = S extends { readonly items: infer Item } ? FromSchema<Item>[] : unknown[];

type ObjectOf<S> = S extends { readonly properties: infer Members }
  ? Flat<
      {
        -readonly [Name in keyof Members as Name extends RequiredOf<S> ? Name : never]: FromSchema<
          Members[Name]
        >;
      } & {
        -readonly [Name in keyof Members as Name extends RequiredOf<S> ? never : Name]?: FromSchema<
          Members[Name]
        >;
      }
    >
  : S extends { readonly additionalProperties: infer Item extends Schema }
    ? Record<string, FromSchema<Item>>
    : Record<string, unknown>;

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

/** One object type instead of two: what editors show is what is meant. */
type Flat<T> = { [Name in keyof T]: T[Name] };
