import { agents } from "../agent/capability.ts";
import { fleet } from "../fleet/capability.ts";
import { hooks } from "../hooks/capability.ts";
import { identities } from "../identity/capability.ts";
import { plugins } from "../plugin/capability.ts";
import { review } from "../review/capability.ts";
import { runs } from "../run/capability.ts";
import { sessions } from "../session/capability.ts";
import { policy } from "../tool/policy-settings.ts";
import { servers } from "../upstream/capability.ts";
import { serve } from "../server/access/capability.ts";
import { core, limits } from "./core-settings.ts";
import { notifications } from "../server/notify/capability.ts";
import { telemetry } from "../server/telemetry/capability.ts";

/** All capabilities of the program. A new capability is its own folder, and a line here. */
export const CAPABILITIES = [
  core,
  serve,
  telemetry,
  sessions,
  agents,
  hooks,
  servers,
  policy,
  plugins,
  review,
  identities,
  runs,
  fleet,
  notifications,
  limits,
];
