import { plainSchema } from "../../../tool/schema/plain-schema.ts";

const TEXT = { type: "string" };
const NAME = { type: "string", minLength: 1 };

/**
 * Whether a configuration has nothing but MCP servers that are started, which is what most people
 * configure. What it accepts, the schema accepts too; loading that would take a tenth of a start.
 */
export const isPlainConfig = plainSchema({
  type: "object",
  additionalProperties: false,
  properties: {
    $schema: TEXT,
    mcpServers: {
      type: "object",
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        required: ["command"],
        properties: {
          type: { enum: ["stdio", "local"] },
          command: NAME,
          args: { type: "array", items: TEXT },
          env: { type: "object", additionalProperties: TEXT },
          cwd: NAME,
          disabled: { type: "boolean" },
        },
      },
    },
  },
});
