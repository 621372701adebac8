// The module "trunkline/plugin/test".
export type { PluginHarness, TestPluginOptions, TestTool } from "./harness.ts";
export { testPlugin } from "./test-plugin.ts";
