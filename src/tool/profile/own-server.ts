/** The name that stands for a server where a tool, prompt or resource is our own. */
export const OWN_SERVER = "trunkline";
