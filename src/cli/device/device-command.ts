import { arg, type Command, json } from "../shell/command.ts";

export const device: Command = {
  name: "device",
  summary: "List and revoke browsers that are logged in to the gateway",
  description:
    "`trunkline open` logs in a browser of this machine for 12 hours. `trunkline open --qr` pairs a phone, " +
    "which stays logged in until nobody has used it for 30 days. All can do what you can.",
  examples: {
    "trunkline device list": "Show who is logged in.",
    "trunkline open --qr": "Pair a phone.",
  },
  commands: [
    {
      name: "list",
      summary: "List the browsers that are logged in",
      options: { json },
      examples: { "trunkline device list": "Shows when each was last seen." },
      load: async () => ({ run: (await import("./device.ts")).list }),
    },
    {
      name: "revoke",
      summary: "Log a browser out, and end its connections",
      description:
        "Running servers close its connections within a second, and it gets no more push notifications. " +
        "`trunkline token rotate` logs out all of them.",
      args: [arg("DEVICE", "Id of the device, or its name if only one has it")],
      options: { json },
      examples: { "trunkline device revoke DEVICE": "Log out a lost phone." },
      load: async () => ({ run: (await import("./device.ts")).revoke }),
    },
  ],
};
