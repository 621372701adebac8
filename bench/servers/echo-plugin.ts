// A plugin as somebody would write one, with the tool that the caller of the bus calls.
import { definePlugin } from "../../src/plugin/sdk/trunkline-plugin.ts";

export const plugin = definePlugin({
  id: "bench",
  version: "1.0.0",
  tools: {
    echo: {
      description: "Returns its text",
      input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      call: ({ text }) => text,
    },
  },
});
