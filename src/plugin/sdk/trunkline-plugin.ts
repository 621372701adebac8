// The module "trunkline/plugin".
export type {
  CallContext,
  CallResult,
  ContentPiece,
  PluginContext,
  PluginLog,
  PluginStorage,
  StoredDocument,
  StoredEntry,
  WriteOptions,
} from "./context.ts";
export { definePlugin } from "./define-plugin.ts";
export type {
  Chunk,
  EventHandler,
  EventSpec,
  FullResult,
  Health,
  HealthStatus,
  Manifest,
  PermissionRequest,
  Plugin,
  PluginDefinition,
  PluginEvent,
  PromptMessage,
  PromptSpec,
  Returned,
  StorageProvider,
  StorageReadResult,
  ToolSpec,
} from "./definition.ts";
export type { FromSchema, Schema } from "./from-schema.ts";
export { runPlugin } from "./define-plugin.ts";
export { ToolError } from "./tool-error.ts";
