// A plugin that tells where its caller works, and has the program act there.
import { definePlugin } from "trunkline/plugin";

definePlugin({
  id: "tools.where",
  version: "1.0.0",
  needs: { tools: ["juggler_switch"] },
  tools: {
    where: {
      description: "Tells the folder of the project that it is called for",
      call: (_, { project = "nowhere" }) => project,
    },
    where_in_pieces: {
      description: "Tells the same in pieces",
      async *stream(_, { project = "nowhere" }) {
        yield project;
      },
    },
    act: {
      description: "Has the program switch the identity of that project",
      call: async (_, { callTool }) => {
        return callTool("juggler_switch", { identity: "work" }).then(
          ({ text }) => text,
          (error: Error) => error.message,
        );
      },
    },
  },
});
