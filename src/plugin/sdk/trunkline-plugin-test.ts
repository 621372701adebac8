// The module "trunkline/plugin/test".
export type { PluginHarness, TestPluginOptions, TestTool } from "./test/harness.ts";
export { testPlugin } from "./test/test-plugin.ts";
