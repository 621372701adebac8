import { authorship } from "../authorship/capability.ts";
import { identities } from "../identity/capability.ts";
import { review } from "../review/capability.ts";
import { serve } from "../server/access/capability.ts";
import { notifications } from "../server/notify/capability.ts";
import { telemetry } from "../server/telemetry/capability.ts";

/** All capabilities that the program is built from, in the order of their tools. */
export const CAPABILITIES = [serve, telemetry, review, authorship, identities, notifications];
